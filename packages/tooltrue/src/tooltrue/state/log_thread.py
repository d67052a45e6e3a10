"""A log that a thread writes to a database: a record costs the event loop one append to a queue.

Queued notes form one job: they are serialized, linked and inserted on the thread, with a few statements.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from tooltrue.errors import StateError
from tooltrue.state.log import DraftRecord, Entry, Mark, linked, text_of, writer_id
from tooltrue.state.store_thread import StoreThread
from tooltrue.state.wording import STORE_QUEUE_FULL

__all__ = ["LogTable", "ThreadLog"]

logger = logging.getLogger("tooltrue.state")

ConnectionT = TypeVar("ConnectionT")
AnyConnectionT = TypeVar("AnyConnectionT", contravariant=True)


class LogTable(Protocol[AnyConnectionT]):
    """The log in a database. All methods run on the thread, in a transaction that excludes other writers."""

    def head(self, db: AnyConnectionT, /) -> Mark: ...

    def insert(self, db: AnyConnectionT, entries: Sequence[Entry], /) -> None: ...

    def read(self, db: AnyConnectionT, after: int, limit: int, /) -> tuple[Entry, ...]: ...

    def forget(self, db: AnyConnectionT, last: int, /) -> None: ...


class ThreadLog(Generic[ConnectionT]):
    """``lost`` counts the notes that could not be written. The first loss in a series is reported at once, the total
    when writing works again or the log is closed. At most ``capacity`` notes are queued."""

    def __init__(
        self,
        place: str,
        thread: StoreThread[ConnectionT],
        table: LogTable[ConnectionT],
        writer: str | None,
        capacity: int,
    ) -> None:
        self.lost = 0
        self.failing = False
        self._place = place
        self._thread = thread
        self._table = table
        self._writer = writer or writer_id()
        self._capacity = capacity
        self._waiting: deque[str | DraftRecord] = deque()
        self._is_posted = False

    @property
    def behind(self) -> bool:
        return len(self._waiting) * 2 > self._capacity

    async def __aenter__(self) -> Self:
        await self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._thread.close()
        self._report_losses()

    async def append(self, record: Mapping[str, Any] | DraftRecord) -> int:
        position = await self._thread.run(partial(self._append, text_of(record)))
        self._report_losses()
        return position

    def note(self, record: Mapping[str, Any] | DraftRecord) -> None:
        # A mapping may change after the return, a draft does not.
        note = record if isinstance(record, DraftRecord) else text_of(record)
        waiting = self._waiting
        if len(waiting) >= self._capacity:
            self._lose(1, StateError.of(STORE_QUEUE_FULL, path=self._place, limit=self._capacity))
            return
        waiting.append(note)
        # In this order: the thread resets `_is_posted` before it empties the queue, so that no note is left behind.
        if not self._is_posted:
            self._post()

    def _post(self) -> None:
        self._is_posted = True
        batch = _Batch(self._take)
        try:
            self._thread.post(partial(self._write, batch), partial(self._noted, batch))
        except StateError as error:
            self._is_posted = False
            self._lose(len(batch.notes()), error)

    async def read(self, after: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        return await self._thread.run(lambda db: self._table.read(db, after, limit), writes=False)

    async def head(self) -> Mark:
        return await self._thread.run(self._table.head, writes=False)

    async def forget(self, last: int) -> None:
        """Delete all entries up to position ``last``."""
        await self._thread.run(lambda db: self._table.forget(db, last))

    # The jobs: on the thread, in a transaction.

    def _append(self, text: str, db: ConnectionT) -> int:
        # Read again for each group: other processes append too, and the lock holds from here to the commit.
        entries = linked((text,), self._writer, self._table.head(db))
        self._table.insert(db, entries)
        return entries[0].position

    def _write(self, batch: _Batch, db: ConnectionT) -> int:
        """Write the queued notes; return the number that could not be serialized."""
        texts: list[str] = []
        for note in batch.notes():
            try:
                texts.append(note if isinstance(note, str) else note.text())
            except Exception:  # one bad draft must not affect the others
                logger.exception("A record of %s is no JSON", self._place)
        self._table.insert(db, linked(texts, self._writer, self._table.head(db)))
        return len(batch.notes()) - len(texts)

    def _take(self) -> list[str | DraftRecord]:
        """Empty the queue for good. The caller must keep the notes in case they have to be written again."""
        self._is_posted = False
        notes: list[str | DraftRecord] = []
        while self._waiting:
            notes.append(self._waiting.popleft())
        return notes

    # Back on the event loop.

    def _noted(self, batch: _Batch, unsayable: int | None, error: Exception | None) -> None:
        if error is not None:
            self._lose(len(batch.notes()), error)
        elif unsayable:
            self.lost += unsayable
        else:
            self._report_losses()

    def _lose(self, count: int, error: Exception) -> None:
        self.lost += count
        # Once in a series: a full disk must not fill the operator's terminal too.
        if not self.failing:
            self.failing = True
            logger.error("Records of %s are being lost: %s", self._place, error)

    def _report_losses(self) -> None:
        if self.failing:
            self.failing = False
            logger.error("%s lost %d records since it was opened", self._place, self.lost)


class _Batch:
    """The notes of one job. They are taken on its first run, and are the same if it runs again."""

    def __init__(self, take: Callable[[], list[str | DraftRecord]]) -> None:
        self.notes = cache(take)
