"""Streamable HTTP, the client's half: each message is a POST, answered in JSON or by a stream, which httpx2 reads.

A stream of a legacy server that breaks off is taken up again where it stopped (2025-11-25, basic/transports
"Resumability and Redelivery"), no sooner than the server has said.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from toolwright.errors import ConnectionLost, InvalidAnswer, SessionLost, StateError, TransportError
from toolwright.jsonrpc.messages import Id
from toolwright.protocol.headers import METHOD_HEADER
from toolwright.transport.carrier import Authorizer, Receiver, Refusal
from toolwright.transport.http_connection import Answer, Connections
from toolwright.transport.urls import joined
from toolwright.version import __version__

__all__ = ["HttpLink", "HttpStatus", "Place", "Unreadable", "events", "is_stream"]

_SESSION = "mcp-session-id"
_ACCEPT = "application/json, text/event-stream"
_MAX_BYTES = 64 * 1024 * 1024
_LISTEN_SECONDS = 2.0
_CLOSE_SECONDS = 2.0
_TELL_SECONDS = 10.0
_REFUSALS = (401, 403)
_REDIRECTS = (301, 302, 303, 307, 308)
_SHOWN_URL = 500
_PAUSE_SECONDS = 1.0
_SHORTEST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 60.0
_MAX_BREAKS = 5

Unreadable = httpx2.HTTPError
"""A stream of events that is none, or has one that is too large."""

_log = logging.getLogger("toolwright")


class HttpStatus(TransportError):
    """The endpoint refused a message with a status and no JSON-RPC error that would explain it."""

    status: int = 0

    @classmethod
    def by(cls, url: str, answer: Answer, problem: str = "") -> HttpStatus:
        """The refusal that ``answer`` is; a redirect is named with its target."""
        target = _target(url, answer)
        if target:
            error = cls.of("TW5031", url=url, status=answer.status, target=target)
        else:
            error = cls.of("TW5007", url=url, status=answer.status, said=problem and f": {problem}")
        error.status = answer.status
        return error


@dataclass(frozen=True, slots=True)
class Place:
    """A server on HTTP: its URL, the headers that go with every request, and what tells it who asks."""

    url: str
    headers: Mapping[str, str]
    authorize: Authorizer | None = None

    @contextlib.asynccontextmanager
    async def asking(
        self, connections: Connections, method: str, body: bytes | None, headers: Mapping[str, str]
    ) -> AsyncGenerator[Answer]:
        """The answer to one request, which is sent again while ``authorize`` knows what to do about a refusal."""
        for attempt in itertools.count():
            sent = {**self.headers, **headers, **await self.credentials(method)}
            async with connections.request(method, body, sent) as answer:
                if not await self._is_worth_another(answer, sent, attempt):
                    yield answer
                    return

    async def credentials(self, method: str) -> Mapping[str, str]:
        return {} if self.authorize is None else await self.authorize.headers(method)

    async def _is_worth_another(self, answer: Answer, sent: Mapping[str, str], attempt: int) -> bool:
        if self.authorize is None or answer.status not in _REFUSALS:
            return False
        return await self.authorize.challenged(Refusal(answer.status, answer.headers, sent, answer.peer, attempt))


@dataclass(slots=True)
class _Reading:
    """How far an event stream has been read, which is what it takes to go on with it."""

    last: str = ""
    problem: str = ""
    pause: float = _PAUSE_SECONDS
    breaks: int = 0

    def note(self, event: httpx2.ServerSentEvent) -> None:
        if event.retry is not None:
            self.pause = min(max(event.retry / 1000, _SHORTEST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
        if event.id and event.id != self.last:
            self.last, self.breaks = event.id, 0

    async def wait(self) -> None:
        """As long as the server wants; twice as long each time that nothing new has come."""
        self.breaks += 1
        await asyncio.sleep(min(self.pause * 2.0 ** min(self.breaks - 1, 10), _LONGEST_PAUSE_SECONDS))

    @property
    def headers(self) -> dict[str, str]:
        return {"accept": "text/event-stream"} | ({"last-event-id": self.last} if self.last else {})


class _Parts(httpx2.AsyncByteStream):
    """The body of an answer, for who reads its events."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer.parts()


@contextlib.contextmanager
def _forgiven(reading: _Reading) -> Generator[None]:
    """That a stream broke off is no failure, once there is a place at which to go on with it."""
    try:
        yield
    except (OSError, httpx2.HTTPError) as error:
        if not reading.last:
            raise
        _log.info("a stream broke off and is taken up again: %s", error)


