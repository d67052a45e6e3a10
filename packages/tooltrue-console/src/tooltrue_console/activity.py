"""The last hour of the audit logs, in counts by the minute.

A view reads no hour of a log. The counts are kept: the first look reads a log backwards to the beginning of the hour,
and no further than :data:`MOST_RECORDS`; each look after it reads what was written since. One thread looks at all logs,
and a page waits for it a little only, so that it may show counts that are a few seconds old.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from tooltrue.errors import TooltrueError
from tooltrue.jsonrpc.messages import decoder_of, is_number, lines_decoder_of
from tooltrue.policy.audit.log_queries import counts_of, record_of
from tooltrue.protocol.types import Value
from tooltrue.state.log import Batch, Entry, Log
from tooltrue.state.log_thread import ThreadLog
from tooltrue.state.urls import open_log
from tooltrue_console.logs import Logs

__all__ = [
    "MINUTES",
    "MOST_RECORDS",
    "PATIENCE_SECONDS",
    "Activity",
    "LogHour",
    "MinuteCounts",
    "PausedCaller",
    "ServerHour",
]

_log = logging.getLogger("tooltrue.console")

MINUTES: Final = 60
MOST_RECORDS: Final = 200_000
"""Records of a log that the first look reads. Of a log that has more in an hour, the minutes before are not counted."""
_PAGE: Final = 1_000
_MOST_SERVERS: Final = 200
_MOST_PAUSED: Final = 200
_MOST_AMOUNT: Final = 1e9
PATIENCE_SECONDS: Final = 0.1
_FRESH_SECONDS: Final = 1.0
_ERRORS: Final = ("error", "abandoned")


@dataclass(slots=True)
class MinuteCounts:
    """The calls of a minute. ``refusals`` and ``errors`` are among the ``calls``; ``milliseconds`` is the sum of the
    times of those that were not refused."""

    calls: int = 0
    refusals: int = 0
    errors: int = 0
    milliseconds: float = 0.0

    def __iadd__(self, other: MinuteCounts) -> MinuteCounts:
        self.calls += other.calls
        self.refusals += other.refusals
        self.errors += other.errors
        self.milliseconds += other.milliseconds
        return self

    def add_calls(self, outcome: str, count: int, milliseconds: float) -> None:
        """Add calls of this outcome, which took so long together."""
        if outcome == "refused":
            self.add_refusals(count)
            return
        self.calls += count
        self.errors += count if outcome in _ERRORS else 0
        self.milliseconds += milliseconds

    def add_refusals(self, count: int) -> None:
        self.calls += count
        self.refusals += count

    def copy(self) -> MinuteCounts:
        return MinuteCounts(self.calls, self.refusals, self.errors, self.milliseconds)

    @property
    def mean_milliseconds(self) -> float:
        ran = self.calls - self.refusals
        return self.milliseconds / ran if ran > 0 else 0.0


@dataclass(frozen=True, slots=True)
class PausedCaller:
    """A caller that a server has paused. ``until`` is a time of day, in seconds."""

    log: str
    server: str
    caller: str
    until: float
    sign: str


@dataclass(frozen=True, slots=True)
class ServerHour:
    """One server of a log: the time of its last record that was read, and a count for each minute of the hour, the
    oldest first."""

    log: str
    server: str
    last: str
    minutes: Sequence[MinuteCounts]

    @property
    def total(self) -> MinuteCounts:
        return _sum(self.minutes)


@dataclass(frozen=True, slots=True)
class LogHour:
    """The counts of a log. ``counted_since`` is the minute from which on the counts are complete, empty if they are
    for the whole hour. ``is_counted``: the log has been read. ``problem``: it cannot be read."""

    log: str
    servers: Sequence[ServerHour]
    paused: Sequence[PausedCaller]
    last: str
    counted_since: str = ""
    is_counted: bool = False
    problem: TooltrueError | None = None


class _Counted(Value, frozen=True, gc=False):
    """The members of a record that are counted, in the order of canonical JSON, in which they are found soonest."""

    at: str = ""
    count: int = 0
    instance: str = ""
    kind: str = ""
    ms: float = 0.0
    outcome: str = ""
    paused: float = 0.0
    rule: str = ""
    who: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Counted:
        """Those of a record whose members may be of other types."""
        texts = {name: str(record.get(name, "")) for name in ("at", "instance", "kind", "outcome", "rule", "who")}
        ms, count, paused = (_amount(record.get(name)) for name in ("ms", "count", "paused"))
        return cls(**texts, ms=ms, count=int(count), paused=paused)


_decoded = decoder_of(_Counted)
_all_decoded = lines_decoder_of(_Counted)


def _counted(entries: Sequence[Entry]) -> Sequence[_Counted]:
    """The records of all entries, decoded together."""
    try:
        return _all_decoded("\n".join([entry.text for entry in entries]))
    except ValueError:  # one of them has another shape
        return [_one_counted(entry) for entry in entries]


def _one_counted(entry: Entry) -> _Counted:
    try:
        return _decoded(entry.text)
    except ValueError:
        return _Counted.of(record_of(entry))


@dataclass
class _ServerCounts:
    last: str = ""
    minutes: defaultdict[str, MinuteCounts] = field(default_factory=lambda: defaultdict(MinuteCounts))


@dataclass
class _Counts:
    """The counts of one log up to ``position``. Belongs to the thread that looks."""

    position: int | None = None
    last: str = ""
    since: str = ""
    servers: dict[str, _ServerCounts] = field(default_factory=dict[str, _ServerCounts])
    paused: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict[tuple[str, str], tuple[float, str]])

    def add(self, rows: Sequence[Entry | Batch]) -> None:
        others = list[Entry]()
        for row in rows:
            if not isinstance(row, Batch):
                others.append(row)
            elif not self._add_counted(row):
                others += row.entries()
        self._add_each(others)

    def _add_counted(self, batch: Batch) -> bool:
        """Add the counts of a batch, and return whether it has some, and all of one minute. Most have."""
        minute = batch.ended[:16]
        if not minute or minute != batch.began[:16]:
            return False
        try:
            counts = counts_of(batch)
        except ValueError:
            return False
        for one in counts:
            if (server := self._server(one.instance)) is not None:
                server.last = max(server.last, batch.ended)
                self.last = max(self.last, batch.ended)
                if one.kind == "call" and one.outcome and one.number > 0:
                    server.minutes[minute].add_calls(one.outcome, one.number, _amount(one.milliseconds))
        return True

    def _add_each(self, entries: Sequence[Entry]) -> None:
        alike = defaultdict[tuple[str, str, str], list[_Counted]](list)
        for record in _counted(entries):
            outcome = record.outcome if record.kind == "call" else ""
            alike[record.instance, record.at[:16], outcome].append(record)
        for (name, at, outcome), records in alike.items():
            if not at or (server := self._server(name)) is None:
                continue
            server.last = max(server.last, *[record.at for record in records])
            self.last = max(self.last, server.last)
            if outcome:
                milliseconds = sum(_amount(record.ms) for record in records)
                server.minutes[at].add_calls(outcome, len(records), milliseconds)
            for record in records:
                if record.kind == "refusals" and record.count > 0:
                    server.minutes[at].add_refusals(record.count)
                if record.paused:
                    self._pause(record)

    def _server(self, name: str) -> _ServerCounts | None:
        if name not in self.servers and len(self.servers) < _MOST_SERVERS:
            self.servers[name] = _ServerCounts()
        return self.servers.get(name)

    def _pause(self, record: _Counted) -> None:
        key, until = (record.instance, record.who), _seconds(record.at) + _amount(record.paused)
        if until > self.paused.get(key, (0.0, ""))[0] and len(self.paused) < _MOST_PAUSED:
            self.paused[key] = (until, record.rule.removeprefix("abuse: "))

    def forget(self, before: str, now: float) -> None:
        """Forget the minutes before the hour, and pauses that are over."""
        for server in self.servers.values():
            for minute in [minute for minute in server.minutes if minute < before]:
                del server.minutes[minute]
        self.paused = {key: value for key, value in self.paused.items() if value[0] > now}


def _amount(value: object) -> float:
    """A number of a record that may be counted; 0 for anything else."""
    return float(value) if is_number(value) and 0 <= value < _MOST_AMOUNT else 0.0


class Activity:
    """The last hour of ``logs``. ``clock`` gives the time of day; a page waits ``patience`` seconds for a look."""

    def __init__(
        self, logs: Logs, *, clock: Callable[[], float], patience: float = PATIENCE_SECONDS, most: int = MOST_RECORDS
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._patience = patience
        self._most = most
        self._counts: dict[str, _Counts] = {}
        self._hours: Mapping[str, LogHour] = {}
        self._looked_at = float("-inf")
        self._look = threading.Event()
        self._look.set()

    async def hours(self) -> Sequence[LogHour]:
        """The last hour of each log, by name; of a log that has not been read yet, nothing but its name."""
        is_fresh = 0 <= self._clock() - self._looked_at < _FRESH_SECONDS
        if self._look.is_set() and not is_fresh:
            self._look = threading.Event()
            threading.Thread(target=self._look_at_all, args=(self._look,), daemon=True).start()
        if not self._look.is_set():
            await asyncio.to_thread(self._look.wait, self._patience)
        minutes = _minutes(self._clock())
        return [self._hour(name, minutes) for name in self._logs.names()]

    def _hour(self, name: str, minutes: Sequence[str]) -> LogHour:
        hour = self._hours.get(name)
        if hour is None:
            return LogHour(name, (), (), "")
        return replace(hour, counted_since=hour.counted_since if hour.counted_since > minutes[0] else "")

    # --- on the thread that looks -------------------------------------------------------------------------------------

    def _look_at_all(self, done: threading.Event) -> None:
        try:
            asyncio.run(self._look_at_each())
        except Exception:  # noqa: BLE001 - the last boundary of this thread
            _log.exception("the last hour of the logs is not counted")
        finally:
            self._looked_at = self._clock()
            done.set()

    async def _look_at_each(self) -> None:
        names = self._logs.names()
        for name in names:
            counts = self._counts.setdefault(name, _Counts())
            problem: TooltrueError | None = None
            try:
                async with open_log(self._logs.url(name)) as log:
                    counts = self._counts[name] = await self._advance(log, counts)
            except TooltrueError as error:
                _log.warning("the last hour of a log is not counted: %s", error)
                problem = error
            self._hours = {**self._hours, name: self._snapshot(name, counts, problem)}

    async def _advance(self, log: Log, counts: _Counts) -> _Counts:
        head, now = (await log.head()).position, self._clock()
        oldest = _minutes(now)[0]
        # The first look, another log at the same place, or more records than a look reads.
        if counts.position is None or not counts.position <= head <= counts.position + self._most:
            counts = _Counts()
            await self._read_back(log, counts, head, oldest)
        while counts.position is not None and counts.position < head:
            if not (page := await _rows(log, counts.position, _PAGE)):
                break
            counts.add(page)
            counts.position = page[-1].position
        counts.forget(oldest, now)
        return counts

    async def _read_back(self, log: Log, counts: _Counts, head: int, oldest: str) -> None:
        """Count the records from the last one back to the minute ``oldest``, and at least the last page."""
        high = head
        while high > 0 and head - high < self._most:
            low = max(0, high - _PAGE)
            page = _up_to(high, await _rows(log, low, high - low))
            # All of a page that was written before the hour, or deleted, ends the look.
            last, counts.last = counts.last, ""
            counts.add(page)
            newest, counts.last = counts.last, max(last, counts.last)
            high = low
            if newest < oldest:
                break
        else:
            # A minute of which only a part was read is not complete.
            counts.since = "" if high <= 0 else _minute_after(min(_times(counts), default=oldest))
        counts.position = head

    def _snapshot(self, name: str, counts: _Counts, problem: TooltrueError | None) -> LogHour:
        minutes = _minutes(self._clock())
        servers = [
            ServerHour(
                name, server, one.last, [one.minutes[at].copy() if at in one.minutes else _NONE for at in minutes]
            )
            for server, one in sorted(counts.servers.items())
        ]
        paused = [
            PausedCaller(name, server, who, until, sign) for (server, who), (until, sign) in counts.paused.items()
        ]
        is_counted = counts.position is not None
        return LogHour(name, servers, paused, counts.last, counts.since, is_counted, problem)


async def _rows(log: Log, after: int, limit: int) -> Sequence[Entry | Batch]:
    return await (log.read_rows(after, limit) if isinstance(log, ThreadLog) else log.read(after, limit))


def _up_to(position: int, rows: Sequence[Entry | Batch]) -> Sequence[Entry | Batch]:
    """The rows up to a position, and the entries up to it of a batch that goes on behind it."""
    kept = list[Entry | Batch]()
    for row in rows:
        if row.position <= position:
            kept.append(row)
        elif isinstance(row, Batch):
            kept += [entry for entry in row.entries() if entry.position <= position]
    return kept


_NONE: Final = MinuteCounts()


def _sum(counts: Iterable[MinuteCounts]) -> MinuteCounts:
    total = MinuteCounts()
    for one in counts:
        total += one
    return total


def _times(counts: _Counts) -> Iterable[str]:
    return (minute for server in counts.servers.values() for minute in server.minutes)


def _minutes(now: float) -> Sequence[str]:
    """The minutes of the hour up to ``now``, as the beginnings of timestamps, the oldest first."""
    return _minutes_to(int(now) // 60)


@lru_cache(4)
def _minutes_to(last: int) -> Sequence[str]:
    return [_minute((last - ago) * 60) for ago in range(MINUTES - 1, -1, -1)]


def _minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:16]


def _minute_after(minute: str) -> str:
    return _minute(_seconds(minute) + 60)


def _seconds(at: str) -> float:
    """The time of a timestamp; 0 if it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return 0.0
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
