"""Tools that are disabled and enabled while a server runs. A disabled tool is neither listed nor called: it reads like
an unknown one. Calls that already run finish.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from tooltrue.errors import UnknownTool
from tooltrue.tools.null import SILENT
from tooltrue.tools.views import switches_of, tag_set
from tooltrue.tools.vocabulary import EVERYONE, ProviderChange, RequestContext, Tool, Unwatch

if TYPE_CHECKING:
    from tooltrue.tools.local import LocalToolset
    from tooltrue.tools.toolset import Provider

__all__ = ["Switches", "switch"]


class Switches:
    """The names, present or old, and the tags that are disabled. Of two settings that concern a tool, the later one
    holds, except that a tool that was disabled by its name is enabled by its name alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: frozenset[str] = frozenset()
        self._tags: frozenset[str] = frozenset()
        self._despite: dict[str, frozenset[str]] = {}  # of a tool that was enabled by name, the tags that do not count
        self._watchers: list[Callable[[ProviderChange], None]] = []
        self.any_off = False

    def disable(self, names: Collection[str], tags: frozenset[str]) -> None:
        with self._lock:
            self._names |= frozenset(names)
            self._tags |= tags
            rest = {name: despite - tags for name, despite in self._despite.items() if name not in names}
            self._despite = {name: despite for name, despite in rest.items() if despite}
            self.any_off = bool(self._names or self._tags)
        self._notify()

    def enable(self, names: Collection[str], tags: frozenset[str]) -> None:
        with self._lock:
            self._names -= frozenset(names)
            self._tags -= tags
            if self._tags:
                self._despite = {**self._despite, **dict.fromkeys(names, self._tags)}
            self.any_off = bool(self._names or self._tags)
        self._notify()

    def _notify(self) -> None:
        for changed in tuple(self._watchers):
            changed(ProviderChange("tools"))

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

    def is_off(self, tool: Tool) -> bool:
        if not self._names.isdisjoint(tool.names):
            return True
        tags = self._tags & tool.tags
        return bool(tags) and not tags <= self._despite.get(tool.name, frozenset())


def switch(own: LocalToolset, served: Provider, names: Collection[str], tags: Collection[str], *, on: bool) -> None:
    """Disable or enable tools of a server: its ``own``, and the others that it serves. Raises ``UnknownTool``."""
    switches = switches_of(served)
    others = [name for name in names if not own.has(name)]
    for name in others:
        if switches is None or not _knows(served, name):
            raise UnknownTool(name)
    mine = [name for name in names if name not in others]
    (own.enable if on else own.disable)(*mine, tags=tags)
    if switches is not None:
        if on:
            switches.enable(names, tag_set(tags))  # own names too: their tags may be off here as well
        else:
            switches.disable(others, tag_set(tags))


def _knows(served: Provider, name: str) -> bool:
    """Whether a tool may have this name, disabled or not. ``True`` where only a server elsewhere can tell."""
    try:
        served.known_tool(name, RequestContext(EVERYONE, SILENT))
    except UnknownTool:
        return False
    return True
