"""Decides from one table whether a message is stateless or session-based (basic/versioning, "Server side").

One process and one endpoint serve both, interleaved. :class:`ServerConnection` is a channel that both ends share;
:mod:`tooltrue.server.http` does the same for single HTTP requests.

Theory of operation. The era is a property of a message and not of a connection: :data:`_TABLE` looks at the facts in
:class:`Opening`, and the first row that holds decides. No later stage asks again. A stateless request needs no state of
the connection. Session-based requests use the one session of the channel::

                 initialize                 notifications/initialized
      no session -----------> initialized ----------------------------> ready
           |                      |                                       |
           | ping and stateless   | the client may call, and is           | the client receives changes,
           | requests only        | not asked: it has no capabilities     | and may be asked

There is no way back, and a second ``initialize`` is refused: the session ends with the channel. A client that sends
``notifications/initialized`` without waiting for the answer is read before its handshake has run, since the handshake
is a task; ``_is_ready_ahead`` remembers it, and the handshake then goes to ``ready`` directly.

Three things are not in the drawing. Stateless requests are served in every state, also between the steps of a
handshake. Requests that last as long as the channel (``subscriptions/listen``) are in ``_open_ended``: a server that
shuts down lets them answer (:meth:`ServerConnection.farewell`), a channel that breaks cancels them
(:meth:`ServerConnection.close`). And over HTTP a session has no channel: the session id carries the results of the
handshake, and "ready" is not known; a column of the table (``on_http``) is all that differs here.

A new transport adds facts to ``Opening``; a new stateless revision changes nothing here, because the rows ask
:mod:`tooltrue.protocol.versions`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tooltrue.errors import InvalidRequest
from tooltrue.jsonrpc.messages import Json, Notification, RpcRequest, is_id
from tooltrue.jsonrpc.peer import Dialogue, Peer
from tooltrue.jsonrpc.tool_calls import PlainCall
from tooltrue.jsonrpc.wording import MESSAGE_NOT_JSONRPC
from tooltrue.observe.setup import tracing
from tooltrue.observe.tracing import UNTRACED, Tracing
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import Value, replaced
from tooltrue.server.modern import ModernHandler
from tooltrue.server.service import ServedProvider, log_cancellation
from tooltrue.server.wording import REASON_ALREADY_INITIALIZED
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.wording import Worded

if TYPE_CHECKING:  # most clients open no session
    from tooltrue.server.legacy import LegacyHandler, LegacySession

__all__ = ["Era", "Handlers", "Opening", "ServerConnection", "era_of"]

Era: TypeAlias = Literal["modern", "handshake", "legacy"]


class Opening(Value, frozen=True):
    """The facts that decide. ``header`` is the HTTP version header; ``opened`` is true once a handshake has taken
    place.
    """

    method: str
    has_modern_meta: bool
    opened: bool
    on_http: bool = False
    header: str | None = None


# The first row that holds. A request of neither kind counts as a stateless one without its facts, and is refused so.
_TABLE: tuple[tuple[Callable[[Opening], bool], Era], ...] = (
    (lambda o: o.has_modern_meta, "modern"),
    (lambda o: o.header in versions.MODERN, "modern"),
    (lambda o: o.method == "initialize", "handshake"),
    (lambda o: o.method == "ping", "legacy"),
    (lambda o: o.opened, "legacy"),
    (lambda o: o.on_http, "legacy"),  # sessions are optional there, and 2025-03-26 has no header either
    (lambda o: True, "modern"),
)


def era_of(opening: Opening) -> Era:
    return next(era for holds, era in _TABLE if holds(opening))


class Handlers:
    """The stateless and the session-based handler of one server."""

    def __init__(self, served: ServedProvider) -> None:
        self.served = served
        self.modern = ModernHandler(served)
        self._tracing: Tracing | None = None
        self.traces = False

    @cached_property
    def legacy(self) -> LegacyHandler:
        """The session-based handler, made for the first request that needs it."""
        from tooltrue.server.legacy import LegacyHandler  # noqa: PLC0415 - most clients open no session

        return LegacyHandler(self.served)

    def open(self) -> None:
        """Call before the first request of a channel or an application: tracing has been set up by then."""
        self._tracing = tracing()
        self.traces = self._tracing is not None

    def traced(
        self, request: RpcRequest, carrier: Carrier, session: LegacySession | None = None
    ) -> AbstractContextManager[object]:
        """Context manager around the answer to a request."""
        if self._tracing is None:
            return UNTRACED
        return self._tracing.serve(request.method, request.id, request.params, _facts(carrier, session))

    def traced_call(self, params: Mapping[str, Json], carrier: Carrier) -> AbstractContextManager[object]:
        """Context manager around the answer to a tool call that comes as no message of the protocol."""
        if self._tracing is None:
            return UNTRACED
        return self._tracing.serve("tools/call", None, params, _facts(carrier, None))


_TRANSPORTS = {"stdio": "pipe", "http": "tcp"}


def _facts(carrier: Carrier, session: LegacySession | None) -> dict[str, str]:
    """Span attributes that only the handler knows, by their names in the conventions. The session's id is secret; its
    name is not.
    """
    facts = {"network.transport": _TRANSPORTS[carrier.kind]} if carrier.kind in _TRANSPORTS else {}
    if carrier.peer is not None:
        facts["client.address"] = carrier.peer
    if session is not None:
        facts["mcp.protocol.version"] = session.revision.name
        if session.name:
            facts["mcp.session.id"] = session.name
    return facts


class ServerConnection:
    """A channel that both ends share (stdio, memory). It holds the one session that the channel may have."""

    def __init__(self, handlers: Handlers, carrier: Carrier, principal: Principal) -> None:
        self._handlers = handlers
        self._carrier = carrier
        self._opened_by = principal
        self._session: LegacySession | None = None
        self._ready = False
        self._is_ready_ahead = False
        self._listening: set[asyncio.Task[None]] = set()
        self._open_ended: set[asyncio.Task[Any] | None] = set()
        self._known = modern.KnownFacts()
        self.peer: Peer | None = None

    @property
    def _principal(self) -> Principal:
        speaker = _SPEAKER.get()
        return self._opened_by if speaker is None or speaker[0] is not self else speaker[1]

    @contextlib.contextmanager
    def spoken_by(self, principal: Principal) -> Generator[None]:
        """Within the context, attribute every message that is fed, and all work that it starts, to ``principal``."""
        token = _SPEAKER.set((self, principal))
        try:
            yield
        finally:
            _SPEAKER.reset(token)

    @property
    def takes_batches(self) -> bool:
        return self._session is not None and self._session.revision.batches

    async def on_request(self, request: RpcRequest, exchange: Dialogue) -> bytes:
        opening = Opening(request.method, modern.carries_version(request.params), self._session is not None)
        match era_of(opening):
            case "modern":
                return await self._modern(request, exchange)
            case "handshake":
                with self._handlers.traced(request, self._carrier):
                    return self._initialize(request)
            case "legacy":
                if request.method == "logging/setLevel" and self._session is not None:
                    self._session = replaced(self._session, level=self._handlers.legacy.level(request))
                session = self._session or _before_handshake()
                if not self._ready and session.capabilities:
                    session = replaced(session, capabilities={})  # no client is asked before it is ready (lifecycle)
                with self._handlers.traced(request, self._carrier, session):
                    carried = self._carrier.headers
                    return await self._handlers.legacy.answer(request, session, exchange, self._principal, carried)

    def begin_plain(self, plain: PlainCall) -> Callable[[], Awaitable[bytes]] | None:
        """Begin a stateless tool call that wants nothing but its result. All others take :meth:`on_request`."""
        if self._handlers.traces or (facts := self._known.of(plain.meta)) is None:
            return None
        return partial(self._handlers.modern.answer_plain, plain, facts, self._principal)

    async def _modern(self, request: RpcRequest, exchange: Dialogue) -> bytes:
        with self._handlers.traced(request, self._carrier):
            return await self._answer_modern(request, exchange)

    async def _answer_modern(self, request: RpcRequest, exchange: Dialogue) -> bytes:
        answer = self._handlers.modern.answer(request, exchange, self._carrier, self._principal)
        if request.method not in modern.OPEN_ENDED:
            return await answer
        task = asyncio.current_task()
        self._open_ended.add(task)
        try:
            return await answer
        finally:
            self._open_ended.discard(task)

    def _initialize(self, request: RpcRequest) -> bytes:
        if self._session is not None:
            raise InvalidRequest.of(MESSAGE_NOT_JSONRPC, problem=Worded(REASON_ALREADY_INITIALIZED, {}))
        self._session, answer = self._handlers.legacy.initialize(request, self._principal)
        if self._is_ready_ahead:
            self._begin(self._session)
        return answer

    def on_notification(self, notification: Notification) -> None:
        match notification.method:
            case "notifications/cancelled":
                self._cancel(notification.params)
            case "notifications/initialized" if self._session is not None:
                self._begin(self._session)
            case "notifications/initialized":
                # A client that does not wait for the answer is read before its handshake has run.
                self._is_ready_ahead = self.peer is not None and self.peer.is_asked("initialize")
            case _:
                pass  # unknown notifications are ignored (JSON-RPC 2.0, section 4.1)

    def _cancel(self, params: Mapping[str, Json]) -> None:
        id = params.get("requestId")
        if is_id(id) and self.peer is not None and self.peer.cancel(id):
            log_cancellation(params)

    def _begin(self, session: LegacySession) -> None:
        """The client is ready: from now on it receives change notifications, and may be asked."""
        self._ready = True
        self._listen(session)

    def _listen(self, session: LegacySession) -> None:
        self._stop_listening()
        if self.peer is not None:
            subscription = self._handlers.legacy.subscription(session, self._principal)
            subscription.listen()
            task = asyncio.get_running_loop().create_task(subscription.deliver(self.peer.notify))
            self._listening.add(task)
            task.add_done_callback(self._listening.discard)
            task.add_done_callback(
                lambda _: subscription.end()
            )  # a task that is cancelled before it begins runs no cleanup

    def _stop_listening(self) -> None:
        for task in self._listening:
            task.cancel()

    async def farewell(self) -> None:
        """End open-ended requests with their closing answer."""
        self._handlers.served.hub.close()
        if tasks := [task for task in self._open_ended if task is not None]:
            await asyncio.wait(tasks)

    def close(self) -> None:
        """Stop change notifications, and cancel requests that last as long as the channel."""
        self._stop_listening()
        for task in tuple(self._open_ended):
            if task is not None:
                task.cancel()

    async def wait_closed(self) -> None:
        """Return once the closed notification tasks have ended."""
        if self._listening:
            await asyncio.wait(self._listening)


_SPEAKER: ContextVar[tuple[ServerConnection, Principal] | None] = ContextVar("speaker", default=None)
"""The sender of the message being answered, and its conversation: a tool may hold another conversation meanwhile."""


@cache
def _before_handshake() -> LegacySession:
    """The session that answers ``ping`` on a channel that has none yet."""
    from tooltrue.server.legacy import LegacySession  # noqa: PLC0415 - most clients open no session

    return LegacySession(versions.BY_NAME[versions.NEWEST_LEGACY])
