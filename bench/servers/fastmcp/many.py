"""1,000 tools, on FastMCP. `ours/many.py` is the same server on tooltrue."""

from typing import Annotated, Literal

from fastmcp import FastMCP
from pydantic import Field

server = FastMCP("bench", version="1.0")


async def note(key: str, kind: Literal["a", "b"] = "a", count: Annotated[int, Field(ge=0, le=9)] = 1) -> str:
    """Read a note. Use it when the key is known; it changes nothing."""
    return f"{key} {kind} {count}"


for number in range(1_000):
    server.tool(name=f"read_note_{number:04}")(note)

if __name__ == "__main__":
    server.run(show_banner=False)
