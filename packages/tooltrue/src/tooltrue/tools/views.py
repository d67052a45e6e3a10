"""Toolsets made from toolsets: combined, prefixed, renamed, filtered. A view refuses calls to tools that it does not
list.

Each takes providers and servers. A server stands for its own tools, resources and prompts, without its pipeline: they
pass the pipeline of the server that serves the view. ``transforms.py`` has one more view, ``transformed``.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain, pairwise
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

from tooltrue.errors import DefinitionError, InvalidArguments, UnknownEntry, UnknownTool
from tooltrue.protocol import types as wire
from tooltrue.protocol.name_rules import REPLACES, is_name
from tooltrue.protocol.types import (
    Completion,
    PromptOutcome,
    ReadOutcome,
    ToolOutcome,
    Value,
    field,
    replaced,
)
from tooltrue.tools.memo import DerivedLists, DerivedValues, Remembered
from tooltrue.tools.toolset import Provider, Source, Wrapper, provider_of, unknown
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

if TYPE_CHECKING:
    from tooltrue.tools.switches import Switches

__all__ = [
    "check_exchange",
    "combined",
    "filtered",
    "in_order",
    "prefixed",
    "renamed",
    "switchable",
    "switches_of",
    "tag_set",
    "without_names",
]

T = TypeVar("T")

Tools = tuple[Tool, ...]

_MOST_OWNERS = 4_096

Visible = Callable[[Tool, RequestContext], bool]


def filtered(
    inner: Source,
    visible: Visible | None = None,
    *,
    tags: Collection[str] = (),
    without_tags: Collection[str] = (),
) -> Provider:
    """Return the tools for which ``visible(tool, context)`` holds. To a caller, the others do not exist.

    ``tags`` selects the tools that have one of these tags, and ``without_tags`` those that have none of them. Resources
    and prompts are not affected.
    """
    return _Filtered(provider_of(inner), _visible(visible, tag_set(tags), tag_set(without_tags)))


def tag_set(tags: Collection[str]) -> frozenset[str]:
    """Return the tags as a set; one text is one tag."""
    return frozenset((tags,) if isinstance(tags, str) else tags)


def _visible(visible: Visible | None, tags: frozenset[str], without: frozenset[str]) -> Visible:
    """Return one condition for all three."""
    if visible is not None and not tags and not without:
        return visible

    def holds(tool: Tool, context: RequestContext) -> bool:
        if (tags and tags.isdisjoint(tool.tags)) or not without.isdisjoint(tool.tags):
            return False
        return visible is None or visible(tool, context)

    return holds


def prefixed(inner: Source, prefix: str) -> Provider:
    """Return the same tools as ``prefix_name``. Raises ``DefinitionError`` for a prefix that no tool name can have; a
    name that gets too long by it is reported when it is listed. Resources keep their URIs, and prompts their names.
    """
    mark = _named(f"{prefix}_")
    inward: Callable[[str], list[str]] = lambda name: [name.removeprefix(mark)] if name.startswith(mark) else []  # noqa: E731
    return _Named(provider_of(inner), mark.__add__, inward)


def renamed(inner: Source, names: Mapping[str, str]) -> Provider:
    """Return the same tools, those in ``names`` (old → new) under their new name only. Raises ``DefinitionError`` for
    an invalid or repeated new name. A name in ``names`` that no tool has is ignored.
    """
    back = {_named(new): old for old, new in names.items()}
    if len(back) < len(names):
        raise DefinitionError.of(TOOL_NAME_COLLISION, names=", ".join(sorted(names.values())))

    def inward(name: str) -> list[str]:
        return ([back[name]] if name in back else []) + ([] if name in names else [name])

    return _Named(provider_of(inner), lambda name: names.get(name, name), inward)


def _named(name: str) -> str:
    """Return ``name``, or raise ``DefinitionError``: names that views make must be valid in every host."""
    if not is_name(name):
        raise DefinitionError.of(DERIVED_TOOL_NAME_INVALID, name=name)
    return name


def combined(*inner: Source) -> Provider:
    """Return the tools of all of them. A name that two of them have is a ``DefinitionError`` when it is listed or
    called. Of resources with the same URI, and of prompts with the same name, the first is served.
    """
    return _Combined(tuple(map(provider_of, inner)))


class _Filtered(Wrapper, frozen=True):
    visible: Callable[[Tool, RequestContext], bool]
    _last: Remembered[Tool] = field(default_factory=Remembered[Tool])

    async def list_tools(self, context: RequestContext) -> Tools:
        tools = await self.inner.list_tools(context)
        if context.principal is EVERYONE:
            return tools
        return self._last.same(tuple(tool for tool in tools if self.visible(tool, context)), context.principal.id)

    def _hides(self, tool: Tool, context: RequestContext) -> bool:
        return context.principal is not EVERYONE and not self.visible(tool, context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        tool = await self.inner.find_tool(name, context)
        if self._hides(tool, context):
            raise UnknownTool(name)
        return tool

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        tool = self.inner.known_tool(name, context)
        if tool is not None and self._hides(tool, context):
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
    _lists: DerivedLists[Tool] = field(default_factory=DerivedLists[Tool])
    _tools: DerivedValues[Tool, Tool] = field(default_factory=DerivedValues[Tool, Tool])

    def _rename(self, tool: Tool) -> Tool:
        return self._tools.of(tool, self._renamed)

    def _renamed(self, tool: Tool) -> Tool:
        definition = replaced(tool.definition, name=_named(self.outward(tool.name)))
        if not tool.replaces:
            return replaced(tool, definition=definition)
        names = (self.outward(old) for old in tool.replaces)
        replaces = tuple(name for name in names if is_name(name) and name != definition.name)
        return _replacing(replaced(tool, definition=definition), replaces)

    async def list_tools(self, context: RequestContext) -> Tools:
        tools = await self.inner.list_tools(context)
        return self._lists.of([tools], lambda: in_order(map(self._rename, tools)))

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return self._rename(await self._find(name, context))

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        """Return the tool where one alone has this very name; clashes, and old names, are left to ``find_tool``."""
        matches: dict[str, Tool] = {}
        for inner in self.inward(name):
            with contextlib.suppress(UnknownTool):
                if (tool := self.inner.known_tool(inner, context)) is None:
                    return None
                matches[tool.name] = tool
        if not matches:
            raise UnknownTool(name)
        [tool, *others] = matches.values()
        if others or self.outward(tool.name) != name:
            return None
        with contextlib.suppress(DefinitionError):  # of a name that is too long, which ``find_tool`` reports
            return self._rename(tool)
        return None

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
        check_exchange(call, tool)
        try:
            return await self.inner.call_tool(replaced(call, name=tool.name, tool=tool))
        except InvalidArguments as error:
            if error.facts.get("tool") != tool.name or not error.code:
                raise
            raise InvalidArguments.of(error.code, **{**error.facts, "tool": call.name}) from error.__cause__


def check_exchange(call: ToolCall, tool: Tool) -> None:
    """Raise ``UnknownTool`` if ``tool`` is another than the one by whose schema the arguments were checked."""
    checked = call.tool
    if checked is None or checked.input is tool.input or checked.input.definition == tool.input.definition:
        return
    raise UnknownTool(call.name)


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


def in_order(tools: Iterable[Tool]) -> Tools:
    """Return the tools, sorted by name. Raises ``DefinitionError`` for a name that two of them have."""
    ordered = tuple(sorted(tools, key=lambda tool: tool.name))
    for one, other in pairwise(ordered):
        if one.name == other.name:
            raise DefinitionError.of(TOOL_NAME_COLLISION, names=one.name)
    return ordered


def _without_taken(tools: Tools) -> Tools:
    present = frozenset(tool.name for tool in tools)
    return tuple(without_names(tool, present) for tool in tools)


def without_names(tool: Tool, names: frozenset[str]) -> Tool:
    """Return the tool without those old names that are present names of other tools: rules for those do not apply to
    it.
    """
    if names.isdisjoint(tool.replaces):
        return tool
    return _replacing(tool, tuple(name for name in tool.replaces if name not in names))


def switchable(provider: Provider, *parts: Source) -> Provider:
    """Return ``provider`` and ``parts`` as one, whose tools can be disabled. Disabled ones of ``provider`` stay so."""
    from tooltrue.tools.switches import Switches  # noqa: PLC0415 - many servers have their own tools alone

    further = tuple(map(provider_of, parts))
    if isinstance(provider, _Combined) and provider.switches is not None:
        return _Combined((*provider.parts, *further), provider.switches)
    return _Combined((provider, *further), Switches())


def switches_of(provider: Provider) -> Switches | None:
    """Return the switches of a provider that ``switchable`` has made."""
    return provider.switches if isinstance(provider, _Combined) else None


class _Combined(Value, frozen=True):
    """Several providers as one. The first that has a resource or prompt serves it; a fixed resource of any part
    precedes the templates of all. ``switches`` disable tools.
    """

    parts: tuple[Provider, ...]
    switches: Switches | None = None
    _lists: Mapping[str, DerivedLists[Any]] = field(
        default_factory=lambda: defaultdict[str, DerivedLists[Any]](DerivedLists)
    )
    _last: Remembered[Tool] = field(default_factory=Remembered[Tool])
    _owners: dict[str, Provider] = field(default_factory=dict[str, Provider])

    async def list_tools(self, context: RequestContext) -> Tools:
        lists = [await part.list_tools(context) for part in self.parts]
        tools: Tools = self._lists["tools"].of(lists, lambda: _without_taken(in_order(chain.from_iterable(lists))))
        if self.switches is None or not self.switches.any_off or context.principal is EVERYONE:
            return tools
        return self._last.same(tuple(tool for tool in tools if not self._is_off(tool, context)), context.principal.id)

    def _is_off(self, tool: Tool, context: RequestContext) -> bool:
        switches = self.switches
        return switches is not None and switches.any_off and context.principal is not EVERYONE and switches.is_off(tool)

    async def _owner(self, name: str, context: RequestContext) -> tuple[Provider, Tool]:
        owners: list[tuple[Provider, Tool]] = []
        for part in self.parts:
            with contextlib.suppress(UnknownTool):
                owners.append((part, await part.find_tool(name, context)))
        # A present name takes precedence over an old one.
        owner = _only(name, [one for one in owners if one[1].name == name] or owners)
        if self._is_off(owner[1], context):
            raise UnknownTool(name)
        return owner

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        tool = (await self._owner(name, context))[1]
        return without_names(tool, frozenset([old for old in tool.replaces if await self._is_there(old, context)]))

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        """Return the tool where every part knows without waiting, and one has it under this very name."""
        owners: list[Tool] = []
        for part in self.parts:
            lacks = getattr(part, "lacks", None)
            if lacks is not None and lacks(name):  # an exception costs ten times as much, in each call of another part
                continue
            try:
                tool = part.known_tool(name, context)
            except UnknownTool:
                continue
            if tool is None:
                return None
            owners.append(tool)
        if not owners:
            raise UnknownTool(name)
        if self._is_off(owners[0], context):
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

    def call_tool(self, call: ToolCall) -> CoroutineType[Any, Any, ToolOutcome]:
        owner = self._last_owner(call)
        return self._call_owner(call) if owner is None else owner.call_tool(call)

    def _last_owner(self, call: ToolCall) -> Provider | None:
        """Return the part that had this name last, if this caller has the tool of the call there: the tool was found
        here a moment ago, when all parts were asked."""
        owner, tool = self._owners.get(call.name), call.tool
        if owner is None or tool is None or tool.name != call.name or self._is_off(tool, call.context):
            return None
        try:
            return owner if owner.known_tool(call.name, call.context) is tool else None
        except UnknownTool:
            return None

    async def _call_owner(self, call: ToolCall) -> ToolOutcome:
        part, tool = await self._owner(call.name, call.context)
        if tool is not call.tool:
            check_exchange(call, tool)
        if len(self._owners) >= _MOST_OWNERS:
            self._owners.clear()
        self._owners[call.name] = part
        return await part.call_tool(replaced(call, tool=tool))

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        ends = [part.watch(changed) for part in self.parts]
        if self.switches is not None:
            ends.append(self.switches.watch(changed))

        def unwatch() -> None:
            for end in ends:
                end()

        return unwatch

    def offers(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.offers() for part in self.parts))

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        lists = [await part.list_resources(context) for part in self.parts]
        return self._lists["resources"].of(lists, lambda: _first_of_each(lists, lambda resource: resource.uri))

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        lists = [await part.list_templates(context) for part in self.parts]
        return self._lists["templates"].of(lists, lambda: _first_of_each(lists, lambda template: template.uriTemplate))

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        lists = [await part.list_prompts(context) for part in self.parts]
        return self._lists["prompts"].of(lists, lambda: _first_of_each(lists, lambda prompt: prompt.name))

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
