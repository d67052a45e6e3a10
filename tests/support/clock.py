"""A running event loop whose clock moves on at once: limits pass without anybody waiting for them."""

from __future__ import annotations

import asyncio

from tooltrue._internal import deadline

__all__ = ["skip"]


def skip(seconds: float) -> None:
    """Move the clock of the running loop on. What is due by then rings in the loop's next turn."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds
    deadline._lines.clear()  # pyright: ignore[reportPrivateUsage] - they know the clock as it was
