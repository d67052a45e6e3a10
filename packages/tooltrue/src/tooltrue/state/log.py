"""The log: append-only records.

Records are written one by one or in batches, which share one hash. Each hash covers the previous hash, so that a
changed, removed, inserted or reordered record breaks the chain, and ``verify``, in the module of that name, locates the
break. All writers of a log share one chain, and every entry names its writer: authorship and order cannot be changed
either. The log has no clock; the order is that of positions, whatever times the records hold.

A chain cannot reveal that its end was cut off or that all of it was rewritten. To detect that, store a ``Mark``
elsewhere (``await log.head()``) and pass it to ``verify``.

The hash of a single record is the SHA-256 of its canonical JSON without ``hash``:
``{"position":7,"previous":"…","record":{…},"writer":"…"}`` with sorted keys, no spaces, and ASCII only. The hash of a
batch is the SHA-256 of a header in canonical JSON, a line end, and its records in canonical JSON with line ends between
them. The header is ``{"began":"…","checksums":"…","ended":"…","first":7,"last":9,"previous":"…","writer":"…"}``:
``began`` and ``ended`` are the earliest and the latest time of its records, and ``checksums`` has eight hexadecimal
digits per record, its CRC-32. The checksums prove nothing; they locate a change that the hash has revealed. The counts
of a batch that has some stand behind them in the header, as ``"counts":"…"``.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from zlib import crc32

__all__ = ["LARGEST_BATCH", "LOWEST", "ORIGIN", "Batch", "DraftRecord", "Entry", "Log", "Mark", "MemoryLog", "exported"]

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class Mark(NamedTuple):
    """A point in a log that can be stored elsewhere: the entry or the batch that ends at ``position`` has ``hash``."""

    position: int
    hash: str


ORIGIN = Mark(0, "0" * 64)
"""The mark before the first entry."""

LOWEST = -(2**63) - 1
"""A position below any that a store can hold: reading from here includes entries below position 1."""


LARGEST_BATCH = 500
"""Records per batch: reading one of them reads all."""


class Batch(NamedTuple):
    """Records that were written together. ``text`` is their exact JSON, one record per line; ``first`` and ``position``
    are the positions of the first and the last, ``began`` and ``ended`` their earliest and latest time, empty if they
    have none. ``counts`` are those of its writer (:meth:`DraftRecord.counts`), empty if there are none."""

    position: int
    writer: str
    text: str
    previous: str
    hash: str
    first: int
    began: str
    ended: str
    checksums: str
    counts: str = ""

    @property
    def mark(self) -> Mark:
        return Mark(self.position, self.hash)

    def entries(self) -> list[Entry]:
        """Its records. They are counted from the end, so that no position is invented if some were removed."""
        lines = self.text.split("\n")
        start = self.position - len(lines) + 1
        _, writer, _, previous, hash, *_ = self
        make = Entry._make  # in half the time of `Entry(...)`: a page has hundreds of them
        return [make((position, writer, line, previous, hash, self)) for position, line in enumerate(lines, start)]


class Entry(NamedTuple):
    """One record in the log. ``text`` is its exact JSON. Records of a ``batch`` have the hashes of their batch."""

    position: int
    writer: str
    text: str
    previous: str
    hash: str
    batch: Batch | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The decoded record. Raises ValueError if the text was damaged; ``verify`` reports such an entry."""
        return json.loads(self.text)

    @property
    def mark(self) -> Mark:
        """The point in the log up to which the hash of this record reaches: for one of a batch, the end of that."""
        return Mark(self.position, self.hash) if self.batch is None else self.batch.mark


class DraftRecord:
    """A record that is serialized when it is written, perhaps on another thread; the values it refers to must not
    change any more. ``text`` is its canonical JSON."""

    __slots__ = ()

    def text(self) -> str:
        raise NotImplementedError

    @classmethod
    def encode_all(cls, records: Sequence[Any], times: Sequence[float]) -> list[bytes]:
        """Return the canonical JSON of each of ``records``, which are of this class and have these ``times``. Override
        it if many at once are cheaper."""
        return [encoded(record) for record in records]

    @classmethod
    def times(cls, records: Sequence[Any]) -> Sequence[float]:
        """Return the times of ``records``, which are of this class, if they have any."""
        return ()

    @classmethod
    def counts(cls, records: Sequence[Any]) -> str:
        """Return the counts of ``records``, which are of this class, for readers that need no single one; an empty text
        if each must be read. They are a part of the batch and of its hash."""
        return ""


