"""The connection of a client to a server: opening, requests and their answers, recovery after a loss.

The contents of requests and answers are the business of :mod:`tooltrue.client.client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tooltrue.client.answers import Answerer
from tooltrue.client.eras import Era, ServerFacts
from tooltrue.client.negotiation import negotiate
from tooltrue.client.notifications import LISTS, NotificationCallbacks, NotificationRouter, Progress, Updated
from tooltrue.client.question_limits import ASKING
from tooltrue.client.relayed import RelayedRequest, input_requested
from tooltrue.client.remembered_revisions import REVISIONS
from tooltrue.client.task_status import TaskStarted
from tooltrue.client.wording import (
    CLIENT_NOT_OPEN,
    FAILURE_WITH_SERVER_STDERR,
    REASON_TASK_NOT_DECLARED,
    SERVER_QUESTION_NOT_SUPPORTED,
    SUBSCRIPTION_NOT_OFFERED,
    TOO_MANY_INPUT_ROUNDS,
    TOO_MANY_NON_MESSAGE_LINES,
)
from tooltrue.errors import (
    ConnectionLost,
    HeaderMismatch,
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    MissingCapability,
    ParseError,
    RequestTimeout,
    RpcError,
    SessionLost,
    TransportError,
    UnsupportedVersion,
    fact_of,
)
from tooltrue.jsonrpc.deadlines import Deadlines, RequestDeadline
from tooltrue.jsonrpc.messages import EncodedJson, Id, Json, decode, encode_notification, is_array, is_object
from tooltrue.jsonrpc.peer import Peer, internal_error
from tooltrue.jsonrpc.wording import REQUEST_TOTAL_TIMEOUT, SERVER_RESPONSE_INVALID
from tooltrue.observe.setup import tracing
from tooltrue.observe.tracing import Tracing
from tooltrue.protocol import versions
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.modern import declares_tasks
from tooltrue.protocol.types import Value, replaced
from tooltrue.transport.carrier import TransportLink
from tooltrue.transport.http_client import HttpStatus
from tooltrue.transport.sse_client import SseLink
from tooltrue.wording import Worded

__all__ = ["ClientConnection", "ConnectionSettings", "may_pass"]

_log = logging.getLogger("tooltrue")

_NO_HEADERS: Mapping[str, str] = {}
_MAX_SKIPPED = 100
_MAX_ROUNDS = 32
_LISTEN_SECONDS = 5.0
_RECONNECT_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0

# Requests that may be repeated if the answer was lost on its way. A tool call may not.
_REPEATABLE = frozenset(
    {
        *("tools/list", "resources/list", "resources/templates/list", "prompts/list"),
        *("resources/read", "prompts/get", "completion/complete", "server/discover", "ping"),
        *("tasks/get", "tasks/update", "tasks/cancel"),
    }
)

# Refusals that a second attempt would meet again; any other error of a server may pass.
_REFUSALS = (
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    HeaderMismatch,
    MissingCapability,
    UnsupportedVersion,
)


_PASSING_STATUSES = frozenset({408, 425, 429})


def may_pass(error: Exception) -> bool:
    """Whether a request that failed with ``error`` may succeed a while later."""
    if isinstance(error, HttpStatus):
        return error.status in _PASSING_STATUSES or error.status >= 500
    if isinstance(error, RpcError):
        return not isinstance(error, _REFUSALS)
    return isinstance(error, ConnectionLost | RequestTimeout)


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """``timeout`` limits the wait for each request without a sign of life, ``total`` regardless of such signs.
    ``on_lost`` is called when a channel breaks that this end has not closed. ``older`` makes the link to try if the
    first one is refused by a server that may be too old for it. ``extensions`` are declared to stateless servers.
    """

    timeout: float
    total: float
    revision: str | None = None
    log_level: str | None = None
    on_lost: Callable[[Exception], None] | None = None
    older: Callable[[], TransportLink] | None = None
    extensions: Mapping[str, Json] = field(default_factory=dict[str, Json])


class Outgoing(Value, frozen=True):
    """A request on its way to the server. One value serves all its rounds and repetitions; a later round has other
    ``params`` and the rest of ``total``.

    ``timeout`` limits the wait without a sign of life, in seconds (``None``: no limit), ``total`` the whole wait.
    ``token`` identifies its progress. ``headers`` are added to those of the protocol, on HTTP. ``on_sent`` is called
    with the id, each time it is sent. ``relayed`` is the other client for which it is made.
    """

    method: str
    params: dict[str, Json]
    timeout: float | None
    total: float = math.inf
    token: Id | None = None
    headers: Mapping[str, str] = _NO_HEADERS
    on_sent: Callable[[Id], None] | None = None
    relayed: RelayedRequest | None = None


class ClientConnection:
    """From :meth:`open` to :meth:`close`."""

    def __init__(
        self, link: TransportLink, answers: Answerer, callbacks: NotificationCallbacks, settings: ConnectionSettings
    ) -> None:
        self._link = link
        self._answers = answers
        self._callbacks = callbacks
        self._settings = settings
        self._router = NotificationRouter(self, answers, callbacks)
        self._patience = Deadlines()
        self._peer = self._new_peer()
        self._skipped = 0
        self._renewing = asyncio.Lock()
        self._sessions = 0
        self._is_between = False
        self._listening: asyncio.Task[None] | None = None
        self._listens = False
        self._watches_tasks = True
        self._tracing: Tracing | None = None
        self.era: Era | None = None
        self.facts: ServerFacts | None = None

    def _new_peer(self) -> Peer:
        return Peer(
            self._send_plain, self._router, unreadable=self._skip, patience=self._patience, lost=self._settings.on_lost
        )

    # --- opening and closing -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        self._tracing = tracing()
        await self._link.open(self._peer)
        try:
            await self._settle_with_whatever_is_there()
            await self._update_subscription()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        await self._stop_listening()
        await self._peer.close()
        await self._link.close()

    async def _settle_with_whatever_is_there(self) -> None:
        """Settle, falling back to the older transport: a server that refuses Streamable HTTP may have HTTP+SSE
        (basic/transports, "Backwards Compatibility").
        """
        try:
            await self._settle()
        except HttpStatus as error:
            if self._settings.older is None or not _is_refused_by_old_servers(error.status):
                raise
            try:
                await self._reopen(self._settings.older())
            except HttpStatus:
                raise error from None  # neither works: the first refusal is more informative
            await self._settle()

    async def _settle(self) -> None:
        """Negotiate the revision; the result of an earlier connection is tried first."""
        key = self._link.key
        settings = self._settings
        self.era, self.facts = await negotiate(
            self._ask_first,
            self._notify,
            settings.timeout,
            self._answers.capabilities,
            settings.revision,
            extensions=settings.extensions,
            log_level=settings.log_level,
            remembered=versions.NEWEST_LEGACY if isinstance(self._link, SseLink) else REVISIONS.of(key),
            reopen=functools.partial(self._reopen, self._link) if self._link.shared and key is not None else None,
        )
        await self._link.flush()  # servers refuse messages before the handshake is over
        if settings.revision is None:
            REVISIONS.note(key, self.era.revision)
        if settings.log_level is not None and not self.era.listens_by_asking and "logging" in self.facts.capabilities:
            await self.request("logging/setLevel", {"level": settings.log_level})

    async def _ask_first(self, era: Era | None, method: str, params: dict[str, Json], timeout: float) -> Json:
        try:
            return await self._ask(era, method, params, timeout)
        except RequestTimeout as error:
            if stderr := self._link.last_words():
                raise RequestTimeout.of(
                    FAILURE_WITH_SERVER_STDERR, problem=fact_of(error, is_clause=False), stderr=stderr
                ) from None
            raise

    async def _reopen(self, link: TransportLink) -> None:
        """Start again, over ``link``."""
        await self._peer.close()
        await self._link.close()
        self._link = link
        self._peer = self._new_peer()
        await self._link.open(self._peer)

    def settled(self) -> Era:
        if self.era is None:
            raise TransportError.of(CLIENT_NOT_OPEN)
        return self.era

    # --- requests ----------------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: dict[str, Json],
        *,
        timeout: float | None = None,
        total: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        relayed: RelayedRequest | None = None,
    ) -> dict[str, Json]:
        """Return the complete result, after as many rounds of questions as it takes.

        Raises ``RpcError``, ``RequestTimeout`` or ``ConnectionLost``, and ``InputRequested`` for a question of a
        stateless server if the request is ``relayed``, and ``TaskStarted`` for a task in place of the result of a call.
        A request that is lost with its session is sent again in a new one if the server has not processed it, or if it
        is repeatable.
        """
        era = self.settled()
        token = None if progress is None else self._router.expect(progress)
        settings = self._settings
        outgoing = Outgoing(
            method,
            params,
            settings.timeout if timeout is None else timeout,
            settings.total if total is None else total,
            token,
            headers or _NO_HEADERS,
            relayed=relayed,
        )
        since = asyncio.get_running_loop().time()
        try:
            result = await self._safely(outgoing)
            if era.asks(result):
                if relayed is not None:
                    raise input_requested(result, method)
                return await self._rounds(era, outgoing, result, since)
            return era.finished(result, method)
        except TaskStarted:
            if relayed is None or relayed.takes_tasks:
                raise
            problem = Worded(REASON_TASK_NOT_DECLARED, {})
            raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=problem) from None
        finally:
            if token is not None:
                self._router.forget(token)

    async def _rounds(self, era: Era, outgoing: Outgoing, result: Json, since: float) -> dict[str, Json]:
        """Answer the questions of ``result``, which the round that began at ``since`` has brought, and of those that
        follow."""
        remaining = outgoing.total
        clock = asyncio.get_running_loop().time
        for _ in range(_MAX_ROUNDS):
            if not era.asks(result):
                return era.finished(result, outgoing.method)
            remaining -= clock() - since
            if remaining <= 0:
                raise RequestTimeout.of(REQUEST_TOTAL_TIMEOUT, method=outgoing.method, seconds=outgoing.total)
            # A new request with the original parameters; additions of one round are not carried into another.
            params = {**outgoing.params, **await self._input(result, outgoing.method)}
            since = clock()
            result = await self._safely(replaced(outgoing, params=params, total=remaining))
        raise InvalidAnswer.of(TOO_MANY_INPUT_ROUNDS, limit=_MAX_ROUNDS)

    async def _input(self, result: Mapping[str, Json], method: str) -> dict[str, Json]:
        """Return the answers that a result asks for, and its state, byte for byte, if it has one
        (basic/patterns/mrtr).
        """
        question = input_requested(result, method)
        responses = None if question.requests is None else await self.input_responses(question.requests, method)
        return RelayedRequest({}, responses, question.state).members

    async def input_responses(self, requests: Mapping[str, InputRequest], method: str) -> dict[str, Json]:
        """Return the answers to the questions of a result of ``method``. Raises ``InvalidAnswer`` for questions that
        are too many, or that this client does not answer, and ``RpcError`` for a malformed one."""
        with contextlib.ExitStack() as waiting:
            try:
                waiting.enter_context(self._answers.asking(one.get("method") for one in requests.values()))
            except RpcError as error:  # raised here, not an error of the server; also below
                raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=fact_of(error)) from None
            try:
                return {key: await self._answers.to(request) for key, request in requests.items()}
            except MethodNotFound:
                raise InvalidAnswer.of(SERVER_QUESTION_NOT_SUPPORTED) from None

    async def _safely(self, outgoing: Outgoing) -> Json:
        """Return the result of one round, surviving at most one loss."""
        if self._is_between:  # the next session begins, or could not: no request goes out without one
            await self._renew(self._sessions)
        session = self._sessions
        try:
            return await self._send(self.era, outgoing)
        except SessionLost as error:
            await self._renew(session)
            if not error.refused and outgoing.method not in _REPEATABLE:
                raise
        except ConnectionLost:
            if self._link.shared or outgoing.method not in _REPEATABLE or not self.settled().cancels_by_closing:
                raise
        return await self._send(self.era, outgoing)

    async def _renew(self, lost: int) -> None:
        """Begin another session in place of a lost one, unless another request has done so already."""
        async with self._renewing:
            if self._sessions != lost or self.facts is None:
                return
            self._is_between = True
            await self._stop_listening()
            self._link.renew()
            self.era, self.facts = await negotiate(
                self._ask, self._notify, self._settings.timeout, self._answers.capabilities, self.facts.revision
            )
            await self._link.flush()
            self._sessions += 1
            self._is_between = False
            self._listening = asyncio.get_running_loop().create_task(self._take_up(self.era, self.facts))
            await asyncio.wait((self._listening,))  # it goes on even if this caller is cancelled

    async def _take_up(self, era: Era, facts: ServerFacts) -> None:
        """Restore subscriptions and log level in a new session, and report that changes may have been missed."""
        requests: list[tuple[str, dict[str, Json]]] = [
            ("resources/subscribe", {"uri": uri}) for uri in self._router.updated
        ]
        if self._settings.log_level is not None and "logging" in facts.capabilities:
            requests.append(("logging/setLevel", {"level": self._settings.log_level}))
        await asyncio.gather(*(self._try(era, method, params) for method, params in requests))
        await self._update_subscription()
        try:
            self._router.everything_may_have_changed()
        except Exception as error:  # noqa: BLE001 - as in callbacks of notifications
            internal_error(error)

    async def _try(self, era: Era, method: str, params: dict[str, Json]) -> None:
        """Send a request that a session can do without."""
        try:
            await self._ask(era, method, params, self._settings.timeout)
        except Exception as error:  # noqa: BLE001 - no caller waits for an answer; it is logged
            _log.warning("the new session goes without %s of %s: %s", method, params, error)

    async def _ask(self, era: Era | None, method: str, params: dict[str, Json], timeout: float | None) -> Json:
        """Send a request of the connection's own: a handshake, or one that a session begins with."""
        if era is not None:
            return await self._send(era, Outgoing(method, params, timeout))
        ids: list[Id] = []
        result = await self._send(None, Outgoing(method, params, timeout, on_sent=ids.append))
        self._link.opened(ids[0])  # the handshake has succeeded
        return result

    def _send(self, era: Era | None, outgoing: Outgoing) -> Coroutine[Any, Any, Json]:
        """Send one request in the form of the era; the coroutine returns its result."""
        params = outgoing.params if era is None else era.params(outgoing.params, outgoing.token, outgoing.relayed)
        if self._tracing is None:
            return self._exchange(era, outgoing, _carrying(params, _relayed_trace(outgoing)))
        return self._traced(self._tracing, era, outgoing, params)

    async def _traced(self, tracing: Tracing, era: Era | None, outgoing: Outgoing, params: dict[str, Json]) -> Json:
        facts = {} if era is None else {"mcp.protocol.version": era.revision}
        with tracing.request(outgoing.method, outgoing.params, facts) as traced:
            result = await self._exchange(era, outgoing, _carrying(params, traced.carried or _relayed_trace(outgoing)))
            traced.record_answer(is_error=is_object(result) and result.get("isError") is True)
            return result

    def _exchange(self, era: Era | None, outgoing: Outgoing, params: dict[str, Json]) -> Coroutine[Any, Any, Json]:
        return self._peer.request(
            outgoing.method,
            params,
            timeout=outgoing.timeout,
            total=outgoing.total,
            send=functools.partial(self._transmit, era, outgoing),
            abandoned=functools.partial(self._abandon, era),
        )

    def _transmit(self, era: Era | None, outgoing: Outgoing, frame: bytes, id: Id) -> None:
        if outgoing.token is not None:
            self._router.runs_as(outgoing.token, id)
        if outgoing.on_sent is not None:
            outgoing.on_sent(id)
        if self._link.shared:
            self._link.send(frame, id, _NO_HEADERS)
            return
        headers = _NO_HEADERS if era is None else era.headers(outgoing.method, outgoing.params)
        if outgoing.headers:
            headers = {**headers, **outgoing.headers}
        self._link.send(frame, id, headers, resumable=era is not None and not era.cancels_by_closing)

    def _abandon(self, era: Era | None, id: Id) -> None:
        # Never for the handshake: a client must not cancel initialize (2025-11-25, basic/utilities/cancellation).
        if era is not None and (self._link.shared or not era.cancels_by_closing):
            self._notify(era, "notifications/cancelled", {"requestId": id})
        self._link.abandon(id)

    def _notify(self, era: Era, method: str, params: Mapping[str, Json] | None = None) -> None:
        params = era.params(params or {}, None)
        self._link.send(encode_notification(method, params), None, era.headers(method, params))

    def _send_plain(self, frame: bytes) -> None:
        """Send answers to questions of a session-based server; a stateless one may send no requests."""
        if self.era is not None and self.era.listens_by_asking:
            return
        self._link.send(frame, None, {} if self.era is None else self.era.headers("", {}))

    def _skip(self, error: RpcError) -> None:
        """Skip output of a server that is not a message; a limited amount is tolerated."""
        self._skipped += 1
        if self._skipped > _MAX_SKIPPED:
            self._peer.lose(ConnectionLost.of(TOO_MANY_NON_MESSAGE_LINES, count=_MAX_SKIPPED))

    # --- what is under way -------------------------------------------------------------------------------------------

    def answering(self) -> AbstractContextManager[None]:
        """Pause timeouts while a question of the server is being answered: the server waits for us."""
        return self._patience.paused()

    @contextlib.asynccontextmanager
    async def limited(self, seconds: float | None, late: Callable[[], Exception]) -> AsyncGenerator[None]:
        """Raise ``late()`` if the context takes longer than ``seconds``; :meth:`answering` does not count."""
        if seconds is None:
            yield
            return
        bound = asyncio.timeout(None)
        try:
            async with bound:
                limit = _Limit(bound, seconds)
                self._patience.start(limit)
                try:
                    yield
                finally:
                    self._patience.end(limit)
        except TimeoutError:
            if bound.expired():
                raise late() from None
            raise

    @property
    def is_restored(self) -> bool:
        """Whether a later request may reach the server after a connection was lost. A channel that both ends share is
        gone for good, and so is a client that was closed."""
        return not self._link.shared and not self._peer.is_closed

    def may_be_asked(self) -> bool:
        """Whether a request of ours is open during which a server may ask questions, by a request of its own."""
        return self.era is not None and not self.era.listens_by_asking and self._peer.is_asking(ASKING)

    def extend_deadline(self, id: Id) -> None:
        self._peer.extend_deadline(id)

    def cancel(self, id: Id) -> bool:
        return self._peer.cancel(id)

    # --- changes -----------------------------------------------------------------------------------------------------

    async def follow(self, uri: str, updated: Updated) -> None:
        """Have ``updated`` called when the resource changes; returns once no later change can be missed."""
        self._router.updated[uri] = updated
        try:
            await self._follow(uri)
        except BaseException:
            self._router.updated.pop(uri, None)
            raise

    async def _follow(self, uri: str) -> None:
        era = self.settled()
        if self.facts is None or not _has(self.facts, "resources", "subscribe"):
            raise TransportError.of(SUBSCRIPTION_NOT_OFFERED, what="resources/subscribe")
        if not era.listens_by_asking:
            await self.request("resources/subscribe", {"uri": uri})
        await self._update_subscription()

    async def unfollow(self, uri: str) -> None:
        era = self.settled()
        if self._router.updated.pop(uri, None) is None:
            return
        if era.listens_by_asking:
            await self._update_subscription()
        else:
            await self.request("resources/unsubscribe", {"uri": uri})

    async def watch_task(self, id: str, changed: Callable[[dict[str, Json]], None]) -> None:
        """Have ``changed`` called with each notification of a task, until this is cancelled. Returns, without an error,
        if there are none: polling finds every change."""
        watching = asyncio.current_task()
        ids: list[Id] = []

        def sent(request: Id) -> None:
            ids.append(request)
            self._router.subscribe(request, acknowledged)

        def acknowledged(honoured: Json) -> None:
            watched = honoured.get("taskIds") if is_object(honoured) else None
            self._watches_tasks = is_array(watched)
            if watching is not None and not _covers(watched, [id]):
                watching.cancel()

        if not self._watches_tasks or self.facts is None or not declares_tasks(self.facts.capabilities):
            return
        self._router.tasks[id] = changed
        listen = Outgoing("subscriptions/listen", {"notifications": {"taskIds": [id]}}, None, on_sent=sent)
        try:
            await self._send(self.settled(), listen)
        except Exception as error:  # noqa: BLE001 - no caller waits for it; it is logged
            self._watches_tasks = may_pass(error)
            _log.info("the server does not tell of the changes of a task: %s", error)
        finally:
            self._router.tasks.pop(id, None)
            for request in ids:
                self._router.unsubscribe(request)

    def _filter(self, facts: ServerFacts) -> dict[str, Json]:
        """Return the filter for ``subscriptions/listen``."""
        filter: dict[str, Json] = {
            watch.filter: True
            for method, watch in LISTS.items()
            if method in self._callbacks.changed and _has(facts, watch.capability, "listChanged")
        }
        if self._router.updated:
            filter["resourceSubscriptions"] = sorted(self._router.updated)
        return filter

    async def _update_subscription(self) -> None:
        """Subscribe to exactly the changes that are wanted now; return once no later change can be missed.

        If the caller is cancelled meanwhile, the previous subscription stays.
        """
        if self.facts is None:
            return
        era, filter = self.settled(), self._filter(self.facts)
        if not era.listens_by_asking:
            # Questions may come on this stream, too.
            if filter or self._answers.capabilities or self._callbacks.log is not None:
                await self._listen_once(era)
            return
        confirmation = asyncio.Event()
        ends = before = self._listening
        now = asyncio.ensure_future(self._keep_listening(era, filter, confirmation)) if filter else None
        self._listening = now
        try:
            if now is not None:
                await self._until_confirmed(now, confirmation)
        except asyncio.CancelledError:
            if self._listening is now:  # else it is closed, or another caller has replaced it
                ends, self._listening = now, before
            raise
        finally:
            await _end(ends)

    async def _listen_once(self, era: Era) -> None:
        if not self._listens:
            self._listens = True
            await self._link.listen(era.headers("", {}))

    async def _until_confirmed(self, listening: asyncio.Task[None], confirmation: asyncio.Event) -> None:
        """Wait for the acknowledgement, but not for long: a server that sends none is of use without its changes."""
        acknowledged = asyncio.ensure_future(confirmation.wait())
        seconds = min(self._settings.timeout, _LISTEN_SECONDS)
        try:
            await asyncio.wait((acknowledged, listening), timeout=seconds, return_when="FIRST_COMPLETED")
        finally:
            acknowledged.cancel()
        confirmation.set()  # an acknowledgement that comes now is late: changes may have been missed

    async def _keep_listening(self, era: Era, filter: dict[str, Json], confirmation: asyncio.Event) -> None:
        """Keep a subscription open (basic/patterns/subscriptions); if it ends, another is opened after a pause.

        It ends for good when the server refuses it, or with the channel; any other error may pass.
        """
        pause = _RECONNECT_SECONDS
        while True:
            acknowledged = await self._subscription(era, filter, confirmation)
            if acknowledged is None:
                return
            pause = _RECONNECT_SECONDS if acknowledged else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(pause)

    async def _subscription(self, era: Era, filter: dict[str, Json], confirmation: asyncio.Event) -> bool | None:
        """Run one subscription, from its beginning to its end.

        Returns whether the server had acknowledged it, or ``None`` if there is to be no other. An error of the server
        that may pass unblocks the caller: changes missed until then are reported when another subscription is
        acknowledged.
        """
        ids: list[Id] = []

        def sent(id: Id) -> None:
            ids.append(id)
            self._router.subscribe(id, lambda honoured: self._acknowledged(confirmation, filter, honoured))

        try:
            listen = Outgoing("subscriptions/listen", {"notifications": filter}, None, on_sent=sent)
            await self._send(era, listen)
            is_last = self._link.shared
        except _REFUSALS as error:
            _log.warning("the server does not tell of changes: %s", error)
            is_last = True
        except RpcError as error:
            _log.warning("the server does not tell of changes now, and is asked again: %s", error)
            is_last = False
            confirmation.set()
        except TransportError as error:
            _log.info("the stream of changes broke off: %s", error)
            is_last = self._link.shared
        except Exception as error:  # noqa: BLE001 - such as a failure of the credential store, which may pass
            _log.warning("changes could not be listened for, which is tried again: %s", error)
            is_last = False
        finally:
            was_confirmed = [self._router.unsubscribe(id) for id in ids]
        return None if is_last else any(was_confirmed)

    def _acknowledged(self, confirmation: asyncio.Event, filter: Mapping[str, Json], honoured: Json) -> None:
        is_late = confirmation.is_set()
        confirmation.set()
        missing = [name for name in filter if is_object(honoured) and not _covers(honoured.get(name), filter[name])]
        if missing:
            _log.warning("the server does not watch: %s", ", ".join(missing))
        if is_late:
            self._router.everything_may_have_changed()

    async def _stop_listening(self) -> None:
        self._listens = False
        listening, self._listening = self._listening, None
        await _end(listening)


