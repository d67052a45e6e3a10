"""Sends the operations of callers to one server, each over a connection of its caller, and passes questions back."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Generator, Hashable, Mapping, Set
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import CoroutineType
from typing import Any, TypeVar

from tooltrue.client.client import Client, Result
from tooltrue.client.config import ServerConfig
from tooltrue.client.notifications import LogMessage
from tooltrue.client.question_limits import QuestionGate, QuestionLimits
from tooltrue.client.relayed import InputRequested, RelayedRequest
from tooltrue.client.task_status import TaskStarted, TaskStatus
from tooltrue.client.tasks import TaskHandle
from tooltrue.errors import (
    AuthorizationFailed,
    InvalidAnswer,
    InvalidParams,
    MissingCapability,
    RpcError,
    ToolError,
    fact_of,
)
from tooltrue.gateway.caller_grants import ASKED, CallerGrants, GrantRequired
from tooltrue.gateway.callers import CallerConnection, CallerConnections, ConnectionBounds
from tooltrue.gateway.error_members import original_of
from tooltrue.gateway.followed_resources import FollowedResources
from tooltrue.gateway.held_operations import HeldOperations
from tooltrue.gateway.operations import CallerOperation, RelayAnswers
from tooltrue.gateway.relayed_tasks import TaskFollowers, TaskQuestions, ask, with_short_id
from tooltrue.gateway.token_exchange import CallerExchange
from tooltrue.gateway.trace_context import trace_context
from tooltrue.gateway.upstream_traffic import UpstreamTraffic
from tooltrue.gateway.wording import CALLER_NOT_AUTHORIZED, CALLER_NOT_CONNECTED, OTHER_TOKEN_MEANWHILE
from tooltrue.host.inspection import PublishedDefinitions, published
from tooltrue.host.upstream_calls import (
    CallerRefused,
    CallerTargets,
    ListsOfCallers,
    ListsRefused,
    OpenConnection,
    PassedTasks,
    TaskAnswer,
    Updated,
)
from tooltrue.jsonrpc.messages import is_object
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.protocol import versions
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.headers import params_of
from tooltrue.protocol.types import (
    Completion,
    InputRequiredResult,
    Prompt,
    PromptResult,
    ReadResourceResult,
    ResourceTemplate,
)
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import (
    CompletionGet,
    PromptGet,
    RemoteTask,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    ToolCall,
)
from tooltrue.tools.wording import INVALID_INPUT_RESPONSE

__all__ = ["CallerRelay"]

T = TypeVar("T")

_MOST_WORDS = 1_000
_MOST_FOLLOWED_TOGETHER = 100
"""Resources that one caller can follow over a connection that all use: a server limits those of a connection."""
_CONSENT_SECONDS = 300.0
_LONG_SECONDS = 86_400.0
_STATE = "state:"
"""How a ``requestState`` begins that has the state of a stateless server."""


class CallerRelay:
    """The relay of one server.

    A stateless server over HTTP keeps nothing of a caller between two requests, so all callers use the connection of
    its definitions. With any other server each caller has a connection of its own; a server that is started as a
    program is one process for each caller. With ``is_shared``, all use the first connection in any case. With
    ``grants`` or ``exchange``, each caller has credentials of its own, and none uses the connection of the definitions;
    then its ``lists`` are read over its connection too, unless the operator says that all have ``common_lists``. With
    ``is_patient``, calls have no time limit here: their sender has one.
    """

    def __init__(
        self,
        one: ServerConfig,
        open_connection: OpenConnection,
        operations: HeldOperations,
        bounds: ConnectionBounds,
        questions: QuestionLimits,
        traffic: UpstreamTraffic,
        *,
        is_shared: bool,
        grants: CallerGrants | None = None,
        exchange: CallerExchange | None = None,
        common_lists: bool = False,
        is_patient: bool = False,
    ) -> None:
        self.label = one.label
        self.traffic = traffic
        self._grants = grants
        self._exchange = exchange
        self._is_program = one.command is not None
        self._is_supervised = isinstance(one.target, CallerTargets)
        self._is_shared = is_shared
        self._operations = operations
        auth_of = None if grants is None else partial(grants.auth, server=one.label)
        if exchange is not None:
            auth_of = exchange.auth
        self._is_of_callers = auth_of is not None
        self._common_lists = common_lists
        self._is_patient = is_patient
        self._bounds = bounds
        self.callers = CallerConnections(one.label, open_connection, bounds, questions, auth_of)
        self.answers = RelayAnswers(QuestionGate(questions, one.label))
        self._questions = TaskQuestions()
        self._followers = TaskFollowers(one.label)
        self._common = CallerConnection(self.answers)

    @property
    def is_busy(self) -> bool:
        return self.answers.is_busy or self.callers.are_busy

    def on_log(self, message: LogMessage) -> None:
        """Pass on a log message that came over the connection of the definitions."""
        self.answers.on_log(message)

    async def close(self) -> None:
        """End the connections of callers."""
        await self._followers.close()
        await self.callers.close()

    def _common_of(self, client: Client | None) -> CallerConnection | None:
        """The connection that all callers use, if they do."""
        if client is None or self._is_of_callers:
            return None
        if self._common.client is client:
            return self._common
        if not (self._is_shared or (not self._is_program and _is_stateless(client))):
            return None
        self._common = CallerConnection(self.answers, client, followed=FollowedResources(_MOST_FOLLOWED_TOGETHER))
        return self._common

    def _connection(
        self, client: Client | None, context: RequestContext
    ) -> AbstractAsyncContextManager[CallerConnection]:
        if self._exchange is not None:
            self._exchange.note(context)
        common = self._common_of(client)
        return self.callers.of(context) if common is None else contextlib.nullcontext(common)

    # --- lists of callers ---------------------------------------------------------------------------------------------

    @property
    def lists(self) -> ListsOfCallers | None:
        return self if self._is_of_callers and not self._common_lists else None

    def watch_lists(self, changed: Callable[[str], None]) -> None:
        self.callers.on_lists_changed = changed

    @property
    def idle_seconds(self) -> float:
        return self._bounds.idle_seconds

    @property
    def passed_tasks(self) -> PassedTasks:
        return self

    @property
    def connects(self) -> bool:
        return self._grants is not None

    def reader(self, context: RequestContext) -> Hashable:
        """A caller through one client, with one token where tokens are exchanged: each may see other lists."""
        token = ""
        if self._exchange is not None:
            self._exchange.note(context)
            token, _ = self._exchange.newest(context)
        return context.principal.id, context.principal.client, token

    async def published(self, context: RequestContext, before: PublishedDefinitions) -> PublishedDefinitions:
        async def work() -> PublishedDefinitions:
            async with self._connection(None, context) as connection:
                began = None if self._exchange is None else self._exchange.newest(context)
                listing = await published(self.label, _client_of(connection), before, refresh=True)
                if self._exchange is not None and self._exchange.newest(context) != began:
                    raise AuthorizationFailed.of(OTHER_TOKEN_MEANWHILE, server=self.label)
                return listing

        try:
            return await self._limited(None, context, work)
        except GrantRequired:
            raise ListsRefused(ToolError.of(CALLER_NOT_CONNECTED, server=self.label)) from None
        except AuthorizationFailed as error:
            facts = {"server": self.label, "problem": fact_of(error)}
            raise ListsRefused(ToolError.of(CALLER_NOT_AUTHORIZED, **facts)) from None

    async def connect(self, context: RequestContext) -> InputRequiredResult | None:
        async def work() -> InputRequiredResult | None:
            async with self._connection(None, context) as connection:
                await _client_of(connection).list_tools(refresh=True)
            return None

        return await self._as_caller(context, self._limited(None, context, work))

    # --- operations ---------------------------------------------------------------------------------------------------

    def call_tool(
        self, client: Client | None, call: ToolCall, arguments: Mapping[str, Any], seconds: float | None
    ) -> CoroutineType[Any, Any, Result | InputRequiredResult | TaskStatus]:
        rounds = call.context.rounds
        is_long = self._is_patient or (rounds is not None and rounds.of_task)  # a layer above limits it
        limits = {"timeout": _LONG_SECONDS, "total_timeout": _LONG_SECONDS} if is_long else {"timeout": seconds}

        async def send(one: Client, operation: CallerOperation) -> Result | TaskStatus:
            progress = None if call.context.channel is SILENT else operation.progress
            try:
                return await one.call_tool(call.name, arguments, **limits, progress=progress)
            except TaskStarted as started:
                return with_short_id(started.status)

        return self._run(client, call.context, "tools/call", send)

    async def ask_task(
        self, client: Client | None, call: ToolCall, task: RemoteTask, seconds: float | None
    ) -> TaskAnswer | None:
        context = call.context
        relayed = RelayedRequest(context.capabilities, trace=trace_context(context.meta), tasks=True)

        def handle_over(connection: CallerConnection) -> TaskHandle[Any]:
            return _client_of(connection).relaying(relayed).task(task.id, tool=call.name or None, timeout=seconds)

        async def follow(changed: Callable[[], None]) -> None:
            async with self._connection(client, context) as connection:
                async for _ in handle_over(connection).updates():
                    changed()

        async def work() -> TaskAnswer | None:
            async with self._connection(client, context) as connection:
                handle = handle_over(connection)
                if (answer := await ask(handle, task)) is None:
                    return None
                if task.follow is not None and not answer.status.is_final:
                    self._followers.begin(task.follow, follow)
                return self._questions.checked(answer, connection.answers)

        with self._refusing():
            try:
                return await self._limited(client, context, work)
            except InvalidParams as error:
                raise _refused(error) from None

    async def read_resource(
        self, client: Client | None, request: ResourceRead
    ) -> ReadResourceResult | InputRequiredResult:
        async def send(one: Client, operation: CallerOperation) -> ReadResourceResult:
            return ReadResourceResult(list(await one.read_resource(request.uri)))

        return await self._run(client, request.context, "resources/read", send)

    async def get_prompt(self, client: Client | None, get: PromptGet) -> PromptResult | InputRequiredResult:
        def send(one: Client, operation: CallerOperation) -> Awaitable[PromptResult]:
            return one.get_prompt(get.name, get.arguments)

        return await self._run(client, get.context, "prompts/get", send)

    async def complete(self, client: Client | None, entry: Prompt | ResourceTemplate, get: CompletionGet) -> Completion:
        async def work() -> Completion:
            async with self._connection(client, get.context) as connection:
                return await _client_of(connection).complete(entry, get.argument, get.value, get.arguments)

        with self._refusing():
            return await self._limited(client, get.context, work)

    async def follow(self, client: Client | None, request: ResourceFollow, updated: Updated) -> None:
        caller = request.context.principal.id
        concerned = "" if self._common_of(client) is not None else caller

        async def work() -> None:
            async with self._connection(client, request.context) as connection:
                one, followed = _client_of(connection), connection.followed
                if request.uri not in followed:
                    await one.subscribe(request.uri, lambda uri: updated(uri, concerned))
                for uri in followed.add(caller, request.uri):
                    with contextlib.suppress(RpcError):
                        await one.unsubscribe(uri)

        with self._refusing():
            await self._limited(client, request.context, work)

    def _limited(
        self,
        client: Client | None,
        context: RequestContext,
        work: Callable[[], Awaitable[T]],
    ) -> CoroutineType[Any, Any, T]:
        """Run one round within the limits of the server."""
        is_common = self._common_of(client) is not None
        work = self._with_originals(work) if self._is_supervised else work
        return self.traffic.run(context.principal.id, work, is_common=is_common)

    def _with_originals(self, work: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
        """The work, with the errors that the supervisor has carried here. Of any other server they would be forged."""

        async def run() -> T:
            try:
                return await work()
            except RpcError as error:
                raise original_of(error) from None

        return run

    def _run(
        self,
        client: Client | None,
        context: RequestContext,
        method: str,
        send: Callable[[Client, CallerOperation], Awaitable[T]],
    ) -> CoroutineType[Any, Any, T | InputRequiredResult]:
        """Run one round of an operation: until its result, or until the server asks; or until the caller is asked to
        consent, if the server wants credentials of it."""

        def work() -> Awaitable[T | InputRequiredResult]:
            return self._round(client, context, method, send)

        limited = self._limited(client, context, work)
        return self._as_caller(context, limited) if self._is_of_callers else limited

    async def _as_caller(
        self, context: RequestContext, limited: CoroutineType[Any, Any, T | InputRequiredResult]
    ) -> T | InputRequiredResult:
        """Run the round with credentials of its caller, after the consent for which the caller was asked. That wait
        takes no slot of the server."""
        with contextlib.closing(limited):
            if self._grants is not None and self._grants.is_asked(context):
                await self._grants.answered(context, self.label, _CONSENT_SECONDS)
            with self._refusing():
                try:
                    return await limited
                except GrantRequired as error:
                    if self._grants is None:
                        raise
                    return await self._grants.ask(context, self.label, error.request)

    @contextlib.contextmanager
    def _refusing(self) -> Generator[None]:
        """Have the credentials of a caller be its own matter: they say nothing about the server."""
        try:
            yield
        except AuthorizationFailed as error:
            if not self._is_of_callers:
                raise
            raise ToolError.of(CALLER_NOT_AUTHORIZED, server=self.label, problem=fact_of(error)) from None

    def _round(
        self,
        client: Client | None,
        context: RequestContext,
        method: str,
        send: Callable[[Client, CallerOperation], Awaitable[T]],
    ) -> CoroutineType[Any, Any, T | InputRequiredResult]:
        own = None if context.rounds is None else context.rounds.own
        if own is not None and self._operations.is_named_by(own):
            return self._go_on(own, context, method)
        operation = CallerOperation(context)
        # An operation of a stateless server ends with this round, and needs no task of its own.
        if client is not None and (common := self._common_of(client)) is not None:
            if _is_stateless(client):
                return _stateless(client, common.answers, operation, method, send)
        elif (own := self._take_open(context)) is not None:
            return self._over(own, operation, method, send)
        return self._begin(client, operation, method, send)

    def _take_open(self, context: RequestContext) -> CallerConnection | None:
        """The connection of a caller to a stateless server, if it is open."""
        if self._exchange is not None:
            self._exchange.note(context)
        own = self.callers.take_open(context)
        if own is None or _is_stateless(_client_of(own)):
            return own
        self.callers.release(own)
        return None

    async def _over(
        self,
        own: CallerConnection,
        operation: CallerOperation,
        method: str,
        send: Callable[[Client, CallerOperation], Awaitable[T]],
    ) -> T | InputRequiredResult:
        try:
            return await _stateless(_client_of(own), own.answers, operation, method, send)
        finally:
            self.callers.release(own)

    async def _go_on(self, own: str, context: RequestContext, method: str) -> Any:
        try:
            return await self._operations.go_on(own, context, method)
        except InvalidParams as error:
            raise CallerRefused(error) if error.code == INVALID_INPUT_RESPONSE else error from None

    async def _begin(
        self,
        client: Client | None,
        operation: CallerOperation,
        method: str,
        send: Callable[[Client, CallerOperation], Awaitable[T]],
    ) -> T | InputRequiredResult:
        async def work() -> T | InputRequiredResult:
            async with self._connection(client, operation.context) as connection:
                one = _client_of(connection)
                if _is_stateless(one):
                    return await _stateless(one, connection.answers, operation, method, send)
                trace = trace_context(operation.context.meta)
                with connection.answers.running(operation):
                    return await send(one.relaying(RelayedRequest(trace=trace)) if trace else one, operation)

        operation.begin(work())
        return await self._operations.until_asked(operation)


async def _stateless(
    one: Client,
    answers: RelayAnswers,
    operation: CallerOperation,
    method: str,
    send: Callable[[Client, CallerOperation], Awaitable[T]],
) -> T | InputRequiredResult:
    """Run one round at a stateless server, whose questions and state its caller gets."""
    rounds = operation.context.rounds
    own = None if rounds is None else rounds.own
    state = own.removeprefix(_STATE) if own is not None and own.startswith(_STATE) else None
    is_ours = own is not None and own.startswith(ASKED)  # the answer to a question of the gateway stays here
    responses = rounds.responses if rounds is not None and rounds.responses and not is_ours else None
    carried = operation.context.carried
    headers = {} if carried is None else params_of(carried)
    trace = trace_context(operation.context.meta)
    tasks = method == "tools/call"
    relayed = RelayedRequest(operation.context.capabilities, responses, state, headers, trace, tasks)
    try:
        with answers.running(operation):
            return await send(one.relaying(relayed), operation)
    except MissingCapability as error:
        raise _refused(error, {"requiredCapabilities"}) from None
    except InvalidParams as error:
        if relayed.members:  # the answers of the caller are at fault
            raise _refused(error) from None
        raise
    except InputRequested as question:
        try:
            questions = {key: answers.checked(request) for key, request in (question.requests or {}).items()}
            with answers.asking(request["method"] for request in questions.values()):
                pass  # counted; an answer comes with the next request
        except RpcError as error:
            raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=fact_of(error)) from None
        return InputRequiredResult(
            None if question.requests is None else questions,
            requestState=None if question.state is None else _STATE + question.state,
        )


def _refused(error: RpcError, members: Set[str] = frozenset()) -> CallerRefused:
    """The server's refusal for the caller, cleaned, with those members of its data."""
    refusal = RpcError.received(error.number, cleaned(str(error), {})[:_MOST_WORDS])
    if is_object(error.data) and members:
        refusal.data = {name: value for name, value in error.data.items() if name in members}
    return CallerRefused(refusal)


def _is_stateless(client: Client) -> bool:
    return client.facts.revision in versions.MODERN


def _client_of(connection: CallerConnection) -> Client:
    assert connection.client is not None  # it is open while it is used
    return connection.client
