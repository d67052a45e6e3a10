"""The values of the interface between layers: callers, requests, tools and operations.

Layers also tell one another about a call, in two places. The fields of :class:`CallRecord` live as long as the request
and end up in the audit log; those of :class:`ToolCall` are replaced on the way down.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar, overload

from typing_extensions import deprecated

from tooltrue._internal.deadline import Deadline
from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import canonical
from tooltrue.protocol import types as wire
from tooltrue.protocol.headers import Mirrors
from tooltrue.protocol.input_requests import InputRequest, lacking
from tooltrue.protocol.modern import LOG_LEVELS
from tooltrue.protocol.schema import Schema
from tooltrue.protocol.types import Mutable, Value, field, members_of, replaced
from tooltrue.tools.advice import CONTEXT, missing
from tooltrue.tools.bounds import Rate
from tooltrue.tools.rounds import ClientQuestion, Rounds
from tooltrue.tools.stored_results import ReadStored, StoredContent, StoredResult
from tooltrue.tools.wording import USER_QUESTION_IMPOSSIBLE

if TYPE_CHECKING:  # only a host has tasks
    from tooltrue.tools.tasks import Task

__all__ = [
    "CLEANED",
    "EFFECTS",
    "EVERYONE",
    "LOCAL",
    "UNTRUSTED",
    "CallRecord",
    "Channel",
    "CompletionGet",
    "Context",
    "Effect",
    "Entry",
    "Grant",
    "Kind",
    "LibraryOperation",
    "OnTask",
    "Operation",
    "Personal",
    "Principal",
    "PromptGet",
    "ProviderChange",
    "RemoteTask",
    "RequestContext",
    "ResourceFollow",
    "ResourceRead",
    "Secrets",
    "Slice",
    "StepTime",
    "TaskFollow",
    "TaskMode",
    "TaskRequest",
    "TaskWish",
    "Tool",
    "ToolCall",
    "Unwatch",
    "for_author",
    "resource_of",
]

Effect: TypeAlias = Literal["read", "write", "destructive", "open-world"]
Secrets: TypeAlias = Literal["mask", "keep"]
"""The treatment of secrets in output."""
Personal: TypeAlias = Literal["mask", "keep"]
"""The treatment of personal data in output."""

UNTRUSTED = "tooltrue/untrusted"
"""The key of ``_meta`` that marks output of tools and resources as text from strangers."""

CLEANED = "tooltrue/cleaned"
"""The key of ``_meta`` under which a result reports how it was cleaned."""

EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive", "open-world")

TaskMode: TypeAlias = Literal["always", "when-slow", "manual", "required"]
"""When a call becomes a task, if its client supports tasks: at once, after a second, or where the function says so.
``required``: at once, and other clients cannot call the tool."""

OnTask: TypeAlias = Callable[[str], float | None]
"""Called with the id of the task as which another server runs a call. Returns the seconds for which the task may run,
without the time of a person's answers; ``None`` for no limit."""

Unwatch: TypeAlias = Callable[[], None]

AnswerT = TypeVar("AnswerT")
Kind: TypeAlias = Literal["tools", "prompts", "resources", "resource", "task"]
LIST_KINDS: Final[tuple[Kind, ...]] = ("tools", "resources", "prompts")
"""The kinds of changes that concern a list."""


class ProviderChange(Value, frozen=True):
    """A change: the list of tools, prompts or resources (templates included), or the one resource ``uri``; in a session
    of ``caller``, the id of a principal, if others have sessions of their own. For a task, ``uri`` is its id here."""

    kind: Kind
    uri: str = ""
    caller: str = ""


class Principal(Value, frozen=True):
    """The caller: ``local`` on stdio, ``local:http`` on loopback, otherwise the authenticated identity. ``client`` is
    the client that acts for it, where its credentials name one; the id is unique at the issuer of the caller.
    """

    id: str
    scopes: frozenset[str] = frozenset()
    client: str = ""


