"""A call's work on a thread, which can be stopped: engines block, and calls end early."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from toolwright.errors import ToolError
from toolwright.toolbox.sql.engine import Engine, Session
from toolwright.tools.threads import ThreadPool
from toolwright.tools.toolset import RequestContext

__all__ = ["Runner"]

T = TypeVar("T")

_TICK = 1.0
_AGAIN = 0.05


class _Stopped(Exception):
    """Nobody waits for it any more."""


class _Run:
    """A session that another thread may stop, from before it is open until after it is closed."""

    def __init__(self, engine: Engine, *, writes: bool, commits: bool) -> None:
        self._engine = engine
        self._writes = writes
        self._commits = commits
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._stopped = False

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._session is not None:
                self._session.interrupt()

    def _set(self, session: Session | None) -> None:
        with self._lock:
            self._session = session
            if self._stopped and session is not None:
                raise _Stopped

    def _commit(self, session: Session) -> None:
        with self._lock:  # who was told that nothing is changed is not told wrong by what ends a moment later
            if self._stopped:
                raise _Stopped
            if self._commits:
                session.commit()

    def __call__(self, work: Callable[[Session], T]) -> T:
        try:
            session = self._engine.open(writes=self._writes)
        except Exception as error:
            raise self._engine.worded(error) or error from error
        try:
            self._set(session)
            made = work(session)
            self._commit(session)
            return made
        except Exception as error:
            raise self._engine.worded(error) or error from error
        finally:
            self._set(None)
            session.close()


class Runner:
    """Runs work with a session of ``engine``, at most ``seconds`` long. Work that is given up is interrupted, and what
    it changed is undone."""

    def __init__(self, engine: Engine, seconds: float) -> None:
        self._engine = engine
        self._seconds = seconds
        self._pool = ThreadPool(16)
        self._asides = ThreadPool(4)

    async def run(
        self,
        work: Callable[[Session], T],
        context: RequestContext | None,
        *,
        writes: bool = False,
        commits: bool = False,
    ) -> T:
        """What ``work`` makes, once what it changed is committed where ``commits`` says so."""
        running = _Run(self._engine, writes=writes, commits=commits)
        future: asyncio.Future[T] = self._pool.run(partial(running, work))
        begun, is_over = time.monotonic(), False
        try:
            while not (is_over or future.done()):
                spent = time.monotonic() - begun
                is_over = spent >= self._seconds
                if context is not None and spent >= _TICK:
                    context.progress(spent, self._seconds, "the database is at it")
                await asyncio.wait({future}, timeout=max(0.0, min(_TICK, self._seconds - spent)))
        finally:
            await self._end(running, future)
        if future.cancelled() or (future.exception() is not None and (is_over or _is_late(future.exception()))):
            raise ToolError.of("TW6220", seconds=f"{self._seconds:g}")
        return future.result()

    async def _end(self, running: _Run, future: asyncio.Future[T]) -> None:
        """Stops what still runs. Again and again: what is stopped between two steps of an engine would go on."""
        tries = 0
        while not future.done() and tries < 100:
            tries += 1
            await asyncio.wait({self._asides.run(running.stop), future}, timeout=_AGAIN)
            if not future.done():
                await asyncio.wait({future}, timeout=_AGAIN)
        if not future.done():
            future.cancel()


def _is_late(error: BaseException | None) -> bool:
    """Whether the engine's own clock has ended the work."""
    return isinstance(error, ToolError) and error.code == "TW6220"
