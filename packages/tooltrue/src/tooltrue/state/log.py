"""The log: append-only records.

Each entry's hash covers the previous hash, so that a changed, removed, inserted or reordered entry breaks the chain,
and ``verify``, in the module of that name, locates the break. All writers of a log share one chain, and every entry
names its writer: authorship and order cannot be changed either. The log has no clock; the order is that of positions,
whatever times the records hold.

A chain cannot reveal that its end was cut off or that all of it was rewritten. To detect that, store a ``Mark``
elsewhere (``await log.head()``) and pass it to ``verify``.

The hash of an entry is the SHA-256 of its canonical JSON without ``hash``:
``{"position":7,"previous":"…","record":{…},"writer":"…"}`` with sorted keys, no spaces, and ASCII only.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

__all__ = ["LOWEST", "ORIGIN", "DraftRecord", "Entry", "Log", "Mark", "MemoryLog"]

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class Mark(NamedTuple):
    """A point in a log that can be stored elsewhere: the entry at ``position`` has ``hash``."""

    position: int
    hash: str


ORIGIN = Mark(0, "0" * 64)
"""The mark before the first entry."""

LOWEST = -(2**63) - 1
"""A position below any that a store can hold: reading from here includes entries below position 1."""


class Entry(NamedTuple):
    """One record in the log. ``text`` is its exact JSON."""

    position: int
    writer: str
    text: str
    previous: str
    hash: str

    @property
    def record(self) -> dict[str, Any]:
        """The decoded record. Raises ValueError if the text was damaged; ``verify`` reports such an entry."""
        return json.loads(self.text)

    @property
    def mark(self) -> Mark:
        return Mark(self.position, self.hash)


class DraftRecord:
    """A record that is serialized when it is written, perhaps on another thread; the values it refers to must not
    change any more. ``text`` is its canonical JSON."""

    __slots__ = ()

    def text(self) -> str:
        raise NotImplementedError


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


def fits(entry: Entry) -> bool:
    """Whether an entry has the hash that its content requires."""
    (again,) = linked((entry.text,), entry.writer, Mark(entry.position - 1, entry.previous))
    return entry.hash == again.hash


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
