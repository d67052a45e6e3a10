"""Filters and statistics for reading the audit log."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tooltrue.jsonrpc.messages import decoder_of, is_object
from tooltrue.protocol.types import Value
from tooltrue.state.log import LOWEST, ORIGIN, Batch, Entry, Log
from tooltrue.state.log_index import Candidates, LogIndex

__all__ = [
    "Backwards",
    "RecordCount",
    "Stats",
    "counts_of",
    "entries",
    "matching",
    "outside",
    "record_of",
    "search",
    "search_back",
    "unfinished",
]

PAGE = 500
_RANGES = 50
"""Ranges of the index that a search backwards asks for at a time."""


async def entries(log: Log, after: int = LOWEST) -> AsyncGenerator[Entry]:
    """Yield all entries after position ``after``; by default every entry, including those :func:`outside` the chain."""
    while page := await log.read(after, PAGE):
        for entry in page:
            yield entry
        after = page[-1].position


async def outside(log: Log, limit: int) -> tuple[Entry, ...]:
    """Return the first entries below position 1, where no server writes: another program has put them there."""
    return tuple(entry for entry in await log.read(LOWEST, limit) if entry.position <= ORIGIN.position)


def record_of(entry: Entry) -> dict[str, Any]:
    """Return the record of an entry, or ``{"kind": "damaged"}`` if it is unreadable; ``verify`` finds such an entry."""
    try:
        record: Any = entry.record
    except ValueError:
        return {"kind": "damaged"}
    return record if is_object(record) else {"kind": "damaged"}


class RecordCount(Value, frozen=True, array_like=True, gc=False):
    """The number of records of a batch that are of one server, kind and outcome, and the sum of their times."""

    instance: str
    kind: str
    outcome: str
    number: int
    milliseconds: float


_counts = decoder_of(list[RecordCount])


def counts_of(batch: Batch) -> Sequence[RecordCount]:
    """Return what the writer of a batch has counted. Raises ValueError if it has not: its records must be read."""
    return _counts(batch.counts)


def matching(globs: Mapping[str, str], since: str = "", until: str = "") -> Callable[[Mapping[str, Any]], bool]:
    """Return a predicate for records whose members match ``globs``. ``since`` and ``until`` are prefixes
    of a timestamp, both inclusive."""

    def matches(record: Mapping[str, Any]) -> bool:
        at = str(record.get("at", ""))
        if (since and at < since) or (until and at[: len(until)] > until):
            return False
        return all(fnmatch.fnmatchcase(str(record.get(name, "")), glob) for name, glob in globs.items())

    return matches


async def search(
    log: Log, globs: Mapping[str, str], since: str = "", until: str = "", index: LogIndex | None = None
) -> AsyncGenerator[Entry]:
    """Yield the entries whose records are :func:`matching`. With the index of the log, only the candidates are read."""
    matches = matching(globs, since, until)
    candidates = None if index is None else await index.matching(globs, since, until)
    async for entry in _read(log, candidates):
        if matches(record_of(entry)):
            yield entry


class Backwards(NamedTuple):
    """Entries, the newest first, and the position ``before`` which the search goes on; ``None`` at the first entry."""

    entries: Sequence[Entry]
    before: int | None


async def search_back(
    log: Log,
    globs: Mapping[str, str],
    since: str = "",
    until: str = "",
    index: LogIndex | None = None,
    *,
    before: int | None = None,
    most: int = 50,
    effort: int = 20_000,
) -> Backwards:
    """Return the newest ``most`` entries of the chain whose records are :func:`matching`, of those before the position
    ``before``. About ``effort`` entries are read, so that a search for a rare record takes several steps."""
    matches, head = matching(globs, since, until), (await log.head()).position
    first = next((entry.position for entry in await log.read(0, 1)), head + 1)
    top = head if before is None else min(before - 1, head)
    results: list[Entry] = []
    async for after, last in _ranges_back(index, globs, since, until, top, head):
        low, high = max(after, first - 1), min(last, top)
        while high > low:
            start = max(low, high - PAGE)
            for entry in reversed(await log.read(start, high - start)):
                if start < entry.position <= high and matches(record_of(entry)):
                    results.append(entry)
                    if len(results) == most:
                        return Backwards(results, entry.position)
            effort -= high - start
            high = start
            if effort <= 0:
                return Backwards(results, high + 1 if high >= first else None)
    return Backwards(results, None)


async def _ranges_back(
    index: LogIndex | None, globs: Mapping[str, str], since: str, until: str, top: int, head: int
) -> AsyncGenerator[tuple[int, int]]:
    """Yield the ranges up to ``top`` that a search must read, the newest first. Only those are asked for that it comes
    to."""
    candidates = None if index is None else await index.matching(globs, since, until, top=top, most=_RANGES)
    if index is None or candidates is None:
        yield 0, head
        return
    yield candidates.after, head
    while candidates is not None:
        for after, last in reversed(candidates.ranges):
            yield after, last
        if len(candidates.ranges) < _RANGES:
            return
        top = candidates.ranges[0][0]
        candidates = await index.matching(globs, since, until, top=top, most=_RANGES)
    yield 0, top


async def unfinished(log: Log, index: LogIndex | None = None) -> list[Entry]:
    """Return the operations with a write-ahead record and no record of their end: they still run, or the process ended
    in the middle of them."""
    open: dict[str, Entry] = {}
    candidates = None if index is None else await index.unfinished()
    async for entry in _read(log, candidates):
        record = record_of(entry)
        id = str(record.get("id") or "")
        if id:
            open.pop(id, None)
            if record.get("kind") == "intent":
                open[id] = entry
    return list(open.values())


async def _read(log: Log, candidates: Candidates | None) -> AsyncGenerator[Entry]:
    """Yield the candidates, or all entries if there are none."""
    ranges, behind = ((), LOWEST) if candidates is None else candidates
    for after, last in ranges:
        for entry in await log.read(after, last - after):
            if entry.position <= last:
                yield entry
    async for entry in entries(log, behind):
        yield entry


@dataclass
class Stats:
    """Counts over records. ``subjects`` and ``callers`` map a name to how often it ended in which way; ``codes`` are
    those of failures and refusals."""

    records: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    subjects: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    callers: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    codes: Counter[str] = field(default_factory=Counter[str])
    milliseconds: dict[str, list[float]] = field(default_factory=dict[str, "list[float]"])

    def add(self, record: Mapping[str, Any]) -> None:
        kind, who = record.get("kind"), str(record.get("who", ""))
        if kind == "refusals":
            self.outcomes["refused"] += record["count"]
            self.callers.setdefault(who, Counter())["refused"] += record["count"]
            self.codes.update(record["codes"])
            return
        outcome = str(record.get("outcome", ""))
        if not outcome:  # a write-ahead record: its end has a record, or it is unfinished
            return
        subject = str(record.get("subject", ""))
        self.records += 1
        self.outcomes[outcome] += 1
        self.callers.setdefault(who, Counter())[outcome] += 1
        self.subjects.setdefault(subject, Counter())[outcome] += 1
        self.milliseconds.setdefault(subject, []).append(float(record.get("ms", 0.0)))
        if code := record.get("code"):
            self.codes[str(code)] += 1

    def percentile(self, subject: str, share: float) -> float:
        times = sorted(self.milliseconds[subject])
        return times[min(len(times) - 1, int(share * len(times)))]
