"""The legacy door (2024-11-05 … 2025-11-25): a handshake opens a session, and the same provider answers.

A session is what the handshake settled. On a channel it lives as long as the channel; on HTTP the client carries it as
a sealed token, so that the server remembers nothing and any worker can serve it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolwright.errors import InvalidParams, InvalidRequest, MethodNotFound, RpcError, ToolError
from toolwright.jsonrpc.messages import Id, Json, Request, decode, encode, is_id, is_object
from toolwright.jsonrpc.peer import Dialogue
from toolwright.protocol import legacy, versions
from toolwright.protocol.modern import LOG_LEVELS, CallParams, GetPromptParams, ListParams, ReadParams, convert
from toolwright.protocol.types import ToolOutcome, Value
from toolwright.server.asking import answered_by
from toolwright.server.sealing import BadSeal
from toolwright.server.served import RequestChannel, Served, page_of
from toolwright.tools.content import failed
from toolwright.tools.rounds import Rounds
from toolwright.tools.toolset import Principal, PromptGet, RequestContext, ResourceRead, Tool, ToolCall

__all__ = ["LegacyDoor", "Session"]


class Session(Value, frozen=True):
    """What a handshake settled: the revision, and what the client can do. ``token`` is there on HTTP only.

    ``level`` is of log messages, and the client's to set; until it does, ``info``.
    """

    revision: versions.Revision
    capabilities: Mapping[str, Json] = {}
    token: str | None = None
    level: str = "info"


class LegacyDoor:
    """Answers legacy requests of sessions that the caller keeps."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._projections = {name: legacy.Projection(versions.BY_NAME[name]) for name in versions.LEGACY}
        self._lists: dict[str, tuple[tuple[Tool, ...], bytes]] = {}
        self._answers: dict[str, Callable[[Any, _Asked], Awaitable[bytes]]] = {
            "ping": self._ping,
            "logging/setLevel": self._set_level,
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
        return Session(revision, self._projections[revision.name].understood(params.capabilities)), answer

    def level(self, request: Request) -> str:
        """The level that ``logging/setLevel`` asks for (2025-11-25, server/utilities/logging)."""
        level = convert(request.params, legacy.LevelParams, request.method).level
        if level not in LOG_LEVELS:
            raise InvalidParams.of("TW1024", level=level[:20], allowed=", ".join(LOG_LEVELS))
        return level

    async def answer(self, request: Request, session: Session, exchange: Dialogue, principal: Principal) -> bytes:
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

    async def _set_level(self, params: legacy.LevelParams, asked: _Asked) -> bytes:
        token = asked.session.token
        if token is not None:  # on a channel, whoever keeps the session has taken it
            await self._served.facts.put(
                _level(token), self.level(asked.request).encode(), self._served.session_seconds
            )
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
        async def run(rounds: Rounds) -> ToolOutcome:
            call = ToolCall(params.name, params.arguments, asked.context(rounds), admit=asked.called)
            return await self._served.provider.call_tool(call)

        projection = self._projections[asked.session.revision.name]
        try:
            outcome = await answered_by(run, asked.dialogue, projection, asked.session.capabilities, params.name)
        except ToolError as error:
            outcome = failed(error.say(self._served.language))
        return projection.call(outcome, asked.tool and asked.tool.definition.outputSchema)

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
        """The session as a token of at most 1 kB."""
        payload = encode([session.revision.name, session.capabilities])
        return self._served.sealer.seal("session", (principal.id,), payload, self._served.session_seconds)

    async def open(self, token: str, principal: Principal) -> Session | None:
        """The session of a token; ``None`` when it is not one of this principal's, or has expired or been ended."""
        try:
            name, capabilities = decode(self._served.sealer.open("session", (principal.id,), token))
        except BadSeal:
            return None
        if await self._served.facts.get(_ended(token)) is not None:
            return None
        level = await self._served.facts.get(_level(token))
        return Session(versions.BY_NAME[name], capabilities, token, "info" if level is None else level.decode())

    async def end(self, session: Session) -> None:
        """End a session for every worker, until it would have expired anyway."""
        if session.token is not None:
            await self._served.facts.put_if_absent(_ended(session.token), b"1", self._served.session_seconds)


def _ended(token: str) -> str:
    return "session-ended:" + hashlib.sha256(token.encode()).hexdigest()


def _level(token: str) -> str:
    return "session-level:" + hashlib.sha256(token.encode()).hexdigest()


class _Asked:
    """One request of a session, and the channel back. ``tool`` is the one that it turned out to call."""

    __slots__ = ("_channel", "_meta", "dialogue", "principal", "request", "session", "tool")

    def __init__(self, request: Request, session: Session, dialogue: Dialogue, principal: Principal) -> None:
        meta = request.params.get("_meta")
        self._meta: Mapping[str, Json] = meta if is_object(meta) else {}
        self.request = request
        self.session = session
        self.dialogue = dialogue
        self.principal = principal
        self.tool: Tool | None = None
        token: Id | None = self._meta.get("progressToken")
        with_message = session.revision.progress_message
        self._channel = RequestChannel(
            dialogue, token if is_id(token) else None, session.level, with_message=with_message
        )

    def called(self, tool: Tool) -> None:
        self.tool = tool

    def context(self, rounds: Rounds | None = None) -> RequestContext:
        return RequestContext(self.principal, self._channel, self.session.capabilities, self._meta, rounds)

    def close(self) -> None:
        self._channel.close()
