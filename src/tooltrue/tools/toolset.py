"""The one idea: a *toolset* lists tools, finds one by name and calls it; a *layer* is a toolset around a toolset.

Resources and prompts go the same way: a :class:`Provider` offers all three, and a :class:`Layer` treats reading a
resource, getting a prompt and completing an argument like a call, so that no operation bypasses it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, overload

from typing_extensions import deprecated

from tooltrue.errors import ToolError, UnknownEntry, UnknownTool
from tooltrue.protocol import types as wire
from tooltrue.protocol.headers import Mirrors
from tooltrue.protocol.modern import LOG_LEVELS
from tooltrue.protocol.questions import InputRequest, lacking
from tooltrue.protocol.schema import Schema
from tooltrue.protocol.types import Completion, Mutable, PromptOutcome, ReadOutcome, ToolOutcome, Value, replaced
from tooltrue.tools.advice import CONTEXT, missing
from tooltrue.tools.bounds import Rate
from tooltrue.tools.keeping import Kept
from tooltrue.tools.rounds import Question, Rounds
from tooltrue.tools.tasks import Task

__all__ = [
    "EFFECTS",
    "EVERYONE",
    "LOCAL",
    "SILENT",
    "UNTRUSTED",
    "Change",
    "Channel",
    "CompletionGet",
    "Context",
    "Effect",
    "Entry",
    "Grant",
    "Kind",
    "Layer",
    "Library",
    "LibraryOperation",
    "NoLibrary",
    "NoTools",
    "Operation",
    "Personal",
    "Principal",
    "PromptGet",
    "Provider",
    "RequestContext",
    "ResourceRead",
    "Secrets",
    "Tool",
    "ToolCall",
    "Toolset",
    "Trail",
    "Unwatch",
    "Wrapper",
    "found",
    "guarded",
    "resource_of",
    "unknown",
]

Effect: TypeAlias = Literal["read", "write", "destructive", "open-world"]
Secrets: TypeAlias = Literal["mask", "keep"]
"""The treatment of secrets in output."""
Personal: TypeAlias = Literal["mask", "keep"]
"""The treatment of personal data in output."""

UNTRUSTED = "tooltrue/untrusted"
"""The key of ``_meta`` that marks output of tools and resources as text from strangers."""

EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive", "open-world")

Unwatch: TypeAlias = Callable[[], None]

AnswerT = TypeVar("AnswerT")
Kind: TypeAlias = Literal["tools", "prompts", "resources", "resource"]


class Change(Value, frozen=True):
    """A change: the list of tools, prompts or resources (templates included), or the one resource ``uri``."""

    kind: Kind
    uri: str = ""


class Principal(Value, frozen=True):
    """The caller: ``local`` on stdio, ``local:http`` on loopback, otherwise the authenticated identity."""

    id: str
    scopes: frozenset[str] = frozenset()


LOCAL = Principal("local")

EVERYONE = Principal("everyone")
"""Sentinel principal whose lists contain every tool; used only to validate rules. Compared by identity."""


class Channel(Protocol):
    """The way back to the client, while the request runs. After the answer, messages are dropped."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


class Trail(Mutable):
    """The audit data of an operation, filled in by the layers on the way.

    ``tool`` is the tool that was found, ``ran`` whether it was reached. ``decision`` and ``rule`` are the verdict and
    the rule it came from, ``code`` is the code of the failure, and ``intent`` the id of the write-ahead audit record.
    ``edited`` are the arguments that a person has substituted, and ``notes`` are other events: a person's answer, a
    repair, the reason why a run was stopped. ``called`` is the old name that a tool was called by. ``wrong`` locates
    arguments that do not fit, with the keyword of the schema that refuses them. ``paused``: the caller is paused for so
    many seconds from here on.

    ``taken``: it belongs to an operation already, and nested operations of a tool need one of their own.
    """

    tool: Tool | None = None
    ran: bool = False
    decision: str = ""
    rule: str = ""
    code: str = ""
    intent: str = ""
    edited: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    called: str = ""
    wrong: tuple[str, ...] = ()
    paused: int = 0
    taken: bool = False

    def note(self, text: str) -> None:
        self.notes = (*self.notes, text)


def _for_all(request: InputRequest) -> bool:
    return True


