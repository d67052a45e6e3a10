"""The view of callers with too many tools: they search, instead of being shown every definition.

Such a caller is shown three tools, and a short list of others that stays the same. ``search_tools`` and
``describe_tools`` are ordinary tools behind the pipeline, which ask the guarded provider, so that they find what this
caller may see. A call of ``call_tool`` becomes a call of the tool that it names before the pipeline begins, so that
rules, approvals, limits and audit records name that tool.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

from tooltrue.caching import cache_short_texts
from tooltrue.errors import ConfigurationError, UnknownTool
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.name_rules import is_name
from tooltrue.protocol.types import ToolOutcome, Value, field, replaced
from tooltrue.tools.content import failed
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.memo import DerivedLists, DerivedValues
from tooltrue.tools.search.token_estimate import estimated
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.views import check_exchange, in_order, without_names
from tooltrue.tools.vocabulary import EVERYONE, RequestContext, Tool, ToolCall
from tooltrue.tools.wording import (
    LABEL_THREE_NAMES,
    LABEL_TOKENS,
    RESERVED_NAME_LEFT_OUT,
    TOOL_TO_CALL_UNKNOWN,
)
from tooltrue.wording import SETTING_INVALID, Worded, coded_sentence

if TYPE_CHECKING:  # most processes never search, and the patterns of a search take a while to compile
    from tooltrue.tools.search.index import SearchIndex, SearchText

__all__ = ["ToolSearch", "searchable", "tokens_of"]

_log = logging.getLogger("tooltrue")

_FIRST: Final = 10
_MOST: Final = 50
_MOST_DESCRIBED: Final = 20
_MAX_QUERY: Final = 1_000
_SHORT: Final = 300
_INDEXES: Final = 16


class ToolSearch(Value, frozen=True):
    """When callers search for tools, and by which names.

    A caller searches if the definitions of its tools take more than ``budget`` tokens, by an estimate, or ``always``.
    ``shown`` are names and patterns (``notes_*``) of tools that are listed nevertheless; without it, the first by name
    that fit the budget are. Raises ``ConfigurationError`` for a negative budget, and for names that no tool can have.
    """

    budget: int = 10_000
    always: bool = False
    shown: Sequence[str] | None = None
    search_name: str = "search_tools"
    describe_name: str = "describe_tools"
    call_name: str = "call_tool"

    def __post_init__(self) -> None:
        if not self.budget >= 0:
            raise ConfigurationError.of(SETTING_INVALID, name="ToolSearch(budget=…)", wanted=Worded(LABEL_TOKENS, {}))
        if len({*map(_plain, self.names)}) < len(self.names) or not all(map(is_name, self.names)):
            raise ConfigurationError.of(
                SETTING_INVALID, name="ToolSearch(…_name=…)", wanted=Worded(LABEL_THREE_NAMES, {})
            )

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of the three tools, which no other tool may have."""
        return self.search_name, self.describe_name, self.call_name

    def replaces(self, tokens: int) -> bool:
        """Whether the search takes the place of a list whose definitions take so many tokens."""
        return self.always or tokens > self.budget

    def __str__(self) -> str:
        when = "always" if self.always else f"above {self.budget} tokens of definitions"
        return f"{when}, by {', '.join(self.names)}"


def searchable(
    provider: Provider, settings: ToolSearch, guard: Callable[[Provider], Provider], language: str = "en"
) -> Provider:
    """Return ``guard(provider)`` for callers that may have too many tools. ``language`` is that of errors.

    ``guard`` wraps a provider in the layers of a pipeline. A tool of ``provider`` with one of the names of the three
    is left out, and reported in the log.
    """
    tools = _SearchTools(settings)
    reserved = frozenset(map(_plain, settings.names))
    tools.guarded = guard(_WithSearchTools(provider, tools, frozenset(settings.names), reserved))
    return _Searchable(tools.guarded, settings, language)


