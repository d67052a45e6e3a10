"""A tool that is a task beside one that is not, on tooltrue. `fastmcp/tasks.py` is the same server on FastMCP.

`$TOOLTRUE_TASKS` is the store of the tasks, `$BENCH_POLL_MS` the time between two polls that clients are told. With
`$BENCH_TASK` as "off", no tool is a task, and the server has no settings of tasks.
"""

import os

from tooltrue import Rate, Server, Tasks

IS_TASK = os.environ.get("BENCH_TASK") != "off"
POLL_SECONDS = int(os.environ.get("BENCH_POLL_MS", "1000")) / 1_000
# The limits are there and are paid for; a figure of tasks a second must not be that of a limit.
RATE = Rate(per_second=1_000_000, burst=1_000_000)
TASKS = {"tasks": Tasks(poll_seconds=POLL_SECONDS, caller=1_000_000)} if IS_TASK else {}
server = Server("bench", version="1.0", rate=RATE, **TASKS)


@server.tool(effect="read")
async def echo(text: str) -> str:
    """Echo."""
    return text


@server.tool(effect="read", task=IS_TASK)
async def echo_later(text: str) -> str:
    """Echo, as a task."""
    return text


if __name__ == "__main__":
    server.run()
