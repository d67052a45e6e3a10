"""Figures collected from an audit log in one pass, in record order and in bounded memory."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.policy.wording import CALLER_PAUSED
from tooltrue.tools.wording import TOOL_ARGUMENTS_INVALID
from tooltrue.wording import TOOL_NOT_FOUND
from tooltrue_check.doctor.counters import Bounded, Spread

__all__ = ["CallerHistory", "LogFigures", "ToolFigures"]

MAX_TOOLS: Final = 5_000
MAX_CALLERS: Final = 10_000
MAX_RECENT: Final = 16
MAX_KEYS: Final = 200
UNKNOWN_TOOL: Final = TOOL_NOT_FOUND
PAUSED: Final = CALLER_PAUSED

_OUTCOMES: Final = frozenset({"ok", "error", "refused", "cancelled", "abandoned"})
_FAILED: Final = frozenset({"error", "refused", "abandoned"})
_LARGEST: Final = 1e15  # of a measured number; larger ones are not measurements
_INDEX: Final = re.compile(r"\[\d+\]")


@dataclass
class ToolFigures:
    """The use of one tool. ``wrong``: place and keyword of the schema → count; ``gave_up``: the code after which a
    caller made no further call; ``refused``: by rule, or by code; ``repeated``: the number of identical calls that came
    again."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    codes: Bounded[str] = field(default_factory=lambda: Bounded[str](MAX_KEYS))
    wrong: Bounded[tuple[str, str]] = field(default_factory=lambda: Bounded[tuple[str, str]](MAX_KEYS))
    refused: Bounded[str] = field(default_factory=lambda: Bounded[str](MAX_KEYS))
    gave_up: Bounded[str] = field(default_factory=lambda: Bounded[str](MAX_KEYS))
    called: Bounded[str] = field(default_factory=lambda: Bounded[str](MAX_KEYS))
    milliseconds: Spread = field(default_factory=Spread)
    size: Spread = field(default_factory=Spread)
    repeated: int = 0

    @property
    def calls(self) -> int:
        return self.outcomes.total()


@dataclass
class CallerHistory:
    """The last calls of a caller. ``failed`` is the code of the last one if it failed; ``recent`` maps the last
    distinct calls to their times."""

    at: float
    tool: str = ""
    failed: str = ""
    recent: OrderedDict[int, float] = field(default_factory=OrderedDict[int, float])


