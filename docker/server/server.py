from typing import Annotated

from tooltrue import Server

server = Server("notes", version="1.0")
notes: dict[str, str] = {}


@server.tool(effect="destructive", idempotent=True)
async def set_note(key: Annotated[str, "Note name, e.g. 'shopping'"], text: str) -> dict[str, int]:
    """Save a note, replacing the one of that name. Not for reading one: use get_notes."""
    notes[key] = text
    return {"notes": len(notes)}


@server.tool(effect="read")
async def get_notes(prefix: Annotated[str, "What the names begin with"] = "") -> dict[str, str]:
    """Read the notes whose names begin with a prefix; all of them without one."""
    return {key: notes[key] for key in sorted(notes) if key.startswith(prefix)}


if __name__ == "__main__":
    server.run()
