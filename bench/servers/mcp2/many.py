"""1,000 tools, on the official SDK. `ours/many.py` is the same server on tooltrue.

stdio without arguments; with a port, HTTP with the SDK's quickest settings.
"""

import sys
from typing import Annotated, Literal

import uvicorn
from mcp.server import MCPServer
from pydantic import Field

server = MCPServer("bench", version="1.0")


async def note(key: str, kind: Literal["a", "b"] = "a", count: Annotated[int, Field(ge=0, le=9)] = 1) -> str:
    """Read a note. Use it when the key is known; it changes nothing."""
    return f"{key} {kind} {count}"


for number in range(1_000):
    server.tool(name=f"read_note_{number:04}")(note)


def serve_http(port: int) -> None:
    """JSON answers, no sessions, no access log; uvicorn picks uvloop and httptools where its environment holds them."""
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    if sys.argv[1:]:
        serve_http(int(sys.argv[1]))
    else:
        server.run()
