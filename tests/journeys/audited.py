"""A server whose calls are recorded, for tests that kill it, fill its disk, or run several of it.

``python audited.py`` serves stdio. ``FILE_BYTES`` bounds the size of the files that it may write.
"""

from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path

from tooltrue import Rate, Server

server = Server("audited", rate=Rate(1_000_000, 1_000_000))
marks = Path(os.environ.get("MARKS", "."))


@server.tool(effect="read")
async def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool(effect="write")
async def put(text: str) -> str:
    """Put something down."""
    return text


@server.tool(effect="destructive", confirm=False)
async def wipe(name: str, hang: bool = False) -> str:
    """Destroy something, perhaps slowly."""
    (marks / name).touch()
    if hang:
        await asyncio.Event().wait()
    return "gone"


if __name__ == "__main__":
    if "FILE_BYTES" in os.environ:
        limit = int(os.environ["FILE_BYTES"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    server.run()
