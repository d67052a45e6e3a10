"""The client of Streamable HTTP: each message is a POST, answered with JSON or an event stream.

An interrupted stream of a session-based server is resumed where it stopped (2025-11-25, basic/transports
"Resumability and Redelivery"), no sooner than the server allows.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import itertools
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tooltrue.errors import ConnectionLost, InvalidAnswer, SessionLost, StateError, TransportError, fact_of
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.protocol.headers import METHOD_HEADER, PARAM_PREFIX
from tooltrue.transport.carrier import Authorizer, Receiver, Refusal
from tooltrue.transport.http_connection import Broken, Connection, ConnectionPool, HttpResponse
from tooltrue.transport.lines import LINES_PER_SECOND, InputPace
from tooltrue.transport.urls import joined, shown_url
from tooltrue.transport.wording import (
    HTTP_ERROR_STATUS,
    REASON_OF_NO_REQUEST,
    REDIRECT_NOT_FOLLOWED,
    RESPONSE_STREAM_UNSTABLE,
    RESPONSE_TO_OTHER_REQUEST,
    SERVER_LINE_TOO_LONG,
    SERVER_UNREACHABLE,
    SESSION_ENDED_BY_SERVER,
)
from tooltrue.version import __version__
from tooltrue.wording import Worded

if TYPE_CHECKING:
    from tooltrue.transport.event_streams import StreamEvent

__all__ = ["HttpLink", "HttpStatus", "HttpTarget", "is_stream"]

_SESSION = "mcp-session-id"
_ACCEPT = "application/json, text/event-stream"
_MAX_BYTES = 64 * 1024 * 1024
_LISTEN_SECONDS = 2.0
_CLOSE_SECONDS = 2.0
_TELL_SECONDS = 10.0
_NO_CREDENTIALS: Mapping[str, str] = {}
_REFUSALS = (401, 403)
_REDIRECTS = (301, 302, 303, 307, 308)
_SHOWN_URL = 500
_PAUSE_SECONDS = 1.0
_SHORTEST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 60.0
_MAX_BREAKS = 5
_MAX_HEADS = 256
_MAX_HEAD_BYTES = 4_096

_log = logging.getLogger("tooltrue")


class HttpStatus(TransportError):
    """The endpoint refused a message with a status, and without a JSON-RPC error that would explain it."""

    status: int = 0

    @classmethod
    def by(cls, url: str, answer: HttpResponse, problem: str = "") -> HttpStatus:
        """The error for the refusal ``answer``. A redirect is named with its target."""
        target = _target(url, answer)
        if target:
            error = cls.of(REDIRECT_NOT_FOLLOWED, url=shown_url(url), status=answer.status, target=target)
        else:
            error = cls.of(HTTP_ERROR_STATUS, url=shown_url(url), status=answer.status, said=problem and f": {problem}")
        error.status = answer.status
        return error


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """A server on HTTP: its URL, the headers of every request, and the authorizer, if any."""

    url: str
    headers: Mapping[str, str]
    authorize: Authorizer | None = None

    @contextlib.asynccontextmanager
    async def response(
        self, connections: ConnectionPool, method: str, body: bytes | None, headers: Mapping[str, str], first: int = 0
    ) -> AsyncGenerator[HttpResponse]:
        """The answer to one request. The request is repeated as long as ``authorize`` can handle the refusal; ``first``
        attempts have been made."""
        for attempt in itertools.count(first):
            sent = {**self.headers, **headers, **await self.credentials(method)}
            async with connections.request(method, body, sent) as answer:
                if not await self.is_worth_another(answer, sent, attempt):
                    yield answer
                    return

    async def credentials(self, method: str) -> Mapping[str, str]:
        return {} if self.authorize is None else await self.authorize.headers(method)

    def ready(self) -> Mapping[str, str] | None:
        """The credentials of a POST, if they are known without waiting."""
        return _NO_CREDENTIALS if self.authorize is None else self.authorize.ready()

    async def is_worth_another(self, answer: HttpResponse, sent: Mapping[str, str], attempt: int) -> bool:
        if self.authorize is None or answer.status not in _REFUSALS:
            return False
        return await self.authorize.challenged(Refusal(answer.status, answer.headers, sent, answer.peer, attempt))


@dataclass(slots=True)
class _StreamPosition:
    """The position in an event stream, as needed to resume it."""

    last: str = ""
    problem: str = ""
    pause: float = _PAUSE_SECONDS
    breaks: int = 0

    def note(self, event: StreamEvent) -> None:
        if event.retry is not None:
            self.pause = min(max(event.retry / 1000, _SHORTEST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
        if event.id and event.id != self.last:
            self.last, self.breaks = event.id, 0

    async def wait(self) -> None:
        """Wait as long as the server asks, and twice as long after each attempt that brought no new event."""
        self.breaks += 1
        await asyncio.sleep(min(self.pause * 2.0 ** min(self.breaks - 1, 10), _LONGEST_PAUSE_SECONDS))

    @property
    def headers(self) -> dict[str, str]:
        return {"accept": "text/event-stream"} | ({"last-event-id": self.last} if self.last else {})


@contextlib.contextmanager
def _forgiven(reading: _StreamPosition) -> Generator[None]:
    """Ignore the loss of a stream that has reached a point from which it can be resumed."""
    try:
        yield
    except OSError as error:
        if not reading.last:
            raise
        _log.info("a stream broke off and is taken up again: %s", error)


def _kind(answer: HttpResponse) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _instead(answer: HttpResponse) -> str:
    """Describe a body that is neither JSON nor an event stream, by its content type."""
    kind = _kind(answer)
    return f"{kind[:100]} came, and no JSON-RPC message" if kind else "nothing came of which the type is said"


def _is_plain(answer: HttpResponse) -> bool:
    """Whether an answer is one JSON-RPC message and no more."""
    return answer.status == 200 and _kind(answer) == "application/json" and _SESSION not in answer.headers


def is_stream(answer: HttpResponse) -> bool:
    return answer.status == 200 and _kind(answer) == "text/event-stream"


def _target(url: str, answer: HttpResponse) -> str:
    """The target of a redirect, for a person to read; empty if there is none."""
    location = answer.headers.get("location", "").strip()
    if answer.status not in _REDIRECTS or not location:
        return ""
    with contextlib.suppress(ValueError):
        return joined(url, location)[:_SHOWN_URL]
    return ""


async def _body(answer: HttpResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.parts():
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise ConnectionLost.of(SERVER_LINE_TOO_LONG)
    return b"".join(parts)


class HttpLink:
    """The client's end. Every request carries ``headers`` and the credentials from ``authorize``; the id of a session
    that a session-based server opens is kept here.

    The wait for an answer is limited by the request's timeout, not by the connection's.
    """

    shared = False

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, authorize: Authorizer | None = None
    ) -> None:
        own = {"user-agent": f"tooltrue/{__version__}"}
        self.target = HttpTarget(url, own | {name.lower(): value for name, value in (headers or {}).items()}, authorize)
        self._url = url
        self._session: str | None = None
        self._named: tuple[Id, str] | None = None  # a request, and the session id in its answer
        self._get_stream: asyncio.Task[None] | None = None
        self._tasks: dict[Id | None, set[asyncio.Task[None]]] = {}
        self._plain: dict[Id, Connection] = {}  # requests whose connection is in the hands of no task
        self._heads: dict[tuple[tuple[str, str], ...], bytes] = {}
        self._receiver: Receiver | None = None
        self._connections: ConnectionPool | None = None
        self._pace = InputPace(LINES_PER_SECOND)

    @property
    def key(self) -> str | None:
        return self._url

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        try:
            self._connections = ConnectionPool(self._url)
        except ValueError as error:
            raise ConnectionLost.of(SERVER_UNREACHABLE, url=shown_url(self._url), problem=fact_of(error)) from None

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        if id is None:
            self._start(None, self._post_notification(frame, headers))
        elif resumable or not self._send_plain(frame, id, headers):
            self._start(id, self._post(frame, id, headers, resumable))

    def _send_plain(self, frame: bytes, id: Id, headers: Mapping[str, str]) -> bool:
        """Send a request on an idle connection, without a task. Returns whether it was sent: not without such a
        connection, nor in a session, nor if its credentials have to be waited for."""
        connections = self._connections
        if connections is None or self._session is not None or (credentials := self.target.ready()) is None:
            return False
        sent = {**headers, **credentials} if credentials else headers
        try:
            head = self._head(connections, sent)
        except Broken:
            return False
        connection = connections.take_idle()
        if connection is None:
            return False
        self._plain[id] = connection
        # All that the answer causes runs in the context of the caller, as it would in a task.
        context = contextvars.copy_context()
        rest = functools.partial(self._rest, connections, connection, frame, headers, sent)
        connection.on_arrival = lambda: context.run(self._arrived, connections, connection, id, rest)
        connection.send(b"%b%d\r\n\r\n%b" % (head, len(frame), frame))
        return True

    def _head(self, connections: ConnectionPool, headers: Mapping[str, str]) -> bytes:
        """The head of a POST up to its length. It is remembered, unless it repeats arguments of a call."""
        key = tuple(headers.items())
        head = self._heads.get(key)
        if head is None:
            kinds = {"content-type": "application/json", "accept": _ACCEPT}
            head = connections.head_of_post({**self.target.headers, **kinds, **headers})
            if len(head) <= _MAX_HEAD_BYTES and not any(name.startswith(PARAM_PREFIX) for name in headers):
                if len(self._heads) >= _MAX_HEADS:
                    self._heads.clear()
                self._heads[key] = head
        return head

    def _arrived(
        self,
        connections: ConnectionPool,
        connection: Connection,
        id: Id,
        rest: Callable[[], AbstractAsyncContextManager[HttpResponse]],
    ) -> None:
        """Pass on the answer to a request without a task once all of it is there. A task reads any but a plain one,
        from ``rest``."""
        answer = connection.answer_so_far()
        is_plain = answer is None or _is_plain(answer)
        if is_plain and connection.has_more_to_come:
            return
        connection.on_arrival = None
        if id not in self._plain:  # given up
            return
        if not (is_plain and connection.has_whole_body):
            self._start(id, self._receive_rest(rest(), id))
            return
        del self._plain[id]
        body = connection.whole_body()
        connections.give_back(connection)
        problem = self._feed(body)
        if self._awaits(id):  # the only response to the request does not answer it
            self._fail(id, self._not_an_answer(problem))

    async def flush(self) -> None:
        if sending := self._tasks.get(None, set()) - {self._get_stream}:
            await asyncio.wait(sending)

    def last_words(self) -> str:
        return ""

    def opened(self, id: Id) -> None:
        if self._named is not None and self._named[0] == id:
            self._session = self._named[1]

    def renew(self) -> None:
        self._session = self._named = None
        if self._get_stream is not None:
            self._get_stream.cancel()

    async def _post_notification(self, frame: bytes, headers: Mapping[str, str]) -> None:
        """Send a message that has no answer; give up on a server that does not accept it in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TELL_SECONDS):
                await self._post(frame, None, headers, False)

    def _start(self, id: Id | None, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        tasks = self._tasks.setdefault(id, set())
        tasks.add(task)
        task.add_done_callback(lambda task: self._task_done(id, task))
        return task

    def _task_done(self, id: Id | None, task: asyncio.Task[None]) -> None:
        tasks = self._tasks[id]
        tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._fail(id, error)  # unexpected: the waiting caller is informed at once
        if not tasks:
            del self._tasks[id]

    async def _receive_rest(self, response: AbstractAsyncContextManager[HttpResponse], id: Id) -> None:
        del self._plain[id]  # not before: a task that is cancelled before it begins closes no connection
        await self._receive(response, id, {}, False)

    @contextlib.asynccontextmanager
    async def _rest(
        self,
        connections: ConnectionPool,
        connection: Connection,
        frame: bytes,
        headers: Mapping[str, str],
        sent: Mapping[str, str],
    ) -> AsyncGenerator[HttpResponse]:
        """The answer to a request that was sent with the headers ``sent``, or to its repetition with other
        credentials."""
        async with connections.answer_on(connection) as answer:
            if not await self.target.is_worth_another(answer, {**self.target.headers, **sent}, 0):
                yield answer
                return
        kinds = {"content-type": "application/json", "accept": _ACCEPT}
        async with self.target.response(connections, "POST", frame, {**kinds, **headers}, 1) as answer:
            yield answer

    async def _post(self, frame: bytes, id: Id | None, headers: Mapping[str, str], resumable: bool) -> None:
        kinds = {"content-type": "application/json", "accept": _ACCEPT}
        await self._receive(self._stream("POST", frame, {**kinds, **headers}), id, headers, resumable)

    async def _receive(
        self,
        response: AbstractAsyncContextManager[HttpResponse],
        id: Id | None,
        headers: Mapping[str, str],
        resumable: bool,
    ) -> None:
        reading, session = _StreamPosition(), self._session
        try:
            with contextlib.ExitStack() as broken:
                if resumable:
                    broken.enter_context(_forgiven(reading))
                async with response as answer:
                    if id is not None and self._session is None and _SESSION in answer.headers:
                        self._named = id, answer.headers[_SESSION]
                    await self._read(answer, id, reading)
            if resumable and id is not None and reading.last:
                await self._resume(id, headers, reading, session)
            if self._awaits(id):
                self._fail(
                    id,
                    self._not_an_answer(reading.problem) if reading.problem else ConnectionLost.of(CONNECTION_CLOSED),
                )
        except (TransportError, StateError) as error:
            self._fail(id, error)
        except OSError as error:
            self._fail(id, ConnectionLost.of(SERVER_UNREACHABLE, url=shown_url(self._url), problem=fact_of(error)))

    async def _resume(self, id: Id, headers: Mapping[str, str], reading: _StreamPosition, session: str | None) -> None:
        """Resume an interrupted answer stream until the answer has come, or repeated attempts bring no new event.

        The position in the stream belongs to the session in which it was opened; it is never sent to another session.
        """
        while self._receiver is not None and self._receiver.awaits(id):
            if reading.breaks >= _MAX_BREAKS:
                raise ConnectionLost.of(RESPONSE_STREAM_UNSTABLE, count=_MAX_BREAKS)
            await reading.wait()
            if self._session != session:
                raise self._lost_session(refused=False)
            with _forgiven(reading):
                async with self._stream("GET", None, {**headers, **reading.headers}) as answer:
                    if not is_stream(answer):
                        raise self._refused(answer)
                    await self._read_events(answer, reading)

    @contextlib.asynccontextmanager
    async def _stream(
        self, method: str, body: bytes | None, headers: Mapping[str, str]
    ) -> AsyncGenerator[HttpResponse]:
        """The answer to one request, sent with the session id if there is one."""
        if self._connections is None:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        session = {} if self._session is None else {_SESSION: self._session}
        async with self.target.response(self._connections, method, body, {**session, **headers}) as answer:
            # A request with the method header belongs to no session; its 404 is an answer.
            if answer.status == 404 and session and METHOD_HEADER not in headers:
                raise self._lost_session(method == "POST")
            yield answer

    def _lost_session(self, refused: bool) -> SessionLost:
        error = SessionLost.of(SESSION_ENDED_BY_SERVER)
        error.refused = refused
        return error

    async def _read(self, answer: HttpResponse, id: Id | None, reading: _StreamPosition) -> None:
        if is_stream(answer):
            await self._read_events(answer, reading)
        elif _kind(answer) == "application/json" and (body := await _body(answer)):
            problem = self._feed(body)
            if self._awaits(id):
                # A response that does not answer this request ends it all the same: it is the only one.
                self._fail(id, self._not_an_answer(problem) if answer.status < 300 else self._refused(answer, problem))
        elif id is not None or answer.status >= 400:
            self._fail(id, self._refused(answer, _instead(answer) if answer.status < 300 else ""))

    def _awaits(self, id: Id | None) -> bool:
        return id is not None and self._receiver is not None and self._receiver.awaits(id)

    def _refused(self, answer: HttpResponse, problem: str = "") -> HttpStatus:
        return HttpStatus.by(self._url, answer, problem)

    def _not_an_answer(self, problem: str) -> InvalidAnswer:
        return InvalidAnswer.of(
            RESPONSE_TO_OTHER_REQUEST, url=shown_url(self._url), problem=problem or Worded(REASON_OF_NO_REQUEST, {})
        )

    async def _read_events(self, answer: HttpResponse, reading: _StreamPosition) -> None:
        from tooltrue.transport.event_streams import events  # noqa: PLC0415 - few answers are streams

        async for event in events(answer, self._url, _MAX_BYTES, self._pace):
            reading.note(event)
            if event.data and event.event == "message":
                reading.problem = self._feed(event.data.encode()) or reading.problem

    def _feed(self, frame: bytes) -> str:
        """Pass on a frame; return the reason if it was dropped, else an empty string."""
        if self._receiver is None:
            return ""
        before = self._receiver.dropped.messages
        self._receiver.feed(frame)
        dropped = self._receiver.dropped
        return dropped.last if dropped.messages > before else ""

    def _fail(self, id: Id | None, error: Exception) -> None:
        if self._receiver is not None and id is not None:
            self._receiver.fail(id, error)

    def abandon(self, id: Id) -> None:
        """Close the stream of a request; a stateless server takes that as a cancellation."""
        if (connection := self._plain.pop(id, None)) is not None:
            connection.close()
        for task in tuple(self._tasks.get(id, ())):
            task.cancel()

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the stream of a session for messages outside of requests. A server need not offer one."""
        settled = asyncio.Event()
        self._get_stream = self._start(None, self._listen(headers, settled))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_SECONDS):
                await settled.wait()

    async def _listen(self, headers: Mapping[str, str], settled: asyncio.Event) -> None:
        """Read that stream while the session lives. If it is interrupted, resume it, or open it anew if no position is
        known: its loss would not be noticed elsewhere."""
        reading = _StreamPosition()
        while True:
            try:
                async with self._stream("GET", None, {**headers, **reading.headers}) as answer:
                    settled.set()
                    if not is_stream(answer):
                        return
                    await self._read_events(answer, reading)
            except TransportError as error:
                _log.info("no stream for notifications: %s", error)
                return
            except Exception as error:  # noqa: BLE001 - of the carrier, or of a store of credentials; it may pass
                _log.warning("the stream for notifications broke off and is opened again: %s", error)
            finally:
                settled.set()
            await reading.wait()

    async def close(self) -> None:
        """Close every stream, and end the session if there is one."""
        connections, self._connections = self._connections, None
        for id in tuple(self._plain):
            self.abandon(id)
        for tasks in tuple(self._tasks.values()):
            for task in tuple(tasks):
                task.cancel()
        await asyncio.gather(*(task for tasks in self._tasks.values() for task in tasks), return_exceptions=True)
        if connections is not None:
            try:
                # Ending the session is best effort: neither its failure nor the server's answer matters.
                with contextlib.suppress(OSError, TransportError, StateError):
                    if self._session is not None:
                        await self._end_session(connections, self._session)
            finally:
                connections.close()

    async def _end_session(self, connections: ConnectionPool, session: str) -> None:
        self._session = None
        async with asyncio.timeout(_CLOSE_SECONDS):
            headers = {**self.target.headers, _SESSION: session, **await self.target.credentials("DELETE")}
            async with connections.request("DELETE", None, headers):
                pass
