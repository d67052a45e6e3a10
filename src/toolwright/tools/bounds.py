"""What an author or an operator may say about how often something may be called."""

from __future__ import annotations

from toolwright.protocol.types import Value

__all__ = ["Rate"]


class Rate(Value, frozen=True):
    """``burst`` calls at once, and ``per_second`` in the long run: what was used comes back at that pace."""

    per_second: float
    burst: int

    @property
    def holds(self) -> bool:
        """Whether these are figures that a limit can go by."""
        return 0 < self.per_second < float("inf") and self.burst >= 1 and int(self.burst) == self.burst

    def __str__(self) -> str:
        return f"{self.per_second:g}/s after {self.burst} at once"
