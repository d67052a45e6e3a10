"""Rate limits that an author or an operator declares."""

from __future__ import annotations

from tooltrue.protocol.types import Value

__all__ = ["Rate"]


class Rate(Value, frozen=True):
    """A token bucket: ``burst`` calls at once, refilled at ``per_second``."""

    per_second: float
    burst: int

    @property
    def holds(self) -> bool:
        """Whether the figures form a valid limit."""
        return 0 < self.per_second < float("inf") and self.burst >= 1 and int(self.burst) == self.burst

    def __str__(self) -> str:
        return f"{self.per_second:g}/s after a burst of {self.burst}"
