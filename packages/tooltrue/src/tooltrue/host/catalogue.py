"""One catalogue over all servers: a stable table from names to tools, while servers come and go.

Its order and its names depend only on the definitions of the servers. A server that is away keeps its place: its tools
are marked as unavailable in :attr:`Catalogue.rows`, and stay in the list, so that the list a model has seen does not
change.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import CoroutineType
from typing import Any, Literal, TypeAlias, TypeVar

from tooltrue.errors import DefinitionError, ToolError, UnknownEntry, UnknownTool
from tooltrue.host.aliases import alias, plain_alias
from tooltrue.host.definitions import Definitions
from tooltrue.host.inspection import QuarantinedDefinition
from tooltrue.host.remote import Remote
from tooltrue.host.wording import HOST_NAME_TAKEN, RESOURCE_OF_SEVERAL_SERVERS
from tooltrue.policy.rules.globs import Globs
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import (
    Completion,
    InputRequiredResult,
    PromptOutcome,
    ReadOutcome,
    ToolOutcome,
    Value,
    replaced,
)
from tooltrue.tools.toolset import unknown
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Entry,
    Kind,
    LibraryOperation,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
    Unwatch,
)

__all__ = ["Catalogue", "CataloguePart", "CatalogueRow", "Selection"]

T = TypeVar("T")


class Selection(Value, frozen=True):
    """The part of a catalogue that some callers see: the servers, by their labels, and the tools, by their names in the
    catalogue; all of them without a pattern. ``names`` and ``descriptions`` replace those of the catalogue, each by the
    name there."""

    servers: Globs | None = None
    tools: Globs | None = None
    names: Mapping[str, str] = {}
    descriptions: Mapping[str, str] = {}

    def has_server(self, label: str) -> bool:
        return self.servers is None or self.servers.match(label)

    def has_tool(self, name: str) -> bool:
        return self.tools is None or self.tools.match(name)

    def called(self, name: str) -> str:
        return self.names.get(name, name)


class CataloguePart(Value, frozen=True):
    """A server's place in the catalogue: its mark, and the names that the operator gives to some of its tools. Without
    ``prefix``, other names stay as they are."""

    remote: Remote
    mark: str
    rename: Mapping[str, str] = {}
    prefix: bool = True

    def called(self, name: str) -> str:
        return self.rename.get(name) or self.prompt_called(name)

    def prompt_called(self, name: str) -> str:
        return alias(self.mark, name) if self.prefix else plain_alias(self.mark, name)


class CatalogueRow(Value, frozen=True):
    """A line of the catalogue: the name here, and the tool it stands for. ``tool`` has the name here, ``origin`` that
    of the server."""

    alias: str
    part: CataloguePart
    name: str
    tool: Tool
    origin: Tool

    @property
    def server(self) -> str:
        return self.part.remote.server

    @property
    def is_available(self) -> bool:
        return self.part.remote.is_there


class _Tables(Value, frozen=True):
    """The tables over the definitions of all servers, as one caller sees them."""

    rows: Mapping[str, CatalogueRow] = {}
    tools: tuple[Tool, ...] = ()
    prompts: Mapping[str, _PromptRow] = {}
    resource_list: tuple[wire.ResourceDefinition, ...] = ()
    template_list: tuple[wire.ResourceTemplate, ...] = ()
    prompt_list: tuple[wire.Prompt, ...] = ()
    aside: tuple[QuarantinedDefinition, ...] = ()


class _PromptRow(Value, frozen=True):
    part: CataloguePart
    name: str
    prompt: wire.Prompt


_Seen: TypeAlias = tuple[Definitions, ...]
"""The definitions of each server, in the order of the servers."""
_Known: TypeAlias = Sequence[tuple[CataloguePart, Definitions]]

_MOST_TABLES = 100
"""Limit for the different tables of callers, if callers have lists of their own."""

_MOST_ADDRESSES = 1_000
"""Limit for the addresses of the parts of one resource. Each is looked up at every server, and no other call is served
meanwhile."""


class Catalogue:
    """A provider over several. The exact table is the only way from a name to a tool.

    A resource that two servers list belongs to the one that stands earlier, in whichever order they start.
    """

    def __init__(self, parts: Sequence[CataloguePart], selection: Selection | None = None) -> None:
        self._selection = selection = selection or Selection()
        self._parts = tuple(part for part in parts if selection.has_server(part.remote.server))
        self._tables = _Tables()
        self._of_callers: dict[_Seen, _Tables] = {}
        self._watchers: list[Callable[[ProviderChange], None]] = []
        self._selections: list[Catalogue] = []
        self._unwatch = [part.remote.watch(self._changed) for part in self._parts]
        self._remotes_of_callers = self._reading_for_callers()

    @property
    def parts(self) -> tuple[CataloguePart, ...]:
        """The servers, in the order of the file."""
        return self._parts

    def selected(self, selection: Selection) -> Catalogue:
        """A catalogue of the same servers that shows only ``selection``. Make it before the servers start."""
        catalogue = Catalogue(self._parts, selection)
        self._selections.append(catalogue)
        return catalogue

    def exchange(self, parts: Sequence[CataloguePart]) -> None:
        """Have ``parts`` in place of the servers of now, here and in all selections. Tools of a server that stays are
        the same objects as before."""
        for catalogue in self._selections:
            catalogue.exchange(parts)
        before, quarantined = self._tables, self.quarantined
        own = [part for part in parts if self._selection.has_server(part.remote.server)]
        self._parts = tuple(next((one for one in self._parts if one == part), part) for part in own)
        for unwatch in self._unwatch:
            unwatch()
        self._unwatch = [part.remote.watch(self._changed) for part in self._parts]
        self._remotes_of_callers = self._reading_for_callers()
        self._of_callers.clear()
        self._tables = after = self._tables_over([part.remote.definitions() for part in self._parts])
        kinds: list[Kind] = []
        if list(map(id, before.tools)) != list(map(id, after.tools)) or quarantined != self.quarantined:
            kinds.append("tools")
        if (before.resource_list, before.template_list) != (after.resource_list, after.template_list):
            kinds.append("resources")
        if before.prompt_list != after.prompt_list:
            kinds.append("prompts")
        for kind in kinds:
            self._announce(ProviderChange(kind))

    def _reading_for_callers(self) -> list[Remote]:
        return [part.remote for part in self._parts if part.remote.reads_for_callers]

    @property
    def rows(self) -> tuple[CatalogueRow, ...]:
        """All tools, available or not, by their names here."""
        return tuple(self._tables.rows.values())

    @property
    def quarantined(self) -> tuple[QuarantinedDefinition, ...]:
        """The quarantined definitions, with the reason for each."""
        return (*(one for part in self._parts for one in part.remote.quarantined), *self._tables.aside)

    def _changed(self, change: ProviderChange) -> None:
        if change.kind != "resource":  # a resource that changes is listed as before, and may change often
            self._tables = self._tables_over([part.remote.definitions() for part in self._parts])
        self._announce(change)

    def _announce(self, change: ProviderChange) -> None:
        for changed in tuple(self._watchers):
            changed(change)

    @property
    def _has_lists_of_callers(self) -> bool:
        return bool(self._remotes_of_callers) and any(
            remote.has_lists_of_callers for remote in self._remotes_of_callers
        )

    def _tables_for(self, context: RequestContext) -> _Tables:
        """The tables of a caller, over the definitions that it has. Callers with the same ones share them."""
        if not self._remotes_of_callers or not self._has_lists_of_callers:
            return self._tables
        definitions = tuple(part.remote.definitions(context) for part in self._parts)
        if definitions == tuple(part.remote.definitions() for part in self._parts):
            return self._tables
        if (tables := self._of_callers.pop(definitions, None)) is None:
            tables = self._tables_over(definitions)
        while len(self._of_callers) >= _MOST_TABLES:
            del self._of_callers[next(iter(self._of_callers))]
        self._of_callers[definitions] = tables  # the newest is the last
        return tables

    async def _prepared(self, context: RequestContext, *, is_missing: bool = False) -> _Tables:
        """The tables of a caller, once the lists are read that are its own."""
        if self._has_lists_of_callers:
            remotes = [remote for remote in self._remotes_of_callers if remote.has_lists_of_callers]
            await asyncio.gather(*(remote.prepare(context, is_missing=is_missing) for remote in remotes))
        return self._tables_for(context)

    def _tables_over(self, definitions: Sequence[Definitions]) -> _Tables:
        aside: list[QuarantinedDefinition] = []
        by_part = tuple(zip(self._parts, definitions, strict=True))
        rows, prompts = self._tool_table(by_part, aside), _prompt_table(by_part, aside)
        resources = [(part, definitions.resource_list) for part, definitions in by_part]
        templates = [(part, definitions.template_list) for part, definitions in by_part]
        return _Tables(
            rows,
            tuple(row.tool for row in rows.values()),
            prompts,
            _once("resource", resources, lambda one: one.uri, aside),
            _once("template", templates, lambda one: one.uriTemplate, aside),
            tuple(row.prompt for row in prompts.values()),
            tuple(aside),
        )

    def _tool_table(self, by_part: _Known, aside: list[QuarantinedDefinition]) -> dict[str, CatalogueRow]:
        rows: dict[str, CatalogueRow] = {}
        selection = self._selection
        every = [
            (part, part.called(tool.name), tool) for part, definitions in by_part for tool in definitions.tool_list
        ]
        visible = [one for one in every if selection.has_tool(one[1])]
        # A name that the operator has given takes precedence over an equal name made from a label.
        for part, known_as, tool in sorted(
            visible, key=lambda one: one[1] not in selection.names and one[2].name not in one[0].rename
        ):
            name = selection.called(known_as)
            if name in rows:
                problem = DefinitionError.of(
                    HOST_NAME_TAKEN, name=name, other=f"{rows[name].server}: {rows[name].name}"
                )
                aside.append(QuarantinedDefinition(part.remote.server, "tool", tool.name, problem))
                continue
            row = self._known_row(name, part, tool)
            rows[name] = row or CatalogueRow(
                name, part, tool.name, _called(tool, name, selection.descriptions.get(known_as)), tool
            )
        return dict(sorted(rows.items()))

    def _known_row(self, name: str, part: CataloguePart, tool: Tool) -> CatalogueRow | None:
        """The row for this tool, if a table has it: the same object, so that callers who remember it recognize it."""
        for tables in (self._tables, *self._of_callers.values()):
            row = tables.rows.get(name)
            if row is not None and row.part is part and row.origin is tool:
                return row
        return None

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

    # --- tools --------------------------------------------------------------------------------------------------------

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return (await self._prepared(context)).tools

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return (await self._find_row(name, context)).tool

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        if (row := self._tables_for(context).rows.get(name)) is not None:
            return row.tool
        if self._has_lists_of_callers:
            return None
        raise UnknownTool(name)

    def row(self, name: str) -> CatalogueRow:
        """The row of a name, as the host itself sees it. Raises ``UnknownTool`` if there is none."""
        if (row := self._tables.rows.get(name)) is None:
            raise UnknownTool(name)
        return row

    async def _find_row(self, name: str, context: RequestContext) -> CatalogueRow:
        """The row of a name, after a look at the newest lists of the caller if it has none. Raises ``UnknownTool``, or
        the reason why it is not known whether there is such a tool."""
        row = self._tables_for(context).rows.get(name)
        if row is None and self._has_lists_of_callers:
            row = (await self._prepared(context, is_missing=True)).rows.get(name)
        if row is None:
            raise self._problem(name, context) or UnknownTool(name)
        return row

    def _problem(self, name: str, context: RequestContext) -> ToolError | None:
        """Why the lists could not be read in which a name would be. All that begins with the mark of a server is its
        own; of a tool that a view does not show, nothing is said."""
        owners = [part for part in self._parts if part.prefix and name.startswith(f"{part.mark}_")]
        if not owners or not self._selection.has_tool(name):
            return None
        return owners[0].remote.problem(context)

    def call_tool(self, call: ToolCall) -> CoroutineType[Any, Any, ToolOutcome]:
        row = self._tables_for(call.context).rows.get(call.name)
        if row is None:
            return self._call_found(call)
        return self._call(row, call)

    async def _call_found(self, call: ToolCall) -> ToolOutcome:
        return await self._call(await self._find_row(call.name, call.context), call)

    def _call(self, row: CatalogueRow, call: ToolCall) -> CoroutineType[Any, Any, ToolOutcome]:
        if call.tool is not None and call.tool.input is not row.tool.input:
            raise UnknownTool(call.name)  # exchanged since its arguments were checked
        return row.part.remote.call_tool(replaced(call, name=row.name, tool=row.tool))

    # --- library ------------------------------------------------------------------------------------------------------

    def offers(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.remote.offers() for part in self._parts))

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return (await self._prepared(context)).resource_list

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return (await self._prepared(context)).template_list

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return (await self._prepared(context)).prompt_list

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        match operation:
            case PromptGet() | CompletionGet(of="prompt"):
                return ((await self._prompt(operation)).prompt,)
            case ResourceRead() | CompletionGet():
                return (await self._owner(operation))[1]

    async def _prompt(self, operation: PromptGet | CompletionGet) -> _PromptRow:
        row = self._tables_for(operation.context).prompts.get(operation.name)
        if row is None and self._has_lists_of_callers:
            row = (await self._prepared(operation.context, is_missing=True)).prompts.get(operation.name)
        if row is None:
            raise unknown(operation)
        return row

    async def _owner(self, operation: ResourceRead | CompletionGet) -> tuple[Remote, tuple[Entry, ...]]:
        """The server that owns a resource or template: a listed resource goes before templates, then the earlier
        server."""
        owners: list[tuple[Remote, tuple[Entry, ...]]] = []
        for part in self._parts:
            with contextlib.suppress(UnknownEntry):
                owners.append((part.remote, await part.remote.find_entries(operation)))
        fixed = [one for one in owners if isinstance(one[1][0], wire.ResourceDefinition)]
        owner = next(iter(fixed or owners), None)
        if owner is None:
            raise unknown(operation)
        return owner

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        remote, _ = await self._owner(request)
        outcome = await remote.read_resource(request)
        if isinstance(outcome, InputRequiredResult):
            return outcome
        addresses = list(dict.fromkeys(part.uri for part in outcome.contents))[:_MOST_ADDRESSES]
        own = {uri for uri in addresses if await self._may_name(remote, uri, request)}
        parts = [part if part.uri in own else replaced(part, uri=request.uri) for part in outcome.contents]
        return replaced(outcome, contents=parts)

    async def _may_name(self, remote: Remote, uri: str, request: ResourceRead) -> bool:
        """Whether a part of a resource of this server may have this address: not one of another server."""
        if uri == request.uri:
            return True
        try:
            owner, _ = await self._owner(replaced(request, uri=uri))
        except UnknownEntry:
            return True
        return owner is remote

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        row = await self._prompt(get)
        return await row.part.remote.get_prompt(replaced(get, name=row.name))

    async def complete(self, get: CompletionGet) -> Completion:
        if get.of == "template":
            remote, _ = await self._owner(get)
            return await remote.complete(get)
        row = await self._prompt(get)
        return await row.part.remote.complete(replaced(get, name=row.name))


def _prompt_table(by_part: _Known, aside: list[QuarantinedDefinition]) -> dict[str, _PromptRow]:
    table: dict[str, _PromptRow] = {}
    for part, definitions in by_part:
        for prompt in definitions.prompt_list:
            name = part.prompt_called(prompt.name)
            if name in table:
                problem = DefinitionError.of(HOST_NAME_TAKEN, name=name, other=table[name].part.remote.server)
                aside.append(QuarantinedDefinition(part.remote.server, "prompt", prompt.name, problem))
            else:
                table[name] = _PromptRow(part, prompt.name, replaced(prompt, name=name))
    return dict(sorted(table.items()))


def _once(
    kind: Literal["resource", "template"],
    by_part: Sequence[tuple[CataloguePart, tuple[T, ...]]],
    key: Callable[[T], str],
    aside: list[QuarantinedDefinition],
) -> tuple[T, ...]:
    """The entries of all servers, without duplicates, sorted."""
    owners: dict[str, tuple[str, T]] = {}
    for part, entries in by_part:
        for entry in entries:
            server = part.remote.server
            owner, _ = owners.setdefault(key(entry), (server, entry))
            if owner != server:
                problem = DefinitionError.of(RESOURCE_OF_SEVERAL_SERVERS, servers=f"{owner}, {server}")
                aside.append(QuarantinedDefinition(server, kind, key(entry), problem))
    return tuple(entry for _, (_, entry) in sorted(owners.items()))


def _called(tool: Tool, name: str, description: str | None) -> Tool:
    own = tool.definition.description
    definition = replaced(tool.definition, name=name, description=own if description is None else description)
    return replaced(tool, definition=definition)
