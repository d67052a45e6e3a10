"""The one idea: a *toolset* lists tools, finds one by name and calls it; a *layer* is a toolset around a toolset.

Resources and prompts go the same way: a :class:`Provider` offers all three, and a :class:`Layer` treats reading a
resource, getting a prompt and completing an argument as it treats a call, so that nothing has a way around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, overload

from typing_extensions import deprecated

from toolwright.errors import ToolError, UnknownEntry, UnknownTool
from toolwright.protocol import types as wire
from toolwright.protocol.headers import Mirrors
from toolwright.protocol.modern import LOG_LEVELS
from toolwright.protocol.questions import InputRequest, lacking
from toolwright.protocol.schema import Schema
from toolwright.protocol.types import Completion, Mutable, PromptOutcome, ReadOutcome, ToolOutcome, Value, replaced
from toolwright.tools.advice import CONTEXT, missing
from toolwright.tools.bounds import Rate
from toolwright.tools.keeping import Kept
from toolwright.tools.rounds import Question, Rounds
from toolwright.tools.tasks import Task

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
"""What becomes of secrets in what leaves."""
Personal: TypeAlias = Literal["mask", "keep"]
"""What becomes of personal data in what leaves."""

UNTRUSTED = "toolwright/untrusted"
"""The key of ``_meta`` that marks what a tool says, or a resource reads as, whose text comes from strangers."""

EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive", "open-world")

Unwatch: TypeAlias = Callable[[], None]

AnswerT = TypeVar("AnswerT")
Kind: TypeAlias = Literal["tools", "prompts", "resources", "resource"]


class Change(Value, frozen=True):
    """What has changed: the list of tools, prompts or resources (templates included), or the one resource ``uri``."""

    kind: Kind
    uri: str = ""


class Principal(Value, frozen=True):
    """Who calls: ``local`` on stdio, ``local:http`` on loopback, otherwise what authentication says."""

    id: str
    scopes: frozenset[str] = frozenset()


LOCAL = Principal("local")

EVERYONE = Principal("everyone")
"""Nobody who calls: who lists as this very object sees what there is for anyone, to check rules against it."""


class Channel(Protocol):
    """The way back to whoever asked, while the request runs. It takes nothing after the answer."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


