"""1,000 tools, on the official SDK, 1.x. `ours/many.py` is the same server on tooltrue."""

from typing import Annotated, Literal

from mcp.server.fastmcp import FastMCP
from pydantic import Field

server = FastMCP("bench")


async def note(key: str, kind: Literal["a", "b"] = "a", count: Annotated[int, Field(ge=0, le=9)] = 1) -> str:
    """Read a note. Use it when the key is known; it changes nothing."""
    return f"{key} {kind} {count}"


for number in range(1_000):
    server.tool(name=f"read_note_{number:04}")(note)

if __name__ == "__main__":
    server.run()
