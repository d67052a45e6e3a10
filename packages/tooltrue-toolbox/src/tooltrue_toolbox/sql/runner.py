"""The work of a call on a thread, with cancellation: engines block, and calls end early."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from tooltrue.errors import ToolError
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.wording import Worded
from tooltrue_toolbox.sql.engine import Engine, EngineSession
from tooltrue_toolbox.sql.wording import (
    DATABASE_UNREACHABLE,
    REASON_TIME_IS_OVER,
    SQL_COMMIT_OUTCOME_UNKNOWN,
    SQL_TIMEOUT,
)

__all__ = ["Runner"]

T = TypeVar("T")

_TICK = 1.0
_AGAIN = 0.05


class _Stopped(Exception):
    """The call has been given up."""


class _Run:
    """A session that another thread may interrupt, from before it is open until after it is closed."""

    def __init__(self, engine: Engine, *, writes: bool, commits: bool) -> None:
        self._engine = engine
        self._writes = writes
        self._commits = commits
        self._using = threading.Lock()
        self._session: EngineSession | None = None
        self._deciding = threading.Lock()  # never held for long, so that a call is given up at once
        self._is_given_up = False
        self.is_committing = False

    def give_up(self) -> bool:
        """Prevent a later commit. Return ``False`` where a commit has begun, whose outcome is still unknown."""
        with self._deciding:
            self._is_given_up = not self.is_committing
            return self._is_given_up

    def interrupt(self) -> None:
        with self._using:
            if self._session is not None:
                self._session.interrupt()

    def _set(self, session: EngineSession | None) -> None:
        with self._using:
            self._session = session

    def _commit(self, session: EngineSession) -> None:
        with self._deciding:  # a caller who was told that no change was made must not be proven wrong by a late commit
            if self._is_given_up:
                raise _Stopped
            self.is_committing = self._commits
        if not self._commits:
            return
        try:
            session.commit()
        except Exception as error:
            tool_error = self._engine.tool_error(error)
            if (
                tool_error is not None and tool_error.code == DATABASE_UNREACHABLE
            ):  # the server refused the commit, so its answer is known
                raise ToolError.of(SQL_COMMIT_OUTCOME_UNKNOWN, problem=tool_error.facts["problem"]) from error
            raise

    def __call__(self, work: Callable[[EngineSession], T]) -> T:
        try:
            session = self._engine.open(writes=self._writes)
        except Exception as error:
            raise self._engine.tool_error(error) or error from error
        try:
            self._set(session)
            if self._is_given_up:
                raise _Stopped
            made = work(session)
            self._commit(session)
            return made
        except Exception as error:
            raise self._engine.tool_error(error) or error from error
        finally:
            self._set(None)
            session.close()


class Runner:
    """Runs work with a session of ``engine``, at most ``seconds`` long. Work that is given up is interrupted, and its
    changes are rolled back. ``patience``: seconds allowed after that for the work to end, or for a commit in
    progress."""

    def __init__(
        self, engine: Engine, seconds: float, patience: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine = engine
        self._seconds = seconds
        self._patience = patience
        self._clock = clock
        self._pool = ThreadPool(16)
        self._asides = ThreadPool(4)

    async def run(
        self,
        work: Callable[[EngineSession], T],
        context: RequestContext | None,
        *,
        writes: bool = False,
        commits: bool = False,
    ) -> T:
        """The result of ``work``, after its changes are committed if ``commits`` is set. ``ToolError`` TT6220 where the
        work was given up without a change; TT6237 where the outcome is unknown."""
        running = _Run(self._engine, writes=writes, commits=commits)
        start, is_over = self._clock(), False
        future: asyncio.Future[T] = self._pool.run(partial(running, work))
        try:
            while not (is_over or future.done()):
                spent = self._clock() - start
                is_over = spent >= self._seconds
                if context is not None and spent >= _TICK:
                    context.progress(spent, self._seconds, "the database is at it")
                await asyncio.wait({future}, timeout=max(0.0, min(_TICK, self._seconds - spent)))
        finally:
            await self._end(running, future)
        if future.cancelled() and running.is_committing:
            raise ToolError.of(SQL_COMMIT_OUTCOME_UNKNOWN, problem=Worded(REASON_TIME_IS_OVER, {}))
        error = None if future.cancelled() else future.exception()
        is_stopped = is_over and error is not None and not running.is_committing
        if future.cancelled() or is_stopped or _is_late(error):
            raise ToolError.of(SQL_TIMEOUT, seconds=f"{self._seconds:g}")
        return future.result()

    async def _end(self, running: _Run, future: asyncio.Future[T]) -> None:
        """Cancel running work. A commit is awaited instead, since the caller has to learn its outcome."""
        if future.done():
            return
        if running.give_up():
            await self._interrupt(running, future)
        else:
            await asyncio.wait({future}, timeout=self._patience)
        if not future.done():
            future.cancel()

    async def _interrupt(self, running: _Run, future: asyncio.Future[T]) -> None:
        """Interrupt repeatedly: work that is interrupted between two steps of an engine would continue. One
        interruption at a time: it may take long itself, and other calls need theirs."""
        until = time.monotonic() + self._patience
        interrupting = self._asides.run(running.interrupt)
        while not future.done() and time.monotonic() < until:
            if interrupting.done():
                interrupting = self._asides.run(running.interrupt)
            await asyncio.wait({future}, timeout=_AGAIN)


def _is_late(error: BaseException | None) -> bool:
    """Whether the engine's own time limit has ended the work."""
    return isinstance(error, ToolError) and error.code == SQL_TIMEOUT
