"""What a host does for one request of its user: how much it may take, what it has taken, and what it has met.

A task goes through the layers with the context of each call. Nothing in it is the model's to write.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolwright.protocol.types import Value

__all__ = ["Budget", "Leg", "Met", "Task"]

Leg: TypeAlias = Literal["private", "untrusted", "sends"]
"""What a call may do that is harmless alone: read what is private, bring in text of strangers, send something out."""

_HISTORY = 64


class Budget(Value, frozen=True):
    """What one task may take; ``None`` is no limit. ``bytes`` are those of results. ``seconds`` do not count while a
    person is asked. ``tokens`` and ``money`` count as far as somebody tells the task of them."""

    calls: int | None = 200
    bytes: int | None = 8_388_608
    seconds: float | None = 3_600.0
    tokens: int | None = None
    money: float | None = None


class Met(Value, frozen=True):
    """What a task had met at one time: which tools have brought in what, and from which servers all of it came."""

    tools: Mapping[Leg, str]
    sources: frozenset[str]


@dataclass(slots=True)
class Task:
    """One task. ``stopped`` is why nothing runs for it any more; whoever drives the model ends its loop then.

    ``met`` says which tools have brought in what, ``sources`` from which servers all of it came, ``history`` which
    calls had which results, the newest last, ``running`` how many identical ones have not ended yet.
    """

    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    bytes: int = 0
    tokens: int = 0
    money: float = 0.0
    asked_seconds: float = 0.0
    stopped: str = ""
    strikes: int = 0
    told: set[str] = field(default_factory=set[str])
    met: dict[Leg, str] = field(default_factory=dict[Leg, str])
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
        """What a step of the model has taken."""
        self.tokens += tokens
        self.money += money

    def meet(self, leg: Leg, name: str, source: str) -> None:
        """``name`` has brought this in, from ``source``."""
        self.met.setdefault(leg, name)
        self.sources.add(source)

    def has_met(self) -> Met:
        return Met(dict(self.met), frozenset(self.sources))

    def meet_all(self, met: Met) -> None:
        """What another task has met has been met here, too."""
        for leg, name in met.tools.items():
            self.met.setdefault(leg, name)
        self.sources |= met.sources

    def meets_with(self, other: Task) -> None:
        """From now on, what one of the two meets is met by both."""
        other.meet_all(self.has_met())
        self.met, self.sources = other.met, other.sources

    def asks(self) -> None:
        """A call begins to wait for a person; :meth:`asked` follows. Time in which several wait counts once."""
        if not self._questions:
            self._asked_since = self.clock()
        self._questions += 1

    def asked(self) -> None:
        self._questions -= 1
        if not self._questions:
            self.asked_seconds += self.clock() - self._asked_since

    @property
    def seconds(self) -> float:
        return self.clock() - self.began - self.asked_seconds

    def shares(self) -> Mapping[str, tuple[float, float]]:
        """Of each limit that there is: what is used of it, and how much it is."""
        budget = self.budget
        limits = {
            "calls": (self.calls, budget.calls),
            "bytes": (self.bytes, budget.bytes),
            "seconds": (self.seconds, budget.seconds),
            "tokens": (self.tokens, budget.tokens),
            "money": (self.money, budget.money),
        }
        return {name: (used, limit) for name, (used, limit) in limits.items() if limit is not None}