LOCAL = Principal("local")

EVERYONE = Principal("everyone")
"""Sentinel principal whose lists contain every tool; used only to validate rules. Compared by identity."""


class Channel(Protocol):
    """The way back to the client, while the request runs. After the answer, messages are dropped."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


class StepTime(Mutable):
    """The seconds that a step of a call has taken by itself, without the steps below it."""

    name: str
    seconds: float = 0.0


class CallRecord(Mutable):
    """The audit data of an operation, filled in by the layers on the way.

    ``tool`` is the tool that was found, ``ran`` whether it was reached. ``decision`` and ``rule`` are the verdict and
    the rule it came from, ``code`` is the code of the failure, ``facts`` are those of its sentence, and
    ``write_ahead_id`` is the id of the write-ahead audit record.
    ``edited`` are the arguments that a person has substituted, and ``notes`` are other events: a person's answer, a
    repair, the reason why a run was stopped. ``called`` is the old name that a tool was called by. ``wrong`` locates
    arguments that do not fit, with the keyword of the schema that refuses them. ``paused``: the caller is paused for so
    many seconds from here on. ``queued`` and ``asked`` are the seconds for which the operation has waited for a free
    slot and for a person.

    ``steps`` are the steps that a traced call has run, in their order, and at the end the tool.

    ``claimed``: it belongs to an operation already, and nested operations of a tool need one of their own.

    Layers hand facts to one another here. A test compares the writers with the source.

    ==================  ==================================  ======================================
    field               written by                          read by
    ==================  ==================================  ======================================
    ``tool``            toolset, authorize, audit           observe, record, pending_records
    ``ran``             audit, operator_records             audit, record, chat_screens
    ``decision``        authorize                           record, chat, chat_screens
    ``rule``            authorize, confirm, abuse           record, chat, chat_screens
    ``code``            audit, errors_as_results            audit, record, pending_records, chat
    ``facts``           errors_as_results                   endpoint
    ``write_ahead_id``  recorder                            record
    ``edited``          approval_prompts                    audit
    ``notes``           repair, budget, service, recorder   record
                        operator_records, tasks, endpoint
    ``called``          toolset (``resolve_call``)          record
    ``wrong``           validate                            record
    ``paused``          abuse                               record, recorder
    ``queued``          concurrency                         record
    ``asked``           approval_prompts                    record
    ``steps``           plan                                record
    ``claimed``         audit, calls                        audit
    ==================  ==================================  ======================================
    """

    tool: Tool | None = None
    ran: bool = False
    decision: str = ""
    rule: str = ""
    code: str = ""
    facts: Mapping[str, Any] = {}
    write_ahead_id: str = ""
    edited: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    called: str = ""
    wrong: tuple[str, ...] = ()
    paused: int = 0
    queued: float = 0.0
    asked: float = 0.0
    steps: Sequence[StepTime] = ()
    claimed: bool = False

    def note(self, text: str) -> None:
        self.notes = (*self.notes, text)


def _for_all(request: InputRequest) -> bool:
    return True


class Slice(Value, frozen=True):
    """A text in a result that is cut out of a longer one: ``data`` with the bytes before and after it there, where a
    secret may begin or end. ``excerpt`` is its form in the result: text, whose bytes are in ``encoding``, or else
    base64. ``within`` is the text of the result that contains ``excerpt``, if that is not a text by itself.
    """

    excerpt: str
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
    the earlier rounds of this call, ``stored`` are the results stored by :meth:`keep` in this one, ``slices`` are those
    of its texts that are cut out of longer ones. ``has_words``: whether the client's revision can express a question.
    ``trail`` is for the layers, and absent if no record is written. ``task`` is the task that this request is part of,
    on a host. ``agreed``: a person has been shown this exact call, and has agreed to it, so that a tool need not ask
    again. ``language`` is that of questions to a person: ``en`` or ``zh``. ``reader`` reads stored results of the
    caller, for a tool that declares it. ``carried`` are the headers of HTTP, by lower-case name, without credentials
    unless a tool declares them; an author's function gets those that it declares.
    """

    principal: Principal
    channel: Channel
    capabilities: Mapping[str, Any] = {}
    meta: Mapping[str, Any] = {}
    rounds: Rounds | None = None
    has_words: Callable[[InputRequest], bool] = _for_all
    trail: CallRecord | None = None
    stored: list[StoredResult] = []  # noqa: RUF012 - each context has its own
    task: Task | None = None
    agreed: bool = False
    slices: list[Slice] = []  # noqa: RUF012 - each context has its own
    language: str = "en"
    reader: ReadStored | None = None
    carried: Mapping[str, str] | None = None

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
        thing = StoredResult.of(value, name, mime_type, description, seconds)
        self.stored.append(thing)
        return thing.link

    async def read_stored(self, uri: str) -> StoredContent | None:
        """Return a stored result of the caller by the URI of its link, or ``None`` if this caller has none of that URI.

        For tools with ``reads_stored=True``, which take such a URI as an argument; all others get ``None``.
        """
        return None if self.reader is None else await self.reader(uri)

    def ask(self, question: ClientQuestion[AnswerT], *, key: str | None = None) -> AnswerT:
        """Ask the person, or the client, and return the answer: a :class:`Form`, a :class:`Link`, …

        The function ends here, and runs again from its start once the answer is there; then ``ask`` returns it. So
        effects belong after the last question, or into :meth:`once`. ``key`` names the question among those of the
        call; without one, questions are numbered in their order, which has to be the same each time.

        If the client cannot answer such a question, the call fails with an error; :meth:`can_ask` tells in advance.
        """
        return self._rounds().ask(question, key)

    def ask_all(self, questions: Mapping[str, ClientQuestion[Any]]) -> dict[str, Any]:
        """Ask several questions at once, by key; returns their answers by key."""
        return self._rounds().ask_all(questions)

    def can_ask(self, question: ClientQuestion[Any]) -> bool:
        """Whether this client can answer such a question: it has declared the capability, and its revision can express
        the question.
        """
        request: InputRequest = question.request
        return self.rounds is not None and not lacking((request,), self.capabilities) and self.has_words(request)

    @overload
    def once(self, key: str, make: Callable[[], Awaitable[AnswerT]], *, retry: bool = False) -> Awaitable[AnswerT]: ...

    @overload
    def once(self, key: str, make: Callable[[], AnswerT], *, retry: bool = False) -> AnswerT: ...

    def once(self, key: str, make: Callable[[], Any], *, retry: bool = False) -> Any:
        """Run ``make`` a single time, although questions restart the function: returns the value of its first run, then
        and in every later round. The value has to be plain JSON, because it travels, encrypted, through the client.
        If ``make`` is ``async``, await the result.

        In a task it is a step with a checkpoint: after a crash the function starts again, and gets the stored value. A
        crash within the step ends the task, since the step may have taken effect; with ``retry`` it runs again. An
        ``async`` function of a task needs an ``async`` step.
        """
        return self._rounds().once(key, make, retry=retry)

    def become_task(self) -> None:
        """Go on as a task from here, in a tool with ``task="manual"`` whose client supports tasks; no effect otherwise.

        The function ends here, and runs again from its start as a task, with the answers and the values of :meth:`once`
        so far. So what is asked before is asked while the call runs, and effects belong behind.
        """
        if self.rounds is not None:
            self.rounds.become_task()

    def _rounds(self) -> Rounds:
        if self.rounds is None:
            raise ToolError.of(USER_QUESTION_IMPOSSIBLE)
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


