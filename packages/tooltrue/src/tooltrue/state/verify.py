"""Verification of a log against tampering. Separate from ``log``, so that writers do not pay for the import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from tooltrue.state.log import ORIGIN, Entry, Log, Mark, fits

__all__ = ["Fault", "VerifyReport", "verify"]

PAGE = 500
MAX_FAULTS = 100

Kind = Literal["edited", "missing", "unlinked", "rewritten", "cut", "unsigned", "outside"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A change at ``position`` that no writer made.

    ``edited``     the entry does not match its own hash: changed, or moved here from another position
    ``missing``    entries before this one are missing
    ``unlinked``   the entry does not follow the previous one, which was replaced
    ``rewritten``  the entry matches its chain but not the stored mark
    ``cut``        the entry of the stored mark is missing
    ``outside``    the position is below 1, where no writer puts an entry and no reader looks
    ``unsigned``   the log begins here, and none of its records confirms that with our signature
    """

    position: int
    kind: Kind


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
    while page := await log.read(check.last.position, PAGE):
        for entry in page:
            check.see(entry)
            if on_entry is not None:
                on_entry(entry)
    return check.report()


class _Check:
    """One pass over a log. A fault is reported at its position; the check continues from the entry as it stands."""

    def __init__(self, since: Mark, marks: Iterable[Mark]) -> None:
        self.last = since
        self._entries = 0
        self._marks: dict[int, set[str]] = {}
        for mark in marks:
            if mark not in (ORIGIN, since):
                self._marks.setdefault(mark.position, set()).add(mark.hash)
        self._faults: list[Fault] = []

    def see(self, entry: Entry) -> None:
        if not fits(entry):
            self._fault(entry.position, "edited")
        elif entry.position != self.last.position + 1:
            self._fault(entry.position, "missing")
        elif entry.previous != self.last.hash:
            self._fault(entry.position, "unlinked")
        self._compare(entry.mark)
        self.last = entry.mark
        self._entries += 1

    def report(self) -> VerifyReport:
        for position in sorted(self._marks):
            self._fault(position, "cut")
        return VerifyReport(self._entries, self.last, tuple(self._faults))

    def _compare(self, mark: Mark) -> None:
        if self._marks and self._marks.pop(mark.position, {mark.hash}) != {mark.hash}:
            self._fault(mark.position, "rewritten")

    def _fault(self, position: int, kind: Kind) -> None:
        if len(self._faults) < MAX_FAULTS:
            self._faults.append(Fault(position, kind))
