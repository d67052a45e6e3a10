"""The warm-up of a server or client: the same work before the clock starts, until its rate is steady.

Node compiles in stages and is slow for its first seconds; a fixed moment of warm-up would compare it while it is cold.
Imports only the standard library: the clients of peers use this file too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

NODE_SECONDS = 2.5
"""The least warm-up of Node."""

_WINDOW = 0.25
_LAST = 3
_DIFFERENCE = 1.05
_MOST = 24  # windows: a machine on which no rate is steady is measured all the same


@dataclass(slots=True)
class WarmUp:
    """Windows of ``window`` seconds. It is over when the rates of the last three differ by less than 5 %, but not
    within the first ``least`` seconds, and after 24 windows in any case."""

    least: float = 0.0
    window: float = _WINDOW
    rates: list[float] = field(default_factory=list)

    @classmethod
    def before(cls, seconds: float, least: float = 0.0) -> "WarmUp":
        """The warm-up before ``seconds`` of measurement: short windows before a short one."""
        return cls(least, min(_WINDOW, seconds / 4))

    @property
    def is_over(self) -> bool:
        if len(self.rates) * self.window < self.least:
            return False
        last = self.rates[-_LAST:]
        return len(self.rates) >= _MOST or (len(last) == _LAST and max(last) < min(last) * _DIFFERENCE)

    def run(self, rate_of: Callable[[float], float]) -> None:
        """``rate_of(seconds)`` works for so long, and returns its rate."""
        while not self.is_over:
            self.rates.append(rate_of(self.window))
