"""The handler of stateless revisions (2026-07-28): every request stands alone, no state is kept between two of them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Literal

from tooltrue.errors import InvalidParams, MethodNotFound, RpcError, ToolError
from tooltrue.jsonrpc.messages import Json, RpcRequest
from tooltrue.jsonrpc.peer import NotificationChannel
from tooltrue.jsonrpc.tool_calls import PlainCall
from tooltrue.protocol import headers, modern, versions
from tooltrue.protocol.types import InputRequiredResult, ToolOutcome, replaced
from tooltrue.server.request_state import RequestStates, RequestSubject, Round, for_callers
from tooltrue.server.service import (
    LISTINGS,
    SILENT,
    Listing,
    RequestChannel,
    ServedProvider,
    check_uri,
    completion_get,
    page_of,
    unsupported,
)
from tooltrue.server.subscriptions import KINDS, MAX_FOLLOWED, ChangeSubscription, Followed
from tooltrue.tools.content import failed
from tooltrue.tools.rounds import Rounds
from tooltrue.tools.vocabulary import (
    CallRecord,
    Kind,
    Principal,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    TaskFollow,
    TaskRequest,
    Tool,
    ToolCall,
)
from tooltrue.transport.carrier import CREDENTIAL_HEADERS, Carrier
from tooltrue.wording import UNKNOWN_METHOD

__all__ = ["ModernHandler"]


class ModernHandler:
    """Answers stateless requests. A list is encoded once for as long as the provider returns the same tuple."""

    def __init__(self, served: ServedProvider) -> None:
        self._served = served
        self._results = modern.Results(served.info)
        self._request_states = RequestStates(served)
        self._pages: dict[tuple[str, str], tuple[tuple[Any, ...], bytes]] = {}
        self._answers: dict[str, Callable[[Any, _ModernRequest], Awaitable[bytes]]] = {
            "server/discover": self._discover,
            **{listing.method: functools.partial(self._list, listing) for listing in LISTINGS},
            "tools/call": self._call_tool,
            "resources/read": self._read_resource,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
            "subscriptions/listen": self._listen,
            "tasks/get": functools.partial(self._task, "get"),
            "tasks/update": functools.partial(self._task, "update"),
            "tasks/cancel": functools.partial(self._task, "cancel"),
        }

    async def answer(
        self, request: RpcRequest, exchange: NotificationChannel, carrier: Carrier, principal: Principal
    ) -> bytes:
        """Return the encoded result, or raise ``RpcError``. The order of the checks is that of the specification's own
        suite.
        """
        method, params = request.method, request.params
        if carrier.headers is not None:
            headers.check_present(carrier.headers, method)
        facts = modern.read_facts(params)
        if carrier.headers is not None:
            headers.check_mirrored(carrier.headers, method, params, facts.version)
        if facts.version not in versions.MODERN:
            raise unsupported(facts.version)
        shape, capability = modern.METHODS.get(method, (None, None))
        if shape is None or (capability is not None and capability not in self._served.offers()):
            raise MethodNotFound.of(UNKNOWN_METHOD, method=method[:128])
        modern_request = _ModernRequest(request, facts, exchange, carrier, principal, self._served.language)
        try:
            return await self._answers[method](modern.convert(params, shape, method), modern_request)
        finally:
            modern_request.close()

    async def _discover(self, params: modern.ListParams, request: _ModernRequest) -> bytes:
        served = self._served
        members: dict[str, Any] = {
            "supportedVersions": versions.ALL,
            "capabilities": self._capabilities(),
            "ttlMs": served.list_ttl_ms,
            "cacheScope": "public",
        }
        if instructions := served.instructions():
            members["instructions"] = instructions
        return self._results.members(members)

    def _capabilities(self) -> dict[str, Json]:
        capabilities = self._served.capabilities()
        return {**capabilities, "extensions": {modern.TASKS: {}}} if "tasks" in self._served.offers() else capabilities

    async def _list(self, listing: Listing, params: modern.ListParams, request: _ModernRequest) -> bytes:
        items = await listing.items(self._served.provider, request.context())
        key = (listing.method, request.principal.id)
        cached = self._pages.get(key)
        if cached is not None and cached[0] is items and params.cursor is None:
            return cached[1]
        page = page_of(self._served, listing, items, params.cursor, request.principal)
        entries = [listing.wire_form(item) for item in page.items]
        encoded = self._results.page(listing.member, entries, page.next_cursor, self._served.list_ttl_ms, _SCOPE)
        if params.cursor is None and page.next_cursor is None:
            self._remember(key, items, encoded)
        return encoded

    def _remember(self, key: tuple[str, str], items: tuple[Any, ...], encoded: bytes) -> None:
        if len(self._pages) >= _KEPT_LISTS:
            self._pages.clear()
        self._pages[key] = (items, encoded)

    async def answer_plain(
        self,
        plain: PlainCall,
        facts: modern.RequestFacts,
        principal: Principal,
        carried: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the encoded result of a tool call without a state, progress or logs, as :meth:`answer` does.
        ``carried`` are the headers of HTTP."""
        rounds, admit = Rounds(None, None), None
        if carried is not None:
            headers.check_call(carried, plain.name, facts.version)
            admit = functools.partial(_check_params, carried, plain.arguments)
        context = RequestContext(
            principal,
            SILENT,
            facts.capabilities,
            facts.meta,
            rounds,
            trail=CallRecord(),
            language=self._served.language,
            carried=carried,
        )
        call = ToolCall(plain.name, plain.arguments, context, admit=admit, text=plain.text, came=plain.arguments)
        outcome = await self._served.provider.call_tool(call)
        if type(outcome) is InputRequiredResult:
            subject = RequestSubject("tools/call", plain.name, plain.arguments, principal)
            outcome = await self._ask_of_call(outcome, Round(rounds), subject, context)
        return self._results.outcome(outcome)

    async def _call_tool(self, params: modern.CallParams, request: _ModernRequest) -> bytes:
        round = Round(Rounds(None, params.inputResponses))
        if params.requestState is not None:
            round = await self._round(params, params.name, params.arguments, request)
        carried, admit = request.carrier.headers, None
        if carried is not None or round.pin:
            admit = functools.partial(_admit, carried, round, params.arguments)
        context = request.context(round.rounds)
        call = ToolCall(params.name, params.arguments, context, admit=admit)
        try:
            outcome = await self._served.provider.call_tool(call)
        except RpcError as error:
            await self._request_states.give_back(round, error)
            raise
        if type(outcome) is InputRequiredResult:
            await self._request_states.give_back(round)
            subject = RequestSubject(request.message.method, params.name, params.arguments, request.principal)
            outcome = await self._ask_of_call(outcome, round, subject, context)
        return self._results.outcome(outcome)

    async def _ask_of_call(
        self, outcome: InputRequiredResult, round: Round, subject: RequestSubject, context: RequestContext
    ) -> ToolOutcome:
        """Seal the question of a tool, with the pin of its definition. The tool that ran may be another than the one
        that was called."""
        trail = context.trail
        tool = None if trail is None else trail.tool
        tool = tool or await self._served.provider.find_tool(subject.name, context)
        try:
            return self._request_states.put(outcome, round.rounds, subject, context.capabilities, tool)
        except ToolError as error:
            return failed(error.say(self._served.language))

    async def _task(self, verb: Literal["get", "update", "cancel"], params: Any, request: _ModernRequest) -> bytes:
        """Answer a request about a task, which passes the layers as a read does."""
        if request.carrier.headers is not None:
            headers.check_task(request.carrier.headers, params.taskId)
        modern.require_tasks(request.facts.capabilities, request.message.method)
        reply: dict[str, Any] = {}
        task_request = TaskRequest(params.taskId, request.context(), verb, params.inputResponses, reply)
        await self._served.provider.read_resource(task_request)
        return self._results.members(reply)

    async def _read_resource(self, params: modern.ReadParams, request: _ModernRequest) -> bytes:
        check_uri(params.uri)
        round = await self._round(params, params.uri, {}, request)
        outcome = await self._served.provider.read_resource(ResourceRead(params.uri, request.context(round.rounds)))
        if isinstance(outcome, InputRequiredResult):
            with for_callers():
                outcome = self._ask(outcome, round, params.uri, {}, request)
        return self._results.contents(outcome, self._served.read_ttl_ms, _SCOPE)

    async def _get_prompt(self, params: modern.GetPromptParams, request: _ModernRequest) -> bytes:
        round = await self._round(params, params.name, params.arguments, request)
        get = PromptGet(params.name, params.arguments, request.context(round.rounds))
        outcome = await self._served.provider.get_prompt(get)
        if isinstance(outcome, InputRequiredResult):
            with for_callers():
                outcome = self._ask(outcome, round, params.name, params.arguments, request)
        return self._results.prompt(outcome)

    async def _round(
        self, params: modern.RoundParams, name: str, arguments: Mapping[str, Any], request: _ModernRequest
    ) -> Round:
        """Return the round that a request begins; the first round if it carries no state."""
        if params.requestState is None:
            return Round(Rounds(None, params.inputResponses))
        subject = RequestSubject(request.message.method, name, arguments, request.principal)
        return await self._request_states.resume(subject, params.requestState, params.inputResponses)

    def _ask(
        self,
        outcome: InputRequiredResult,
        round: Round,
        name: str,
        arguments: Mapping[str, Any],
        request: _ModernRequest,
    ) -> InputRequiredResult:
        subject = RequestSubject(request.message.method, name, arguments, request.principal)
        return self._request_states.put(outcome, round.rounds, subject, request.facts.capabilities)

    async def _complete(self, params: modern.CompleteParams, request: _ModernRequest) -> bytes:
        get = completion_get(params, request.context())
        return self._results.completion(await self._served.provider.complete(get))

    async def _listen(self, params: modern.ListenParams, request: _ModernRequest) -> bytes:
        """Acknowledge, then send each change until either side ends the subscription (basic/patterns/subscriptions)."""
        id, exchange, served = request.message.id, request.exchange, self._served

        def notify(method: str, params: Any) -> None:
            exchange.notify(method, modern.stamp(params, id))

        kinds = self._kinds(params.notifications)
        uris = await self._readable(params.notifications.resourceSubscriptions, request.context())
        # A subscription outlives the credentials of its request, of which its caller may have newer ones by then.
        carried = request.carrier.headers
        if carried is not None:
            carried = {name: value for name, value in carried.items() if name not in CREDENTIAL_HEADERS}
        context = replaced(request.context(), carried=carried)
        tasks = dict[str, str]()
        follows = list[TaskFollow]()

        async def notification_of(task: str) -> tuple[str, Json] | None:
            if (id := tasks.get(task)) is None:
                return None
            task_request = TaskRequest(id, context, "get", {}, {})
            await served.provider.read_resource(task_request)
            return "notifications/tasks", task_request.reply

        ids = params.notifications.taskIds
        subscription = ChangeSubscription(
            served.hub, served.provider, context, kinds, Followed(uris), notification_of if ids else None
        )
        subscription.listen()
        try:
            async for task, task_id, follow in self._followed_tasks(ids, request, subscription):
                tasks[task] = task_id
                follows.append(follow)
            honoured = _honoured(kinds, uris, list(tasks.values()))
            notify("notifications/subscriptions/acknowledged", {"notifications": honoured})
            await subscription.deliver(notify)
        finally:
            subscription.end()
            for follow in follows:
                follow.end()
        if request.carrier.kind != "http":  # there, the end of the stream is the signal
            exchange.notify("notifications/cancelled", modern.stamp({"requestId": id}, id))
        return self._results.closed(id)

    def _kinds(self, listen_filter: modern.ListenFilter) -> tuple[Kind, ...]:
        flags = (listen_filter.toolsListChanged, listen_filter.promptsListChanged, listen_filter.resourcesListChanged)
        offers = self._served.offers()
        return tuple(kind for kind, is_asked in zip(KINDS, flags, strict=True) if is_asked and kind in offers)

    async def _followed_tasks(
        self, ids: list[str], request: _ModernRequest, subscription: ChangeSubscription
    ) -> AsyncGenerator[tuple[str, str, TaskFollow]]:
        """Have those of ``ids`` followed that are tasks of this caller, and yield each: its id here, that of the
        caller, and the way to end it."""
        if not ids:
            return
        modern.require_tasks(request.facts.capabilities, request.message.method)
        service = self._served.tasks
        for id in dict.fromkeys(ids[:MAX_FOLLOWED]):
            follow = TaskFollow(lambda: None)
            follow.changed = functools.partial(_announce, subscription, follow)
            with contextlib.suppress(InvalidParams):
                task_request = TaskRequest(id, request.context(), "get", {}, {}, follow=follow)
                await self._served.provider.read_resource(task_request)
                if not follow.task and service is not None:
                    follow.task = service.id_of(id, request.principal)
                yield follow.task, id, follow

    async def _readable(self, uris: list[str], context: RequestContext) -> list[str]:
        """Return those of ``uris`` that this caller may read: hidden resources send no notifications."""
        readable: list[str] = []
        for uri in dict.fromkeys(uris[:MAX_FOLLOWED]):
            with contextlib.suppress(InvalidParams):  # but not the refusals of a paused caller or of a rate limit
                await self._served.provider.read_resource(ResourceFollow(uri, context))
                readable.append(uri)
        return readable


