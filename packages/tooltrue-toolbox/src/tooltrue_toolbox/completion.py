"""Waits for the end of a process or task that was told to end, or is already killed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["wait_until_done"]


async def wait_until_done(is_done: Callable[[], bool], wait: Callable[[], Awaitable[object]]) -> None:
    """Return when it is done, even if the wait is cancelled meanwhile; the cancellation is raised afterwards.

    A call must leave no process or task behind, and a loop that closes cancels all remaining tasks: no later code would
    wait for the rest.
    """
    given_up: asyncio.CancelledError | None = None
    while not is_done():
        try:
            await wait()
        except asyncio.CancelledError as error:
            given_up = error
    if given_up is not None:
        raise given_up