class LogFigures:
    """The figures of a whole log. ``patience``: seconds without a further call after which a caller that failed has
    given up, and within which an identical call counts as repeated. ``together`` are refusals that were counted without
    a tool."""

    def __init__(self, patience: float = 600.0) -> None:
        self.patience = patience
        self.records = self.damaged = self.without_place = self.together = 0
        self.first = self.last = ""
        self.tools: dict[str, ToolFigures] = {}
        self.tools_left_out = 0
        self.callers: OrderedDict[tuple[str, str], CallerHistory] = OrderedDict()
        self.callers_left_out = 0
        self.principals = Bounded[str](MAX_CALLERS)
        self.signs: dict[str, Bounded[str]] = {}
        self._now = 0.0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one record. Damaged records, and records without a kind, are only counted."""
        kind = record.get("kind")
        if kind == "refusals":
            self._many(record)
        elif kind == "call" and _text(record, "outcome") in _OUTCOMES:
            at = _seconds(record.get("at"))
            if at is None:
                self.damaged += 1
            else:
                self._call(record, at)
        elif kind == "damaged" or not isinstance(kind, str):
            self.damaged += 1

    def close(self) -> None:
        """End the log: callers whose last call failed, and that made no further call for long enough, have given up."""
        for caller in self.callers.values():
            self._gave_up(caller, self._now)

    # -- one call ------------------------------------------------------------------------------------------------------

    def _call(self, record: Mapping[str, Any], at: float) -> None:
        self.records += 1
        timestamp = str(record["at"])
        self.first = min(self.first or timestamp, timestamp)
        self.last = max(self.last, timestamp)
        self._now = max(self._now, at)
        code, outcome, who = _text(record, "code"), str(record["outcome"]), _text(record, "who")
        self.principals.add(who)
        caller = self._caller(who, _text(record, "instance"), at)
        self._gave_up(caller, at)
        if code in (UNKNOWN_TOOL, PAUSED):
            self._sign(code, who)
        tool = "" if code == UNKNOWN_TOOL else _text(record, "subject")
        caller.at, caller.tool, caller.failed = max(caller.at, at), tool, (code or "-") if outcome in _FAILED else ""
        if tool and (use := self._tool_use(tool)) is not None:
            self._use(use, record, outcome, code)
            self._repeat(use, caller, record, at)

    def _use(self, use: ToolFigures, record: Mapping[str, Any], outcome: str, code: str) -> None:
        use.outcomes[outcome] += 1
        if code:
            use.codes.add(code)
        if outcome == "refused":
            use.refused.add(_text(record, "rule") or code)
        else:
            use.milliseconds.add(_number(record, "ms"))
            use.size.add(_number(record, "bytes_out"))
        if old_name := _text(record, "called"):
            use.called.add(old_name)
        if code == TOOL_ARGUMENTS_INVALID:
            self._wrong(use, record.get("wrong"))

    def _wrong(self, use: ToolFigures, entries: object) -> None:
        problems = [one for one in entries if isinstance(one, str)] if is_array(entries) else []
        self.without_place += not problems
        for problem in problems:
            path, _, keyword = problem.rpartition(" ")
            use.wrong.add((_INDEX.sub("[]", path), keyword))

    def _repeat(self, use: ToolFigures, caller: CallerHistory, record: Mapping[str, Any], at: float) -> None:
        call = hash((record.get("subject"), str(record.get("arguments"))))  # of canonical JSON: in one order
        before = caller.recent.pop(call, None)
        # In both directions: concurrent calls are recorded as they end, and files of several days are read in any
        # order.
        if before is not None and abs(at - before) <= self.patience:
            use.repeated += 1
        caller.recent[call] = at
        if len(caller.recent) > MAX_RECENT:
            caller.recent.popitem(last=False)

    def _gave_up(self, caller: CallerHistory, now: float) -> None:
        """Record a failure as given up if the caller made no further call for longer than ``patience``."""
        if caller.failed and now - caller.at > self.patience:
            if caller.tool in self.tools:
                self.tools[caller.tool].gave_up.add(caller.failed)
            caller.failed = ""

    # -- callers and tools ---------------------------------------------------------------------------------------------

    def _caller(self, who: str, instance: str, at: float) -> CallerHistory:
        key = (who, instance)
        caller = self.callers.get(key)
        if caller is None:
            if len(self.callers) >= MAX_CALLERS:
                _, oldest = self.callers.popitem(last=False)
                self._gave_up(oldest, at)
                self.callers_left_out += 1
            caller = self.callers[key] = CallerHistory(at)
        self.callers.move_to_end(key)
        return caller

    def _tool_use(self, tool: str) -> ToolFigures | None:
        use = self.tools.get(tool)
        if use is None and len(self.tools) < MAX_TOOLS:
            use = self.tools[tool] = ToolFigures()
        self.tools_left_out += use is None
        return use

    def _sign(self, code: str, who: str, count: int = 1) -> None:
        self.signs.setdefault(code, Bounded[str](MAX_CALLERS)).add(who, count)

    def _many(self, record: Mapping[str, Any]) -> None:
        """Add a record that summarizes refusals: by caller and code, and by tool as far as it names tools."""
        tools = record.get("tools")
        by_tool = sum(self._add_refusals(tool, codes) for tool, codes in tools.items()) if is_object(tools) else 0
        for code, count in _counts(record.get("codes")):
            self.together += count if code != UNKNOWN_TOOL else 0
            self._sign(code, _text(record, "who"), count)
        self.together -= by_tool

    def _add_refusals(self, tool: str, codes: object) -> int:
        """Add the refusals of one tool from a summary; return their number."""
        use, counts = self._tool_use(tool), [*_counts(codes)]
        if use is not None:
            for code, count in counts:
                use.outcomes["refused"] += count
                use.codes.add(code, count)
                use.refused.add(code, count)
        return sum(count for _, count in counts)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _counts(codes: object) -> Iterator[tuple[str, int]]:
    for code, count in codes.items() if is_object(codes) else ():
        if isinstance(count, int) and 0 < count < _LARGEST:
            yield code, count


def _number(record: Mapping[str, Any], name: str) -> float:
    value = record.get(name)
    return float(value) if isinstance(value, int | float) and 0 <= value < _LARGEST else 0.0


def _seconds(timestamp: object) -> float | None:
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except (ValueError, OverflowError):
        return None
