"""1,000 tools, on tooltrue. `mcp2/many.py` is the same server on the official SDK."""

from typing import Annotated, Literal

from pydantic import Field

from tooltrue import Rate, Server

# The limit is there and is paid for; a figure of calls a second must not be that of a limit.
server = Server("bench", version="1.0", rate=Rate(per_second=1_000_000, burst=1_000_000))


async def note(key: str, kind: Literal["a", "b"] = "a", count: Annotated[int, Field(ge=0, le=9)] = 1) -> str:
    """Read a note. Use it when the key is known; it changes nothing."""
    return f"{key} {kind} {count}"


for number in range(1_000):
    server.tool(name=f"read_note_{number:04}", effect="read")(note)

if __name__ == "__main__":
    server.run()
