"""Lists that differ by caller: the same object until that caller's list changes."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Remembered"]

T = TypeVar("T")

_REMEMBERED = 256


class Remembered(Generic[T]):
    """The last list of each caller; all are dropped when there are too many."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[T, ...]] = {}

    def same(self, items: tuple[T, ...], caller: str) -> tuple[T, ...]:
        """Return ``items``, or the equal list that this caller was given last."""
        last = self._last.get(caller, ())
        if last == items:
            return last
        if len(self._last) >= _REMEMBERED:
            self._last.clear()
        self._last[caller] = items
        return items
