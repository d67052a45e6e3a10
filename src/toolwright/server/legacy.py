"""The legacy door (2024-11-05 … 2025-11-25): a handshake opens a session, and the same provider answers.

A session is what the handshake settled. On a channel it lives as long as the channel; on HTTP the client carries it as
a sealed token, so that the server remembers nothing and any worker can serve it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolwright.errors import InvalidRequest, MethodNotFound, RpcError, ToolError
from toolwright.jsonrpc.messages import Id, Json, Request, decode, encode, is_id, is_object
from toolwright.jsonrpc.peer import Exchange
from toolwright.protocol import legacy, versions
from toolwright.protocol.modern import CallParams, GetPromptParams, ListParams, ReadParams, convert
from toolwright.protocol.types import CallToolResult, Value
from toolwright.server.replay import Recording
from toolwright.server.sealing import BadSeal
from toolwright.server.served import SILENT, RequestChannel, Served, page_of
from toolwright.tools.content import failed
from toolwright.tools.toolset import Principal, PromptGet, RequestContext, ResourceRead, Tool, ToolCall

__all__ = ["LegacyDoor", "Session"]


class Session(Value, frozen=True):
    """What a handshake settled: the revision, and what the client can do. ``token`` is there on HTTP only."""

    revision: versions.Revision
    capabilities: Mapping[str, Json] = {}
    token: str | None = None


class LegacyDoor:
    """Answers legacy requests of sessions that the caller keeps."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._projections = {name: legacy.Projection(versions.BY_NAME[name]) for name in versions.LEGACY}
        self._lists: dict[str, tuple[tuple[Tool, ...], bytes]] = {}
        self._answers: dict[str, Callable[[Any, _Asked], Awaitable[bytes]]] = {
            "ping": self._ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/read": self._read_resource,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
        }

    def initialize(self, request: Request) -> tuple[Session, bytes]:
        """Open a session: the revision that both speak, and the answer that says so (basic/lifecycle)."""
        params = convert(request.params, legacy.InitializeParams, request.method)
        revision = versions.agree(params.protocolVersion)
        served = self._served
        answer = self._projections[revision.name].initialized(served.info, served.capabilities(), served.instructions)
        return Session(revision, params.capabilities), answer

    async def answer(self, request: Request, session: Session, exchange: Exchange, principal: Principal) -> bytes:
        """The encoded result, or ``RpcError``."""
        shape, capability = legacy.METHODS.get(request.method, (None, None))
        if request.method == "initialize":
            raise InvalidRequest.of("TW1002", problem="the session has been initialized already")
        if shape is None or (capability is not None and capability not in self._served.offers):
            raise MethodNotFound.of("TW1011", method=request.method[:128])
        params = convert(request.params, shape, request.method)
        asked = _Asked(request, session, exchange, principal)
        try:
            return await self._answers[request.method](params, asked)
        finally:
            asked.close()

    async def _ping(self, params: Any, asked: _Asked) -> bytes:
        return b"{}"

    async def _list_tools(self, params: ListParams, asked: _Asked) -> bytes:
        tools = await self._served.provider.list_tools(asked.context())
        revision = asked.session.revision.name
        known = self._lists.get(revision)
        if known is not None and known[0] is tools and params.cursor is None:
            return known[1]
        page = page_of(self._served, tools, params.cursor, asked.principal)
        encoded = self._projections[revision].tools([tool.definition for tool in page.tools], page.next_cursor)
        if params.cursor is None and page.next_cursor is None:
            self._lists[revision] = (tools, encoded)
        return encoded

    async def _call_tool(self, params: CallParams, asked: _Asked) -> bytes:
        call = ToolCall(params.name, params.arguments, asked.context())
        outcome = await self._served.provider.call_tool(call)
        if not isinstance(outcome, CallToolResult):
            # Pushing the question to the client comes with questions themselves.
            outcome = failed(ToolError.of("TW2008", tool=params.name).say(self._served.language))
        return self._projections[asked.session.revision.name].call(outcome)

    async def _list_resources(self, params: ListParams, asked: _Asked) -> bytes:
        return encode({"resources": await self._served.provider.list_resources(asked.context())})

    async def _read_resource(self, params: ReadParams, asked: _Asked) -> bytes:
        try:
            result = await self._served.provider.read_resource(ResourceRead(params.uri, asked.context()))
        except RpcError as error:
            if error.code == "TW1025":
                error.number = -32002  # what "resource not found" was before 2026-07-28
            raise
        return encode({"contents": result.contents})

    async def _list_prompts(self, params: ListParams, asked: _Asked) -> bytes:
        return encode({"prompts": await self._served.provider.list_prompts(asked.context())})

    async def _get_prompt(self, params: GetPromptParams, asked: _Asked) -> bytes:
        get = PromptGet(params.name, params.arguments, asked.context())
        return encode(await self._served.provider.get_prompt(get))

    # --- sessions as tokens ------------------------------------------------------------------------------------------

    def seal(self, session: Session, principal: Principal) -> str:
        """The session as a token of at most 1 kB. Only which capabilities there are is kept, not their settings."""
        capabilities: dict[str, Json] = {
            name: {} for name in ("elicitation", "roots", "sampling") if name in session.capabilities
        }
        payload = encode([session.revision.name, capabilities])
        return self._served.sealer.seal("session", (principal.id,), payload, self._served.session_seconds)

    async def open(self, token: str, principal: Principal) -> Session | None:
        """The session of a token; ``None`` when it is not one of this principal's, or has expired or been ended."""
        try:
            name, capabilities = decode(self._served.sealer.open("session", (principal.id,), token))
        except BadSeal:
            return None
        if await self._served.facts.get(_ended(token)) is not None:
            return None
        return Session(versions.BY_NAME[name], capabilities, token)

    async def end(self, session: Session) -> None:
        """End a session for every worker, until it would have expired anyway."""
        if session.token is not None:
            await self._served.facts.put_if_absent(_ended(session.token), b"1", self._served.session_seconds)


def _ended(token: str) -> str:
    return "session-ended:" + hashlib.sha256(token.encode()).hexdigest()


class _Asked:
    """One request of a session, and the channel back that it asked for."""

    __slots__ = ("_channel", "_meta", "principal", "session")

    def __init__(self, request: Request, session: Session, exchange: Exchange, principal: Principal) -> None:
        meta = request.params.get("_meta")
        self._meta: Mapping[str, Json] = meta if is_object(meta) else {}
        self.session = session
        self.principal = principal
        token: Id | None = self._meta.get("progressToken")
        asks = is_id(token)
        with_message = session.revision.progress_message
        detach = exchange.detach if isinstance(exchange, Recording) and exchange.polled else None
        self._channel = (
            RequestChannel(exchange, token if asks else None, None, with_message=with_message, detach=detach)
            if asks or detach is not None
            else None
        )

    def context(self) -> RequestContext:
        return RequestContext(self.principal, self._channel or SILENT, self.session.capabilities, self._meta)

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
