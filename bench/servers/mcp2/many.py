"""1,000 tools, on the official SDK. `ours/many.py` is the same server on toolwright."""

from typing import Annotated, Literal

from mcp.server import MCPServer
from pydantic import Field

server = MCPServer("bench", version="1.0")


async def note(key: str, kind: Literal["a", "b"] = "a", count: Annotated[int, Field(ge=0, le=9)] = 1) -> str:
    """Read a note. Use it when the key is known; it changes nothing."""
    return f"{key} {kind} {count}"


for number in range(1_000):
    server.tool(name=f"read_note_{number:04}")(note)

if __name__ == "__main__":
    server.run()
