"""The handler of session-based revisions (2024-11-05 … 2025-11-25): a handshake opens a session on the same provider.

A session holds the results of the handshake. On a channel it lives as long as the channel; on HTTP the client carries
it as a sealed token, so that the server stores no session and any worker can serve it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from typing import Any, TypeVar

from tooltrue.errors import InvalidParams, InvalidRequest, InvalidResult, MethodNotFound, RpcError, ToolError
from tooltrue.jsonrpc.messages import Id, Json, RpcRequest, decode, encode, is_id, is_object
from tooltrue.jsonrpc.peer import Dialogue, internal_error
from tooltrue.jsonrpc.wording import MESSAGE_NOT_JSONRPC
from tooltrue.protocol import legacy, versions
from tooltrue.protocol.modern import (
    LOG_LEVELS,
    CallParams,
    CompleteParams,
    GetPromptParams,
    ListParams,
    ReadParams,
    convert,
)
from tooltrue.protocol.types import InputRequiredResult, PromptOutcome, ReadOutcome, TaskCreated, ToolOutcome, Value
from tooltrue.protocol.wording import UNKNOWN_LOG_LEVEL
from tooltrue.server.legacy_tasks import SessionTasks, TaskFollows, check_support, listed_tool, tells_apart, wish_of
from tooltrue.server.request_state import for_callers, run_with_questions
from tooltrue.server.sealed_tokens import BadSeal
from tooltrue.server.service import (
    LISTINGS,
    SILENT,
    Listing,
    RequestChannel,
    ServedProvider,
    check_uri,
    completion_get,
    page_of,
)
from tooltrue.server.subscriptions import KINDS, ChangeSubscription, Followed, Follows, SharedFollowed
from tooltrue.server.wording import REASON_ALREADY_INITIALIZED, UNKNOWN_SESSION
from tooltrue.tools.content import failed
from tooltrue.tools.rounds import Rounds
from tooltrue.tools.vocabulary import (
    CallRecord,
    Kind,
    Principal,
    PromptGet,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    TaskWish,
    Tool,
    ToolCall,
)
from tooltrue.tools.wording import RESOURCE_NOT_FOUND
from tooltrue.wording import UNKNOWN_METHOD, Worded

__all__ = ["LegacyHandler", "LegacySession"]

OutcomeT = TypeVar("OutcomeT")

_DEFAULT_LEVEL = "info"
_ENDED, _HAS_LEVEL = b"ended", b"level"


class LegacySession(Value, frozen=True):
    """The results of a handshake: the revision, and the client's capabilities. ``token`` exists on HTTP only, and with
    it ``name``, which identifies the session wherever workers share data: the token itself is never written
    anywhere.

    ``level`` is the log level, ``info`` until the client sets another. ``follows`` are the resources that it has
    subscribed to; ``None`` if they are stored elsewhere, or not at all.
    """

    revision: versions.Revision
    capabilities: Mapping[str, Json] = {}
    token: str | None = None
    name: str = ""
    level: str = _DEFAULT_LEVEL
    follows: Follows | None = None


class LegacyHandler:
    """Answers session-based requests. The session belongs to the caller."""

    def __init__(self, served: ServedProvider) -> None:
        self._served = served
        self._projections = {name: legacy.Projection(versions.BY_NAME[name]) for name in versions.LEGACY}
        self._lists: dict[tuple[str, str, bool], tuple[tuple[Any, ...], bytes]] = {}
        self._answers: dict[str, Callable[[Any, _LegacyRequest], Awaitable[bytes]]] = {
            "ping": self._ping,
            "logging/setLevel": self._set_level,
            **{listing.method: functools.partial(self._list, listing) for listing in LISTINGS},
            "tools/call": self._call_tool,
            "resources/read": self._read_resource,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
            "tasks/get": lambda params, request: self._tasks(request).get(params),
            "tasks/result": lambda params, request: self._tasks(request).result(params),
            "tasks/cancel": lambda params, request: self._tasks(request).cancel(params),
            "tasks/list": lambda params, request: self._tasks(request).list(params),
        }

    def initialize(self, request: RpcRequest, principal: Principal) -> tuple[LegacySession, bytes]:
        """Open a session: agree on a revision, and return the session with the encoded answer (basic/lifecycle)."""
        params = convert(request.params, legacy.InitializeParams, request.method)
        revision = versions.agree(params.protocolVersion)
        served = self._served
        capabilities = {**served.capabilities(), **_task_capabilities(self._offers(revision, principal))}
        answer = self._projections[revision.name].initialized(served.info, capabilities, served.instructions())
        understood = self._projections[revision.name].understood(params.capabilities)
        return LegacySession(revision, understood, follows=Followed()), answer

    def level(self, request: RpcRequest) -> str:
        """Return the level that ``logging/setLevel`` asks for (2025-11-25, server/utilities/logging)."""
        level = convert(request.params, legacy.LevelParams, request.method).level
        if level not in LOG_LEVELS:
            raise InvalidParams.of(UNKNOWN_LOG_LEVEL, level=level[:20], allowed=", ".join(LOG_LEVELS))
        return level

    async def answer(
        self,
        request: RpcRequest,
        session: LegacySession,
        exchange: Dialogue,
        principal: Principal,
        carried: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the encoded result, or raise ``RpcError``. ``carried`` are the headers of HTTP."""
        shape, capability = legacy.METHODS.get(request.method, (None, None))
        if request.method == "initialize":
            raise InvalidRequest.of(MESSAGE_NOT_JSONRPC, problem=Worded(REASON_ALREADY_INITIALIZED, {}))
        offers = self._offers(session.revision, principal)
        if shape is None or (capability is not None and capability not in offers):
            raise MethodNotFound.of(UNKNOWN_METHOD, method=request.method[:128])
        params = convert(request.params, shape, request.method)
        projection = self._projections[session.revision.name]
        legacy_request = _LegacyRequest(
            request, session, exchange, principal, projection, self._served.language, carried, "tasks" in offers
        )
        try:
            return await self._answers[request.method](params, legacy_request)
        finally:
            legacy_request.close()

    def _offers(self, revision: versions.Revision, principal: Principal) -> frozenset[str]:
        """The capabilities by name; ``tasks.list`` for callers that are told apart."""
        offers = self._served.offers()
        if not (revision.tasks and self._served.runs_tasks):
            return offers - {"tasks"}
        return offers | {"tasks.list"} if "tasks" in offers and tells_apart(principal) else offers

    async def _ping(self, params: Any, request: _LegacyRequest) -> bytes:
        return b"{}"

    async def _set_level(self, params: legacy.LevelParams, request: _LegacyRequest) -> bytes:
        if request.session.token is not None:  # on a channel, the owner of the session has taken it
            await self._keep_level(request.session, self.level(request.message))
        return b"{}"

    async def _keep_level(self, session: LegacySession, level: str) -> None:
        """Store the level, unless it is the default, which takes no room."""
        facts, seconds = self._served.facts, self._served.session_seconds
        if level != _DEFAULT_LEVEL:
            await facts.put(_level(session.name), level.encode(), seconds)
            await facts.put_if_absent(_state(session.name), _HAS_LEVEL, seconds)  # an ended session stays ended
        elif session.level != _DEFAULT_LEVEL:
            await facts.remove(_level(session.name))

    async def _list(self, listing: Listing, params: ListParams, request: _LegacyRequest) -> bytes:
        items = await listing.items(self._served.provider, request.context())
        revision = request.session.revision.name
        with_tasks = request.has_tasks and listing.method == "tools/list"
        key = (revision, listing.method, with_tasks)
        cached = self._lists.get(key)
        if cached is not None and cached[0] is items and params.cursor is None:
            return cached[1]
        page = page_of(self._served, listing, items, params.cursor, request.principal)
        wire_form = listed_tool if with_tasks else listing.wire_form
        entries = [wire_form(item) for item in page.items]
        encoded = self._projections[revision].page(listing.member, entries, page.next_cursor)
        if params.cursor is None and page.next_cursor is None:
            self._lists[key] = (items, encoded)
        return encoded

    async def _call_tool(self, params: CallParams, request: _LegacyRequest) -> bytes:
        if request.has_tasks:
            request.wish = wish_of(convert(request.message.params, legacy.AugmentedParams, request.message.method))

        async def run(rounds: Rounds) -> ToolOutcome:
            context = request.context(rounds)
            call = ToolCall(params.name, params.arguments, context, admit=request.called, wish=request.wish)
            return await self._served.provider.call_tool(call)

        try:
            outcome = await self._run_rounds(run, params.name, request)
        except ToolError as error:
            outcome = failed(error.say(self._served.language))
        if isinstance(outcome, TaskCreated):
            return await self._created(outcome, request)
        return request.projection.call(outcome, request.tool and request.tool.definition.outputSchema)

    async def _created(self, created: TaskCreated, request: _LegacyRequest) -> bytes:
        if request.wish is None:  # nor the extension, which sessions do not have
            raise internal_error(InvalidResult("a session has no tasks that it did not wish"))
        if (follows := self._task_follows(request.session, request.context())) is not None:
            with contextlib.suppress(InvalidParams):  # it follows too much already
                await follows.add(created.taskId)
        return legacy.created(created)

    def _tasks(self, request: _LegacyRequest) -> SessionTasks:
        assert self._served.tasks is not None  # as its capability says
        return SessionTasks(self._served, self._served.tasks, request.context, request.dialogue, request.projection)

    def _task_follows(self, session: LegacySession, context: RequestContext) -> TaskFollows | None:
        follows, service = self._follows(session), self._served.tasks
        if follows is None or service is None or not session.revision.tasks:
            return None
        return TaskFollows(self._served, service, follows, context)

    async def _read_resource(self, params: ReadParams, request: _LegacyRequest) -> bytes:
        check_uri(params.uri)

        async def run(rounds: Rounds) -> ReadOutcome:
            return await self._served.provider.read_resource(ResourceRead(params.uri, request.context(rounds)))

        with _in_old_numbers(), for_callers():
            return request.projection.contents(await self._run_rounds(run, params.uri, request))

    async def _get_prompt(self, params: GetPromptParams, request: _LegacyRequest) -> bytes:
        async def run(rounds: Rounds) -> PromptOutcome:
            get = PromptGet(params.name, params.arguments, request.context(rounds))
            return await self._served.provider.get_prompt(get)

        with for_callers():
            return request.projection.prompt(await self._run_rounds(run, params.name, request))

    async def _run_rounds(
        self, run: Callable[[Rounds], Awaitable[OutcomeT | InputRequiredResult]], name: str, request: _LegacyRequest
    ) -> OutcomeT:
        """Return the outcome once all questions have been answered."""
        seconds = self._served.question_seconds
        return await run_with_questions(
            run, request.dialogue, request.projection, request.session.capabilities, name, seconds
        )

    async def _subscribe(self, params: ReadParams, request: _LegacyRequest) -> bytes:
        check_uri(params.uri)
        with _in_old_numbers():  # hidden resources send no notifications
            await self._served.provider.read_resource(ResourceFollow(params.uri, request.context()))
        follows = self._follows(request.session)
        if follows is None:
            raise InvalidParams.of(UNKNOWN_SESSION)
        await follows.add(params.uri)
        return b"{}"

    async def _unsubscribe(self, params: ReadParams, request: _LegacyRequest) -> bytes:
        follows = self._follows(request.session)
        if follows is not None:
            await follows.remove(params.uri)
        return b"{}"

    def _follows(self, session: LegacySession) -> Follows | None:
        """The subscriptions of a session, if there is one."""
        if session.token is None:
            return session.follows
        return SharedFollowed(self._served.facts, session.name, self._served.session_seconds)

    async def _complete(self, params: CompleteParams, request: _LegacyRequest) -> bytes:
        completion = await self._served.provider.complete(completion_get(params, request.context()))
        return encode({"completion": completion})

    def subscription(self, session: LegacySession, principal: Principal) -> ChangeSubscription:
        """Notifications for a session: changes of the lists that are offered now, and of the resources that it has
        subscribed to.
        """
        served, offers = self._served, self._served.offers()
        context = RequestContext(principal, SILENT, session.capabilities)
        kinds: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in offers)
        follows, tasks = self._follows(session) or Followed(), self._task_follows(session, context)
        notification_of = None if tasks is None else tasks.notification_of
        return ChangeSubscription(served.hub, served.provider, context, kinds, follows, notification_of)

    # --- sessions as tokens ------------------------------------------------------------------------------------------

    def seal(self, session: LegacySession, principal: Principal) -> str:
        """Return the session as a token of at most 1 kB."""
        payload = encode([session.revision.name, session.capabilities])
        return self._served.sealer.seal("session", (principal.id,), payload, self._served.session_seconds)

    async def open(self, token: str, principal: Principal) -> LegacySession | None:
        """Return the session of a token, or ``None`` if it belongs to another principal, or has expired or been
        ended.
        """
        try:
            revision, capabilities = decode(self._served.sealer.open("session", (principal.id,), token))
        except BadSeal:
            return None
        name = hashlib.sha256(token.encode()).hexdigest()
        state = await self._served.facts.get(_state(name))
        if state == _ENDED:
            return None
        level = None if state is None else await self._served.facts.get(_level(name))
        log_level = _DEFAULT_LEVEL if level is None else level.decode()
        return LegacySession(versions.BY_NAME[revision], capabilities, token, name, log_level)

    async def end(self, session: LegacySession) -> None:
        """End a session for every worker, until it would have expired anyway."""
        if session.token is not None:
            await self._served.facts.put(_state(session.name), _ENDED, self._served.session_seconds)


