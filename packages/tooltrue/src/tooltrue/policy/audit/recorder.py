"""The records of one server: where they go, which are written at once, and which are counted or wait.

An operation that asks has not ended: its record waits for the next round. Refusals beyond the first few of a principal
in a minute become one record in all, so that no caller fills the log with them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import TYPE_CHECKING, cast

from tooltrue.errors import ConfigurationError, StateError, ToolError, fact_of
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.pending_records import OpenQuestions, RefusalCounter
from tooltrue.policy.wording import AUDIT_LOG_UNAVAILABLE, AUDIT_RECORD_NOT_WRITTEN
from tooltrue.protocol.types import replaced
from tooltrue.state.log import Log, MemoryLog
from tooltrue.tools.vocabulary import Effect

if TYPE_CHECKING:  # loaded with the first call
    from tooltrue.policy.audit.argument_masking import Masks
    from tooltrue.policy.audit.record import Record

__all__ = ["Recorder"]

_log = logging.getLogger("tooltrue.audit")
_MINUTE = 60.0
_IN_MEMORY = 100


class Recorder:
    """``log`` is memory until :meth:`open`, so that the tests of an author write no files. ``instance`` is the server's
    name and instance, for logs that several servers share. ``unavailable`` is the code of the error for a default log
    that cannot be opened: it says where another place is set."""

    def __init__(
        self,
        audit: Audit,
        instance: str = "",
        *,
        unavailable: str = AUDIT_LOG_UNAVAILABLE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.audit = audit
        self._unavailable = unavailable
        self.instance = instance
        self.clock = clock
        self._memory = audit.to if isinstance(audit.to, MemoryLog) else MemoryLog(keep=_IN_MEMORY)
        self.log: Log = self._memory
        self._stack: contextlib.AsyncExitStack | None = None
        self._turn = asyncio.Lock()
        self._users = 0
        self._counted = RefusalCounter()
        self._open_questions = OpenQuestions()
        self._next = 0.0

    @cached_property
    def masks(self) -> Masks:
        """The masks of arguments, made for the first record."""
        from tooltrue.policy.audit.argument_masking import Masks  # noqa: PLC0415 - loaded with the first call

        return Masks(self.audit.mask)

    # --- where they go ---

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Write records to the configured log while at least one user is within. ConfigurationError if it cannot be
        opened."""
        if not self.audit.is_kept:
            yield
            return
        if not self._users:
            self._turn = asyncio.Lock()  # of the event loop that serves now
        self._users += 1
        try:
            async with self._turn:
                if self._stack is None:
                    await self._begin()
            yield
        finally:
            self._users -= 1
            if not self._users:
                await self._end()

    async def _begin(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            log = await stack.enter_async_context(self._opened())
            self._stack, self.log = stack.pop_all(), log

    async def _end(self) -> None:
        stack, self._stack = self._stack, None
        if stack is None:
            return
        self._write_due(self.clock(), all=True)
        self.log = self._memory
        await stack.aclose()

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Log]:
        async with contextlib.AsyncExitStack() as stack:
            try:
                log = await stack.enter_async_context(_store(self.audit.to))
            except ConfigurationError as error:
                if self.audit.is_default:
                    raise ConfigurationError.of(self._unavailable, problem=fact_of(error, is_clause=False)) from error
                raise
            if place := self.audit.seal_place:
                from tooltrue.state import seal  # noqa: PLC0415 - only some settings need a store

                await stack.enter_async_context(seal.sealing(log, place, of=seal.name_of(self.audit.to or "memory:")))
            yield log

    # --- before an operation ---

    async def wait(self) -> None:
        """Wait until the log has written its backlog: calls may be faster than a disk, and no record may be left
        out."""
        if not self.log.failing:
            with contextlib.suppress(StateError):  # a failed write is reported, and `must_prove` takes it into account
                await self.log.head()

    def must_prove(self, effect: Effect) -> bool:
        """Return whether an operation of this effect runs only once a record of it is durable."""
        if effect == "destructive":
            return True
        if not self.log.failing or self.audit.on_failure == "go on":
            return False
        return effect != "read" or self.audit.on_failure == "refuse"

    async def prove(self, record: Record) -> None:
        """Write the write-ahead record of an operation. ``ToolError`` if that fails: then it must not run."""
        record.trail.write_ahead_id = secrets.token_hex(8)
        try:
            await self.log.append(self._intent(record))
        except StateError as error:
            _log.error("%s was refused: it cannot be recorded: %s", record.said_subject(), error)
            raise ToolError.of(AUDIT_RECORD_NOT_WRITTEN, subject=record.source.subject) from None

    def note_task(self, record: Record, id: str) -> None:
        """Write a record of a call that another server runs as the task ``id`` from now on, unless it has one already.
        It and the record of the end have a note with the beginning of the id."""
        trail = record.trail
        trail.note(f"task {id[:8]}")
        if not trail.write_ahead_id:
            trail.write_ahead_id = secrets.token_hex(8)
            self.log.note(self._intent(replaced(record, trail=replaced(trail))))

    def _intent(self, record: Record) -> Record:
        return replaced(record, source=replaced(record.source, kind="intent"), outcome="", at=self.clock())

    # --- after it ---

    def note_outcome(self, record: Record) -> None:
        """Write the record of an operation that has ended, now or with others."""
        if record.rounds:
            record = self._open_questions.continued(record)
        if record.outcome == "refused":
            self._write_due(self.clock())
            # A pause of the caller is always written: it is the outcome of the refusals that are only counted.
            if not record.trail.paused and self._counted.is_one_too_many(record, self.clock()):
                self._look_again()
                return
        self.log.note(record)

    def note_question(self, record: Record) -> None:
        """Keep the record of an operation that continues with another round."""
        if record.rounds:
            record = self._open_questions.continued(record)
        for unanswered in self._open_questions.keep(record):
            self.log.note(unanswered)
        self._look_again()

    def _look_again(self) -> None:
        """Schedule a write of due records in a minute, in case no operation comes before."""
        now = self.clock()
        if now < self._next:
            return
        self._next = now + _MINUTE
        with contextlib.suppress(RuntimeError):  # without a running loop there is no timer
            asyncio.get_running_loop().call_later(_MINUTE, self._tick)

    def _tick(self) -> None:
        self._next = 0.0
        self._write_due(self.clock())
        if self._counted or self._open_questions:
            self._look_again()

    def _write_due(self, now: float, *, all: bool = False) -> None:
        for refusals in self._counted.due(now, all=all):
            self.log.note(replaced(refusals, instance=self.instance))
        for record in self._open_questions.due(now, all=all):
            self.log.note(record)


def _store(to: str | Log | None) -> AbstractAsyncContextManager[Log]:
    if isinstance(to, str):
        from tooltrue.state.urls import open_log  # noqa: PLC0415 - only some settings need a store

        return open_log(to)
    if hasattr(to, "__aenter__"):
        return cast("AbstractAsyncContextManager[Log]", to)
    return contextlib.nullcontext(cast("Log", to))
