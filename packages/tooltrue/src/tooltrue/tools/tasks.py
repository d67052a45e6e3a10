"""A host's work on one user request: its budget, its consumption, and its taint.

A task goes through the layers with the context of each call. The model cannot write any of it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tooltrue.protocol.types import Value

__all__ = ["Budget", "Taint", "Task", "TaskTaint"]

Taint: TypeAlias = Literal["private", "untrusted", "sends"]
"""A leg of the lethal trifecta, harmless alone: a call reads private data, brings in untrusted text, or sends data
out.
"""

_HISTORY = 64


class Budget(Value, frozen=True):
    """The budget of one task; ``None`` means no limit. ``bytes`` are those of results. ``seconds`` do not count while a
    person is asked. ``tokens`` and ``money`` count as far as they are reported to the task.
    """

    calls: int | None = 200
    bytes: int | None = 8_388_608
    seconds: float | None = 3_600.0
    tokens: int | None = None
    money: float | None = None


class TaskTaint(Value, frozen=True):
    """The taint of a task at one time: the first tool for each leg, and the servers that the content came from."""

    tools: Mapping[Taint, str]
    sources: frozenset[str]


@dataclass(slots=True, eq=False, repr=False)
class Task:
    """One task. ``stopped`` is the reason why no call runs for it any more; the code that drives the model ends its
    loop then.

    ``taint`` is the first tool for each leg of the trifecta, ``sources`` are the servers that the content came from,
    ``history`` are calls and their results, the newest last, ``running`` counts identical calls that have not ended
    yet.
    """

    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    bytes: int = 0
    tokens: int = 0
    money: float = 0.0
    question_seconds: float = 0.0
    stopped: str = ""
    strikes: int = 0
    warned_limits: set[str] = field(default_factory=set[str])
    taint: dict[Taint, str] = field(default_factory=dict[Taint, str])
    sources: set[str] = field(default_factory=set[str])
    history: deque[tuple[str, str]] = field(default_factory=lambda: deque[tuple[str, str]](maxlen=_HISTORY))
    running: Counter[str] = field(default_factory=Counter[str])
    errors: tuple[str, int] = ("", 0)
    began: float = field(init=False)
    _questions: int = field(default=0, init=False)
    _asked_since: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def note(self, *, tokens: int = 0, money: float = 0.0) -> None:
        """Add the consumption of one step of the model."""
        self.tokens += tokens
        self.money += money

    def add_taint(self, kind: Taint, name: str, source: str) -> None:
        """Record that the operation ``name`` contributed this leg, from ``source``."""
        self.taint.setdefault(kind, name)
        self.sources.add(source)

    def current_taint(self) -> TaskTaint:
        return TaskTaint(dict(self.taint), frozenset(self.sources))

    def add_all_taint(self, other: TaskTaint) -> None:
        """Add the taint of another task."""
        for kind, name in other.tools.items():
            self.taint.setdefault(kind, name)
        self.sources |= other.sources

    def share_taint(self, other: Task) -> None:
        """Share taint from now on: each of the two tasks has the taint of both."""
        other.add_all_taint(self.current_taint())
        self.taint, self.sources = other.taint, other.sources

    def begin_question(self) -> None:
        """A call begins to wait for a person; :meth:`end_question` follows. Time in which several wait counts once."""
        if not self._questions:
            self._asked_since = self.clock()
        self._questions += 1

    def end_question(self) -> None:
        self._questions -= 1
        if not self._questions:
            self.question_seconds += self.clock() - self._asked_since

    @property
    def seconds(self) -> float:
        return self.clock() - self.began - self.question_seconds

    def shares(self) -> Mapping[str, tuple[float, float]]:
        """Return the used amount and the limit, for each limit that is set."""
        budget = self.budget
        limits = {
            "calls": (self.calls, budget.calls),
            "bytes": (self.bytes, budget.bytes),
            "seconds": (self.seconds, budget.seconds),
            "tokens": (self.tokens, budget.tokens),
            "money": (self.money, budget.money),
        }
        return {name: (used, limit) for name, (used, limit) in limits.items() if limit is not None}
