"""A log that a thread writes to a database: a record costs the event loop one append to a queue.

Queued notes form one job: on the thread they are serialized together, and inserted as one batch with one hash and one
row, or a few if many wait. An appended record is a row of its own, as all records were in earlier releases; both kinds
of rows stand in one table and one chain.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby, islice
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

from tooltrue.errors import StateError
from tooltrue.state.log import (
    LARGEST_BATCH,
    Batch,
    DraftRecord,
    Entry,
    Mark,
    batched,
    encoded,
    linked,
    text_of,
    writer_id,
)
from tooltrue.state.store_thread import StoreThread
from tooltrue.state.wording import STORE_QUEUE_FULL

__all__ = ["COLUMNS", "LogTable", "Row", "ThreadLog"]

logger = logging.getLogger("tooltrue.state")

ConnectionT = TypeVar("ConnectionT")
AnyConnectionT = TypeVar("AnyConnectionT", contravariant=True)


COLUMNS = (
    "position",
    "writer",
    "record",
    "previous",
    "hash",
    "first_position",
    "first_time",
    "last_time",
    "checksums",
    "counts",
)
"""The columns of a log's table. Rows of a single record have NULL in the last five, which earlier releases lack."""

Row: TypeAlias = tuple[int, str, str, str, str, int | None, str | None, str | None, str | None, str | None]


class LogTable(Protocol[AnyConnectionT]):
    """The log in a database. All methods run on the thread, in a transaction that excludes other writers."""

    def head(self, db: AnyConnectionT, /) -> Mark: ...

    def insert(self, db: AnyConnectionT, rows: Sequence[Row], /) -> None: ...

    def rows(self, db: AnyConnectionT, after: int, /) -> Iterator[Row]:
        """The rows that end after this position, in order, fetched as they are used."""
        ...

    def forget(self, db: AnyConnectionT, last: int, /) -> None:
        """Delete the rows that end at or before position ``last``."""
        ...


def _row(item: Entry | Batch) -> Row:
    return item if isinstance(item, Batch) else (*item[:5], None, None, None, None, None)


def _item(row: Row) -> Entry | Batch:
    single, (first, began, ended, checksums, counts) = row[:5], row[5:]
    if first is None:
        return Entry(*single)
    return Batch(*single, first, began or "", ended or "", checksums or "", counts or "")


def _entries(row: Row) -> list[Entry]:
    item = _item(row)
    return item.entries() if isinstance(item, Batch) else [item]


def _counts(notes: Sequence[str | DraftRecord]) -> str:
    """The counts of notes of one class; empty for notes of several."""
    kind, *others = {*map(type, notes)}
    return kind.counts(notes) if issubclass(kind, DraftRecord) and not others else ""


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
        self._half = capacity // 2
        self._waiting: deque[str | DraftRecord] = deque()
        self._is_posted = False

    @property
    def behind(self) -> bool:
        return len(self._waiting) > self._half

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
        batch = _QueuedNotes(self._take)
        try:
            self._thread.post(partial(self._write, batch), partial(self._noted, batch))
        except StateError as error:
            self._is_posted = False
            self._lose(len(batch.notes()), error)

    async def read(self, after: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        return await self._thread.run(partial(self._read, after, limit), writes=False)

    async def read_rows(self, after: int, limit: int) -> tuple[Entry | Batch, ...]:
        """Rows after position ``after``, with ``limit`` records or a few more: for who needs the texts of many records,
        and not each of them. Of a batch that goes on behind ``after``, the later records are single entries."""
        return await self._thread.run(partial(self._read_rows, after, limit), writes=False)

    async def head(self) -> Mark:
        return await self._thread.run(self._table.head, writes=False)

    async def forget(self, last: int) -> None:
        """Delete all entries up to position ``last``, except those of a batch that goes on behind it."""
        await self._thread.run(lambda db: self._table.forget(db, last))

    # The jobs: on the thread, in a transaction.

    def _append(self, text: str, db: ConnectionT) -> int:
        # Read again for each group: other processes append too, and the lock holds from here to the commit.
        entries = linked((text,), self._writer, self._table.head(db))
        self._table.insert(db, [*map(_row, entries)])
        return entries[0].position

    def _write(self, batch: _QueuedNotes, db: ConnectionT) -> int:
        """Write the queued notes; return the number that could not be serialized."""
        notes, head, rows = batch.notes(), self._table.head(db), list[Row]()
        count = 0
        for start in range(0, len(notes), LARGEST_BATCH):
            of_batch = notes[start : start + LARGEST_BATCH]
            lines, times = self._encoded(of_batch)
            if lines:
                counts = _counts(of_batch) if len(lines) == len(of_batch) > 1 else ""
                item = batched(lines, times, self._writer, head, counts)
                head, count = item.mark, count + len(lines)
                rows.append(_row(item))
        self._table.insert(db, rows)
        return len(notes) - count

    def _encoded(self, notes: Sequence[str | DraftRecord]) -> tuple[list[bytes], list[float]]:
        """The canonical JSON of those that can be serialized, and their times."""
        lines, times = list[bytes](), list[float]()
        for kind, group in groupby(notes, type):
            if issubclass(kind, DraftRecord):
                drafts: list[Any] = [*group]
                own_times = kind.times(drafts)
                lines += self._lines(kind, drafts, own_times)
                times += own_times
            else:
                lines += map(encoded, group)
        return lines, times

    def _lines(self, kind: type[DraftRecord], drafts: Sequence[DraftRecord], times: Sequence[float]) -> list[bytes]:
        try:
            return kind.encode_all(drafts, times)
        except Exception:  # noqa: BLE001 - one bad draft must not affect the others
            return [line for draft in drafts if (line := self._line(draft)) is not None]

    def _line(self, draft: DraftRecord) -> bytes | None:
        try:
            return encoded(draft)
        except Exception:
            logger.exception("A record of %s is no JSON", self._place)
            return None

    def _read(self, after: int, limit: int, db: ConnectionT) -> tuple[Entry, ...]:
        entries = list[Entry]()
        for row in self._table.rows(db, after):
            of_row = _entries(row)
            if of_row[0].position <= after:  # a batch goes on behind it
                of_row = [entry for entry in of_row if entry.position > after]
            entries += of_row
            if len(entries) >= limit:
                break
        return tuple(entries[:limit])

    def _read_rows(self, after: int, limit: int, db: ConnectionT) -> tuple[Entry | Batch, ...]:
        rows, count = list[Entry | Batch](), 0
        for row in self._table.rows(db, after):
            item = _item(row)
            if isinstance(item, Batch) and item.first <= after:
                later = [entry for entry in item.entries() if entry.position > after]
                rows += later
                count += len(later)
            else:
                rows.append(item)
                count += item.position - item.first + 1 if isinstance(item, Batch) else 1
            if count >= limit:
                break
        return tuple(rows)

    def _take(self) -> list[str | DraftRecord]:
        """Empty the queue for good. The caller must keep the notes in case they have to be written again."""
        self._is_posted = False
        return [*islice(iter(self._waiting.popleft, None), len(self._waiting))]

    # Back on the event loop.

    def _noted(self, batch: _QueuedNotes, unsayable: int | None, error: Exception | None) -> None:
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


class _QueuedNotes:
    """The notes of one job. They are taken on its first run, and are the same if it runs again."""

    def __init__(self, take: Callable[[], list[str | DraftRecord]]) -> None:
        self.notes = cache(take)
