"""Lists and tools that are made from others: the same object until their source changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["DerivedLists", "DerivedValues", "Remembered"]

T = TypeVar("T")
SourceT = TypeVar("SourceT")

_REMEMBERED = 256
_DERIVED = 4_096


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


class DerivedLists(Generic[T]):
    """Lists that are made from other lists: the same object for the same sources, also where these differ by caller."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], tuple[list[tuple[Any, ...]], tuple[T, ...]]] = {}
        self._last: tuple[list[tuple[Any, ...]], tuple[T, ...]] | None = None

    def of(self, sources: list[tuple[Any, ...]], make: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        """Return the list that was made from ``sources``, or from equal ones last; ``make`` makes a new one."""
        key = tuple(map(id, sources))
        if (known := self._made.get(key)) is not None:  # which holds its sources, so no other has their ids
            return known[1]
        last = self._last
        entry = (sources, last[1] if last is not None and last[0] == sources else make())
        if len(self._made) >= _REMEMBERED:
            self._made.clear()
        self._made[key] = self._last = entry
        return entry[1]


class DerivedValues(Generic[SourceT, T]):
    """Values that are made from others: the same object for the same source object. ``most`` of them are kept."""

    def __init__(self, most: int = _DERIVED) -> None:
        self._most = most
        self._made: dict[int, tuple[SourceT, T]] = {}

    def of(self, source: SourceT, make: Callable[[SourceT], T]) -> T:
        """Return what was made from this object; ``make`` makes it the first time."""
        if (entry := self._made.get(id(source))) is not None:  # which holds its source, so no other has its id
            return entry[1]
        made = make(source)
        if len(self._made) >= self._most:
            self._made.clear()
        self._made[id(source)] = (source, made)
        return made