class _Silent:
    """The channel of a request that asked for neither progress nor logs."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


SILENT = _Silent()


class Slice(Value, frozen=True):
    """A text in a result that is cut out of a longer one: ``data`` with the bytes before and after it there, where a
    secret may begin or end. ``shown`` is its form in the result: text, whose bytes are in ``encoding``, or else
    base64. ``within`` is the text of the result that contains ``shown``, if that is not a text by itself.
    """

    shown: str
    before: bytes
    data: bytes
    behind: bytes
    encoding: str | None = "utf-8"
    within: str = ""

    @classmethod
    def of(cls, text: str, start: int, end: int, within: str = "") -> Slice:
        """Return the characters of ``text`` from ``start`` up to ``end``, in the form that a result has them."""
        before, behind = text[max(0, start - cls.BEFORE) : start], text[end : end + cls.BEHIND]
        return cls(
            text[start:end], before.encode(errors="replace"), b"", behind.encode(errors="replace"), within=within
        )

    BEFORE: ClassVar[int] = 8_192
    """How far before a slice secrets are searched for: a private key may begin that far off."""
    BEHIND: ClassVar[int] = 512


class RequestContext(Value, frozen=True):
    """The facts of one request. A tool gets it by a parameter annotated ``Context``, which its schema does not show.

    ``capabilities`` are the client's, valid for this request only. ``meta`` is the request's ``_meta``. ``rounds`` are
    the earlier rounds of this call, ``kept`` are the results stored by :meth:`keep` in this one, ``slices`` are those
    of its texts that are cut out of longer ones. ``has_words``: whether the client's revision can express a question.
    ``trail`` is for the layers, and absent if no record is written. ``task`` is the task that this request is part of,
    on a host. ``agreed``: a person has been shown this exact call, and has agreed to it, so that a tool need not ask
    again. ``language`` is that of questions to a person: ``en`` or ``zh``.
    """

    principal: Principal
    channel: Channel
    capabilities: Mapping[str, Any] = {}
    meta: Mapping[str, Any] = {}
    rounds: Rounds | None = None
    has_words: Callable[[InputRequest], bool] = _for_all
    trail: Trail | None = None
    kept: list[Kept] = []  # noqa: RUF012 - each context has its own
    task: Task | None = None
    agreed: bool = False
    slices: list[Slice] = []  # noqa: RUF012 - each context has its own
    language: str = "en"

    if not TYPE_CHECKING:  # a type checker reports missing names better

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name, CONTEXT)

    def keep(
        self,
        value: str | bytes | Any,
        name: str,
        *,
        mime_type: str | None = None,
        description: str | None = None,
        seconds: float = 900.0,
    ) -> wire.ResourceLink:
        """Store a large value and return a link to it, which the caller of this call can read for a while.

        To all other callers its URI does not exist. Text stays text, ``bytes`` stay bytes, any other value has to be
        plain, and becomes JSON. A long value is read in parts, and each links to the next. At most about 64 MiB are
        stored for a caller at once; beyond that the call fails. Values of a call that fails or asks are not stored.
        """
        thing = Kept.of(value, name, mime_type, description, seconds)
        self.kept.append(thing)
        return thing.link

    def ask(self, question: Question[AnswerT], *, key: str | None = None) -> AnswerT:
        """Ask the person, or the client, and return the answer: a :class:`Form`, a :class:`Link`, …

        The function ends here, and runs again from its start once the answer is there; then ``ask`` returns it. So
        effects belong after the last question, or into :meth:`once`. ``key`` names the question among those of the
        call; without one, questions are numbered in their order, which has to be the same each time.

        If the client cannot answer such a question, the call fails with an error; :meth:`can_ask` tells in advance.
        """
        return self._rounds().ask(question, key)

    def ask_all(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        """Ask several questions at once, by key; returns their answers by key."""
        return self._rounds().ask_all(questions)

    def can_ask(self, question: Question[Any]) -> bool:
        """Whether this client can answer such a question: it has declared the capability, and its revision can express
        the question.
        """
        request: InputRequest = question.request
        return self.rounds is not None and not lacking((request,), self.capabilities) and self.has_words(request)

    @overload
    def once(self, key: str, make: Callable[[], Awaitable[AnswerT]]) -> Awaitable[AnswerT]: ...

    @overload
    def once(self, key: str, make: Callable[[], AnswerT]) -> AnswerT: ...

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Run ``make`` a single time, although questions restart the function: returns the value of its first run, then
        and in every later round. The value has to be plain JSON, because it travels, encrypted, through the client.
        If ``make`` is ``async``, await the result.
        """
        return self._rounds().once(key, make)

    def _rounds(self) -> Rounds:
        if self.rounds is None:
            raise ToolError.of("TT2009")
        return self.rounds

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress. Numbers must increase; others are dropped. Above 20 reports a second, only the newest is
        sent, and one that reaches ``total``. Costs nothing if the client did not ask for progress.
        """
        self.channel.progress(progress, total, message)

    @deprecated("Context.log is deprecated by the protocol: write to standard error, or use a tracing library.")
    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if this request asked for its level (2026-07-28, utilities/logging).

        Deprecated since that revision, and kept for clients that ask for it. ``level`` is one of debug, info, notice,
        warning, error, critical, alert, emergency; ``ValueError`` otherwise. Above 100 messages a second, one reports
        that the others are left out.
        """
        if level not in LOG_LEVELS:
            raise ValueError(f"unknown log level {level!r}; one of {', '.join(LOG_LEVELS)}")
        self.channel.log(level, data, logger)

    def detach(self) -> None:
        """Release the connection; the call goes on, and the client comes back for the rest (2025-11-25,
        basic/transports). For calls that take minutes. No effect if a client could not come back: on other
        transports, in other revisions, and without a session.
        """
        self.channel.detach()


