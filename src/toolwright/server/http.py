"""Both eras on one HTTP endpoint: what a POST, a GET and a DELETE mean (basic/transports/streamable-http).

The transport hands over bodies and header facts; this decides the era, the answer and its status.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping

from toolwright.errors import InvalidParams, InvalidRequest, MethodNotFound, ParseError, RpcError, UnsupportedVersion
from toolwright.jsonrpc.messages import (
    Answer,
    Failure,
    Id,
    Json,
    Notification,
    Request,
    decode,
    encode,
    encode_answer,
    encode_failure,
    is_array,
    is_id,
    parse,
)
from toolwright.jsonrpc.peer import MAX_BATCH, internal_error
from toolwright.protocol import modern, versions
from toolwright.protocol.headers import VERSION_HEADER
from toolwright.protocol.types import Value
from toolwright.server.dual_era import Doors, Opening, era_of
from toolwright.server.identity import Authenticate, identify
from toolwright.server.legacy import Session
from toolwright.server.questions import Questions, StreamDialogue
from toolwright.server.served import unsupported
from toolwright.server.subscriptions import Relay
from toolwright.tools.toolset import Principal
from toolwright.transport.carrier import Carrier
from toolwright.transport.http_server import Reply, Stream

__all__ = ["SESSION_HEADER", "HttpDoors"]

SESSION_HEADER = "mcp-session-id"

# Errors that end a request before it is run decide the HTTP status; all others are an answer: 200.
_STATUS: Mapping[type[RpcError], int] = {
    ParseError: 400,
    InvalidRequest: 400,
    MethodNotFound: 404,
    UnsupportedVersion: 400,
}
_MISSING_FACTS = "TW1013"


class _Caller(Value, frozen=True):
    carrier: Carrier
    principal: Principal

    def header(self, name: str) -> str | None:
        headers = self.carrier.headers or {}
        return headers[name].strip(" \t") if name in headers else None


class HttpDoors:
    """The endpoint of one server: what the HTTP transport is handed to run."""

    def __init__(self, doors: Doors, authenticate: Authenticate | None = None) -> None:
        self._doors = doors
        self._authenticate = authenticate
        self._language = doors.served.language
        self._calls: set[asyncio.Task[bytes]] = set()
        self._cancellable: dict[str, asyncio.Task[bytes]] = {}
        self._questions = Questions(doors.served.facts)
        self._relay = Relay(doors.served.facts, doors.served.provider, doors.served.hub)

    async def open(self) -> None:
        """Before the first request, on its event loop: hear of what happens at other workers."""
        await self._doors.served.facts.subscribe(_CANCELLED, lambda call: self._stop(call.decode()))
        await self._questions.open()
        await self._relay.open()

    async def post(self, body: bytes, carrier: Carrier, stream: Stream) -> Reply:
        """The reply to one POST. What ``stream`` is told meanwhile makes the transport answer with a stream."""
        principal = identify(carrier, self._authenticate)
        if principal is None:
            return Reply(401, headers=(("www-authenticate", "Bearer"),))
        caller = _Caller(carrier, principal)
        try:
            return await self._message(decode(body), caller, stream)
        except InvalidRequest as error:
            return self._failure(error.id, error)
        except RpcError as error:
            return self._failure(None, error)
        except Exception as error:  # noqa: BLE001 - the last boundary
            return self._failure(None, internal_error(error))

    async def _message(self, value: Json, caller: _Caller, stream: Stream) -> Reply:
        if is_array(value):
            return await self._batch(value, caller, stream)
        message = parse(value)
        if isinstance(message, Request):
            return await self._request(message, caller, stream)
        return await self._note(message, caller)

    async def _request(self, request: Request, caller: _Caller, stream: Stream) -> Reply:
        era = era_of(
            Opening(
                request.method,
                modern.carries_version(request.params),
                opened=caller.header(SESSION_HEADER) is not None,
                on_http=True,
                header=caller.header(VERSION_HEADER),
            )
        )
        try:
            match era:
                case "modern":
                    door = self._doors.modern
                    result = await door.answer(request, stream, caller.carrier, caller.principal)
                    return Reply(200, encode_answer(request.id, result))
                case "handshake":
                    return self._initialize(request, caller)
                case "legacy":
                    return await self._legacy(request, caller, stream)
        except RpcError as error:
            return self._failure(request.id, error, legacy=era != "modern")
        except Exception as error:  # noqa: BLE001 - the last boundary
            return self._failure(request.id, internal_error(error))

    def _initialize(self, request: Request, caller: _Caller) -> Reply:
        session, answer = self._doors.legacy.initialize(request)
        token = self._doors.legacy.seal(session, caller.principal)
        return Reply(200, encode_answer(request.id, answer), ((SESSION_HEADER, token),))

    async def _legacy(self, request: Request, caller: _Caller, stream: Stream) -> Reply:
        session = await self._session(caller)
        if session is None:
            return _no_session(request.id, self._language)
        dialogue = StreamDialogue(stream, self._questions, session.token)
        answer = self._doors.legacy.answer(request, session, dialogue, caller.principal)
        task = asyncio.get_running_loop().create_task(answer)
        self._calls.add(task)
        key = None if session.token is None else _call_key(session.token, request.id)
        if key is not None:
            self._cancellable[key] = task
        task.add_done_callback(lambda task: self._forget(key, task))
        # A legacy client that goes away has not cancelled (2025-06-18, basic/transports): the call goes on without us.
        await asyncio.wait((task,))
        return Reply(202) if task.cancelled() else Reply(200, encode_answer(request.id, task.result()))

    def _forget(self, key: str | None, task: asyncio.Task[bytes]) -> None:
        self._calls.discard(task)
        if key is not None and self._cancellable.get(key) is task:
            del self._cancellable[key]
        if not task.cancelled():
            task.exception()  # whoever asked has it, or has gone away

    async def _session(self, caller: _Caller) -> Session | None:
        """The caller's session; without a token, one with nothing but the revision that the header names."""
        version = caller.header(VERSION_HEADER)
        if version is not None and version not in versions.LEGACY:
            raise unsupported(version)
        token = caller.header(SESSION_HEADER)
        if token is None:
            return Session(versions.BY_NAME[version or versions.ASSUMED])
        return await self._doors.legacy.open(token, caller.principal)

    async def _note(self, message: object, caller: _Caller) -> Reply:
        """Notifications and answers: accepted, and never answered, from a session that there is."""
        if not await self._may_note(caller):
            return _no_session(None, self._language)
        token = caller.header(SESSION_HEADER)
        if isinstance(message, Notification) and message.method == "notifications/cancelled":
            await self._cancel(message.params.get("requestId"), token)
        if isinstance(message, Answer | Failure) and token is not None:
            await self._questions.answered(token, message)
        return Reply(202)

    async def _may_note(self, caller: _Caller) -> bool:
        """A session that is named has to be there; where there are none, there is nothing to check."""
        return caller.header(VERSION_HEADER) in versions.MODERN or await self._session(caller) is not None

    async def _cancel(self, id: Json, token: str | None) -> None:
        # Modern clients cancel by closing the stream; a notification that they POST is accepted and means nothing.
        if token is None or not is_id(id):
            return
        call = _call_key(token, id)
        if not self._stop(call):
            await self._doors.served.facts.publish(_CANCELLED, call.encode())

    def _stop(self, call: str) -> bool:
        task = self._cancellable.get(call)
        return task is not None and task.cancel()

    async def _batch(self, values: list[Json], caller: _Caller, stream: Stream) -> Reply:
        """An array of messages, where the revision has them (2025-03-26, basic/transports)."""
        if caller.header(VERSION_HEADER) in versions.MODERN:
            raise InvalidRequest.of("TW1006")
        session = await self._session(caller)
        if session is None:
            return _no_session(None, self._language)
        if not session.revision.batches:
            raise InvalidRequest.of("TW1006")
        if not values:
            raise InvalidRequest.of("TW1007")
        if len(values) > MAX_BATCH:
            raise InvalidRequest.of("TW1008", limit=MAX_BATCH)
        replies = await asyncio.gather(*(self._element(value, caller, stream) for value in values))
        bodies = [reply.body for reply in replies if reply.body]
        return Reply(200, b"[%b]" % b",".join(bodies)) if bodies else Reply(202)

    async def _element(self, value: Json, caller: _Caller, stream: Stream) -> Reply:
        try:
            message = parse(value)
            if isinstance(message, Request) and message.method == "initialize":
                error = InvalidRequest.of("TW1002", problem='"initialize" cannot be part of a batch')
                error.id = message.id
                raise error
            return await self._message(value, caller, stream)
        except InvalidRequest as error:
            return self._failure(error.id, error)

    async def listen(self, carrier: Carrier, stream: Stream) -> Reply | None:
        """A legacy GET stream: tells of changes until either end closes it. A reply instead, if there is none."""
        principal = identify(carrier, self._authenticate)
        if principal is None:
            return Reply(401, headers=(("www-authenticate", "Bearer"),))
        caller = _Caller(carrier, principal)
        token = caller.header(SESSION_HEADER)
        if token is None:
            return Reply(405, headers=(("allow", "POST"),))
        session = await self._doors.legacy.open(token, principal)
        if session is None:
            return _no_session(None, self._language)
        news = self._doors.legacy.news(session, principal)
        news.listen()
        stream.open()
        await news.tell(stream.notify)
        return None

    async def delete(self, carrier: Carrier) -> Reply:
        """End a legacy session."""
        principal = identify(carrier, self._authenticate)
        if principal is None:
            return Reply(401, headers=(("www-authenticate", "Bearer"),))
        token = _Caller(carrier, principal).header(SESSION_HEADER)
        if token is None:
            return Reply(405, headers=(("allow", "POST"),))
        session = await self._doors.legacy.open(token, principal)
        if session is None:
            return _no_session(None, self._language)
        await self._doors.legacy.end(session)
        return Reply(204)

    def closing(self) -> None:
        """The server is about to end: streams that would stay open end now, and so do calls that nobody waits for."""
        self._doors.served.hub.close()
        for task in tuple(self._calls):
            task.cancel()

    def _failure(self, id: Id | None, error: RpcError, *, legacy: bool = False) -> Reply:
        body = encode_failure(id, error, self._language)
        if legacy and not isinstance(error, UnsupportedVersion):
            return Reply(200, body)
        if error.code == _MISSING_FACTS or -32099 <= error.number <= -32020:
            return Reply(400, body)
        return Reply(_STATUS.get(type(error), 200), body)


_CANCELLED = "cancelled"


def _call_key(token: str, id: Id) -> str:
    """What names a running call to all workers; the token itself is not written anywhere."""
    return hashlib.sha256(encode([token, id])).hexdigest()


def _no_session(id: Id | None, language: str) -> Reply:
    return Reply(404, encode_failure(id, InvalidParams.of("TW1019"), language))
