"""The one idea: a *toolset* lists tools, finds one by name and calls it; a *layer* is a toolset around a toolset.

Resources and prompts go the same way: a :class:`Provider` offers all three, and a :class:`Layer` treats reading a
resource, getting a prompt and completing an argument like a call, so that no operation bypasses it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from tooltrue.errors import DefinitionError, UnknownEntry
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import Completion, PromptOutcome, ReadOutcome, ToolOutcome, Value, replaced
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Entry,
    LibraryOperation,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    TaskRequest,
    Tool,
    ToolCall,
    Unwatch,
)
from tooltrue.tools.wording import (
    PROMPT_NOT_FOUND,
    PROVIDER_EXPECTED,
    RESOURCE_NOT_FOUND,
    RESOURCE_TEMPLATE_NOT_FOUND,
    TASK_UNKNOWN,
)

__all__ = [
    "Layer",
    "Library",
    "Mountable",
    "Provider",
    "Source",
    "Toolset",
    "Wrapper",
    "guarded",
    "parts_of",
    "provider_of",
    "resolve_call",
    "servers_in",
    "unknown",
]


class Toolset(Protocol):
    """Lists tools, finds one and calls it.

    ``list_tools`` returns the tools that this caller may see, sorted by name, and *the same tuple object* until that
    caller's list changes. ``find_tool`` raises ``UnknownTool`` for all others, hidden ones included, and ``call_tool``
    refuses the same ones. Both accept the old names of a tool. ``known_tool`` is ``find_tool`` without waiting: it
    returns ``None`` where only ``find_tool`` can tell, and is allowed to do so always. ``watch`` registers a callback
    for changes, which may come from any thread.
    """

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]: ...

    async def find_tool(self, name: str, context: RequestContext) -> Tool: ...

    def known_tool(self, name: str, context: RequestContext) -> Tool | None: ...

    async def call_tool(self, call: ToolCall) -> ToolOutcome: ...

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch: ...


class Library(Protocol):
    """Lists resources, templates and prompts, reads, gets and completes.

    Lists are sorted, by URI, template and name, and each is *the same tuple object* until that caller's list changes.
    ``offers`` returns which of ``resources``, ``prompts`` and ``completions`` are supported; an offer is never
    withdrawn. ``find_entries`` returns the subject of an operation: the resource to read, after the template that it
    comes from, or the prompt. ``read_resource`` also begins a subscription: a ``ResourceFollow`` is answered without
    contents, and changes are reported to those that watch. It and the operations raise ``UnknownEntry`` for missing
    entries, hidden ones included.
    """

    def offers(self) -> frozenset[str]: ...

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]: ...

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]: ...

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]: ...

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]: ...

    async def read_resource(self, request: ResourceRead) -> ReadOutcome: ...

    async def get_prompt(self, get: PromptGet) -> PromptOutcome: ...

    async def complete(self, get: CompletionGet) -> Completion: ...


class Provider(Toolset, Library, Protocol):
    """Everything that a server serves, as one object that can be guarded as one."""


class Mountable(Protocol):
    """A server: ``mountable`` is the provider of its tools, resources and prompts, without its pipeline."""

    @property
    def mountable(self) -> Provider: ...


Source: TypeAlias = Provider | Mountable
"""The argument of a view: a provider, or a server, which stands for its own tools, resources and prompts."""


def provider_of(source: Source) -> Provider:
    """Return the provider that ``source`` is or stands for. Raises ``DefinitionError`` for any other value."""
    contents = getattr(source, "mountable", None)
    if contents is not None:
        return contents
    if not hasattr(source, "list_tools"):
        raise DefinitionError.of(PROVIDER_EXPECTED, type=type(source).__name__)
    return cast("Provider", source)


def servers_in(provider: Provider) -> list[Any]:
    """Return the servers whose contents a provider offers, through views and layers: each once, outer ones first."""
    servers: list[Any] = []
    for part in parts_of(provider):
        server = getattr(part, "mounted_server", None)
        if server is not None and not any(server is one for one in servers):
            servers.append(server)
    return servers


def unknown(operation: LibraryOperation) -> UnknownEntry:
    """Return the error for an operation on an entry that does not exist, or is hidden from this caller."""
    match operation:
        case TaskRequest():
            return UnknownEntry.of(TASK_UNKNOWN)
        case ResourceRead():
            error = UnknownEntry.of(RESOURCE_NOT_FOUND, uri=operation.uri)
            error.data = {"uri": operation.uri}
            return error
        case CompletionGet(of="template"):
            return UnknownEntry.of(RESOURCE_TEMPLATE_NOT_FOUND, uri=operation.name[:128])
        case PromptGet() | CompletionGet():
            return UnknownEntry.of(PROMPT_NOT_FOUND, name=operation.name[:128])


class Wrapper(Value, frozen=True, dict=True):
    """A transparent provider around a provider; views and layers override methods.

    A method that is not overridden *is* the inner provider's own method, so that a wrapper adds no cost to it. A
    wrapper that overrides ``find_tool`` alone knows no tool without waiting: what it hides stays hidden.
    """

    inner: Provider

    def __post_init__(self) -> None:
        for name in _FORWARDED:
            if getattr(type(self), name) is getattr(Wrapper, name):
                vars(self)[name] = getattr(self.inner, name)
        cls = type(self)
        if cls.find_tool is not Wrapper.find_tool and cls.known_tool is Wrapper.known_tool:
            vars(self)["known_tool"] = _knows_none

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.inner.list_tools(context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        return self.inner.known_tool(name, context)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.inner.call_tool(call)

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        return self.inner.watch(changed)

    def offers(self) -> frozenset[str]:
        return self.inner.offers()

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return await self.inner.list_resources(context)

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return await self.inner.list_templates(context)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return await self.inner.list_prompts(context)

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        return await self.inner.find_entries(operation)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        return await self.inner.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await self.inner.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        return await self.inner.complete(get)


def _knows_none(name: str, context: RequestContext) -> Tool | None:
    return None


_FORWARDED = tuple(name for name, member in vars(Wrapper).items() if callable(member) and not name.startswith("_"))


def parts_of(provider: Provider) -> Iterator[Provider]:
    """Yield the provider, and the providers that it is made of, as far as views, layers and combinations tell."""
    yield provider
    for name in ("inner", "parts", "library"):
        parts: Any = getattr(provider, name, None)
        for part in parts if isinstance(parts, tuple) else (parts,):  # pyright: ignore[reportUnknownVariableType]
            if hasattr(part, "list_tools") or hasattr(part, "list_prompts"):  # pyright: ignore[reportUnknownArgumentType]
                yield from parts_of(cast("Provider", part))


OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")


class Layer(Wrapper, frozen=True):
    """A wrapper that treats calling, reading, getting and completing alike, in :meth:`around`.

    A method that is not overridden *is* ``around`` with the inner provider's: no coroutine of its own stands between.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        changes_nothing = type(self).around is Layer.around
        for name in ("call_tool", "read_resource", "get_prompt", "complete"):
            if getattr(type(self), name) is getattr(Layer, name):
                proceed = getattr(self.inner, name)
                vars(self)[name] = proceed if changes_nothing else partial(self.around, proceed=proceed)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        """Run an operation by ``await proceed(operation)``, with the layer's own work before, after or in its place."""
        return await proceed(operation)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.around(call, self.inner.call_tool)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        return await self.around(request, self.inner.read_resource)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await self.around(get, self.inner.get_prompt)

    async def complete(self, get: CompletionGet) -> Completion:
        return await self.around(get, self.inner.complete)


def guarded(provider: Provider, *layers: Callable[[Provider], Provider]) -> Provider:
    """Wrap ``provider`` in ``layers``, the outermost first."""
    for layer in reversed(layers):
        provider = layer(provider)
    return provider


async def resolve_call(toolset: Toolset, call: ToolCall) -> tuple[ToolCall, Tool]:
    """Return the call with its tool, looked up unless an outer layer has done so. Raises ``UnknownTool``.

    For a tool that was called by an old name, the call gets the present one, so that all layers use the same name.
    """
    if call.tool is not None:
        return call, call.tool
    tool = await toolset.find_tool(call.name, call.context)
    trail, called = call.context.trail, "" if tool.name == call.name else call.name
    if trail is not None:
        trail.tool, trail.called = tool, called
    return replaced(call, name=tool.name, tool=tool, called=called), tool
