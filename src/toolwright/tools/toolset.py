"""The one idea: a *toolset* lists tools, finds one by name and calls it; a *layer* is a toolset around a toolset.

Resources and prompts go the same way: a :class:`Provider` offers all three, and a :class:`Layer` treats reading a
resource and getting a prompt as it treats a call, so that nothing has a way around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from toolwright.errors import InvalidParams
from toolwright.protocol import types as wire
from toolwright.protocol.headers import Mirrors
from toolwright.protocol.modern import LOG_LEVELS
from toolwright.protocol.schema import Schema
from toolwright.protocol.types import PromptResult, ReadResourceResult, ToolOutcome, Value

__all__ = [
    "EFFECTS",
    "LOCAL",
    "Channel",
    "Context",
    "Effect",
    "Layer",
    "Library",
    "NoLibrary",
    "Operation",
    "Principal",
    "PromptGet",
    "Provider",
    "RequestContext",
    "ResourceRead",
    "Tool",
    "ToolCall",
    "Toolset",
    "Unwatch",
    "Wrapper",
    "found",
    "guarded",
]

Effect: TypeAlias = Literal["read", "write", "destructive", "open-world"]
EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive", "open-world")

Unwatch: TypeAlias = Callable[[], None]


class Principal(Value, frozen=True):
    """Who calls: ``local`` on stdio, ``local:http`` on loopback, otherwise what authentication says."""

    id: str
    scopes: frozenset[str] = frozenset()


LOCAL = Principal("local")


class Channel(Protocol):
    """The way back to whoever asked, while the request runs. It takes nothing after the answer."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


class RequestContext(Value, frozen=True):
    """The facts of one request. A tool gets it by a parameter annotated ``Context``, which its schema does not show.

    ``capabilities`` are the client's, valid for this request only. ``meta`` is the request's ``_meta``.
    """

    principal: Principal
    channel: Channel
    capabilities: Mapping[str, Any] = {}
    meta: Mapping[str, Any] = {}

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is. Numbers must increase; others are dropped. Free when nobody asked for progress."""
        self.channel.progress(progress, total, message)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, where this request asked for its level (2026-07-28, utilities/logging).

        ``level`` is one of debug, info, notice, warning, error, critical, alert, emergency; ``ValueError`` otherwise.
        """
        if level not in LOG_LEVELS:
            raise ValueError(f"unknown log level {level!r}; one of {', '.join(LOG_LEVELS)}")
        self.channel.log(level, data, logger)

    def detach(self) -> None:
        """Let go of the connection; the call goes on, and the client comes back for the rest (2025-11-25, basic/
        transports). For calls that take minutes. Does nothing where a client could not come back: on other carriers,
        in other revisions, and without a session.
        """
        self.channel.detach()


Context: TypeAlias = RequestContext
"""The name under which authors know it."""


class Tool(Value, frozen=True):
    """A tool as layers see it: the published definition, and what the author declared beside it.

    ``seconds`` and ``max_bytes`` of ``None`` mean the server's limit.
    """

    definition: wire.Tool
    effect: Effect
    input: Schema
    output: Schema | None = None
    defaults: Mapping[str, Any] = {}
    mirrors: Mirrors = ()
    seconds: float | None = None
    max_bytes: int | None = None
    stoppable: bool = True

    @property
    def name(self) -> str:
        return self.definition.name


class ToolCall(Value, frozen=True):
    """One call. ``tool`` is there once a layer has found it; views replace both together.

    ``admit`` is what the door still has to check once it is known that the caller may know the tool; it raises
    ``RpcError``, and belongs where the arguments are checked.
    """

    name: str
    arguments: dict[str, Any]
    context: RequestContext
    tool: Tool | None = None
    admit: Callable[[Tool], None] | None = None


class ResourceRead(Value, frozen=True):
    uri: str
    context: RequestContext


class PromptGet(Value, frozen=True):
    name: str
    arguments: Mapping[str, str]
    context: RequestContext


Operation: TypeAlias = ToolCall | ResourceRead | PromptGet


class Toolset(Protocol):
    """Lists tools, finds one and calls it.

    ``list_tools`` returns the tools that this caller may see, sorted by name, and *the same tuple object* while nothing
    has changed for that caller. ``find_tool`` raises ``UnknownTool`` for all others, hidden ones included, and
    ``call_tool`` refuses what ``find_tool`` would. ``watch`` calls back after each change of the set.
    """

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]: ...

    async def find_tool(self, name: str, context: RequestContext) -> Tool: ...

    async def call_tool(self, call: ToolCall) -> ToolOutcome: ...

    def watch(self, changed: Callable[[], None]) -> Unwatch: ...


class Library(Protocol):
    """Lists resources and prompts, reads the ones and gets the others; unknown and hidden read alike."""

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]: ...

    async def read_resource(self, read: ResourceRead) -> ReadResourceResult: ...

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]: ...

    async def get_prompt(self, get: PromptGet) -> PromptResult: ...


class Provider(Toolset, Library, Protocol):
    """All that a server serves, as one object that can be guarded as one."""


class NoLibrary:
    """The library of a toolset that has none."""

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]:
        return ()

    async def read_resource(self, read: ResourceRead) -> ReadResourceResult:
        raise InvalidParams.of("TW1025", uri=read.uri)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return ()

    async def get_prompt(self, get: PromptGet) -> PromptResult:
        raise InvalidParams.of("TW1026", name=get.name)


@dataclass(frozen=True)
class Wrapper:
    """A provider around a provider that changes nothing; views and layers override what they change.

    What is not overridden *is* the inner provider's own method, so that standing in the way without doing anything
    costs nothing.
    """

    inner: Provider

    def __post_init__(self) -> None:
        for name in _FORWARDED:
            if getattr(type(self), name) is getattr(Wrapper, name):
                object.__setattr__(self, name, getattr(self.inner, name))

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.inner.list_tools(context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.inner.call_tool(call)

    def watch(self, changed: Callable[[], None]) -> Unwatch:
        return self.inner.watch(changed)

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]:
        return await self.inner.list_resources(context)

    async def read_resource(self, read: ResourceRead) -> ReadResourceResult:
        return await self.inner.read_resource(read)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return await self.inner.list_prompts(context)

    async def get_prompt(self, get: PromptGet) -> PromptResult:
        return await self.inner.get_prompt(get)


_FORWARDED = tuple(name for name in vars(Wrapper) if not name.startswith("_"))

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet)
OutcomeT = TypeVar("OutcomeT")


class Layer(Wrapper):
    """A wrapper that treats calling, reading and getting alike, in :meth:`around`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self).around is Layer.around:
            for name in ("call_tool", "read_resource", "get_prompt"):
                object.__setattr__(self, name, getattr(self.inner, name))

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        return await proceed(operation)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.around(call, self.inner.call_tool)

    async def read_resource(self, read: ResourceRead) -> ReadResourceResult:
        return await self.around(read, self.inner.read_resource)

    async def get_prompt(self, get: PromptGet) -> PromptResult:
        return await self.around(get, self.inner.get_prompt)


def guarded(provider: Provider, *layers: Callable[[Provider], Provider]) -> Provider:
    """``provider`` inside ``layers``, the outermost named first."""
    for layer in reversed(layers):
        provider = layer(provider)
    return provider


async def found(toolset: Toolset, call: ToolCall) -> tuple[ToolCall, Tool]:
    """The call with its tool, looked up unless an outer layer has done so. Raises ``UnknownTool``."""
    if call.tool is not None:
        return call, call.tool
    tool = await toolset.find_tool(call.name, call.context)
    return ToolCall(call.name, call.arguments, call.context, tool, call.admit), tool
