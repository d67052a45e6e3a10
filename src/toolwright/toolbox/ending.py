"""Waiting for the end of what is told to end, or already killed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["settled"]


async def settled(is_done: Callable[[], bool], wait: Callable[[], Awaitable[object]]) -> None:
    """Return when it is done, however often the waiting is cancelled meanwhile; that is raised then.

    Nothing may be left of a call that has ended, and a loop that closes cancels all that still waits: what it leaves
    behind nobody would wait for.
    """
    given_up: asyncio.CancelledError | None = None
    while not is_done():
        try:
            await wait()
        except asyncio.CancelledError as error:
            given_up = error
    if given_up is not None:
        raise given_up