class Trail(Mutable):
    """What its record will say of an operation, written by whoever learns it on the way.

    ``tool`` is what was found, ``ran`` whether it was reached. ``decision`` and ``rule`` are whether and by which rule
    it was allowed, ``code`` is that of the failure, and ``intent`` the id of a record that was written before.
    ``edited`` are the arguments that a person has put in the place of those that came, and ``notes`` what else was done
    about it: what a person said, what was repaired, why a run was stopped. ``called`` is the old name that a tool was
    called by. ``wrong`` says of arguments that do not fit where that is, and which keyword of the schema refuses them.
    ``paused``: for so many seconds its caller is paused from here on.
    ``taken``: it belongs to an operation already, and whatever a tool does with its context needs one of its own.
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
    """A text of a result that is cut out of a longer one: ``data`` with what stands before and behind it there, where a
    secret may begin or end. ``shown`` is how the result has it: as text, of which the bytes are in ``encoding``, or
    else in base64. ``within`` is the text of the result that ``shown`` is a part of, where it is no text by itself."""

    shown: str
    before: bytes
    data: bytes
    behind: bytes
    encoding: str | None = "utf-8"
    within: str = ""

    @classmethod
    def of(cls, text: str, start: int, end: int, within: str = "") -> Slice:
        """The characters of ``text`` from ``start`` up to ``end``, as a result shows them."""
        before, behind = text[max(0, start - cls.BEFORE) : start], text[end : end + cls.BEHIND]
        return cls(
            text[start:end], before.encode(errors="replace"), b"", behind.encode(errors="replace"), within=within
        )

    BEFORE: ClassVar[int] = 8_192
    """So much is looked at before a slice: a private key begins that far off."""
    BEHIND: ClassVar[int] = 512


class RequestContext(Value, frozen=True):
    """The facts of one request. A tool gets it by a parameter annotated ``Context``, which its schema does not show.

    ``capabilities`` are the client's, valid for this request only. ``meta`` is the request's ``_meta``. ``rounds``
    is what is known from earlier rounds of this call, ``kept`` what :meth:`keep` has taken in this one, ``slices``
    which of its texts are cut out of longer ones. ``has_words``: whether the client's revision can put a question.
    ``trail`` is for the layers, and absent where nothing is recorded. ``task`` is what this request is a part of,
    on a host. ``agreed``: a person has been shown this very call, and has agreed to it, so that a tool need not ask
    the same once more. ``language`` is that of questions to a person: ``en`` or ``zh``.
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

    if not TYPE_CHECKING:  # a type checker names what is not there better

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
        """Hand out something large by reference: return the link, and whoever made this call can read it for a while.

        To all others there is nothing at its URI. Text stays text, ``bytes`` stay bytes, any other value has to be
        plain, and becomes JSON. What is long is read in parts, and each says which comes next. At most about 64 MiB
        are kept for a caller at once; beyond that the call fails. Nothing is kept of a call that fails or asks.
        """
        thing = Kept.of(value, name, mime_type, description, seconds)
        self.kept.append(thing)
        return thing.link

    def ask(self, question: Question[AnswerT], *, key: str | None = None) -> AnswerT:
        """Ask the person, or the client, and return the answer: a :class:`Form`, a :class:`Link`, …

        The function ends here, and begins again from its start once the answer is there; then ``ask`` returns it. So
        effects belong behind the last question, or into :meth:`once`. ``key`` names the question among those of the
        call; without one, questions are numbered in their order, which has to be the same each time.

        A client that cannot be asked so is told by an error; :meth:`can_ask` looks first.
        """
        return self._rounds().ask(question, key)

    def ask_all(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        """Ask several questions at once, by key; returns their answers by key."""
        return self._rounds().ask_all(questions)

    def can_ask(self, question: Question[Any]) -> bool:
        """Whether this client can be asked so: it says that it answers such a question, and its revision has words for
        it."""
        request: InputRequest = question.request
        return self.rounds is not None and not lacking((request,), self.capabilities) and self.has_words(request)

    @overload
    def once(self, key: str, make: Callable[[], Awaitable[AnswerT]]) -> Awaitable[AnswerT]: ...

    @overload
    def once(self, key: str, make: Callable[[], AnswerT]) -> AnswerT: ...

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Do something a single time, although questions make the function begin again: what ``make`` returned when it
        was first called here, then and in every later round. It has to be plain JSON, for it travels, encrypted,
        through the client. Where ``make`` is ``async``, await the result."""
        return self._rounds().once(key, make)

    def _rounds(self) -> Rounds:
        if self.rounds is None:
            raise ToolError.of("TW2009")
        return self.rounds

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is. Numbers must increase; others are dropped. Of what comes quicker than 20 times a
        second the newest is told, and what reaches ``total``. Free when nobody asked for progress."""
        self.channel.progress(progress, total, message)

    @deprecated("Context.log is deprecated by the protocol: write to standard error, or use a tracing library.")
    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, where this request asked for its level (2026-07-28, utilities/logging).
        Deprecated since that revision, and there for the clients that ask for it.

        ``level`` is one of debug, info, notice, warning, error, critical, alert, emergency; ``ValueError`` otherwise.
        Of more than 100 messages a second, one says that the others are left out.
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

    A limit of ``None`` is the server's. ``requires`` are the scopes that a caller needs. ``confirm`` of ``None``: its
    effect says whether a person is asked, and that of a call with all of ``read_when`` is ``read``, for its author says
    that such a call changes nothing. ``preview`` says what a call with these arguments would do, without doing it.
    ``server`` is the label of the server that it comes from, on a host; of such a tool nobody here vouches for what its
    definition says of itself. ``instance`` tells that server from others of its label. ``repair``: arguments that miss
    the schema by their spelling alone are mended. ``sends``: the arguments go to somebody else, so there must be no
    secret in them. ``replaces`` are names that it had before, by which it can still be called; ``deprecated`` is what
    to use instead of it. ``excused`` are the rules of ``toolwright check`` that its author does not follow, each with
    the reason; ``written`` is the file and line of its function.
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
        """The effect of a call with these arguments, the defaults among them."""
        marks = self.read_when
        return "read" if marks and all(arguments.get(name) is mark for name, mark in marks.items()) else self.effect

    @property
    def names(self) -> tuple[str, ...]:
        """All that it can be called by; the first is the one that is listed."""
        return (self.definition.name, *self.replaces)


class Grant(Protocol):
    """A person's consent to one call. It is used up by ``take``, right before the run; ``ToolError`` when it has been.
    After it ``give_back`` when the call only asked on, or ``settle`` when it has run. ``keep`` when the call failed:
    what was not used up by then holds for the identical call. ``by`` says what the consent was.
    """

    @property
    def by(self) -> str: ...

    async def take(self) -> None: ...

    async def give_back(self) -> None: ...

    async def settle(self) -> None: ...

    async def keep(self) -> None: ...


class ToolCall(Value, frozen=True):
    """One call. ``tool`` is there once a layer has found it; views replace both together. ``called`` is the old name
    that it came by, where that is not ``name``.

    ``admit`` is what the door still has to check once it is known that the caller may know the tool; it raises
    ``RpcError``, and belongs where the arguments are checked. ``asks`` is why a rule wants a person to decide,
    ``stake`` what else is at stake, so that no earlier yes counts that did not know of it, and ``grant`` what they have
    said.
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
    """To be told of changes of a resource. It goes the whole way of reading it, and then nothing is read."""


class PromptGet(Value, frozen=True):
    name: str
    arguments: Mapping[str, str]
    context: RequestContext


class CompletionGet(Value, frozen=True):
    """Which values may ``argument`` have that begins with ``value``? ``name`` is a prompt's, or a URI template.

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
"""What a library has."""


def resource_of(template: wire.ResourceTemplate, uri: str) -> wire.Resource:
    """The resource of a template that ``uri`` is; its name is the template's."""
    return wire.Resource(
        uri, template.name, template.title, template.description, template.mimeType, annotations=template.annotations
    )


class Toolset(Protocol):
    """Lists tools, finds one and calls it.

    ``list_tools`` returns the tools that this caller may see, sorted by name, and *the same tuple object* while nothing
    has changed for that caller. ``find_tool`` raises ``UnknownTool`` for all others, hidden ones included, and
    ``call_tool`` refuses what ``find_tool`` would. Both take the old names of a tool for its name. ``watch`` calls back
    after each change, from any thread.
    """

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]: ...

    async def find_tool(self, name: str, context: RequestContext) -> Tool: ...

    async def call_tool(self, call: ToolCall) -> ToolOutcome: ...

    def watch(self, changed: Callable[[Change], None]) -> Unwatch: ...


