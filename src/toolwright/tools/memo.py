"""Lists that differ by caller, the same object while nothing has changed for that caller."""

from __future__ import annotations

from toolwright.tools.toolset import Tool

__all__ = ["ListMemo"]

_REMEMBERED = 256


class ListMemo:
    """Remembers the last list of each caller; forgets all of them when there are too many."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Tool, ...]] = {}

    def same(self, tools: tuple[Tool, ...], caller: str) -> tuple[Tool, ...]:
        """The list that this caller was given last, where it is the same."""
        last = self._last.get(caller)
        if last is not None and last == tools:
            return last
        if len(self._last) >= _REMEMBERED:
            self._last.clear()
        self._last[caller] = tools
        return tools
