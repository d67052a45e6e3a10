"""Statistics of a stream in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

__all__ = ["Bounded", "Spread"]

KeyT = TypeVar("KeyT", bound=Hashable)

_STEP: Final = math.log(1.05)


class Spread:
    """A distribution of numbers, for percentiles that are at most 5 % too high."""

    def __init__(self) -> None:
        self.count = 0
        self._bins: Counter[int] = Counter()

    def add(self, number: float) -> None:
        self.count += 1
        self._bins[math.ceil(math.log(number) / _STEP) if number > 1 else 0] += 1

    def percentile(self, share: float) -> float:
        """The value that this share of the numbers does not exceed; 0 if there are no numbers, or if it is at most
        1."""
        remaining = share * self.count
        for step, count in sorted(self._bins.items()):
            remaining -= count
            if remaining <= 0:
                return math.exp(step * _STEP) if step else 0.0
        return 0.0


class Bounded(Generic[KeyT]):
    """Counts by key, for at most ``most`` keys. Counts of further keys are added up in ``left_out``."""

    def __init__(self, most: int) -> None:
        self.counts: Counter[KeyT] = Counter()
        self.left_out = 0
        self._most = most

    def add(self, key: KeyT, count: int = 1) -> None:
        if key in self.counts or len(self.counts) < self._most:
            self.counts[key] += count
        else:
            self.left_out += count
