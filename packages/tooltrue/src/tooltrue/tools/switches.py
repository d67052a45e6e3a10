"""Tools that are disabled and enabled while a server runs. A disabled tool is neither listed nor called: it reads like
an unknown one. Calls that already run finish.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from tooltrue.errors import UnknownTool
from tooltrue.protocol.types import ToolOutcome, field
from tooltrue.tools.memo import Remembered
from tooltrue.tools.null import SILENT
from tooltrue.tools.toolset import Provider, Source, Wrapper
from tooltrue.tools.views import combined, tag_set
from tooltrue.tools.vocabulary import EVERYONE, ProviderChange, RequestContext, Tool, ToolCall, Unwatch

if TYPE_CHECKING:
    from tooltrue.tools.local import LocalToolset

__all__ = ["Switched", "Switches", "composed", "switch"]


class Switches:
    """The names, present or old, and the tags that are disabled. Of two settings that concern a tool, the later one
    holds, except that a tool that was disabled by its name is enabled by its name alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: frozenset[str] = frozenset()
        self._tags: frozenset[str] = frozenset()
        self._despite: dict[str, frozenset[str]] = {}  # of a tool that was enabled by name, the tags that do not count

    def disable(self, names: Collection[str], tags: frozenset[str]) -> None:
        with self._lock:
            self._names |= frozenset(names)
            self._tags |= tags
            rest = {name: despite - tags for name, despite in self._despite.items() if name not in names}
            self._despite = {name: despite for name, despite in rest.items() if despite}

    def enable(self, names: Collection[str], tags: frozenset[str]) -> None:
        with self._lock:
            self._names -= frozenset(names)
            self._tags -= tags
            if self._tags:
                self._despite = {**self._despite, **dict.fromkeys(names, self._tags)}

    @property
    def any_off(self) -> bool:
        return bool(self._names or self._tags)

    def is_off(self, tool: Tool) -> bool:
        if not self._names.isdisjoint(tool.names):
            return True
        tags = self._tags & tool.tags
        return bool(tags) and not tags <= self._despite.get(tool.name, frozenset())


class Switched(Wrapper, frozen=True):
    """The tools of ``inner`` that are not disabled."""

    switches: Switches
    _last: Remembered[Tool] = field(default_factory=Remembered[Tool])
    _watchers: list[Callable[[ProviderChange], None]] = field(default_factory=list[Callable[[ProviderChange], None]])

    def knows(self, name: str) -> bool:
        """Whether a tool may have this name, disabled or not. ``True`` where only a server elsewhere can tell."""
        try:
            self.inner.known_tool(name, RequestContext(EVERYONE, SILENT))
        except UnknownTool:
            return False
        return True

    def changed(self) -> None:
        """Notify the watchers that tools were disabled or enabled."""
        for changed in tuple(self._watchers):
            changed(ProviderChange("tools"))

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        tools = await self.inner.list_tools(context)
        if not self.switches.any_off:
            return tools
        return self._last.same(tuple(tool for tool in tools if not self.switches.is_off(tool)), context.principal.id)

    def _checked(self, tool: Tool, name: str) -> Tool:
        if self.switches.any_off and self.switches.is_off(tool):
            raise UnknownTool(name)
        return tool

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return self._checked(await self.inner.find_tool(name, context), name)

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        tool = self.inner.known_tool(name, context)
        return None if tool is None else self._checked(tool, name)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        if self.switches.any_off:
            await self.find_tool(call.name, call.context)
        return await self.inner.call_tool(call)

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        end = self.inner.watch(changed)
        self._watchers.append(changed)

        def unwatch() -> None:
            end()
            if changed in self._watchers:
                self._watchers.remove(changed)

        return unwatch


def composed(provider: Provider, *parts: Source) -> Switched:
    """Return ``provider`` and ``parts`` as one, whose tools can be disabled. Disabled ones of ``provider`` stay so."""
    if isinstance(provider, Switched):
        return Switched(combined(provider.inner, *parts), provider.switches)
    return Switched(combined(provider, *parts), Switches())


def switch(own: LocalToolset, served: Provider, names: Collection[str], tags: Collection[str], *, on: bool) -> None:
    """Disable or enable tools of a server: its ``own``, and the others that it serves. Raises ``UnknownTool``."""
    view = served if isinstance(served, Switched) else None
    others = [name for name in names if not own.has(name)]
    for name in others:
        if view is None or not view.knows(name):
            raise UnknownTool(name)
    mine = [name for name in names if name not in others]
    (own.enable if on else own.disable)(*mine, tags=tags)
    if view is not None:
        (view.switches.enable if on else view.switches.disable)(others, tag_set(tags))
        view.changed()
