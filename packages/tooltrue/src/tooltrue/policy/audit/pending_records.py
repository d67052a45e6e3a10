"""Records that are not written at once: refusals that are counted, and operations that wait for an answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tooltrue.protocol.types import replaced

if TYPE_CHECKING:  # loaded with the first call
    from tooltrue.policy.audit.record import Record, Refusals

__all__ = ["EACH", "OpenQuestions", "RefusalCounter"]

EACH = 5
"""How many refusals of one principal in one minute have a record of their own."""

_MINUTE = 60.0
_QUESTION_SECONDS = 900.0
_MAX_ASKED = 1_000
_MAX_CALLERS = 10_000
_OTHERS = "(others)"


_MAX_TOOLS = 50


class _Many:
    """Refusals of one principal, by code, and by tool and code."""

    def __init__(self) -> None:
        self.codes = Counter[str]()
        self.tools: dict[str, Counter[str]] = {}

    def add(self, record: Record) -> None:
        code, tool = record.trail.code, record.source.subject
        self.codes[code] += 1
        is_there = record.source.kind == "call" and record.trail.tool is not None
        if is_there and (tool in self.tools or len(self.tools) < _MAX_TOOLS):
            self.tools.setdefault(tool, Counter())[code] += 1


class RefusalCounter:
    """The refusals of the current minute."""

    def __init__(self) -> None:
        self._since = 0.0
        self._each: dict[str, int] = {}
        self._more: dict[str, _Many] = {}

    def is_one_too_many(self, record: Record, now: float) -> bool:
        """Count a refusal, and return whether it is one of those without a record of their own."""
        if not self._each:
            self._since = now
        who = record.source.principal.id
        if who not in self._each and len(self._each) >= _MAX_CALLERS:
            who = _OTHERS
        self._each[who] = count = self._each.get(who, 0) + 1
        if count > EACH:
            self._more.setdefault(who, _Many()).add(record)
        return count > EACH

    def due(self, now: float, *, all: bool = False) -> list[Refusals]:
        """Return the records to write of a minute that is over, or (``all``) of this one too."""
        if not all and self._since <= now < self._since + _MINUTE:
            return []
        more, self._each, self._more = self._more, {}, {}
        if not more:
            return []
        from tooltrue.policy.audit.record import Refusals  # noqa: PLC0415 - few callers are refused often

        return [Refusals(who, self._since, many.codes.total(), many.codes, many.tools) for who, many in more.items()]

    def __bool__(self) -> bool:
        return bool(self._more)


class OpenQuestions:
    """Operations that wait for their client's answer; the key is the same when the operation continues."""

    def __init__(self) -> None:
        self._records: dict[tuple[object, ...], Record] = {}

    def keep(self, record: Record) -> list[Record]:
        """Keep a record until the next round. Returns the records that must be written to make room for it."""
        key = _key(record)
        over = [self._records.pop(key)] if key in self._records else []
        if len(self._records) >= _MAX_ASKED:
            over.append(self._records.pop(next(iter(self._records))))
        self._records[key] = record
        return over

    def continued(self, record: Record) -> Record:
        """The record of a later round, made that of the whole operation."""
        first = self._records.pop(_key(record), None)
        if first is None:  # asked by another worker, or long ago
            return record
        return replaced(record, at=first.at, seconds=record.seconds + first.seconds)

    def due(self, now: float, *, all: bool = False) -> list[Record]:
        """Return the records whose questions were not answered in time."""
        over = [key for key, record in self._records.items() if all or now - record.at >= _QUESTION_SECONDS]
        return [self._records.pop(key) for key in over]

    def __bool__(self) -> bool:
        return bool(self._records)


def _key(record: Record) -> tuple[object, ...]:
    return record.source.principal.id, record.source.kind, record.source.subject, record.arguments
