"""The modern door (2026-07-28): every request stands alone, nothing is remembered between two of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from toolwright.errors import MethodNotFound, ToolError
from toolwright.jsonrpc.messages import Request
from toolwright.jsonrpc.peer import Exchange
from toolwright.protocol import headers, modern, versions
from toolwright.protocol.types import InputRequiredResult, ToolOutcome
from toolwright.server.asking import Asking, Round, Subject
from toolwright.server.served import SILENT, RequestChannel, Served, page_of, unsupported
from toolwright.tools.content import failed
from toolwright.tools.rounds import Rounds
from toolwright.tools.toolset import Principal, PromptGet, RequestContext, ResourceRead, Tool, ToolCall
from toolwright.transport.carrier import Carrier

__all__ = ["ModernDoor"]


class ModernDoor:
    """Answers modern requests. Lists are encoded once for as long as the provider returns the same tuple."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._results = modern.Results(served.info)
        self._asking = Asking(served)
        self._pages: dict[tuple[str | None, str], tuple[tuple[Tool, ...], bytes]] = {}
        self._answers: dict[str, Callable[[Any, _Asked], Awaitable[bytes]]] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/read": self._read_resource,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "subscriptions/listen": self._listen,
        }

    async def answer(self, request: Request, exchange: Exchange, carrier: Carrier, principal: Principal) -> bytes:
        """The encoded result, or ``RpcError``. Checks in the order that the specification's own suite pins."""
        method, params = request.method, request.params
        if carrier.headers is not None:
            headers.check_present(carrier.headers, method)
        facts = modern.read_facts(params)
        if carrier.headers is not None:
            headers.check_mirrored(carrier.headers, method, params, facts.version)
        if facts.version not in versions.MODERN:
            raise unsupported(facts.version)
        shape, capability = modern.METHODS.get(method, (None, None))
        if shape is None or (capability is not None and capability not in self._served.offers):
            raise MethodNotFound.of("TW1011", method=method[:128])
        asked = _Asked(request, facts, exchange, carrier, principal)
        try:
            return await self._answers[method](modern.convert(params, shape, method), asked)
        finally:
            asked.close()

    async def _discover(self, params: modern.ListParams, asked: _Asked) -> bytes:
        served = self._served
        members: dict[str, Any] = {
            "supportedVersions": versions.ALL,
            "capabilities": served.capabilities(),
            "ttlMs": served.list_ttl_ms,
            "cacheScope": "public",
        }
        if served.instructions:
            members["instructions"] = served.instructions
        return self._results.members(members)

    async def _list_tools(self, params: modern.ListParams, asked: _Asked) -> bytes:
        tools = await self._served.provider.list_tools(asked.context())
        key = (params.cursor, asked.principal.id)
        known = self._pages.get(key)
        if known is not None and known[0] is tools and params.cursor is None:
            return known[1]
        page = page_of(self._served, tools, params.cursor, asked.principal)
        # Private: the list may differ by the caller's authorization.
        encoded = self._results.tools(
            [tool.definition for tool in page.tools], page.next_cursor, self._served.list_ttl_ms, "private"
        )
        if params.cursor is None and page.next_cursor is None:
            self._remember(key, tools, encoded)
        return encoded

    def _remember(self, key: tuple[str | None, str], tools: tuple[Tool, ...], encoded: bytes) -> None:
        if len(self._pages) >= _KEPT_LISTS:
            self._pages.clear()
        self._pages[key] = (tools, encoded)

    async def _call_tool(self, params: modern.CallParams, asked: _Asked) -> bytes:
        round = Round(Rounds())
        if params.requestState is not None:
            round = await self._asking.resume(self._subject(params, asked), params.requestState, params.inputResponses)
        carried = asked.carrier.headers

        def admit(tool: Tool) -> None:
            if carried is not None and tool.mirrors:
                headers.check_params(carried, tool.mirrors, params.arguments)
            round.check(tool)

        context = asked.context(round.rounds)
        outcome = await self._served.provider.call_tool(ToolCall(params.name, params.arguments, context, admit=admit))
        if isinstance(outcome, InputRequiredResult):
            outcome = await self._ask(outcome, round.rounds, self._subject(params, asked), context)
        return self._results.outcome(outcome)

    def _subject(self, params: modern.CallParams, asked: _Asked) -> Subject:
        return Subject(asked.request.method, params.name, params.arguments, asked.principal)

    async def _ask(
        self, outcome: InputRequiredResult, rounds: Rounds, subject: Subject, context: RequestContext
    ) -> ToolOutcome:
        tool = await self._served.provider.find_tool(subject.name, context)
        try:
            return self._asking.put(outcome, rounds, subject, context.capabilities, tool)
        except ToolError as error:
            return failed(error.say(self._served.language))

    async def _list_resources(self, params: modern.ListParams, asked: _Asked) -> bytes:
        resources = await self._served.provider.list_resources(asked.context())
        return self._results.members({"resources": resources, **self._private()})

    async def _read_resource(self, params: modern.ReadParams, asked: _Asked) -> bytes:
        result = await self._served.provider.read_resource(ResourceRead(params.uri, asked.context()))
        return self._results.members({"contents": result.contents, **self._private()})

    async def _list_prompts(self, params: modern.ListParams, asked: _Asked) -> bytes:
        prompts = await self._served.provider.list_prompts(asked.context())
        return self._results.members({"prompts": prompts, **self._private()})

    async def _get_prompt(self, params: modern.GetPromptParams, asked: _Asked) -> bytes:
        result = await self._served.provider.get_prompt(PromptGet(params.name, params.arguments, asked.context()))
        members: dict[str, Any] = {"messages": result.messages}
        if result.description is not None:
            members["description"] = result.description
        return self._results.members(members)

    def _private(self) -> dict[str, Any]:
        return {"ttlMs": self._served.list_ttl_ms, "cacheScope": "private"}

    async def _listen(self, params: modern.ListenParams, asked: _Asked) -> bytes:
        """Acknowledge, then tell of each change until either side ends it (basic/patterns/subscriptions)."""
        id, exchange = asked.request.id, asked.exchange
        wanted = {"toolsListChanged": True} if params.notifications.toolsListChanged else {}
        exchange.notify("notifications/subscriptions/acknowledged", modern.stamp({"notifications": wanted}, id))
        hub = self._served.hub
        end = hub.listen(
            lambda: exchange.notify("notifications/tools/list_changed", modern.stamp({}, id)) if wanted else None
        )
        try:
            await hub.until_closed()
        finally:
            end()
        if asked.carrier.kind != "http":  # there, the end of the stream says it
            exchange.notify("notifications/cancelled", modern.stamp({"requestId": id}, id))
        return self._results.closed(id)


_KEPT_LISTS = 256


class _Asked:
    """One request with its facts, and the channel back that it asked for."""

    __slots__ = ("_channel", "carrier", "exchange", "facts", "principal", "request")

    def __init__(
        self, request: Request, facts: modern.Facts, exchange: Exchange, carrier: Carrier, principal: Principal
    ) -> None:
        self.request = request
        self.facts = facts
        self.exchange = exchange
        self.carrier = carrier
        self.principal = principal
        wants_nothing = facts.progress_token is None and facts.log_level is None
        self._channel = None if wants_nothing else RequestChannel(exchange, facts.progress_token, facts.log_level)

    def context(self, rounds: Rounds | None = None) -> RequestContext:
        channel = self._channel or SILENT
        return RequestContext(self.principal, channel, self.facts.capabilities, self.facts.meta, rounds)

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