class _Limit(RequestDeadline):
    """Ends ``bound`` when its time is over."""

    __slots__ = ("_bound",)

    def __init__(self, bound: asyncio.Timeout, seconds: float) -> None:
        super().__init__(seconds)
        self._bound = bound

    def late(self, is_total: bool) -> None:
        self._bound.reschedule(asyncio.get_running_loop().time())


async def _end(listening: asyncio.Task[None] | None) -> None:
    if listening is not None:
        listening.cancel()
        await asyncio.wait((listening,))


def _is_refused_by_old_servers(status: int) -> bool:
    """Whether a status may mean that the endpoint takes no POST; authorization and rate limits are other matters."""
    return 400 <= status < 500 and status not in (401, 403, 407, 408, 429)


def _covers(honoured: Json, requested: Json) -> bool:
    if is_array(requested):
        return is_array(honoured) and all(uri in honoured for uri in requested)
    return honoured is True


def _has(facts: ServerFacts, capability: str, part: str) -> bool:
    declared = facts.capabilities.get(capability)
    return is_object(declared) and declared.get(part) is True


def _relayed_trace(outgoing: Outgoing) -> Mapping[str, str]:
    return {} if outgoing.relayed is None else outgoing.relayed.trace


def _carrying(params: dict[str, Json], carried: Mapping[str, str]) -> dict[str, Json]:
    """Add the trace context to ``_meta`` (basic "_meta")."""
    if not carried:
        return params
    meta: Json = params.get("_meta", {})
    return {**params, "_meta": {**(decode(bytes(meta)) if isinstance(meta, EncodedJson) else meta), **carried}}
