"""The checkpoints of a round, as events of its workflow.

DBOS numbers steps in the order in which they are called, and after a restart steps side by side may be called in
another. Events have keys: ``+KEY`` marks a step that was begun, ``=KEY`` has its text. The report is one more event.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from typing import Any, TypeVar

from dbos import DBOS, error
from sqlalchemy.exc import SQLAlchemyError

from tooltrue.tasks.engine import StepInterrupted
from tooltrue.tasks.loop_thread import LoopThread

__all__ = ["REPORT", "EventCheckpoints", "RunningSteps"]

REPORT = "~"
"""The event that has the newest report."""

T = TypeVar("T")


class RunningSteps:
    """The steps that run in this process, by the id of their round. After ``is_closed`` no other begins."""

    def __init__(self) -> None:
        self.is_closed = False
        self._rounds = Counter[str]()
        self._ended = asyncio.Event()

    @contextlib.contextmanager
    def one(self, id: str) -> Generator[None]:
        if self.is_closed:
            raise asyncio.CancelledError
        self._rounds[id] += 1
        try:
            yield
        finally:
            self._rounds[id] -= 1
            self._rounds = +self._rounds
            self._ended.set()

    def are_in(self, id: str) -> bool:
        return id in self._rounds

    async def end(self) -> None:
        """Wait until no step runs."""
        while self._rounds:
            self._ended.clear()
            await self._ended.wait()


class EventCheckpoints:
    """The checkpoints of the workflow ``id``. Made within a step of it: in that context DBOS writes only while this
    execution owns the workflow."""

    def __init__(self, thread: LoopThread, id: str, steps: RunningSteps) -> None:
        self._thread = thread
        self._id = id
        self._steps = steps
        self._context = contextvars.copy_context()
        self._earlier: Mapping[str, str] | None = None
        self._texts: dict[str, str] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._loading = asyncio.Lock()

    async def once(self, key: str, make: Callable[[], Awaitable[str]], *, retry: bool) -> str:
        async with self._locks[key]:
            earlier = await self._load()
            if (text := self._texts.get(key, earlier.get(f"={key}"))) is not None:
                return text
            with self._steps.one(self._id):
                if not retry:
                    if f"+{key}" in earlier:
                        raise StepInterrupted(key)
                    await self._store(f"+{key}", "")
                text = await make()
                await self._store(f"={key}", text)
                self._texts[key] = text
                return text

    async def has(self, key: str) -> bool:
        return f"={key}" in await self._load()

    async def report(self, text: str) -> None:
        await self._store(REPORT, text)

    async def _load(self) -> Mapping[str, str]:
        """The events of earlier executions. No other one adds to them: this one owns the workflow."""
        async with self._loading:
            if self._earlier is None:
                self._earlier = await self._in_step(DBOS.get_all_events_async(self._id))
            return self._earlier

    async def _store(self, name: str, text: str) -> None:
        try:
            await self._in_step(DBOS.set_event_async(name, text))
        except (error.DBOSBaseException, error.DBOSException, SQLAlchemyError):
            # Another execution owns the round, or it was cancelled or removed: this one is over.
            raise asyncio.CancelledError from None

    async def _in_step(self, work: Coroutine[Any, Any, T]) -> T:
        return await self._thread.run(work, self._context.copy())
