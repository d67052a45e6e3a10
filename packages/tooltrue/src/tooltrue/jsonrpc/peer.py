"""One end of a JSON-RPC connection on a channel that both ends share (stdio, memory, sockets).

The peer correlates answers with requests, runs the other end's requests, cancels, and owns every task it starts. It is
the last boundary for errors: an unexpected exception in a handler is logged and answered as "Internal error" with an
id, and the connection stays open. The meaning of the methods is the handler's business.

Theory of operation. A peer keeps two tables that know nothing of each other: requests of the other end (``_running``)
and its own (``_waiting``). An id is unique within one table and one direction only, so both ends may use the id 1 at
once. A request of the other end::

                     feed            its task runs           reply
      (no such id) --------> held --------------> running ----------> forgotten
            |                  |                     |
            | id in use,       | cancel(id)          | cancel(id)
            | too many         v                     v
            +--> refused     ending: out of the table at once, no answer and no notification

``held`` is left as soon as no :meth:`Peer.hold` is in force. A cancelled request leaves the table before its task has
ended, because the id is free for the other end from then on; the task moves to ``_ending``, so that :meth:`Peer.close`
still waits for it. A request of this end::

                   answer, failure           the caller reads the result
      pending ----------------------> done ------------------------------> forgotten
         |      late, lost, closed,    ^
         |      answer unreadable -----+
         | the caller is cancelled, or the request is late
         +--> forgotten, and ``abandoned`` informs the other end

Every way out of ``pending`` goes through the future, and the first one counts: a second answer, or one that comes after
the time limit, is dropped. An answer that cannot be decoded, or whose id has the wrong type, fails the request that it
was intended for, so that its caller need not wait for the time limit; without such a request it is counted in
:attr:`Peer.dropped`, and the count is part of a later ``RequestTimeout``.

The drawings leave out batches (JSON-RPC 2.0, section 6): each element runs as if it had arrived alone, but its answer
is collected, and the batch itself is one more task that :meth:`Peer.close` ends. HTTP has no shared channel;
:mod:`tooltrue.server.http` has the same boundary for single requests, and a change of one is a change of the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, NamedTuple, Protocol, TypeAlias

from tooltrue.crashes import traced
from tooltrue.errors import (
    ConnectionLost,
    InternalError,
    InvalidAnswer,
    InvalidRequest,
    ParseError,
    RequestTimeout,
    RpcError,
    TransportError,
    fact_of,
)
from tooltrue.jsonrpc.deadlines import Deadlines, RequestDeadline
from tooltrue.jsonrpc.messages import (
    Failure,
    Id,
    Json,
    Message,
    Notification,
    RpcRequest,
    RpcResponse,
    answered_id,
    answered_ids,
    decode,
    encode_answer,
    encode_failure,
    encode_notification,
    encode_request,
    is_array,
    is_object,
    parse,
)
from tooltrue.jsonrpc.tool_calls import PlainCall, read_call
from tooltrue.jsonrpc.wording import (
    BATCH_EMPTY,
    BATCH_NOT_SUPPORTED,
    BATCH_TOO_LARGE,
    CONNECTION_CLOSED,
    INTERNAL_SERVER_ERROR,
    REASON_ID_TYPE_DIFFERS,
    REQUEST_ID_IN_USE,
    REQUEST_TIMEOUT,
    REQUEST_TOTAL_TIMEOUT,
    SERVER_RESPONSE_INVALID,
    TIMEOUT_WITH_DROPPED_MESSAGES,
    TOO_MANY_CONCURRENT_REQUESTS,
)
from tooltrue.wording import Worded

__all__ = ["MAX_BATCH", "Dialogue", "Dropped", "Handler", "NotificationChannel", "Peer", "internal_error"]

MAX_BATCH = 100
MAX_RUNNING = 4_096
_REASON_LENGTH = 200

_log = logging.getLogger("tooltrue")


class NotificationChannel(Protocol):
    """The caller of a request, as its handler sees it before the answer: it accepts notifications."""

    def notify(self, method: str, params: Json) -> None: ...


class Dialogue(NotificationChannel, Protocol):
    """An exchange that can also send requests to the caller before its answer is sent."""

    async def ask(self, method: str, params: Json, seconds: float) -> Json:
        """The other end's answer. Raises its ``RpcError``, ``RequestTimeout`` after ``seconds``, or
        ``ConnectionLost``."""
        ...

    def detach(self) -> None:
        """Release the connection if the other end can resume the exchange later; otherwise do nothing."""
        ...


BeginPlain: TypeAlias = Callable[[PlainCall], Callable[[], Awaitable[bytes]] | None]
"""Returns the function that answers a plain tool call with its encoded result, or ``None`` to leave it to the
handler."""


class Handler(Protocol):
    """Handles the requests and notifications that a peer receives."""

    @property
    def takes_batches(self) -> bool: ...

    async def on_request(self, request: RpcRequest, exchange: Dialogue) -> bytes:
        """Return the encoded result, or raise ``RpcError``. Cancelled if the caller no longer wants the answer."""
        ...

    def on_notification(self, notification: Notification) -> None: ...


# A task that has a name already is made in half the time.
def _start_lazy(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), name="tooltrue-request")


def _start_eager(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    loop = asyncio.get_running_loop()
    return asyncio.Task(coroutine, loop=loop, name="tooltrue-request", eager_start=True)  # pyright: ignore[reportUnknownVariableType, reportCallIssue]


_start = _start_eager if hasattr(asyncio, "eager_task_factory") else _start_lazy


def internal_error(error: BaseException) -> InternalError:
    """Log ``error`` under a fresh id, with the frames of an author first; the returned error reveals only the id."""
    id = secrets.token_hex(4)
    _log.error("internal error %s", id, exc_info=(type(error), error, traced(error)[0]))
    return InternalError.of(INTERNAL_SERVER_ERROR, id=id)


class Dropped(NamedTuple):
    """The number of frames dropped, invalid ones and unmatched answers, and the reason for the last one."""

    messages: int = 0
    last: str = ""


class _Wait(RequestDeadline):
    """A pending request for ``method``, and the limits of the wait, which it has once it is started."""

    __slots__ = ("_dropped_before", "_peer", "_timeout", "_total", "future", "method")

    def __init__(
        self, peer: Peer, method: str, future: asyncio.Future[Json], timeout: float | None, total: float
    ) -> None:
        super().__init__(math.inf if timeout is None else timeout, total)
        self._peer = peer
        self._timeout = timeout
        self._total = total
        self._dropped_before = peer.dropped.messages
        self.method = method
        self.future = future

    def late(self, is_total: bool) -> None:
        if self.future.done():
            return
        code, seconds = (REQUEST_TOTAL_TIMEOUT, self._total) if is_total else (REQUEST_TIMEOUT, self._timeout)
        late = RequestTimeout.of(code, method=self.method, seconds=seconds)
        dropped = self._peer.dropped
        if count := dropped.messages - self._dropped_before:
            late = RequestTimeout.of(
                TIMEOUT_WITH_DROPPED_MESSAGES, problem=fact_of(late, is_clause=False), count=count, last=dropped.last
            )
        self.future.set_exception(late)


class _Call:
    """A running request of the other end. Once it is cancelled, it sends no notifications and no answer."""

    __slots__ = ("_peer", "cancelled", "method", "task")

    def __init__(self, peer: Peer, method: str) -> None:
        self._peer = peer
        self.method = method
        self.cancelled = False
        self.task: asyncio.Task[None] | None = None

    def notify(self, method: str, params: Json) -> None:
        if not self.cancelled:
            self._peer.notify(method, params)

    async def ask(self, method: str, params: Json, seconds: float) -> Json:
        return await self._peer.request(method, params, timeout=seconds, abandoned=self._take_back)

    def detach(self) -> None:
        """No-op: on a shared channel, a request has no connection of its own."""

    def _take_back(self, id: Id) -> None:
        self._peer.notify("notifications/cancelled", {"requestId": id})


class Peer:
    """One end of a connection.

    ``write`` takes one encoded message and must not block. ``language`` is that of error messages. An invalid frame is
    answered with an error (JSON-RPC 2.0, section 5.1), unless ``unreadable`` handles it. Pass every frame that arrives
    to :meth:`feed`; end with :meth:`close`. ``patience`` holds the time limits of this end's requests. ``lost`` is
    called once, when the transport fails. ``begin_plain`` answers plain tool calls without the handler; it may leave
    any of them to it.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        handler: Handler,
        *,
        language: str = "en",
        unreadable: Callable[[RpcError], None] | None = None,
        patience: Deadlines | None = None,
        lost: Callable[[Exception], None] | None = None,
        begin_plain: BeginPlain | None = None,
    ) -> None:
        self._write = write
        self._begin_plain = begin_plain
        self._lost = lost
        self._handler = handler
        self._language = language
        self._unreadable = unreadable or self._answer_unreadable
        self._running: dict[Id, _Call] = {}
        self._ending: set[asyncio.Task[None]] = set()  # batches, and cancelled requests that still run
        self._waiting: dict[Id, _Wait] = {}
        self._released: asyncio.Event | None = None
        self.patience = patience or Deadlines()
        self._last_id = 0
        self.dropped = Dropped()
        self._closed = False

    def feed(self, frame: bytes) -> None:
        """Accept one frame: a message, or an array of messages if the handler takes batches. Never raises."""
        if self._begin_plain is not None and (call := read_call(frame)) is not None and self._begin_call(call):
            return
        try:
            value = decode(frame)
            if is_array(value):
                self._begin_batch(value)
            elif not self._settle_plain(value):
                self._take(parse(value), self._reply)
        except ParseError as error:
            self._undecoded(error, frame)
            self._unreadable(error)
        except RpcError as error:
            self._misread(error)
            self._unreadable(error)

    def _reply(self, answer: bytes) -> None:
        """Send an answer. A connection that is gone needs none: nobody waits for it there."""
        try:  # noqa: SIM105 - each answer comes here, and `suppress` is an object for each
            self._write(answer)
        except TransportError:
            pass

    def _undecoded(self, error: ParseError, frame: bytes) -> None:
        """Fail the pending requests whose answers the frame holds, as far as their ids can be recognized."""
        is_batch = frame.lstrip().startswith(b"[") and self._handler.takes_batches
        ids = [
            id for id in (answered_ids(frame, MAX_BATCH) if is_batch else [answered_id(frame)]) if id in self._waiting
        ]
        for id in ids:
            self._refuse(id, fact_of(error))
        if not ids:
            self._drop(str(error))

    def _misread(self, error: RpcError) -> None:
        """Fail the pending request that an invalid message was intended to answer, if it can be identified."""
        if isinstance(error, InvalidRequest) and error.answers is not None and error.answers in self._waiting:
            self._refuse(error.answers, error.facts.get("problem", fact_of(error)))
        else:
            self._drop(str(error))

    def _refuse(self, id: Id, problem: str | Worded) -> None:
        """Fail a pending request at once because its answer is invalid."""
        self.fail(id, InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=self._waiting[id].method, problem=problem))

    def _drop(self, reason: str) -> None:
        self.dropped = Dropped(self.dropped.messages + 1, reason.rstrip(".")[:_REASON_LENGTH])

    def _answer_unreadable(self, error: RpcError) -> None:
        id = error.id if isinstance(error, InvalidRequest) else None
        self._reply(encode_failure(id, error, self._language))

    def _take(self, message: Message, reply: Callable[[bytes], None]) -> None:
        match message:
            case RpcRequest():
                self._begin(message, reply)
            case Notification():
                self._note(message)
            case RpcResponse(id, result):
                self._settle(id, result, None)
            case Failure(id, error):
                self._settle(id, None, error)

    def _begin(self, request: RpcRequest, reply: Callable[[bytes], None]) -> None:
        if request.id in self._running:
            # Two answers with the same id would be indistinguishable. The first request keeps the id and its answer.
            error = InvalidRequest.of(REQUEST_ID_IN_USE, id=request.id)
        elif len(self._running) >= MAX_RUNNING:
            error = InternalError.of(TOO_MANY_CONCURRENT_REQUESTS, limit=MAX_RUNNING)
        else:
            call = self._running[request.id] = _Call(self, request.method)
            call.task = _start(self._answer(request, reply, call))
            return
        reply(encode_failure(request.id, error, self._language))

    def _begin_call(self, plain: PlainCall) -> bool:
        """Begin a plain tool call, unless something about it has to be refused."""
        id, running = plain.id, self._running
        if id in running or len(running) >= MAX_RUNNING or self._begin_plain is None:
            return False
        if (answer := self._begin_plain(plain)) is None:
            return False
        call = running[id] = _Call(self, "tools/call")
        call.task = _start(self._answer_plain(id, answer, call))
        return True

    async def _answer_plain(self, id: Id, result: Callable[[], Awaitable[bytes]], call: _Call) -> None:
        """As :meth:`_answer`, of which it is the shorter half."""
        try:
            while self._released is not None:
                await self._released.wait()
            answer = encode_answer(id, await result())
        except RpcError as error:
            answer = encode_failure(id, error, self._language)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            answer = encode_failure(id, internal_error(error), self._language)
        finally:
            if not call.cancelled:
                del self._running[id]
        if not call.cancelled:
            self._reply(answer)

    async def _answer(self, request: RpcRequest, reply: Callable[[bytes], None], call: _Call) -> None:
        try:
            while self._released is not None:
                await self._released.wait()
            answer = encode_answer(request.id, await self._handler.on_request(request, call))
        except RpcError as error:
            answer = encode_failure(request.id, error, self._language)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            answer = encode_failure(request.id, internal_error(error), self._language)
        finally:
            if not call.cancelled:  # otherwise it is removed already, and its id may be in use again
                del self._running[request.id]
        if not call.cancelled:
            reply(answer)

    def _note(self, notification: Notification) -> None:
        try:
            self._handler.on_notification(notification)
        except Exception as error:  # noqa: BLE001 - nobody waits for an answer, but the log tells
            internal_error(error)

    def _settle(self, id: Id | None, result: Json, error: RpcError | None) -> None:
        waiting = self._waiting.get(id) if id is not None else None
        if waiting is None:
            self._unmatched(id, error)
        elif waiting.future.done():
            _log.info("dropped a second answer")
        elif error is None:
            waiting.future.set_result(result)
        else:
            waiting.future.set_exception(error)

    def _settle_plain(self, value: Json) -> bool:
        """Settle a pending request by a result with an id and no other member, as nearly every answer is. Returns
        whether it did; everything else takes the longer way, by ``parse``."""
        if not is_object(value) or len(value) != 3 or type(id := value.get("id")) is not int:
            return False
        waiting = self._waiting.get(id)
        if waiting is None or value.get("jsonrpc") != "2.0" or "result" not in value or waiting.future.done():
            return False
        waiting.future.set_result(value["result"])
        return True

    def _unmatched(self, id: Id | None, error: RpcError | None) -> None:
        """Handle an answer that matches no pending request. Fails the one whose id differs in type only."""
        _log.info("dropped an answer that nobody asked for")
        similar = next((waiting for waiting in self._waiting if str(waiting) == id), None)
        if similar is not None:
            self._refuse(similar, Worded(REASON_ID_TYPE_DIFFERS, {"id": id}))
        elif id is None:
            self._drop(f"an error without an id: {error}")
        elif isinstance(id, str) or not 0 < id <= self._last_id:  # otherwise late: its request no longer waits
            self._drop(f"an answer with the id {str(id)[:40]!r}, which no request has")

    def _begin_batch(self, values: list[Json]) -> None:
        if not self._handler.takes_batches:
            raise InvalidRequest.of(BATCH_NOT_SUPPORTED)
        if not values:
            raise InvalidRequest.of(BATCH_EMPTY)
        if len(values) > MAX_BATCH:
            raise InvalidRequest.of(BATCH_TOO_LARGE, limit=MAX_BATCH)
        self._own(_start(self._batch(values)))

    def _own(self, task: asyncio.Task[None]) -> None:
        if not task.done():
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _batch(self, values: list[Json]) -> None:
        """Run every element as if it had arrived alone, and answer with one array (JSON-RPC 2.0, section 6)."""
        answers: list[bytes] = []
        before = set(self._owned())
        for value in values:
            try:
                self._take(parse(value), answers.append)
            except InvalidRequest as error:
                self._misread(error)
                if not error.is_answer:
                    answers.append(encode_failure(error.id, error, self._language))
        running = [task for task in self._owned() if task not in before and task is not asyncio.current_task()]
        if running:
            await asyncio.wait(running)
        if answers:
            self._reply(b"[%b]" % b",".join(answers))

    def refuse(self, error: RpcError) -> None:
        """Report a frame that could not be read."""
        self._unreadable(error)

    def hold(self, hold: bool) -> None:
        """Hold or release requests that have not begun; running requests continue, and cancellations are processed."""
        if self._released is not None:
            self._released.set()
        self._released = asyncio.Event() if hold else None

    def cancel(self, id: Id) -> bool:
        """Cancel the other end's request with this id; it gets no answer. Returns False if it is not running."""
        call = self._running.pop(id, None)
        if call is None:
            return False
        call.cancelled = True
        if call.task is not None:
            self._own(call.task)
            call.task.cancel()
        return True

    def is_asked(self, method: str) -> bool:
        """Whether a request of the other end for this method is waiting or running."""
        return any(call.method == method for call in self._running.values())

    @property
    def is_closed(self) -> bool:
        """Whether this end has closed the connection, or lost it."""
        return self._closed

    def is_asking(self, methods: Collection[str]) -> bool:
        """Whether a request of this end for one of these methods is pending."""
        return any(waiting.method in methods for waiting in self._waiting.values())

    def is_busy(self) -> bool:
        """Whether requests of the other end are running, so that more answers are due."""
        return bool(self._running)

    def _owned(self) -> tuple[asyncio.Task[None], ...]:
        return (*(call.task for call in self._running.values() if call.task is not None), *self._ending)

    def notify(self, method: str, params: Json) -> None:
        if not self._closed:
            self._write(encode_notification(method, params))

    async def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float | None,
        total: float = math.inf,
        send: Callable[[bytes, Id], None] | None = None,
        abandoned: Callable[[Id], None] | None = None,
    ) -> Json:
        """Send a request to the other end and return its result.

        Raises the peer's ``RpcError``, ``RequestTimeout`` after ``timeout`` seconds without a sign of life
        (:meth:`extend_deadline`; ``None``: no limit) or after ``total`` seconds, or ``ConnectionLost``. ``send``
        replaces ``write`` for transports that also need the id. If the wait ends without an answer, ``abandoned`` is
        called with the id, to inform the other end.
        """
        if self._closed:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        self._last_id += 1
        id = self._last_id
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        wait = self._waiting[id] = _Wait(self, method, future, timeout, total)
        if timeout is not None:
            self.patience.start(wait)
        try:
            frame = encode_request(id, method, params)
            send(frame, id) if send is not None else self._write(frame)
            return await future
        except (RequestTimeout, asyncio.CancelledError):
            if abandoned is not None and not self._closed:
                with contextlib.suppress(TransportError):  # a peer that is gone need not be informed
                    abandoned(id)
            raise
        finally:
            self.patience.end(wait)
            del self._waiting[id]

    def awaits(self, id: Id) -> bool:
        """Whether a caller still waits for the answer to this request."""
        waiting = self._waiting.get(id)
        return waiting is not None and not waiting.future.done()

    def extend_deadline(self, id: Id) -> None:
        """Restart the timeout of a request that the other end is working on; the limit ``total`` continues."""
        waiting = self._waiting.get(id)
        if waiting is not None:
            waiting.begin_anew()

    def fail(self, id: Id, error: Exception) -> None:
        """Fail a request for which the transport could not get an answer."""
        waiting = self._waiting.get(id)
        if waiting is not None and not waiting.future.done():
            waiting.future.set_exception(error)

    def lose(self, error: Exception) -> None:
        """Fail all pending requests with ``error`` after the transport has failed."""
        if not self._closed and self._lost is not None:
            self._lost(error)
        self._end(error)

    def _end(self, error: Exception) -> None:
        self._closed = True
        for wait in self._waiting.values():
            if not wait.future.done():
                wait.future.set_exception(error)

    async def drain(self) -> None:
        """Wait until all running tasks have ended."""
        while tasks := self._owned():
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Cancel running tasks, fail pending requests, and return when all tasks have ended."""
        self._end(ConnectionLost.of(CONNECTION_CLOSED))
        tasks = self._owned()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)  # not gather, which could not be cancelled while one of the tasks continues
