"""The progress of a running task: the newest report is its status message, which any worker can tell its client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from tooltrue.errors import StateError
from tooltrue.state.facts import Facts

__all__ = ["TaskChannel", "status_message"]

_EVERY: Final = 0.5
"""Seconds between two reports that are stored."""
_SECONDS: Final = 86_400.0
_MAX_MESSAGE: Final = 500

_log = logging.getLogger("tooltrue.tasks")


async def status_message(facts: Facts, task: str) -> str | None:
    """The newest report of a task; ``None`` if it has made none."""
    value = await facts.get(_key(task))
    return None if value is None else value.decode()


def _key(task: str) -> str:
    return f"task progress {task}"


class TaskChannel:
    """Takes reports from any thread. Log messages have no client to go to."""

    def __init__(self, facts: Facts, task: str, stored: Callable[[], None]) -> None:
        self._facts = facts
        self._task = task
        self._stored = stored
        self._loop = asyncio.get_running_loop()
        self._newest: str | None = None
        self._last = float("-inf")
        self._storing: asyncio.Task[None] | None = None

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        if progress > self._last:
            self._last = progress
            share = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
            self._newest = (message or share)[:_MAX_MESSAGE]
            self._loop.call_soon_threadsafe(self._store_soon)

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...

    def _store_soon(self) -> None:
        if self._storing is None or self._storing.done():
            self._storing = self._loop.create_task(self._store())

    async def _store(self) -> None:
        while (newest := self._newest) is not None:
            self._newest = None
            try:
                await self._facts.put(_key(self._task), newest.encode(errors="replace"), _SECONDS)
            except StateError as error:
                _log.warning("The progress of a task is not stored: %s", error)
            self._stored()
            await asyncio.sleep(_EVERY)

    async def close(self) -> None:
        """Report no more."""
        self._newest = None
        if self._storing is not None:
            self._storing.cancel()
            await asyncio.wait((self._storing,))
