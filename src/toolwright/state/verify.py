"""Whether a log is still what its writers wrote. Apart from ``log``, for whoever only writes does not pay for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from toolwright.state.log import ORIGIN, Entry, Log, Mark, fits

__all__ = ["Fault", "Report", "verify"]

PAGE = 500
MAX_FAULTS = 100

Kind = Literal["edited", "missing", "unlinked", "rewritten", "cut", "unsigned", "outside"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something at ``position`` that no writer did.

    ``edited``     the entry does not fit its own hash: changed, or moved here from another position
    ``missing``    entries before this one are not there
    ``unlinked``   the entry does not follow the one before it, which was replaced
    ``rewritten``  the entry fits its chain but not the mark that was kept
    ``cut``        the entry of the mark that was kept is not there
    ``outside``    the position is below 1, where no writer puts an entry and no reader looks
    ``unsigned``   the log begins here, and no record that it holds says so with our signature
    """

    position: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Report:
    """What ``verify`` saw: how many entries, the last one's mark, and the first faults, at most a hundred."""

    entries: int
    head: Mark
    faults: tuple[Fault, ...]


async def verify(
    log: Log,
    *,
    since: Mark = ORIGIN,
    head: Mark | None = None,
    kept: Iterable[Mark] = (),
    seen: Callable[[Entry], None] | None = None,
) -> Report:
    """Check every entry that follows ``since``, which is trusted, up to the end.

    ``head``, and each of ``kept``, is a mark that was kept from an earlier time: its entry must still be there, as it
    was. ``seen`` is shown every entry.
    """
    check = _Check(since, [*kept, *([] if head is None else [head])])
    while page := await log.read(check.last.position, PAGE):
        for entry in page:
            check.see(entry)
            if seen is not None:
                seen(entry)
    return check.report()


class _Check:
    """One walk over a log. A fault is reported where it is; the walk goes on from the entry as it stands."""

    def __init__(self, since: Mark, kept: Iterable[Mark]) -> None:
        self.last = since
        self._entries = 0
        self._kept: dict[int, set[str]] = {}
        for mark in kept:
            if mark not in (ORIGIN, since):
                self._kept.setdefault(mark.position, set()).add(mark.hash)
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

    def report(self) -> Report:
        for position in sorted(self._kept):
            self._fault(position, "cut")
        return Report(self._entries, self.last, tuple(self._faults))

    def _compare(self, mark: Mark) -> None:
        if self._kept and self._kept.pop(mark.position, {mark.hash}) != {mark.hash}:
            self._fault(mark.position, "rewritten")

    def _fault(self, position: int, kind: Kind) -> None:
        if len(self._faults) < MAX_FAULTS:
            self._faults.append(Fault(position, kind))