Context: TypeAlias = RequestContext
"""The public name of the request context."""


class Tool(Value, frozen=True):
    """A tool as layers see it: the published definition, and the author's declarations.

    A limit of ``None`` is the server's. ``requires`` are the scopes that a caller needs. ``confirm`` of ``None``: the
    effect decides whether a person is asked, and a call with all of ``read_when`` has the effect ``read``, because its
    author declares that such a call changes nothing. ``preview`` describes the effect of a call with these arguments,
    without making it. ``server`` is the label of the server that it comes from, on a host; the definition of such a
    tool is unverified. ``instance`` distinguishes that server from others of its label. ``repair``: arguments whose
    spelling alone misses the schema are repaired. ``sends``: the arguments go to a third party, so they must not
    contain a secret. ``replaces`` are former names, by which it can still be called; ``deprecated`` is its replacement.
    ``excused`` are the rules of ``tooltrue check`` that its author does not follow, each with the reason; ``written``
    is the file and line of its function.
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
    rate: Rate | None = None
    at_once: int | None = None
    max_argument_bytes: int | None = None
    requires: frozenset[str] = frozenset()
    confirm: bool | None = None
    preview: Callable[[dict[str, Any]], Awaitable[Any]] | None = None
    secrets: Secrets | None = None
    untrusted: bool = False
    server: str = ""
    instance: str = ""
    repair: bool = False
    personal: Personal | None = None
    sends: bool = False
    excused: Mapping[str, str] = {}
    written: tuple[str, int] | None = None
    replaces: tuple[str, ...] = ()
    deprecated: str = ""
    read_when: Mapping[str, bool] = {}

    @property
    def name(self) -> str:
        return self.definition.name

    def effect_with(self, arguments: Mapping[str, Any]) -> Effect:
        """Return the effect of a call with these arguments, including defaults."""
        marks = self.read_when
        return "read" if marks and all(arguments.get(name) is mark for name, mark in marks.items()) else self.effect

    @property
    def names(self) -> tuple[str, ...]:
        """All names that it can be called by; the first is the listed one."""
        return (self.definition.name, *self.replaces)


class Grant(Protocol):
    """A person's consent to one call. ``take`` consumes it, right before the run, and raises ``ToolError`` if it is
    already consumed. Afterwards ``give_back`` follows if the call only asked on, or ``settle`` if it has run.
    ``keep`` follows if the call failed: an unconsumed grant then holds for the identical call. ``by`` describes the
    consent.
    """

    @property
    def by(self) -> str: ...

    async def take(self) -> None: ...

    async def give_back(self) -> None: ...

    async def settle(self) -> None: ...

    async def keep(self) -> None: ...


class ToolCall(Value, frozen=True):
    """One call. ``tool`` is set once a layer has found it; views replace both together. ``called`` is the old name that
    it was called by, if that is not ``name``.

    ``admit`` is the check of the handler that remains until it is known that the caller may see the tool; it raises
    ``RpcError``, and belongs with the validation of arguments. ``asks`` is the reason why a rule wants a person to
    decide, ``stake`` are further risks, so that an earlier consent that did not cover them does not count, and
    ``grant`` is the person's consent.
    """

    name: str
    arguments: dict[str, Any]
    context: RequestContext
    tool: Tool | None = None
    admit: Callable[[Tool], None] | None = None
    asks: str | None = None
    grant: Grant | None = None
    stake: str = ""
    called: str = ""


class ResourceRead(Value, frozen=True):
    uri: str
    context: RequestContext


class ResourceFollow(ResourceRead, frozen=True):
    """A subscription to changes of a resource. It passes all layers like a read, but reads no contents."""


class PromptGet(Value, frozen=True):
    name: str
    arguments: Mapping[str, str]
    context: RequestContext


class CompletionGet(Value, frozen=True):
    """A request for values of ``argument`` that begin with ``value``. ``name`` is that of a prompt, or a URI template.

    ``arguments`` are those that are settled already.
    """

    of: Literal["prompt", "template"]
    name: str
    argument: str
    value: str
    arguments: Mapping[str, str]
    context: RequestContext


LibraryOperation: TypeAlias = ResourceRead | PromptGet | CompletionGet
Operation: TypeAlias = ToolCall | LibraryOperation

Entry: TypeAlias = wire.Resource | wire.ResourceTemplate | wire.Prompt
"""An entry of a library."""


def resource_of(template: wire.ResourceTemplate, uri: str) -> wire.Resource:
    """Return the resource at ``uri`` of a template; its name is the template's."""
    return wire.Resource(
        uri, template.name, template.title, template.description, template.mimeType, annotations=template.annotations
    )