def _kind(answer: Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _instead(answer: Answer) -> str:
    """Describe a body that is neither JSON nor an event stream, by its content type."""
    kind = _kind(answer)
    return f"{kind[:100]} came, and no JSON-RPC message" if kind else "nothing came of which the type is said"


def is_stream(answer: Answer) -> bool:
    return answer.status == 200 and _kind(answer) == "text/event-stream"


async def events(answer: Answer, url: str, most: int) -> AsyncIterator[httpx2.ServerSentEvent]:
    """The events of a stream, none of them larger than ``most`` bytes."""
    request = httpx2.Request("GET", url)
    response = httpx2.Response(answer.status, headers=answer.headers, stream=_Parts(answer), request=request)
    async for event in httpx2.EventSource(response, max_event_size=most):
        yield event


def _target(url: str, answer: Answer) -> str:
    """Where a redirect leads, for a person to read; empty where the answer is none, or leads nowhere."""
    location = answer.headers.get("location", "").strip()
    if answer.status not in _REDIRECTS or not location:
        return ""
    with contextlib.suppress(ValueError):
        return joined(url, location)[:_SHOWN_URL]
    return ""


async def _body(answer: Answer) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.parts():
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise ConnectionLost.of("TW5005")
    return b"".join(parts)


class HttpLink:
    """The client's end. ``headers`` go with every request, and so does what ``authorize`` says; the session that a
    legacy server opens is kept here.

    Waiting for an answer is bounded by the request's own timeout, not by the connection's.
    """

    shared = False

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, authorize: Authorizer | None = None
    ) -> None:
        own = {"user-agent": f"toolwright/{__version__}"}
        self.place = Place(url, own | {name.lower(): value for name, value in (headers or {}).items()}, authorize)
        self._url = url
        self._session: str | None = None
        self._named: tuple[Id, str] | None = None  # a request, and the session that its answer has named
        self._standing: asyncio.Task[None] | None = None
        self._tasks: dict[Id | None, set[asyncio.Task[None]]] = {}
        self._receiver: Receiver | None = None
        self._connections: Connections | None = None

    @property
    def key(self) -> str | None:
        return self._url

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        try:
            self._connections = Connections(self._url)
        except ValueError as error:
            raise ConnectionLost.of("TW5006", url=self._url, problem=str(error)) from None

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        self._start(id, self._tell(frame, headers) if id is None else self._post(frame, id, headers, resumable))

    async def flush(self) -> None:
        if told := self._tasks.get(None, set()) - {self._standing}:
            await asyncio.wait(told)

    def last_words(self) -> str:
        return ""

    def opened(self, id: Id) -> None:
        if self._named is not None and self._named[0] == id:
            self._session = self._named[1]

    def renew(self) -> None:
        self._session = self._named = None
        if self._standing is not None:
            self._standing.cancel()

    async def _tell(self, frame: bytes, headers: Mapping[str, str]) -> None:
        """Send what nobody waits for an answer to; a server that does not take it is given up on."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TELL_SECONDS):
                await self._post(frame, None, headers, False)

    def _start(self, id: Id | None, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        tasks = self._tasks.setdefault(id, set())
        tasks.add(task)
        task.add_done_callback(lambda task: self._ended(id, task))
        return task

    def _ended(self, id: Id | None, task: asyncio.Task[None]) -> None:
        tasks = self._tasks[id]
        tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._fail(id, error)  # nobody foresaw it; who waits is told at once
        if not tasks:
            del self._tasks[id]

    async def _post(self, frame: bytes, id: Id | None, headers: Mapping[str, str], resumable: bool) -> None:
        reading, session = _Reading(), self._session
        try:
            with contextlib.ExitStack() as broken:
                if resumable:
                    broken.enter_context(_forgiven(reading))
                async with self._stream(
                    "POST", frame, {"content-type": "application/json", "accept": _ACCEPT, **headers}
                ) as answer:
                    if id is not None and self._session is None and _SESSION in answer.headers:
                        self._named = id, answer.headers[_SESSION]
                    await self._read(answer, id, reading)
            if resumable and id is not None and reading.last:
                await self._resume(id, headers, reading, session)
            if self._awaits(id):
                self._fail(id, self._not_an_answer(reading.problem) if reading.problem else ConnectionLost.of("TW5001"))
        except (TransportError, StateError) as error:
            self._fail(id, error)
        except (OSError, httpx2.HTTPError) as error:
            self._fail(id, ConnectionLost.of("TW5006", url=self._url, problem=str(error) or type(error).__name__))

    async def _resume(self, id: Id, headers: Mapping[str, str], reading: _Reading, session: str | None) -> None:
        """Go on with an answer stream that has broken off, until the answer has come or nothing new comes.

        The place in the stream belongs to the session in which it was opened; another session never sees it.
        """
        while self._receiver is not None and self._receiver.awaits(id):
            if reading.breaks >= _MAX_BREAKS:
                raise ConnectionLost.of("TW5021", count=_MAX_BREAKS)
            await reading.wait()
            if self._session != session:
                raise self._lost_session(refused=False)
            with _forgiven(reading):
                async with self._stream("GET", None, {**headers, **reading.headers}) as answer:
                    if not is_stream(answer):
                        raise self._refused(answer)
                    await self._read_events(answer, reading)

    @contextlib.asynccontextmanager
    async def _stream(self, method: str, body: bytes | None, headers: Mapping[str, str]) -> AsyncGenerator[Answer]:
        """The answer to one request, in the session if there is one."""
        if self._connections is None:
            raise ConnectionLost.of("TW5001")
        session = {} if self._session is None else {_SESSION: self._session}
        async with self.place.asking(self._connections, method, body, {**session, **headers}) as answer:
            # A request that names its method in its head belongs to no session; its 404 is an answer.
            if answer.status == 404 and session and METHOD_HEADER not in headers:
                raise self._lost_session(method == "POST")
            yield answer

    def _lost_session(self, refused: bool) -> SessionLost:
        error = SessionLost.of("TW5020")
        error.refused = refused
        return error

    async def _read(self, answer: Answer, id: Id | None, reading: _Reading) -> None:
        if is_stream(answer):
            await self._read_events(answer, reading)
        elif _kind(answer) == "application/json" and (body := await _body(answer)):
            problem = self._feed(body)
            if self._awaits(id):
                # What was not an answer to this request ends it all the same; nothing more will come.
                self._fail(id, self._not_an_answer(problem) if answer.status < 300 else self._refused(answer, problem))
        elif id is not None or answer.status >= 400:
            self._fail(id, self._refused(answer, _instead(answer) if answer.status < 300 else ""))

    def _awaits(self, id: Id | None) -> bool:
        return id is not None and self._receiver is not None and self._receiver.awaits(id)

    def _refused(self, answer: Answer, problem: str = "") -> HttpStatus:
        return HttpStatus.by(self._url, answer, problem)

    def _not_an_answer(self, problem: str) -> InvalidAnswer:
        return InvalidAnswer.of("TW5030", url=self._url, problem=problem or "it belongs to no request")

    async def _read_events(self, answer: Answer, reading: _Reading) -> None:
        async for event in events(answer, self._url, _MAX_BYTES):
            reading.note(event)
            if event.data and event.event == "message":
                reading.problem = self._feed(event.data.encode()) or reading.problem

    def _feed(self, frame: bytes) -> str:
        """Why the frame was dropped; empty where it was not."""
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
        """Close the stream of a request: to a modern server that is a cancellation."""
        for task in tuple(self._tasks.get(id, ())):
            task.cancel()

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open a legacy session's stream for what belongs to no request. A server need not have one."""
        settled = asyncio.Event()
        self._standing = self._start(None, self._listen(headers, settled))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_SECONDS):
                await settled.wait()

    async def _listen(self, headers: Mapping[str, str], settled: asyncio.Event) -> None:
        """Read that stream for as long as the session lives; where it breaks off, it is taken up again, or opened anew
        where there is no place to go on from: nobody else would notice that it has gone."""
        reading = _Reading()
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
        """End every stream, and the legacy session if there is one."""
        connections, self._connections = self._connections, None
        for tasks in tuple(self._tasks.values()):
            for task in tuple(tasks):
                task.cancel()
        await asyncio.gather(*(task for tasks in self._tasks.values() for task in tasks), return_exceptions=True)
        if connections is not None:
            try:
                # Whether the server is told of the end of its session, and what it says to it, is nobody's concern.
                with contextlib.suppress(OSError, TransportError, StateError):
                    if self._session is not None:
                        await self._end_session(connections, self._session)
            finally:
                connections.close()

    async def _end_session(self, connections: Connections, session: str) -> None:
        self._session = None
        async with asyncio.timeout(_CLOSE_SECONDS):
            headers = {**self.place.headers, _SESSION: session, **await self.place.credentials("DELETE")}
            async with connections.request("DELETE", None, headers):
                pass