class Log(Protocol):
    """Records in the order of arrival, numbered 1, 2, 3 … without a gap, across all writers.

    ``failing``: the most recent notes could not be written, so that new ones may be lost too. ``lost`` is the number of
    records lost since the log was opened.
    """

    failing: bool
    lost: int

    @property
    def behind(self) -> bool:
        """Whether so many notes are queued that writers should wait; :meth:`head` returns after them."""
        ...

    async def append(self, record: Mapping[str, Any] | DraftRecord) -> int:
        """Write ``record`` and return its position once it survives a crash of the process and the machine.

        Raises StateError if it could not be written: it is not in the log, and the action that depends on it must not
        run. Raises TypeError or ValueError if it is not JSON.
        """
        ...

    def note(self, record: Mapping[str, Any] | DraftRecord) -> None:
        """Write ``record`` soon, without waiting; a crash may lose it, closing the log does not.

        Raises TypeError or ValueError for a mapping as ``append`` does, but no errors of the store: records that cannot
        be written are counted and reported to the operator.
        """
        ...

    async def read(self, after: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        """Up to ``limit`` entries after position ``after``, including this writer's notes; () at the end."""
        ...

    async def head(self) -> Mark:
        """The mark of the last entry; ``ORIGIN`` while the log is empty."""
        ...


def canonical(record: Mapping[str, Any]) -> str:
    """``record`` as canonical JSON. Raises TypeError or ValueError if it is not JSON."""
    return _canonical(dict(record))


def text_of(record: Mapping[str, Any] | DraftRecord | str) -> str:
    """The canonical JSON of ``record``. A string is taken to be canonical already."""
    if isinstance(record, str):
        return record
    return record.text() if isinstance(record, DraftRecord) else canonical(record)


def linked(texts: Iterable[str], writer: str, head: Mark) -> list[Entry]:
    """The entries for ``texts``, created by ``canonical``, chained to ``head``."""
    # The writer is escaped again, so that no other split of the same bytes into text and writer gives the same hash.
    (position, previous), quoted, entries = head, _canonical(writer), list[Entry]()
    for text in texts:
        position += 1
        whole = f'{{"position":{position},"previous":"{previous}","record":{text},"writer":{quoted}}}'
        hash = hashlib.sha256(whole.encode()).hexdigest()
        entries.append(Entry(position, writer, text, previous, hash))
        previous = hash
    return entries


def batched(lines: Sequence[bytes], times: Sequence[float], writer: str, head: Mark, counts: str = "") -> Entry | Batch:
    """The entry or the batch for records in canonical JSON, at least one, that is chained to ``head``."""
    if len(lines) == 1:
        return linked((lines[0].decode(),), writer, head)[0]
    began, ended = (timestamp(min(times)), timestamp(max(times))) if times else ("", "")
    checksums = struct.pack(f">{len(lines)}I", *map(crc32, lines)).hex()
    text, first, last = b"\n".join(lines), head.position + 1, head.position + len(lines)
    batch = Batch(last, writer, text.decode(), head.hash, "", first, began, ended, checksums, counts)
    return batch._replace(hash=_batch_hash(batch, text))


def _batch_hash(batch: Batch, text: bytes) -> str:
    # Each text is escaped, so that no other split of the same bytes gives the same hash.
    began, ended, previous = _canonical(batch.began), _canonical(batch.ended), _canonical(batch.previous)
    counts = f'"counts":{_canonical(batch.counts)},' if batch.counts else ""
    digest = hashlib.sha256(
        f'{{"began":{began},"checksums":{_canonical(batch.checksums)},{counts}"ended":{ended},"first":{batch.first},'
        f'"last":{batch.position},"previous":{previous},"writer":{_canonical(batch.writer)}}}\n'.encode()
    )
    digest.update(text)
    return digest.hexdigest()


def timestamp(seconds: float) -> str:
    """The time in the form of RFC 3339, with microseconds unless they are zero."""
    second = int(seconds)
    microseconds = round((seconds - second) * 1e6)
    if not 0 < microseconds < 1_000_000:
        second, microseconds = second + microseconds // 1_000_000, microseconds % 1_000_000
        if not microseconds:
            return f"{_second(second)}Z"
    # Cheaper than a number format: each record of a call has one.
    return f"{_second(second)}.{str(1_000_000 + microseconds)[1:]}Z"


@lru_cache(4)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19]


