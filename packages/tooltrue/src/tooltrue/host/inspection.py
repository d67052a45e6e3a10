"""Inspection of the definitions that a server publishes, before they are shown to anyone.

All of it is untrusted. The total is bounded in bytes; each definition is compiled, searched for hidden text, and
judged. An unacceptable one is *quarantined*, with the reason, and the rest stays usable. Inspection of malicious
definitions may take seconds, so it runs on a thread, in steps that do not block others for long.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar

from tooltrue.client.client import Client
from tooltrue.contract.contract import Contract
from tooltrue.contract.digests import fields
from tooltrue.contract.finding import ScanFinding, is_blocked
from tooltrue.contract.neighbours import Neighbours
from tooltrue.contract.scan import scan
from tooltrue.errors import DefinitionError, MethodNotFound, RpcError
from tooltrue.host.admission import AdmissionVerdict, Judge, poisoned
from tooltrue.host.effects import Effects
from tooltrue.host.wording import DUPLICATE_PUBLISHED_NAME, SERVER_CONTRACT_TOO_LARGE
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol import types as wire
from tooltrue.protocol.characters import check_plain
from tooltrue.protocol.headers import Mirrors, find_mirrors
from tooltrue.protocol.name_rules import is_name
from tooltrue.protocol.schema import FOREIGN, Schema, compile_schema
from tooltrue.protocol.types import Value
from tooltrue.protocol.uris import Template, is_uri, read_template
from tooltrue.protocol.wording import URI_NOT_ABSOLUTE
from tooltrue.tools.vocabulary import Tool
from tooltrue.tools.wording import INPUT_SCHEMA_ROOT_NOT_OBJECT, TOOL_NAME_INVALID

__all__ = [
    "MAX_BYTES",
    "MAX_TOOLS",
    "Inspection",
    "Inspector",
    "PublishedDefinitions",
    "QuarantinedDefinition",
    "SuspiciousDefinition",
    "published",
]

_log = logging.getLogger("tooltrue")

MAX_TOOLS: Final = 1_000
MAX_BYTES: Final = 4 * 1024 * 1024
"""Limit for all that one server publishes: tools, prompts, resources, templates and instructions together."""

T = TypeVar("T")

Kind: TypeAlias = Literal["tool", "resource", "template", "prompt"]


class QuarantinedDefinition(Value, frozen=True):
    """A definition that a server publishes and that is not listed."""

    server: str
    kind: Kind
    name: str
    problem: DefinitionError


class SuspiciousDefinition(Value, frozen=True):
    """A definition that is listed despite its findings. A person should see them."""

    server: str
    kind: Kind
    name: str
    findings: tuple[ScanFinding, ...]


# -- published definitions ---------------------------------------------------------------------------------------------


class PublishedDefinitions(Value, frozen=True):
    """All that a server publishes at one time. It is fresh for ``seconds``; with ``is_private``, it is for the
    credentials alone with which it was read."""

    tools: tuple[wire.ToolDefinition, ...] = ()
    prompts: tuple[wire.Prompt, ...] = ()
    resources: tuple[wire.ResourceDefinition, ...] = ()
    templates: tuple[wire.ResourceTemplate, ...] = ()
    instructions: str | None = None
    seconds: float = 0.0
    is_private: bool = True

    def check_size(self, server: str) -> None:
        """``DefinitionError`` where there is more than the limits of inspection allow."""
        parts = {name: len(encode(getattr(self, name))) for name in _PARTS}
        if len(self.tools) > MAX_TOOLS or sum(parts.values()) > MAX_BYTES:
            sizes = ", ".join(f"{name} {size}" for name, size in parts.items())
            facts = {"server": server, "count": len(self.tools), "size": sum(parts.values()), "parts": sizes}
            raise DefinitionError.of(SERVER_CONTRACT_TOO_LARGE, **facts, most=MAX_TOOLS, limit=MAX_BYTES)


_PARTS: Final = ("tools", "prompts", "resources", "templates", "instructions")


async def published(
    server: str, client: Client, before: PublishedDefinitions, *, refresh: bool = False
) -> PublishedDefinitions:
    """Fetch the lists of the server, as far as it declares the capability; with ``refresh``, none is taken from the
    cache of the client. If it fails to list resources or prompts, those of ``before`` are kept. ``TransportError`` or
    ``RpcError`` where it fails to list its tools."""
    offered = client.facts.capabilities
    tools = await client.list_tools(refresh=refresh) if "tools" in offered else ()
    lists: dict[str, tuple[Any, ...]] = {"tools": tuple(tools)}
    for kind, needs, ask in (
        ("resources", "resources", client.list_resources),
        ("templates", "resources", client.list_templates),
        ("prompts", "prompts", client.list_prompts),
    ):
        if needs in offered:
            try:
                lists[kind] = tuple(await ask(refresh=refresh))
            except MethodNotFound:
                pass  # a server that declares the capability, and does not know the method, has none
            except RpcError as error:
                _log.warning("server %s does not list its %s: error %d", server, kind, error.number)
                lists[kind] = getattr(before, kind)
    hints = client.list_hints
    return PublishedDefinitions(
        **lists, instructions=client.facts.instructions, seconds=hints.seconds, is_private=hints.is_private
    )


# -- admitted definitions ----------------------------------------------------------------------------------------------


class Inspection(Value, frozen=True):
    """The admitted definitions, by names and URIs, and the verdict on the rest."""

    tools: Mapping[str, Tool]
    prompts: Mapping[str, wire.Prompt]
    resources: Mapping[str, wire.ResourceDefinition]
    templates: Mapping[str, tuple[wire.ResourceTemplate, Template]]
    instructions: str | None
    quarantined: tuple[QuarantinedDefinition, ...]
    suspicions: tuple[SuspiciousDefinition, ...]


@dataclass(frozen=True, slots=True)
class Inspector:
    """The settings for the inspection of one server's definitions."""

    server: str
    instance: str
    effects: Effects
    visible: Callable[[str], bool]
    seconds: float | None
    judge: Judge

    def at(self, listing: PublishedDefinitions, neighbours: Neighbours, current: Mapping[str, Tool]) -> Inspection:
        """Inspect definitions and return the admitted ones. An unchanged tool of ``current`` stays the same object.

        ``DefinitionError`` where there is more than the limits allow.
        """
        listing.check_size(self.server)
        notes = _Notes(self.server)
        tools = notes.firsts("tool", [one for one in listing.tools if self.visible(one.name)], lambda one: one.name)
        prompts = notes.firsts("prompt", listing.prompts, lambda one: one.name)
        templates = notes.firsts("template", listing.templates, lambda one: one.uriTemplate)
        contract = Contract.of(
            tools.values(), listing.instructions, prompts=prompts.values(), resources=templates.values()
        )
        verdict = self.judge(contract, neighbours)
        own = frozenset(tools)
        return Inspection(
            notes.admitted("tool", tools, verdict, lambda one: self._tool_of(one, current)),
            notes.admitted("prompt", prompts, verdict, _plain),
            notes.scanned(notes.firsts("resource", listing.resources, lambda one: one.uri), neighbours, own),
            notes.admitted("template", templates, verdict, lambda one: (_plain(one), read_template(one.uriTemplate))),
            None if verdict.holds_instructions else listing.instructions,
            tuple(notes.quarantined),
            tuple(notes.suspicions),
        )

    def _tool_of(self, definition: wire.ToolDefinition, current: Mapping[str, Tool]) -> Tool:
        before = current.get(definition.name)
        if before is not None and before.definition is definition:
            return before
        same = before is not None and fields(before.definition) == fields(definition)
        return before if before is not None and same else self._tool(definition)

    def _tool(self, definition: wire.ToolDefinition) -> Tool:
        """``DefinitionError`` for text that a model or a person must not be shown, or a schema that cannot be
        enforced."""
        if not is_name(definition.name):
            raise DefinitionError.of(TOOL_NAME_INVALID, name=definition.name)
        if definition.inputSchema.get("type") != "object":
            raise DefinitionError.of(INPUT_SCHEMA_ROOT_NOT_OBJECT)
        return Tool(
            _plain(definition),
            self.effects(definition),
            _compiled(definition.inputSchema),
            None if definition.outputSchema is None else _compiled(definition.outputSchema),
            seconds=self.seconds,
            untrusted=True,
            server=self.server,
            instance=self.instance,
            mirrors=_mirrors(definition),
        )