def _announce(subscription: ChangeSubscription, follow: TaskFollow) -> None:
    subscription.announce(ProviderChange("task", follow.task))


def _honoured(kinds: tuple[Kind, ...], uris: list[str], tasks: list[str]) -> dict[str, Any]:
    honoured: dict[str, Any] = {f"{kind}ListChanged": True for kind in kinds}
    if uris:
        honoured["resourceSubscriptions"] = uris
    if tasks:
        honoured["taskIds"] = tasks
    return honoured


_SCOPE = "private"  # results may differ by the caller's authorization
_KEPT_LISTS = 256


def _admit(carried: Mapping[str, str] | None, round: Round, arguments: Mapping[str, Any], tool: Tool) -> None:
    """Check once the tool is known: its mirrored parameters, and that its definition is that of the tool that asked."""
    if carried is not None:
        _check_params(carried, arguments, tool)
    round.check(tool)


def _check_params(carried: Mapping[str, str], arguments: Mapping[str, Any], tool: Tool) -> None:
    if tool.mirrors:
        headers.check_params(carried, tool.mirrors, arguments)


class _ModernRequest:
    """One request with its facts, and the channel back that it asked for."""

    __slots__ = ("_channel", "carrier", "exchange", "facts", "language", "message", "principal")

    def __init__(
        self,
        message: RpcRequest,
        facts: modern.RequestFacts,
        exchange: NotificationChannel,
        carrier: Carrier,
        principal: Principal,
        language: str,
    ) -> None:
        self.message = message
        self.facts = facts
        self.exchange = exchange
        self.carrier = carrier
        self.principal = principal
        self.language = language
        token, level = facts.progress_token, facts.log_level
        wants_nothing = token is None and level is None
        self._channel = None if wants_nothing else RequestChannel(exchange, token, level, language=language)

    def context(self, rounds: Rounds | None = None) -> RequestContext:
        channel = self._channel or SILENT
        facts = self.facts
        return RequestContext(
            self.principal,
            channel,
            facts.capabilities,
            facts.meta,
            rounds,
            trail=CallRecord(),
            language=self.language,
            carried=self.carrier.headers,
        )

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