def _task_capabilities(offers: Collection[str]) -> dict[str, Json]:
    """The capability for tasks in 2025-11-25."""
    if "tasks" not in offers:
        return {}
    listed: dict[str, Json] = {"list": {}} if "tasks.list" in offers else {}
    return {"tasks": {**listed, "cancel": {}, "requests": {"tools": {"call": {}}}}}


@contextlib.contextmanager
def _in_old_numbers() -> Generator[None]:
    """Before 2026-07-28, "resource not found" had an error number of its own."""
    try:
        yield
    except RpcError as error:
        if error.code == RESOURCE_NOT_FOUND:
            error.number = -32002
        raise


def _state(name: str) -> str:
    """The key of the one row that nearly every request reads: the session has been ended, or has a level of its own.
    Most sessions have no such row.
    """
    return "session:" + name


def _level(name: str) -> str:
    return "session-level:" + name


class _LegacyRequest:
    """One request of a session, and the channel back. ``tool`` is the tool that it turned out to call. ``has_tasks``:
    tasks are offered to the session; ``wish`` is that of a call for one."""

    __slots__ = (
        *("_carried", "_channel", "_language", "_meta"),
        *("dialogue", "has_tasks", "message", "principal", "projection", "session", "tool", "wish"),
    )

    def __init__(
        self,
        message: RpcRequest,
        session: LegacySession,
        dialogue: Dialogue,
        principal: Principal,
        projection: legacy.Projection,
        language: str,
        carried: Mapping[str, str] | None,
        has_tasks: bool,
    ) -> None:
        meta = message.params.get("_meta")
        self._meta: Mapping[str, Json] = meta if is_object(meta) else {}
        self.message = message
        self.session = session
        self.dialogue = dialogue
        self.principal = principal
        self.projection = projection
        self._language = language
        self._carried = carried
        self.has_tasks = has_tasks
        self.tool: Tool | None = None
        self.wish: TaskWish | None = None
        token: Id | None = self._meta.get("progressToken")
        with_message = session.revision.progress_message
        self._channel = RequestChannel(
            dialogue,
            token if is_id(token) else None,
            session.level,
            with_message=with_message,
            detach=dialogue.detach,
            language=language,
        )

    def called(self, tool: Tool) -> None:
        self.tool = tool
        if self.has_tasks:
            check_support(tool, self.wish)

    def context(self, rounds: Rounds | None = None) -> RequestContext:
        capabilities, has_words = self.session.capabilities, self.projection.has_words
        return RequestContext(
            self.principal,
            self._channel,
            capabilities,
            self._meta,
            rounds,
            has_words,
            CallRecord(),
            language=self._language,
            carried=self._carried,
        )

    def close(self) -> None:
        self._channel.close()