class Toolset(Protocol):
    """Lists tools, finds one and calls it.

    ``list_tools`` returns the tools that this caller may see, sorted by name, and *the same tuple object* until that
    caller's list changes. ``find_tool`` raises ``UnknownTool`` for all others, hidden ones included, and ``call_tool``
    refuses the same ones. Both accept the old names of a tool. ``watch`` registers a callback for changes, which may
    come from any thread.
    """

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]: ...

    async def find_tool(self, name: str, context: RequestContext) -> Tool: ...

    async def call_tool(self, call: ToolCall) -> ToolOutcome: ...

    def watch(self, changed: Callable[[Change], None]) -> Unwatch: ...


class Library(Protocol):
    """Lists resources, templates and prompts, reads, gets and completes.

    Lists are sorted, by URI, template and name, and each is *the same tuple object* until that caller's list changes.
    ``offers`` returns which of ``resources``, ``prompts`` and ``completions`` are supported; an offer is never
    withdrawn. ``find_entries`` returns the subject of an operation: the resource to read, after the template that it
    comes from, or the prompt. It and the operations raise ``UnknownEntry`` for missing entries, hidden ones included.
    """

    def offers(self) -> frozenset[str]: ...

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]: ...

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]: ...

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]: ...

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]: ...

    async def read_resource(self, read: ResourceRead) -> ReadOutcome: ...

    async def get_prompt(self, get: PromptGet) -> PromptOutcome: ...

    async def complete(self, get: CompletionGet) -> Completion: ...


class Provider(Toolset, Library, Protocol):
    """Everything that a server serves, as one object that can be guarded as one."""


def unknown(operation: LibraryOperation) -> UnknownEntry:
    """Return the error for an operation on an entry that does not exist, or is hidden from this caller."""
    match operation:
        case ResourceRead():
            error = UnknownEntry.of("TT1025", uri=operation.uri)
            error.data = {"uri": operation.uri}
            return error
        case CompletionGet(of="template"):
            return UnknownEntry.of("TT1040", uri=operation.name[:128])
        case PromptGet() | CompletionGet():
            return UnknownEntry.of("TT1026", name=operation.name[:128])


class NoTools:
    """Mixin for a library without tools."""

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return ()

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        raise UnknownTool(name)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        raise UnknownTool(call.name)


class NoLibrary:
    """Mixin for a toolset without resources and prompts."""

    def offers(self) -> frozenset[str]:
        return frozenset()

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]:
        return ()

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return ()

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return ()

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        raise unknown(operation)

    async def read_resource(self, read: ResourceRead) -> ReadOutcome:
        raise unknown(read)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        raise unknown(get)

    async def complete(self, get: CompletionGet) -> Completion:
        raise unknown(get)


class Wrapper(Value, frozen=True, dict=True):
    """A transparent provider around a provider; views and layers override methods.

    A method that is not overridden *is* the inner provider's own method, so that a wrapper adds no cost to it.
    """

    inner: Provider

    def __post_init__(self) -> None:
        for name in _FORWARDED:
            if getattr(type(self), name) is getattr(Wrapper, name):
                vars(self)[name] = getattr(self.inner, name)

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.inner.list_tools(context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.inner.call_tool(call)

    def watch(self, changed: Callable[[Change], None]) -> Unwatch:
        return self.inner.watch(changed)

    def offers(self) -> frozenset[str]:
        return self.inner.offers()

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]:
        return await self.inner.list_resources(context)

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return await self.inner.list_templates(context)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return await self.inner.list_prompts(context)

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        return await self.inner.find_entries(operation)

    async def read_resource(self, read: ResourceRead) -> ReadOutcome:
        return await self.inner.read_resource(read)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await self.inner.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        return await self.inner.complete(get)


_FORWARDED = tuple(name for name, member in vars(Wrapper).items() if callable(member) and not name.startswith("_"))

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
        return await proceed(operation)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.around(call, self.inner.call_tool)

    async def read_resource(self, read: ResourceRead) -> ReadOutcome:
        return await self.around(read, self.inner.read_resource)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await self.around(get, self.inner.get_prompt)

    async def complete(self, get: CompletionGet) -> Completion:
        return await self.around(get, self.inner.complete)


def guarded(provider: Provider, *layers: Callable[[Provider], Provider]) -> Provider:
    """Wrap ``provider`` in ``layers``, the outermost first."""
    for layer in reversed(layers):
        provider = layer(provider)
    return provider


async def found(toolset: Toolset, call: ToolCall) -> tuple[ToolCall, Tool]:
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
