"""Waiting for the end of a process that is told to end, or already killed."""

from __future__ import annotations

import asyncio

__all__ = ["gone"]


async def gone(process: asyncio.subprocess.Process) -> None:
    """Return when it has ended, however often the waiting is cancelled meanwhile; that is raised then.

    Nothing may be left of a call that has ended, and a loop that closes cancels all that still waits: what it leaves
    behind nobody would wait for.
    """
    given_up: asyncio.CancelledError | None = None
    while process.returncode is None:
        try:
            await process.wait()
        except asyncio.CancelledError as error:
            given_up = error
    if given_up is not None:
        raise given_up
