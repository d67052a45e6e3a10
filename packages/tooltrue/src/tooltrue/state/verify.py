"""Verification of a log against tampering. Separate from ``log``, so that writers do not pay for the import.

A batch has one hash. If its content does not match it, the checksums of its records name those that were changed,
removed or put in. A change of both is a fault of the batch as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal
from zlib import crc32

from tooltrue.state.log import LARGEST_BATCH, ORIGIN, Batch, Entry, Log, Mark, fits

__all__ = ["Fault", "VerifyReport", "verify"]

PAGE = 500
MAX_FAULTS = 100

Kind = Literal["edited", "batch", "inserted", "missing", "unlinked", "rewritten", "cut", "unsigned", "outside"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A change at ``position`` that no writer made.

    ``edited``     the entry does not match its own hash: changed, or moved here from another position
    ``batch``      the records from ``position`` to ``end``, a batch, do not match their hash, though each may match its
                   own checksum: at least one was changed, or all were moved here
    ``inserted``   a record that its batch does not have was put in before this one
    ``missing``    entries before this one are missing
    ``unlinked``   the entry does not follow the previous one, which was replaced
    ``rewritten``  the entry matches its chain but not the stored mark
    ``cut``        the entry of the stored mark is missing
    ``outside``    the position is below 1, where no writer puts an entry and no reader looks
    ``unsigned``   the log begins here, and none of its records confirms that with our signature
    """

    position: int
    kind: Kind
    end: int = 0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of ``verify``: the number of entries, the mark of the last one, and the first hundred faults."""

    entries: int
    head: Mark
    faults: tuple[Fault, ...]


async def verify(
    log: Log,
    *,
    since: Mark = ORIGIN,
    head: Mark | None = None,
    marks: Iterable[Mark] = (),
    on_entry: Callable[[Entry], None] | None = None,
) -> VerifyReport:
    """Check every entry after ``since``, which is trusted, to the end of the log.

    ``head``, and each of ``marks``, is a mark stored earlier: its entry must still be there, unchanged. ``on_entry`` is
    called with every entry.
    """
    check = _Check(since, [*marks, *([] if head is None else [head])])
    after = since.position
    while page := await log.read(after, PAGE):
        after = page[-1].position
        for entry in page:
            check.see(entry)
            if on_entry is not None:
                on_entry(entry)
    return check.report()


class _Check:
    """One pass over a log. A fault is reported at its position; the check continues from the entry as it stands."""

    def __init__(self, since: Mark, marks: Iterable[Mark]) -> None:
        self.last = since
        self._batch: Batch | None = None
        self._entries = 0
        self._marks: dict[int, set[str]] = {}
        for mark in marks:
            if mark not in (ORIGIN, since):
                self._marks.setdefault(mark.position, set()).add(mark.hash)
        self._faults: list[Fault] = []

    def see(self, entry: Entry) -> None:
        self._entries += 1
        if entry.batch is None:
            self._check(entry, entry.position, (Fault(entry.position, "edited"),))
        elif self._batch is None or entry.batch.position != self._batch.position:  # once for all of its entries
            self._batch = entry.batch
            self._check(entry.batch, entry.batch.first, _faults_in(entry.batch))

    def _check(self, item: Entry | Batch, first: int, edits: Iterable[Fault]) -> None:
        if not fits(item):
            self._add(edits)
        elif first != self.last.position + 1:
            self._fault(first, "missing")
        elif item.previous != self.last.hash:
            self._fault(first, "unlinked")
        self._compare(item.mark, first)
        self.last = item.mark

    def report(self) -> VerifyReport:
        for position in sorted(self._marks):
            self._fault(position, "cut")
        return VerifyReport(self._entries, self.last, tuple(self._faults))

    def _compare(self, mark: Mark, first: int) -> None:
        if not self._marks:
            return
        for position in [position for position in self._marks if first <= position < mark.position]:
            del self._marks[position]
            self._fault(position, "rewritten")  # there was an end of a batch, and is none now
        if self._marks.pop(mark.position, {mark.hash}) != {mark.hash}:
            self._fault(mark.position, "rewritten")

    def _fault(self, position: int, kind: Kind) -> None:
        self._add((Fault(position, kind),))

    def _add(self, faults: Iterable[Fault]) -> None:
        self._faults += islice(faults, MAX_FAULTS - len(self._faults))


def _faults_in(batch: Batch) -> Iterator[Fault]:
    """Yield the faults of a batch that does not match its hash."""
    expected = [batch.checksums[start : start + 8] for start in range(0, len(batch.checksums), 8)]
    present = [f"{crc32(line.encode()):08x}" for line in batch.text.split("\n")]
    is_known = len(expected) == batch.position - batch.first + 1 and expected != present
    # No writer makes more, and a comparison of many equal ones would take as long as the party that wrote them likes.
    if not is_known or max(len(expected), len(present)) > 2 * LARGEST_BATCH:
        yield Fault(batch.first, "batch", batch.position)
        return
    if sorted(expected) == sorted(present):  # another order
        for index, checksums in enumerate(zip(expected, present, strict=True)):
            if checksums[0] != checksums[1]:
                yield Fault(batch.first + index, "edited")
        return
    for kind, start, end, other_start, other_end in SequenceMatcher(
        None, expected, present, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            yield from _changes(batch.first + start, end - start, other_end - other_start)


def _changes(first: int, expected: int, present: int) -> Iterator[Fault]:
    """Yield the faults of ``expected`` records from ``first`` on, in whose place stand ``present`` others."""
    for position in range(first, first + min(expected, present)):
        yield Fault(position, "edited")
    if expected != present:
        yield Fault(first + expected, "missing" if expected > present else "inserted")