class AuthorContext(RequestContext, frozen=True):
    """The context that an author's function gets: a name of another library's context leads to ours.

    A class of its own, since a ``__getattr__`` makes each access to a field several times slower.
    """

    if not TYPE_CHECKING:  # a type checker reports missing names better

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name, CONTEXT)


def for_author(context: RequestContext) -> RequestContext:
    """Return the same context for an author's function: what it keeps, it keeps in this request. The headers, which are
    the last of its fields, are left out.
    """
    return AuthorContext(*members_of(context)[:-1])


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
    ``excused`` are the rules of ``tooltrue check`` that its author does not follow, each with the reason; ``source``
    is the file and line of its function. ``tags`` are the author's words by which views select it. ``credentials`` are
    the headers with credentials of the caller that it gets. ``task``: when its calls become tasks; ``None`` for never.
    ``reads_stored``: it reads stored results of its caller, whose URIs are arguments.
    """

    definition: wire.ToolDefinition
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
    source: tuple[str, int] | None = None
    replaces: tuple[str, ...] = ()
    deprecated: str = ""
    read_when: Mapping[str, bool] = {}
    tags: frozenset[str] = frozenset()
    credentials: tuple[str, ...] = ()
    task: TaskMode | None = None
    reads_stored: bool = False

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


class TaskWish(Value, frozen=True):
    """The wish of a client that its call becomes a task, in whichever mode its tool does (2025-11-25,
    basic/utilities/tasks). ``seconds``: how long the task is to be stored; ``None`` for as long as the server does."""

    seconds: float | None = None


class TaskFollow(Mutable, gc=True):
    """A wish to hear of changes of a task: ``changed`` is called after each, until ``end`` is called. The follower of
    the task sets ``end``, and ``task``, its id here."""

    changed: Callable[[], None]
    end: Callable[[], None] = lambda: None
    task: str = ""


class RemoteTask(Mutable, gc=True):
    """A request about a task at the server of a tool, in place of a run of that tool: ``id`` is that of the server, and
    ``responses`` are the answers of an ``update``. ``status`` gets what the server has said, with that id. With
    ``follow``, the task is followed from then on if it has not ended.
    """

    id: str
    verb: Literal["get", "update", "cancel"] = "get"
    responses: Mapping[str, Any] = {}
    status: wire.TaskCreated | None = None
    follow: TaskFollow | None = None


class ToolCall(Mutable, gc=True):
    """One call. ``tool`` is set once a layer has found it; views replace both together. ``called`` is the old name that
    it was called by, if that is not ``name``.

    ``admit`` is the check of the handler that remains until it is known that the caller may see the tool; it raises
    ``RpcError``, and belongs with the validation of arguments. ``asks`` is the reason why a rule wants a person to
    decide, ``stake`` are further risks, so that an earlier consent that did not cover them does not count, and
    ``grant`` is the person's consent. ``wish`` is that of a client which asks for a task. With ``task``, the call asks
    about a task that its tool runs as already, and its outcome is that of this request. ``on_task`` learns that the
    server of the tool, another one, runs the call as a task.

    A layer in its general form leaves the call that it gets as it is, and passes a changed copy on (``replaced``). The
    steps of a plan (:mod:`tooltrue.policy.plan`) share one call, which belongs to the plan, and change it in place.

    ============  ==================================================  ====================================
    field         written by                                          read by
    ============  ==================================================  ====================================
    ``tool``      toolset (``resolve_call``), authorize, views,       every layer
                  transforms, catalogue, searchable, tasks
    ``admit``     legacy, modern, searchable                          validate
    ``asks``      authorize, lethal_trifecta, confirm,                confirm, lethal_trifecta
                  approval_prompts
    ``grant``     confirm, approval_prompts                           confirm (``consume_grant``)
    ``stake``     lethal_trifecta, confirm, approval_prompts          confirm
    ``called``    toolset (``resolve_call``)                          renames, authorize
    ``wish``      legacy                                              validate, tasks
    ``task``      tasks                                               remote, sanitize
    ``on_task``   calls, searchable, audit, limits                    upstream_calls, tasks
    ``text``      vocabulary (``own_text``), modern                   audit, abuse, limits
    ``came``      vocabulary (``own_text``), modern                   vocabulary (``renewed``)
    ``checked``   validate                                            remote
    ``began``     plan                                                audit, observe
    ``at``        audit                                               audit
    ``proceed``   plan, placing                                       confirm
    ``deadline``  limits                                              limits
    ``state``     vocabulary (``keep``)                               repair, confirm, concurrency
    ============  ==================================================  ====================================

    The last eight are the working state of the steps: ``text`` is the canonical JSON of the arguments as they came,
    which are ``came``, ``checked`` has arguments and the schema that accepts them, ``began`` is the time at which the
    call entered the plan (``perf_counter``), ``at`` the same on the clock of the log, ``deadline`` its time limit,
    ``proceed`` runs the layers below the step that is being left once more, and ``state`` holds what a step remembers
    from its beginning to its end, by its name.
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
    wish: TaskWish | None = None
    text: bytes | None = None
    came: dict[str, Any] | None = None
    checked: tuple[Schema, dict[str, Any]] | None = None
    began: float = 0.0
    at: float = 0.0
    proceed: Callable[[ToolCall], Awaitable[wire.ToolOutcome]] | None = None
    deadline: Deadline | None = None
    state: dict[str, Any] | None = None
    task: RemoteTask | None = None
    on_task: OnTask | None = None

    def renewed(self) -> ToolCall:
        """Return a copy without the working state: the call of a pipeline is one of its own, and changes no other."""
        own = replaced(self)
        own.proceed = own.deadline = own.state = None
        if own.came is not own.arguments:
            own.text = None
        return own

    def own_text(self) -> bytes:
        """Return the canonical JSON of the arguments as they came. Made once; raises as the encoder does."""
        text = self.text
        if text is None:
            self.came = self.arguments
            text = self.text = canonical(self.came)
        return text

    def is_checked_by(self, schema: Schema) -> bool:
        """Return whether the arguments have been validated against this very schema."""
        checked = self.checked
        return checked is not None and checked[0] is schema and checked[1] is self.arguments

    def keep(self, name: str, value: object) -> None:
        """Remember a value of a step until the call ends."""
        if self.state is None:
            self.state = {}
        self.state[name] = value

    def recall(self, name: str) -> Any:
        """Return the value that :meth:`keep` has remembered, or ``None``."""
        return None if self.state is None else self.state.get(name)


