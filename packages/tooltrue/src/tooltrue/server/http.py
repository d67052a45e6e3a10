"""One HTTP endpoint for stateless and session-based clients: POST, GET and DELETE (basic/transports/streamable-http).

The transport hands over bodies and header facts; this module decides the protocol era, the answer and its status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from tooltrue.errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    RpcError,
    ScopeNeeded,
    UnsupportedVersion,
)
from tooltrue.jsonrpc.messages import (
    Failure,
    Id,
    Json,
    Notification,
    RpcRequest,
    RpcResponse,
    decode,
    encode,
    encode_answer,
    encode_failure,
    is_array,
    is_id,
    parse,
)
from tooltrue.jsonrpc.peer import MAX_BATCH, MAX_RUNNING, Dialogue, internal_error
from tooltrue.jsonrpc.tool_calls import PlainCall, read_call
from tooltrue.jsonrpc.wording import (
    BATCH_EMPTY,
    BATCH_NOT_SUPPORTED,
    BATCH_TOO_LARGE,
    MESSAGE_NOT_JSONRPC,
    REQUEST_ID_IN_USE,
    TOO_MANY_CONCURRENT_REQUESTS,
)
from tooltrue.protocol import modern, versions
from tooltrue.protocol.headers import VERSION_HEADER
from tooltrue.protocol.types import Value
from tooltrue.protocol.wording import MISSING_HEADER, REQUEST_META_MISSING
from tooltrue.server.dual_era import Handlers, Opening, era_of
from tooltrue.server.identity import Authenticate, Refused, challenge, methods_of, principal_of, security_of
from tooltrue.server.legacy import LegacySession
from tooltrue.server.principal_quota import PrincipalQuota
from tooltrue.server.pushed_questions import PushedQuestions, StreamDialogue
from tooltrue.server.replay import ResumableStreams
from tooltrue.server.service import log_cancellation, unsupported
from tooltrue.server.standalone_stream import StandaloneStream, announce_end
from tooltrue.server.subscriptions import Relay
from tooltrue.server.wording import REASON_INITIALIZE_IN_BATCH, TOO_MANY_STREAMS, UNKNOWN_SESSION
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import Page, Reply, Stream, needs_http_1_1
from tooltrue.transport.wording import SERVER_SHUTTING_DOWN
from tooltrue.wording import Worded

__all__ = ["SESSION_HEADER", "HttpCaller", "HttpEndpoint"]

SESSION_HEADER = "mcp-session-id"
_EVENT_HEADER = "last-event-id"

# Errors that end a request before it is run decide the HTTP status; all others are an answer: 200.
_STATUS: Mapping[type[RpcError], int] = {
    ParseError: 400,
    InvalidRequest: 400,
    MethodNotFound: 404,
    UnsupportedVersion: 400,
}
_MISSING_FACTS = REQUEST_META_MISSING
_CANCELLED = "cancelled"
_LISTEN = "subscriptions/listen"
_MAX_ALONE = 1_000
_MAX_STREAMS = 1_000


_CallKey: TypeAlias = tuple[str, Id]
"""Identifies a running call to all workers: its session, and its id there."""


class HttpCaller(Value, frozen=True):
    """The sender of a request, with its transport facts. ``in_batch``: the request is part of an array, and so is its
    answer.
    """

    carrier: Carrier
    principal: Principal
    in_batch: bool = False

    def header(self, name: str) -> str | None:
        headers = self.carrier.headers or {}
        return headers[name].strip(" \t") if name in headers else None


class HttpEndpoint:
    """The endpoint of one server, which the HTTP transport is given to run."""

    def __init__(self, handlers: Handlers, authenticate: Authenticate | None = None) -> None:
        self._handlers = handlers
        self._methods = methods_of(authenticate)
        self._tells_apart = authenticate is not None
        self._language = handlers.served.language
        self._replay = ResumableStreams(handlers.served.facts, language=handlers.served.language)
        self._calls: set[asyncio.Task[bytes]] = set()
        self._cancellable: dict[_CallKey, asyncio.Task[bytes]] = {}
        self._running = PrincipalQuota(MAX_RUNNING)
        self._streams = PrincipalQuota(_MAX_STREAMS)
        self._questions = PushedQuestions(handlers.served.facts)
        self._relay = Relay(handlers.served.facts, handlers.served.provider, handlers.served.hub)
        self._standalone: dict[StandaloneStream, asyncio.Task[None]] = {}
        self._alone: dict[StandaloneStream, None] = {}
        self._ending = False
        self._known = modern.KnownFacts()

    async def open(self) -> None:
        """Subscribe to events of other workers. Call before the first request, on its event loop."""
        self._handlers.open()
        await self._handlers.served.facts.subscribe(_CANCELLED, self._on_cancelled)
        await self._questions.open()
        await self._relay.open()

    @property
    def pages(self) -> dict[str, Page]:
        """Public pages beside the endpoint, by path."""
        return {path: page for method in self._methods for path, page in method.pages.items()}

    @property
    def once(self) -> frozenset[bytes]:
        """Headers that authenticate the caller, and so may not be repeated."""
        return frozenset(name.lower().encode() for method in self._methods for name in method.headers)

    async def admit(self, carrier: Carrier) -> HttpCaller | Reply:
        """Authenticate a request: return its caller, or the refusal, with a challenge that names what would be
        accepted.
        """
        try:
            return HttpCaller(carrier, await principal_of(carrier, self._methods))
        except (Refused, ScopeNeeded) as error:
            return self.challenged(None, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any failure of authentication refuses the request
            return self._broken(error)

    async def admit_to(self, scope: str, carrier: Carrier) -> HttpCaller | Reply:
        """Like :meth:`admit`, and require ``scope`` if the server authenticates its callers."""
        caller = await self.admit(carrier)
        if isinstance(caller, Reply) or not self._tells_apart or scope in caller.principal.scopes:
            return caller
        return self.challenged(None, ScopeNeeded.needing((scope,)))

    def challenged(self, id: Id | None, error: Refused | ScopeNeeded) -> Reply:
        """Return 401 or 403 with a challenge (2026-07-28, basic/authorization)."""
        status = error.status if isinstance(error, Refused) else 403
        asks = status == 401 or isinstance(error, ScopeNeeded)
        headers = (("www-authenticate", challenge(self._methods, error)),) if asks else ()
        return Reply(status, encode_failure(id, error, self._language), headers)

    def _broken(self, error: BaseException) -> Reply:
        """Return 500, for answers of which only the status is read."""
        return Reply(500, encode_failure(None, internal_error(error), self._language))

    @property
    def security(self) -> Mapping[str, Mapping[str, Any]]:
        """The security schemes of OpenAPI by which callers are authenticated, by name; any one admits a caller."""
        return security_of(self._methods)

    def traced_call(self, params: Mapping[str, Json], carrier: Carrier) -> AbstractContextManager[object]:
        """Context manager around the answer to a tool call that comes as no message of the protocol."""
        return self._handlers.traced_call(params, carrier)

    async def post(self, body: bytes, caller: HttpCaller, stream: Stream) -> Reply:
        """Return the reply to one POST. Messages sent to ``stream`` meanwhile make the transport answer with a
        stream.
        """
        try:
            if (plain := read_call(body)) is not None and (reply := await self._plain(plain, caller)) is not None:
                return reply
            return await self._message(decode(body), caller, stream)
        except InvalidRequest as error:
            return self._failure(error.id, error)
        except RpcError as error:
            return self._failure(None, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._failure(None, internal_error(error))

    async def _plain(self, plain: PlainCall, caller: HttpCaller) -> Reply | None:
        """Return the reply to a stateless tool call that wants nothing but its result; ``None`` for any other."""
        if self._handlers.traces or (facts := self._known.of(plain.meta)) is None:
            return None
        try:
            carried = caller.carrier.headers
            result = await self._handlers.modern.answer_plain(plain, facts, caller.principal, carried)
            return Reply(200, encode_answer(plain.id, result))
        except RpcError as error:
            return self._failure(plain.id, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._failure(plain.id, internal_error(error))

    async def _message(self, value: Json, caller: HttpCaller, stream: Stream) -> Reply:
        if is_array(value):
            return await self._batch(value, caller, stream)
        message = parse(value)
        if isinstance(message, RpcRequest):
            return await self._request(message, caller, stream)
        return await self._note(message, caller)

    async def _request(self, request: RpcRequest, caller: HttpCaller, stream: Stream) -> Reply:
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
                    if stream.whole and request.method == _LISTEN:
                        return needs_http_1_1(self._language)
                    handler = self._handlers.modern
                    with self._handlers.traced(request, caller.carrier):
                        result = await handler.answer(request, stream, caller.carrier, caller.principal)
                    return Reply(200, encode_answer(request.id, result))
                case "handshake":
                    with self._handlers.traced(request, caller.carrier):
                        return self._initialize(request, caller)
                case "legacy":
                    return await self._legacy(request, caller, stream)
        except RpcError as error:
            return self._failure(request.id, error, legacy=era != "modern")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._failure(request.id, internal_error(error))

    def _initialize(self, request: RpcRequest, caller: HttpCaller) -> Reply:
        session, answer = self._handlers.legacy.initialize(request, caller.principal)
        token = self._handlers.legacy.seal(session, caller.principal)
        return Reply(200, encode_answer(request.id, answer), ((SESSION_HEADER, token),))

    async def _legacy(self, request: RpcRequest, caller: HttpCaller, stream: Stream) -> Reply:
        session = await self._session(caller)
        if session is None:
            return _no_session(request.id, self._language)
        key = None if session.token is None else (session.name, request.id)
        if key in self._cancellable:
            # The first request keeps the id: a cancellation has to mean one of them (2025-11-25, basic).
            raise InvalidRequest.of(REQUEST_ID_IN_USE, id=request.id)
        if not self._running.take(caller.principal):
            raise InternalError.of(TOO_MANY_CONCURRENT_REQUESTS, limit=MAX_RUNNING)
        loop = asyncio.get_running_loop()
        task, done = loop.create_task(self._answer(request, session, stream, caller)), loop.create_future()
        self._calls.add(task)
        if key is not None:
            self._cancellable[key] = task
        task.add_done_callback(lambda task: self._forget(key, caller.principal, task, done))
        # A session-based client that goes away has not cancelled (2025-06-18, basic/transports): the call goes on.
        await done
        if not task.cancelled():
            return Reply(200, task.result())
        if self._ending:
            return Reply(503, encode_failure(request.id, InternalError.of(SERVER_SHUTTING_DOWN), self._language))
        return Reply(202)

    async def _answer(self, request: RpcRequest, session: LegacySession, stream: Stream, caller: HttpCaller) -> bytes:
        """Return the answer; empty if it went over a stream of the session, which a client that lost its connection can
        resume.
        """
        if session.token is None or caller.in_batch:
            dialogue = StreamDialogue(stream, self._questions, session, caller.principal)
            return await self._answer_to(request, session, dialogue, caller)
        recording = self._replay.record(session.token, stream, polled=session.revision.polling, request=request.id)
        dialogue = StreamDialogue(recording, self._questions, session, caller.principal, recording.detach)
        try:
            answer = await self._answer_to(request, session, dialogue, caller)
            if not recording.has_stream:
                return answer
            recording.send(answer)
            return b""
        except ScopeNeeded as error:
            if not recording.has_stream:
                raise
            recording.send(encode_failure(request.id, error, self._language))
            return b""
        finally:
            if recording.has_stream:
                await recording.close()

    async def _answer_to(
        self, request: RpcRequest, session: LegacySession, dialogue: Dialogue, caller: HttpCaller
    ) -> bytes:
        try:
            with self._handlers.traced(request, caller.carrier, session):
                carried = caller.carrier.headers
                answer = await self._handlers.legacy.answer(request, session, dialogue, caller.principal, carried)
            return encode_answer(request.id, answer)
        except ScopeNeeded:
            raise  # it has a status of its own
        except RpcError as error:
            return encode_failure(request.id, error, self._language)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return encode_failure(request.id, internal_error(error), self._language)

    def _forget(
        self, key: _CallKey | None, principal: Principal, task: asyncio.Task[bytes], done: asyncio.Future[None]
    ) -> None:
        self._calls.discard(task)
        self._running.give_back(principal)
        if key is not None:
            del self._cancellable[key]
        if not task.cancelled():
            task.exception()  # the caller has received it, or has gone away
        if not done.done():
            done.set_result(None)

    async def _session(self, caller: HttpCaller) -> LegacySession | None:
        """The caller's session; without a token, a bare one of the revision that the header names."""
        version = caller.header(VERSION_HEADER)
        if version is not None and version not in versions.LEGACY:
            raise unsupported(version)
        token = caller.header(SESSION_HEADER)
        if token is None:
            return LegacySession(versions.BY_NAME[version or versions.ASSUMED])
        return await self._handlers.legacy.open(token, caller.principal)

    async def _note(self, message: object, caller: HttpCaller) -> Reply:
        """Accept a notification or response of an existing session; it gets no answer.

        Stateless clients cancel by closing the stream and are never asked; other messages that they POST are ignored,
        without a look at the session that they name.
        """
        if caller.header(VERSION_HEADER) in versions.MODERN:
            return Reply(202)
        session = await self._session(caller)
        if session is None:
            return _no_session(None, self._language)
        if session.token is None:
            return Reply(202)
        if isinstance(message, Notification) and message.method == "notifications/cancelled":
            await self._cancel(session, message.params)
        if isinstance(message, RpcResponse | Failure):
            await self._questions.receive(session.name, message)
        return Reply(202)

    async def _cancel(self, session: LegacySession, params: Mapping[str, Json]) -> None:
        id = params.get("requestId")
        if not is_id(id):
            return
        log_cancellation(params)
        if not self._stop((session.name, id)):
            await self._handlers.served.facts.publish(_CANCELLED, encode([session.name, id]))

    def _on_cancelled(self, payload: bytes) -> None:
        session, id = decode(payload)
        self._stop((session, id))

    def _stop(self, call: _CallKey) -> bool:
        task = self._cancellable.get(call)
        return task is not None and task.cancel()

    async def _batch(self, values: list[Json], caller: HttpCaller, stream: Stream) -> Reply:
        """Answer an array of messages, in revisions that have them (2025-03-26, basic/transports)."""
        if caller.header(VERSION_HEADER) in versions.MODERN:
            raise InvalidRequest.of(BATCH_NOT_SUPPORTED)
        session = await self._session(caller)
        if session is None:
            return _no_session(None, self._language)
        if not session.revision.batches:
            raise InvalidRequest.of(BATCH_NOT_SUPPORTED)
        if not values:
            raise InvalidRequest.of(BATCH_EMPTY)
        if len(values) > MAX_BATCH:
            raise InvalidRequest.of(BATCH_TOO_LARGE, limit=MAX_BATCH)
        caller = HttpCaller(caller.carrier, caller.principal, in_batch=True)
        replies = await asyncio.gather(*(self._element(value, caller, stream) for value in values))
        bodies = [reply.body for reply in replies if reply.body]
        return Reply(200, b"[%b]" % b",".join(bodies)) if bodies else Reply(202)

    async def _element(self, value: Json, caller: HttpCaller, stream: Stream) -> Reply:
        try:
            message = parse(value)
            if isinstance(message, RpcRequest) and message.method == "initialize":
                error = InvalidRequest.of(MESSAGE_NOT_JSONRPC, problem=Worded(REASON_INITIALIZE_IN_BATCH, {}))
                error.id = message.id
                raise error
            return await self._message(value, caller, stream)
        except InvalidRequest as error:
            return self._failure(error.id, error)

    async def listen(self, caller: HttpCaller, stream: Stream) -> Reply | None:
        """Serve a session-based GET stream: the standalone stream of a session, or the rest of a stream that broke.

        Returns a reply instead if the stream is refused.
        """
        try:
            session = await self._named_session(caller)
            if isinstance(session, Reply):
                return session
            if not self._streams.take(caller.principal):
                error = InternalError.of(TOO_MANY_STREAMS, limit=_MAX_STREAMS)
                return Reply(503, encode_failure(None, error, self._language))
            try:
                await self._listen(session, caller, stream)
            finally:
                self._streams.give_back(caller.principal)
        except RpcError as error:
            return self._failure(None, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._broken(error)
        return None

    async def _listen(self, session: LegacySession, caller: HttpCaller, stream: Stream) -> None:
        token, last = session.token or "", caller.header(_EVENT_HEADER)
        if last is not None:
            may_go_on = await self._replay.resume(token, last, stream)
            if not may_go_on or self._ending or stream.gone or await self._session(caller) is None:
                return
        standalone = StandaloneStream(self._handlers, session, caller.principal)
        recording = self._replay.record(token, stream, polled=session.revision.polling)
        task = asyncio.get_running_loop().create_task(standalone.run(recording))
        self._standalone[standalone] = task
        task.add_done_callback(lambda _: self._forget_standalone(standalone))
        try:
            await standalone.released.wait()
        finally:
            self._connection_lost(standalone)

    def _connection_lost(self, standalone: StandaloneStream) -> None:
        """Mark a stream whose connection is gone. A limited number waits to be resumed: the most recently abandoned
        ones.
        """
        if standalone in self._standalone:
            standalone.connection_lost()
            self._alone[standalone] = None
            if len(self._alone) > _MAX_ALONE:
                longest = next(iter(self._alone))
                del self._alone[longest]  # at once: it takes a while to end
                longest.close()

    def _forget_standalone(self, standalone: StandaloneStream) -> None:
        del self._standalone[standalone]
        self._alone.pop(standalone, None)

    async def delete(self, caller: HttpCaller) -> Reply:
        """End a session, and its streams."""
        try:
            session = await self._named_session(caller)
            if isinstance(session, Reply):
                return session
            await self._handlers.legacy.end(session)
            await announce_end(self._handlers.served.facts, session)
        except RpcError as error:
            return self._failure(None, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._broken(error)
        return Reply(204)

    async def _named_session(self, caller: HttpCaller) -> LegacySession | Reply:
        """Return the session that a GET or DELETE names, or a reply if there is none.

        Raises ``RpcError`` for an unknown version. A request that names no session, or a stateless revision, gets 405
        with ``Allow: POST``.
        """
        if caller.header(VERSION_HEADER) in versions.MODERN:
            return Reply(405, headers=(("allow", "POST"),))
        if caller.header(SESSION_HEADER) is None:
            if caller.header(_EVENT_HEADER) is not None:
                raise InvalidRequest.of(MISSING_HEADER, header="Mcp-Session-Id")
            return Reply(405, headers=(("allow", "POST"),))
        return await self._session(caller) or _no_session(None, self._language)

    def closing(self) -> None:
        """Prepare for shutdown: end long-lived streams, and cancel the session-based calls that still run."""
        self._ending = True
        self._handlers.served.hub.close()
        for task in tuple(self._calls):
            task.cancel()

    def _failure(self, id: Id | None, error: RpcError, *, legacy: bool = False) -> Reply:
        if isinstance(error, ScopeNeeded):
            return self.challenged(id, error)
        body = encode_failure(id, error, self._language)
        if legacy and not isinstance(error, UnsupportedVersion):
            return Reply(200, body)
        if error.code == _MISSING_FACTS or -32099 <= error.number <= -32020:
            return Reply(400, body)
        return Reply(_STATUS.get(type(error), 200), body)


def _no_session(id: Id | None, language: str) -> Reply:
    return Reply(404, encode_failure(id, InvalidParams.of(UNKNOWN_SESSION), language))
