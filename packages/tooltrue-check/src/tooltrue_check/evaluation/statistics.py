"""Confidence intervals and significance for figures from a few questions."""

from __future__ import annotations

import math
from typing import Final

from tooltrue.protocol.types import Value

__all__ = ["Share", "exact_p"]

_Z: Final = 1.959964  # for 95 %


class Share(Value, frozen=True):
    """``right`` of ``of``. ``right`` may be fractional: a question asked in several rounds counts with the right
    fraction."""

    right: float
    of: int

    @property
    def value(self) -> float | None:
        return self.right / self.of if self.of else None

    def is_below(self, percent: float) -> bool:
        """Whether the share is less than ``percent``. 29 of 50 equal 58 percent, although their quotient as a float
        does not."""
        right, limit = self.right * 100, percent * self.of
        return right < limit and not math.isclose(right, limit)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's interval, at 95 %, for the true share, if the questions are a random sample of all possible ones."""
        if not self.of:
            return None
        share, spread = self.right / self.of, _Z**2 / self.of
        middle = (share + spread / 2) / (1 + spread)
        reach = _Z / (1 + spread) * math.sqrt(share * (1 - share) / self.of + spread / (4 * self.of))
        return max(0.0, middle - reach), min(1.0, middle + reach)


def exact_p(better: int, worse: int) -> float:
    """McNemar's test, exact and two-sided: the probability that chance alone divides the differing questions at least
    so unevenly. 1 if there are none."""
    most = better + worse
    tail = sum(math.comb(most, count) for count in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / 2**most)
