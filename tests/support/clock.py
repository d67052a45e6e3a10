"""A running event loop whose clock moves on at once: limits pass without anybody waiting for them."""

from __future__ import annotations

import asyncio

from tooltrue._internal import deadline

__all__ = ["skip"]


def skip(seconds: float) -> None:
    """Advance the clock of the running loop. Timers due by then fire in the next turn of the loop."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds
    deadline._lines.clear()  # pyright: ignore[reportPrivateUsage] - they know the clock as it was
