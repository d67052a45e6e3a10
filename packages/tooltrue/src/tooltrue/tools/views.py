"""Toolsets made from toolsets: combined, prefixed, renamed, filtered. A view refuses calls to tools that it does not
list.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar

from tooltrue.errors import DefinitionError, UnknownEntry, UnknownTool
from tooltrue.protocol import types as wire
from tooltrue.protocol.name_rules import REPLACES, is_name
from tooltrue.protocol.types import (
    Completion,
    Mutable,
    PromptOutcome,
    ReadOutcome,
    ToolOutcome,
    Value,
    field,
    replaced,
)
from tooltrue.tools.memo import Remembered
from tooltrue.tools.toolset import Provider, Wrapper, unknown
from tooltrue.tools.vocabulary import (
    EVERYONE,
    CompletionGet,
    Entry,
    LibraryOperation,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
    Unwatch,
)
from tooltrue.tools.wording import DERIVED_TOOL_NAME_INVALID, TOOL_NAME_COLLISION

__all__ = ["combined", "filtered", "prefixed", "renamed"]

T = TypeVar("T")

Tools = tuple[Tool, ...]


def filtered(inner: Provider, visible: Callable[[Tool, RequestContext], bool]) -> Provider:
    """Return the tools for which ``visible(tool, context)`` holds. To a caller, the others do not exist."""
    return _Filtered(inner, visible)


def prefixed(inner: Provider, prefix: str) -> Provider:
    """Return the same tools as ``prefix_name``. Raises ``DefinitionError`` for a prefix that no tool name can have; a
    name that gets too long by it is reported when it is listed.
    """
    mark = _named(f"{prefix}_")
    return _Named(inner, mark.__add__, lambda name: [name.removeprefix(mark)] if name.startswith(mark) else [])


def renamed(inner: Provider, names: Mapping[str, str]) -> Provider:
    """Return the same tools, those in ``names`` (old → new) under their new name only. Raises ``DefinitionError`` for
    an invalid or repeated new name.
    """
    back = {_named(new): old for old, new in names.items()}
    if len(back) < len(names):
        raise DefinitionError.of(TOOL_NAME_COLLISION, names=", ".join(sorted(names.values())))

    def inward(name: str) -> list[str]:
        return ([back[name]] if name in back else []) + ([] if name in names else [name])

    return _Named(inner, lambda name: names.get(name, name), inward)


def _named(name: str) -> str:
    """Return ``name``, or raise ``DefinitionError``: names that views make must be valid in every host."""
    if not is_name(name):
        raise DefinitionError.of(DERIVED_TOOL_NAME_INVALID, name=name)
    return name


def combined(*inner: Provider) -> Provider:
    """Return the tools of all of them. A name that two of them have is a ``DefinitionError`` when it is listed or
    called.
    """
    return _Combined(inner)


class _Memo(Mutable, Generic[T]):
    """Remembers the last list, so that a view too returns the same tuple until its source changes."""

    source: object = None
    made: tuple[T, ...] = ()

    def of(self, source: object, make: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        if source != self.source:
            self.source, self.made = source, make()
        return self.made


class _Filtered(Wrapper, frozen=True):
    visible: Callable[[Tool, RequestContext], bool]
    _last: Remembered[Tool] = field(default_factory=Remembered[Tool])

    async def list_tools(self, context: RequestContext) -> Tools:
        tools = await self.inner.list_tools(context)
        if context.principal is EVERYONE:
            return tools
        return self._last.same(tuple(tool for tool in tools if self.visible(tool, context)), context.principal.id)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        tool = await self.inner.find_tool(name, context)
        if not self.visible(tool, context):
            raise UnknownTool(name)
        return tool

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        tool = self.inner.known_tool(name, context)
        if tool is not None and not self.visible(tool, context):
            raise UnknownTool(name)
        return tool

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        await self.find_tool(call.name, call.context)
        return await self.inner.call_tool(call)


class _Named(Wrapper, frozen=True):
    """Presents other names outward; ``inward`` returns the inner names that a name may stand for. If two exist, they
    clash.
    """

    outward: Callable[[str], str]
    inward: Callable[[str], list[str]]
    _memo: _Memo[Tool] = field(default_factory=_Memo[Tool])

    def _rename(self, tool: Tool) -> Tool:
        definition = replaced(tool.definition, name=_named(self.outward(tool.name)))
        if not tool.replaces:
            return replaced(tool, definition=definition)
        names = (self.outward(old) for old in tool.replaces)
        replaces = tuple(name for name in names if is_name(name) and name != definition.name)
        return _replacing(replaced(tool, definition=definition), replaces)

    async def list_tools(self, context: RequestContext) -> Tools:
        tools = await self.inner.list_tools(context)
        return self._memo.of(tools, lambda: _sorted(map(self._rename, tools)))

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return self._rename(await self._find(name, context))

    async def _find(self, name: str, context: RequestContext) -> Tool:
        matches: dict[str, Tool] = {}
        for inner in self.inward(name):
            with contextlib.suppress(UnknownTool):
                tool = await self.inner.find_tool(inner, context)
                matches[tool.name] = tool
        now = [tool for tool in matches.values() if self.outward(tool.name) == name]
        return _only(name, now or list(matches.values()))

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        tool = await self._find(call.name, call.context)
        return await self.inner.call_tool(replaced(call, name=tool.name, tool=tool))


def _replacing(tool: Tool, names: tuple[str, ...]) -> Tool:
    meta = {**(tool.definition.meta or {}), REPLACES: list(names)}
    return replaced(tool, definition=replaced(tool.definition, meta=meta), replaces=names)


def _only(name: str, matches: list[T]) -> T:
    """Return the only one found. Errors have the name that the caller used, not the one behind it."""
    if not matches:
        raise UnknownTool(name)
    if len(matches) > 1:
        raise DefinitionError.of(TOOL_NAME_COLLISION, names=name)
    return matches[0]


def _sorted(tools: Iterable[Tool]) -> Tools:
    ordered = tuple(sorted(tools, key=lambda tool: tool.name))
    for one, other in pairwise(ordered):
        if one.name == other.name:
            raise DefinitionError.of(TOOL_NAME_COLLISION, names=one.name)
    return ordered


def _without_taken(tools: Tools) -> Tools:
    present = frozenset(tool.name for tool in tools)
    return tuple(_without_names(tool, present) for tool in tools)


def _without_names(tool: Tool, names: frozenset[str]) -> Tool:
    """Return the tool without those old names that are present names of other tools: rules for those do not apply to
    it.
    """
    if names.isdisjoint(tool.replaces):
        return tool
    return _replacing(tool, tuple(name for name in tool.replaces if name not in names))


class _Combined(Value, frozen=True):
    """Several providers as one. The first that has a resource or prompt serves it; a fixed resource of any part
    precedes the templates of all.
    """

    parts: tuple[Provider, ...]
    _memo: _Memo[Tool] = field(default_factory=_Memo[Tool])
    _memos: Mapping[str, _Memo[Any]] = field(default_factory=lambda: defaultdict[str, _Memo[Any]](_Memo))

    async def list_tools(self, context: RequestContext) -> Tools:
        lists = [await part.list_tools(context) for part in self.parts]
        return self._memo.of(lists, lambda: _without_taken(_sorted(chain.from_iterable(lists))))

    async def _owner(self, name: str, context: RequestContext) -> tuple[Provider, Tool]:
        owners: list[tuple[Provider, Tool]] = []
        for part in self.parts:
            with contextlib.suppress(UnknownTool):
                owners.append((part, await part.find_tool(name, context)))
        # A present name takes precedence over an old one.
        return _only(name, [one for one in owners if one[1].name == name] or owners)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        tool = (await self._owner(name, context))[1]
        return _without_names(tool, frozenset([old for old in tool.replaces if await self._is_there(old, context)]))

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        """Return the tool where every part knows without waiting, and one has it under this very name."""
        owners: list[Tool] = []
        for part in self.parts:
            with contextlib.suppress(UnknownTool):
                if (tool := part.known_tool(name, context)) is None:
                    return None
                owners.append(tool)
        if not owners:
            raise UnknownTool(name)
        # Old names need a look at the other parts.
        return owners[0] if len(owners) == 1 and owners[0].name == name and not owners[0].replaces else None

    async def _is_there(self, name: str, context: RequestContext) -> bool:
        """Whether a tool has this present name. A name that is an old name of two tools in one part is no present
        name.
        """
        for part in self.parts:
            with contextlib.suppress(UnknownTool, DefinitionError):
                if (await part.find_tool(name, context)).name == name:
                    return True
        return False

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        part, tool = await self._owner(call.name, call.context)
        return await part.call_tool(replaced(call, tool=tool))

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        ends = [part.watch(changed) for part in self.parts]

        def unwatch() -> None:
            for end in ends:
                end()

        return unwatch

    def offers(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.offers() for part in self.parts))

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        lists = [await part.list_resources(context) for part in self.parts]
        return self._memos["resources"].of(lists, lambda: _first_of_each(lists, lambda resource: resource.uri))

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        lists = [await part.list_templates(context) for part in self.parts]
        return self._memos["templates"].of(lists, lambda: _first_of_each(lists, lambda template: template.uriTemplate))

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        lists = [await part.list_prompts(context) for part in self.parts]
        return self._memos["prompts"].of(lists, lambda: _first_of_each(lists, lambda prompt: prompt.name))

    async def _first(self, operation: LibraryOperation) -> tuple[Provider, tuple[Entry, ...]]:
        of_template: tuple[Provider, tuple[Entry, ...]] | None = None
        for part in self.parts:
            with contextlib.suppress(UnknownEntry):
                entries = await part.find_entries(operation)
                if not isinstance(entries[0], wire.ResourceTemplate):
                    return part, entries
                of_template = of_template or (part, entries)
        if of_template is None:
            raise unknown(operation)
        return of_template

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        return (await self._first(operation))[1]

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        part, _ = await self._first(request)
        return await part.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        part, _ = await self._first(get)
        return await part.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        part, _ = await self._first(get)
        return await part.complete(get)


def _first_of_each(lists: Iterable[tuple[T, ...]], key: Callable[[T], str]) -> tuple[T, ...]:
    """Return one sorted list; of items with the same key the first."""
    items: dict[str, T] = {}
    for item in chain.from_iterable(lists):
        items.setdefault(key(item), item)
    return tuple(item for _, item in sorted(items.items(), key=lambda pair: pair[0]))
