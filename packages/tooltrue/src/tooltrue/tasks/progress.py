"""The progress of a running task. Its newest report is stored with the task, so that any worker can tell its client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import Value

__all__ = ["Progress", "TaskChannel"]

_EVERY: Final = 0.5
"""Seconds between two reports that are stored."""
_MAX_MESSAGE: Final = 500


class Progress(Value, frozen=True):
    """A report of a task."""

    progress: float
    total: float | None
    message: str

    @property
    def share(self) -> str:
        return f"{self.progress:g}" if self.total is None else f"{self.progress:g}/{self.total:g}"

    def encoded(self) -> bytes:
        return encode([self.progress, self.total, self.message])

    @classmethod
    def decoded(cls, text: bytes) -> Progress:
        return cls(*decode(text))


class TaskChannel:
    """Takes reports from any thread, and hands the newest to ``store``. Log messages have no client to go to."""

    def __init__(self, store: Callable[[Progress], Awaitable[None]]) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._newest: Progress | None = None
        self._last = float("-inf")
        self._storing: asyncio.Task[None] | None = None

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        if progress > self._last:
            self._last = progress
            self._newest = Progress(progress, total, (message or "")[:_MAX_MESSAGE])
            self._loop.call_soon_threadsafe(self._store_soon)

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...

    def _store_soon(self) -> None:
        if self._storing is None or self._storing.done():
            self._storing = self._loop.create_task(self._store_newest())

    async def _store_newest(self) -> None:
        while (newest := self._newest) is not None:
            self._newest = None
            await self._store(newest)
            await asyncio.sleep(_EVERY)

    async def close(self) -> None:
        """Report no more."""
        self._newest = None
        if self._storing is not None:
            self._storing.cancel()
            await asyncio.wait((self._storing,))