class Library(Protocol):
    """Lists resources, templates and prompts, reads, gets and completes.

    Lists are sorted, by URI, template and name, and each is *the same tuple object* while nothing has changed for that
    caller. ``offers`` says what of ``resources``, ``prompts`` and ``completions`` there is; what has been offered once
    is not taken back. ``find_entries`` tells what an operation is about: the resource to read, before it the template
    that it comes from, or the prompt. That and the operations raise ``UnknownEntry`` for what there is not, hidden ones
    included.
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
    """All that a server serves, as one object that can be guarded as one."""


def unknown(operation: LibraryOperation) -> UnknownEntry:
    """The error for an operation on what there is not, or what this caller may not know."""
    match operation:
        case ResourceRead():
            error = UnknownEntry.of("TW1025", uri=operation.uri)
            error.data = {"uri": operation.uri}
            return error
        case CompletionGet(of="template"):
            return UnknownEntry.of("TW1040", uri=operation.name[:128])
        case PromptGet() | CompletionGet():
            return UnknownEntry.of("TW1026", name=operation.name[:128])


class NoTools:
    """The tools of a library that has none."""

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return ()

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        raise UnknownTool(name)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        raise UnknownTool(call.name)


class NoLibrary:
    """The library of a toolset that has none."""

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
    """A provider around a provider that changes nothing; views and layers override what they change.

    What is not overridden *is* the inner provider's own method, so that standing in the way without doing anything
    costs nothing.
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
    """``provider`` inside ``layers``, the outermost named first."""
    for layer in reversed(layers):
        provider = layer(provider)
    return provider


async def found(toolset: Toolset, call: ToolCall) -> tuple[ToolCall, Tool]:
    """The call with its tool, looked up unless an outer layer has done so. Raises ``UnknownTool``.

    Of a tool that was called by an old name, the call has the present one: whatever goes by names goes by that.
    """
    if call.tool is not None:
        return call, call.tool
    tool = await toolset.find_tool(call.name, call.context)
    trail, called = call.context.trail, "" if tool.name == call.name else call.name
    if trail is not None:
        trail.tool, trail.called = tool, called
    return replaced(call, name=tool.name, tool=tool, called=called), tool
