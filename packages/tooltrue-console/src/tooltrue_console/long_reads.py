"""The reads of whole logs: a few at a time, on threads of their own, so that pages leave the machine to the calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from tooltrue.errors import ConfigurationError
from tooltrue_console.wording import CONSOLE_TOO_MANY_READS

__all__ = ["MAX_READS", "LongReads"]

P = ParamSpec("P")
T = TypeVar("T")

MAX_READS: Final = 2


class LongReads:
    """At most ``most`` reads at once. One more is refused, since a person who waits for it would try again."""

    def __init__(self, most: int = MAX_READS) -> None:
        self._most = most
        self._free = threading.BoundedSemaphore(most)
        self._threads = ThreadPoolExecutor(most, "tooltrue console")

    async def run(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """The result of ``read``, from a thread. ``ConfigurationError`` if as many run as may. A read of which nobody
        waits for the result any more goes on, and counts until it ends."""
        if not self._free.acquire(blocking=False):
            raise ConfigurationError.of(CONSOLE_TOO_MANY_READS, limit=self._most)
        future = self._threads.submit(read, *arguments, **options)
        future.add_done_callback(lambda _: self._free.release())
        return await asyncio.wrap_future(future)