class ResourceRead(Value, frozen=True):
    """A request for the contents of a resource, or of a stored result."""

    uri: str
    context: RequestContext


class ResourceFollow(ResourceRead, frozen=True):
    """A subscription to changes of a resource. It passes all layers like a read, and its result has no contents."""


class TaskRequest(ResourceRead, frozen=True):
    """A request of a client about a task of its own. It passes all layers like a read, and its result has no contents:
    ``reply`` gets the members of the task. ``uri`` is the id of the task as the client has it. ``lookup`` gets the task
    from the first layer that looks it up, for all others.

    ``list`` is about all tasks of the caller, and its ``reply`` gets a page of them: the first one, or that after the
    task ``uri``. A ``get`` with ``follow`` has a task of another server followed, which announces no changes here."""

    verb: Literal["get", "update", "cancel", "list"]
    responses: Mapping[str, Any]
    reply: dict[str, Any]
    lookup: list[Any] = field(default_factory=list[Any])
    follow: TaskFollow | None = None


class PromptGet(Value, frozen=True):
    """A request for the messages of a prompt, with its arguments."""

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
"""An operation that passes the layers: a call, a read, a prompt or a completion."""

Entry: TypeAlias = wire.ResourceDefinition | wire.ResourceTemplate | wire.Prompt | Tool
"""An entry of a library, or the tool of a task that a request is about."""


def resource_of(template: wire.ResourceTemplate, uri: str) -> wire.ResourceDefinition:
    """Return the resource at ``uri`` of a template; its name is the template's."""
    return wire.ResourceDefinition(
        uri, template.name, template.title, template.description, template.mimeType, annotations=template.annotations
    )
