"""A tool that is a task beside one that is not, on FastMCP with fastmcp-tasks. `ours/tasks.py` is the same server on
tooltrue.

`$FASTMCP_DOCKET_URL` is the store of the tasks, `$BENCH_POLL_MS` the time between two polls that clients are told.
"""

import os
import sys
from datetime import timedelta

import uvicorn
from fastmcp import FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension

POLL = timedelta(milliseconds=int(os.environ.get("BENCH_POLL_MS", "1000")))
server = FastMCP("bench", version="1.0")
server.add_extension(TasksExtension())


@server.tool()
async def echo(text: str) -> str:
    """Echo."""
    return text


@server.tool(task=TaskConfig(poll_interval=POLL))
async def echo_later(text: str) -> str:
    """Echo, as a task."""
    return text


if __name__ == "__main__":
    # JSON answers, no sessions, no access log; uvicorn picks uvloop and httptools where its environment holds them.
    app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
