"""A server for hosts: it answers, hangs, dies and changes on demand."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tooltrue import Server

server = Server("hosted", audit=False)
marker = Path(sys.argv[1]) if len(sys.argv) > 1 else None


@server.tool(effect="read")
def pid() -> int:
    """Which process this is."""
    return os.getpid()


@server.tool(effect="read")
async def die() -> str:
    """Never answer: end the process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool(effect="read")
def hang() -> str:
    """Take longer than anybody waits."""
    if marker is not None:
        marker.write_text("running")
    time.sleep(600)
    return "never"


@server.tool(effect="read")
def become(name: str) -> str:
    """Get one more tool."""
    server.add_tool(lambda: name, name=name, description="A new one.")
    return "done"


if extra := os.environ.get("EXTRA"):
    server.add_tool(lambda: extra, name=extra, description="Another one.")


if __name__ == "__main__":
    server.run()
