"""Seven typed tools, on the official SDK, 1.x. `ours/seven.py` is the same server on tooltrue."""

from typing import Annotated, Literal

from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel, Field

server = FastMCP("bench")

Key = Annotated[str, Field(min_length=1, max_length=64, description="Name of the note.")]
Limit = Annotated[int, Field(ge=1, le=100, description="Most notes to return.")]


class Note(BaseModel):
    key: str
    text: str
    kind: Literal["plain", "markdown"] = "plain"


@server.tool()
async def echo(text: str) -> str:
    """Echo."""
    return text


@server.tool()
async def read_note(key: Key) -> Note:
    """Read one note."""
    return Note(key=key, text="")


@server.tool()
async def list_notes(limit: Limit = 20, kind: Literal["plain", "markdown"] | None = None) -> list[Note]:
    """List notes, newest first."""
    return [Note(key=str(number), text="", kind=kind or "plain") for number in range(limit)]


@server.tool()
async def find_notes(text: str, limit: Limit = 20) -> list[Note]:
    """Find notes that hold a text."""
    return [Note(key=text, text="")][:limit]


@server.tool()
def count_notes(kind: Literal["plain", "markdown"] = "plain") -> int:
    """Count the notes of one kind."""
    return len(kind)


@server.tool()
def compare_notes(left: Key, right: Key, ignore_case: bool = False) -> bool:
    """Tell whether two notes hold the same text."""
    return left.lower() == right.lower() if ignore_case else left == right


@server.tool()
async def preview_note(note: Note, width: Annotated[int, Field(ge=10, le=200)] = 80) -> str:
    """Show how a note would look."""
    return note.text[:width]


if __name__ == "__main__":
    server.run()