class _Searchable(Wrapper, frozen=True):
    """The outermost part: shortens lists, and makes a call of ``call_tool`` one of the tool that it names."""

    settings: ToolSearch
    language: str
    _lists: DerivedLists[Tool] = field(default_factory=DerivedLists[Tool])
    _tokens: DerivedValues[Tool, int] = field(default_factory=DerivedValues[Tool, int])

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        tools = await self.inner.list_tools(context)
        if context.principal is EVERYONE:
            return tools
        return self._lists.of([tools], lambda: self._shortened(tools))

    def _shortened(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        settings = self.settings
        three = [tool for tool in tools if tool.name in settings.names]
        others = tuple(tool for tool in tools if tool.name not in settings.names)
        if len(three) < len(settings.names):  # rules hide one of them, so that the list is the only way to the tools
            return others
        sizes = {tool.name: self._tokens.of(tool, tokens_of) for tool in tools}
        if not settings.replaces(sum(sizes[tool.name] for tool in others)):
            return others
        listed = {tool.name for tool in three}
        if settings.shown is not None:
            listed |= {tool.name for tool in others if any(fnmatchcase(tool.name, one) for one in settings.shown)}
        else:
            remaining = settings.budget - sum(sizes[tool.name] for tool in three)
            for tool in others:
                if sizes[tool.name] <= remaining:
                    remaining -= sizes[tool.name]
                    listed.add(tool.name)
        return tuple(tool for tool in tools if tool.name in listed)

    def call_tool(self, call: ToolCall) -> CoroutineType[Any, Any, ToolOutcome]:
        return self.inner.call_tool(call) if call.name != self.settings.call_name else self._call_named(call)

    async def _call_named(self, call: ToolCall) -> ToolOutcome:
        named = self._named(call)
        try:
            return await self.inner.call_tool(named)
        except UnknownTool:
            if named.name == call.name:
                raise
            # The model chose this name, so that it gets a result; a hidden tool reads like one that does not exist.
            facts = {"name": named.name[:128], "search": self.settings.search_name}
            return failed(coded_sentence(TOOL_TO_CALL_UNKNOWN, self.language, facts))

    def _named(self, call: ToolCall) -> ToolCall:
        """Return the call of the tool that ``call_tool`` names. Unfit arguments are left to the pipeline to refuse."""
        name, arguments, admit = call.name, call.arguments, call.admit
        while name == self.settings.call_name and _fits(arguments):
            name, arguments = arguments["name"], arguments.get("arguments", {})
        if name != self.settings.call_name and admit is not None:
            admit = _admitting(admit)
        return ToolCall(name, arguments, call.context, admit=admit, on_task=call.on_task)


def _fits(arguments: Mapping[str, Any]) -> bool:
    return (
        isinstance(arguments.get("name"), str)
        and isinstance(arguments.get("arguments", {}), dict)
        and arguments.keys() <= {"name", "arguments"}
    )


def _admitting(admit: Callable[[Tool], None]) -> Callable[[Tool], None]:
    """Return the check without that of mirrored arguments: the client has mirrored those of ``call_tool``."""
    return lambda tool: admit(replaced(tool, mirrors=()) if tool.mirrors else tool)


def tokens_of(tool: Tool) -> int:
    """The approximate number of tokens of the tool's definition."""
    return estimated(encode(tool.definition).decode())


class _WithSearchTools(Wrapper, frozen=True):
    """The tools of ``inner``, and the three. The name of a tool tells which of the two is asked. Tools of ``inner`` are
    left out if their names are those of the three, also in another case or with another separator.
    """

    three: LocalToolset
    names: frozenset[str]
    reserved: frozenset[str]
    _lists: DerivedLists[Tool] = field(default_factory=DerivedLists[Tool])
    _tools: DerivedValues[Tool, Tool] = field(default_factory=DerivedValues[Tool, Tool])
    _reported: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        lists = [await self.inner.list_tools(context), await self.three.list_tools(context)]
        return self._lists.of(lists, lambda: in_order([*self._free(lists[0]), *lists[1]]))

    def _free(self, tools: tuple[Tool, ...]) -> list[Tool]:
        for tool in tools:
            if self._is_reserved(tool.name) and (key := (tool.server, tool.name)) not in self._reported:
                self._reported.add(key)
                _log.warning("%s", coded_sentence(RESERVED_NAME_LEFT_OUT, "en", {"name": tool.name}))
        return [self._with_own_names(tool) for tool in tools if not self._is_reserved(tool.name)]

    def _is_reserved(self, name: str) -> bool:
        return _plain(name) in self.reserved

    def _with_own_names(self, tool: Tool) -> Tool:
        """Return the tool without old names that are those of the three."""
        return tool if not tool.replaces else self._tools.of(tool, lambda tool: without_names(tool, self.names))

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        if name in self.names:
            return await self.three.find_tool(name, context)
        return self._checked(name, await self.inner.find_tool(name, context))

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        if name in self.names:
            return self.three.known_tool(name, context)
        tool = self.inner.known_tool(name, context)
        return None if tool is None else self._checked(name, tool)

    def _checked(self, name: str, tool: Tool) -> Tool:
        if self._is_reserved(name) or (name != tool.name and self._is_reserved(tool.name)):
            raise UnknownTool(name)
        return self._with_own_names(tool)

    def call_tool(self, call: ToolCall) -> CoroutineType[Any, Any, ToolOutcome]:
        if call.name in self.names:
            return self.three.call_tool(call)
        if call.tool is None or call.tool.name != call.name:
            return self._call_found(call)
        if self._is_reserved(call.name):
            raise UnknownTool(call.name)
        return self.inner.call_tool(call)

    async def _call_found(self, call: ToolCall) -> ToolOutcome:
        tool = await self.find_tool(call.name, call.context)
        check_exchange(call, tool)
        return await self.inner.call_tool(replaced(call, tool=tool))


@cache_short_texts(4_096)
def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(".", "_")


class _SearchTools(LocalToolset):
    """The three tools. ``guarded`` is the provider behind the pipeline, which knows what a caller may see."""

    guarded: Provider

    def __init__(self, settings: ToolSearch) -> None:
        super().__init__(threads=1)
        self._settings = settings
        self._indexing = threading.Lock()
        self._indexes: dict[tuple[int, ...], tuple[tuple[Tool, ...], SearchIndex]] = {}
        self._add_search(*settings.names)
        self._add_describe(*settings.names)
        self._add_call(*settings.names)

    def _add_search(self, search: str, describe: str, call: str) -> None:
        self.add_raw(
            search,
            {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": _MAX_QUERY,
                        "description": (
                            "The action, the object and the product if there is one, with other words for them, in "
                            "English and in the language of the user: 'upload save file document Google Drive'."
                        ),
                    },
                    "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": _FIRST},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
            self._search,
            output_schema={
                "type": "object",
                "properties": {
                    "tools": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
                            "required": ["name", "description"],
                        },
                    },
                    "found": {"type": "integer"},
                },
                "required": ["tools", "found"],
            },
            title="Search for tools",
            description=(
                f"Find tools of this server by words, the best first. Most tools are not listed: search before you say "
                f"that something cannot be done. Use {describe} for the arguments of a tool, and {call} to call it."
            ),
            effect="read",
        )

    def _add_describe(self, search: str, describe: str, call: str) -> None:
        self.add_raw(
            describe,
            {
                "type": "object",
                "properties": {
                    "names": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": _MOST_DESCRIBED,
                        "description": f"Names of tools, as {search} returns them.",
                    }
                },
                "required": ["names"],
                "additionalProperties": False,
            },
            self._describe,
            output_schema={
                "type": "object",
                "properties": {
                    "tools": {"type": "array", "items": {"type": "object"}},
                    "unknown": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["tools", "unknown"],
            },
            title="Describe tools",
            description="Return the full definitions of tools, with the JSON Schema of their arguments.",
            effect="read",
        )

    def _add_call(self, search: str, describe: str, call: str) -> None:
        self.add_raw(
            call,
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": f"The name of a tool, as {search} returns it."},
                    "arguments": {
                        "type": "object",
                        "description": f"Its arguments, as {describe} shows them.",
                        "additionalProperties": True,
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            _never_called,
            title="Call a tool",
            description=(
                f"Call a tool that {search} has found. The call is checked, approved and recorded as one of that tool."
            ),
            effect="open-world",
            confirm=False,
        )

    async def _search(self, arguments: dict[str, Any], context: RequestContext) -> dict[str, Any]:
        tools = await self._others(context)
        places = await asyncio.to_thread(self._places, tools, arguments["query"])
        best = [tools[place] for place in places[: arguments.get("limit", _FIRST)]]
        return {"tools": [{"name": tool.name, "description": _short(tool)} for tool in best], "found": len(places)}

    async def _describe(self, arguments: dict[str, Any], context: RequestContext) -> dict[str, Any]:
        tools = {tool.name: tool for tool in await self._others(context)}
        names = list(dict.fromkeys(arguments["names"]))
        found = [tools[name].definition for name in names if name in tools]
        return {
            "tools": [decode(encode(definition)) for definition in found],
            "unknown": [name[:128] for name in names if name not in tools],
        }

    async def _others(self, context: RequestContext) -> tuple[Tool, ...]:
        """Return the tools that this caller may see, without the three."""
        tools = await self.guarded.list_tools(context)
        return tuple(tool for tool in tools if tool.name not in self._settings.names)

    def _places(self, tools: tuple[Tool, ...], query: str) -> list[int]:
        from tooltrue.tools.search.query import search  # noqa: PLC0415 - few processes search

        return [place for place, _ in search(self._index(tools), query)]

    def _index(self, tools: tuple[Tool, ...]) -> SearchIndex:
        """Return the index of these tools: callers with the same tools share one, and no index has others, so that a
        hidden tool changes no result."""
        from tooltrue.tools.search.index import SearchIndex  # noqa: PLC0415 - few processes search

        key = tuple(map(id, tools))
        with self._indexing:
            if (entry := self._indexes.pop(key, None)) is None:  # which holds its tools, so no others have their ids
                entry = tools, SearchIndex(map(_text, tools))
            while len(self._indexes) >= _INDEXES:
                self._indexes.pop(next(iter(self._indexes)))
            self._indexes[key] = entry
            return entry[1]


def _text(tool: Tool) -> SearchText:
    from tooltrue.tools.search.index import search_text  # noqa: PLC0415 - few processes search

    definition = tool.definition
    return search_text(definition.name, definition.title, definition.description, definition.inputSchema)


def _short(tool: Tool) -> str:
    text = " ".join((tool.definition.description or tool.definition.title or "")[: 4 * _SHORT].split())
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _never_called(arguments: dict[str, Any]) -> str:
    """Refuse the call: those of clients are calls of another tool by now."""
    raise UnknownTool(arguments["name"])