def _mirrors(definition: wire.ToolDefinition) -> Mirrors:
    """The arguments that a caller over HTTP repeats in headers. Where the marks are invalid there are none: a client
    over HTTP has left out such a tool (2026-07-28, server/tools "x-mcp-header")."""
    try:
        return find_mirrors(definition.inputSchema)
    except DefinitionError:
        return ()


_SECTIONS: Final[Mapping[Kind, str]] = {"tool": "tools", "prompt": "prompts", "template": "resources"}


@dataclass(slots=True)
class _Notes:
    """The findings of one inspection."""

    server: str
    quarantined: list[QuarantinedDefinition] = field(default_factory=list[QuarantinedDefinition])
    suspicions: list[SuspiciousDefinition] = field(default_factory=list[SuspiciousDefinition])

    def firsts(self, kind: Kind, entries: Iterable[T], key: Callable[[T], str]) -> dict[str, T]:
        """The entries that have a name. Of two with the same name the first counts, even if it is rejected later."""
        firsts: dict[str, T] = {}
        for entry in entries:
            name = key(entry)
            if not name:
                self._put_aside(kind, name, DefinitionError.of(TOOL_NAME_INVALID, name=name))
            elif firsts.setdefault(name, entry) is not entry:
                self._put_aside(kind, name, DefinitionError.of(DUPLICATE_PUBLISHED_NAME, name=name[:128]))
        return firsts

    def admitted(
        self, kind: Kind, entries: Mapping[str, Any], verdict: AdmissionVerdict, admit: Callable[[Any], T]
    ) -> dict[str, T]:
        """The definitions that are not quarantined, as converted by ``admit``."""
        definitions: dict[str, T] = {}
        for name, definition in entries.items():
            entry = (_SECTIONS[kind], name)
            try:
                admitted = admit(definition)
                if entry in verdict.quarantined:
                    raise verdict.quarantined[entry]
            except DefinitionError as problem:
                self._put_aside(kind, name, problem)
                continue
            definitions[name] = admitted
            self._suspect(kind, name, verdict.findings.get(entry, ()))
        return definitions

    def scanned(
        self, entries: Mapping[str, wire.ResourceDefinition], neighbours: Neighbours, own: frozenset[str]
    ) -> dict[str, wire.ResourceDefinition]:
        """The resources that pass the scan. They are data that comes and goes, so none of them needs acceptance by a
        person."""
        resources: dict[str, wire.ResourceDefinition] = {}
        for uri, resource in entries.items():
            try:
                if not is_uri(uri):
                    raise DefinitionError.of(URI_NOT_ABSOLUTE, uri=uri)
                _plain(resource)
                findings = scan(resource, neighbours, own)
                if is_blocked(findings):
                    raise poisoned(uri, findings)
            except DefinitionError as problem:
                self._put_aside("resource", uri, problem)
                continue
            resources[uri] = resource
            self._suspect("resource", uri, findings)
        return resources

    def _put_aside(self, kind: Kind, name: str, problem: DefinitionError) -> None:
        self.quarantined.append(QuarantinedDefinition(self.server, kind, name, problem))

    def _suspect(self, kind: Kind, name: str, findings: tuple[ScanFinding, ...]) -> None:
        if findings:
            self.suspicions.append(SuspiciousDefinition(self.server, kind, name, findings))


def _plain(definition: T) -> T:
    """The definition, checked for hidden characters."""
    check_plain("The definition", definition)
    return definition


def _compiled(schema: dict[str, Any]) -> Schema:
    return compile_schema(schema, bounds=FOREIGN)