def encoded(record: DraftRecord | str) -> bytes:
    """The canonical JSON of a record as one line. A string is taken to be canonical already."""
    # Canonical JSON has no line ends. Where a record breaks that rule they are white space, and would split it here.
    return text_of(record).replace("\n", " ").encode()


def fits(item: Entry | Batch) -> bool:
    """Whether a single entry or a batch has the hash that its content requires."""
    if isinstance(item, Batch):
        is_counted = item.position - item.first == item.text.count("\n")
        return is_counted and item.hash == _batch_hash(item, item.text.encode())
    (again,) = linked((item.text,), item.writer, Mark(item.position - 1, item.previous))
    return item.hash == again.hash


def exported(entry: Entry) -> str:
    """Return an entry as a line of JSON: the fields that are hashed, and the hash. The hash of a batch needs all its
    lines."""
    rest = f'"position":{entry.position},"previous":"{entry.previous}","record":{entry.text}'
    return f'{{{_batch_member(entry)}"hash":"{entry.hash}",{rest},"writer":{json.dumps(entry.writer)}}}'


def _batch_member(entry: Entry) -> str:
    if (batch := entry.batch) is None:
        return ""
    facts = {"began": batch.began, "ended": batch.ended, "first": batch.first, "last": batch.position}
    return f'"batch":{json.dumps(facts, separators=(",", ":"))},'


def writer_id() -> str:
    """A random name for one writer, valid from opening the log to closing it."""
    return os.urandom(6).hex()


class MemoryLog:
    """A log that ends with its process. It keeps at least the last ``keep`` entries.

    ``base`` is the mark of the last entry dropped: ``verify(log, since=log.base)`` checks the remaining ones.
    """

    failing = False
    lost = 0
    behind = False

    def __init__(self, keep: int = 10_000, *, writer: str | None = None) -> None:
        self._keep = keep
        self._writer = writer or writer_id()
        self._base = ORIGIN
        self._entries: list[Entry] = []
        self._waiting: list[str | DraftRecord] = []  # linked on access

    @property
    def base(self) -> Mark:
        self._link()
        return self._base

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No-op: there are no resources to release."""

    async def append(self, record: Mapping[str, Any] | DraftRecord) -> int:
        self._waiting.append(text_of(record))
        self._link()
        return self._head().position

    def note(self, record: Mapping[str, Any] | DraftRecord) -> None:
        self._waiting.append(record if isinstance(record, DraftRecord) else text_of(record))
        if len(self._waiting) >= self._keep:
            self._link()

    async def read(self, after: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        self._link()
        start = max(0, after - self._base.position)
        return tuple(self._entries[start : start + limit])

    async def head(self) -> Mark:
        self._link()
        return self._head()

    async def forget(self, last: int) -> None:
        """Delete all entries up to position ``last``."""
        self._link()
        self._forget(min(max(0, last - self._base.position), len(self._entries)))

    def _head(self) -> Mark:
        return self._entries[-1].mark if self._entries else self._base

    def _link(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._entries += linked(map(text_of, waiting), self._writer, self._head())
        # At twice the size, not at each record: dropping the first item of a list moves all others.
        if len(self._entries) >= 2 * self._keep:
            self._forget(len(self._entries) - self._keep)

    def _forget(self, count: int) -> None:
        if count:
            self._base = self._entries[count - 1].mark
            del self._entries[:count]
