"""The client of HTTP+SSE: the transport of 2024-11-05, which is the only one of many servers.

One stream carries all messages of the server; its first event names the URL to post messages to. That URL must be of
the server's own origin, because the headers and tokens of the requests are sent there too. Streams are not resumed: the
session ends with its stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

from tooltrue.errors import ConnectionLost, StateError, TransportError, fact_of
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.transport.carrier import Receiver
from tooltrue.transport.http_client import HttpStatus, HttpTarget, is_stream
from tooltrue.transport.http_connection import ConnectionPool, HttpResponse
from tooltrue.transport.lines import LINES_PER_SECOND, InputPace
from tooltrue.transport.urls import joined, origin_of, shown_url
from tooltrue.transport.wording import (
    REASON_ENDPOINT_CHARACTERS,
    REASON_ENDPOINT_TOO_LONG,
    REASON_ENDPOINT_WITHOUT_HOST,
    REASON_OTHER_ORIGIN,
    REASON_SECOND_ENDPOINT,
    SERVER_UNREACHABLE,
    SSE_ENDPOINT_REFUSED,
    SSE_ENDPOINT_TIMEOUT,
    SSE_STREAM_ENDED,
)
from tooltrue.wording import REASON_EMPTY, Worded

__all__ = ["SseLink", "endpoint_of"]

_ENDPOINT_SECONDS = 10.0
_TELL_SECONDS = 10.0
_MAX_EVENT = 16 * 1024 * 1024
_MAX_BEFORE = 100
_MAX_URL = 4_096

_log = logging.getLogger("tooltrue")


class SseLink:
    """The client's end. ``place`` has the URL of the stream; ``seconds`` limit the wait for its first event."""

    shared = True

    def __init__(self, target: HttpTarget, *, seconds: float = _ENDPOINT_SECONDS) -> None:
        self._target = target
        self._seconds = seconds
        self._receiver: Receiver | None = None
        self._stream: ConnectionPool | None = None
        self._posts: ConnectionPool | None = None
        self._reading: asyncio.Task[None] | None = None
        self._pace = InputPace(LINES_PER_SECOND)
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling: set[asyncio.Task[None]] = set()

    @property
    def key(self) -> str | None:
        return None  # a URL is cached with the findings of Streamable HTTP only

    async def open(self, receiver: Receiver) -> None:
        """Open the stream, and return once the server has named the endpoint."""
        self._receiver = receiver
        try:
            self._stream = ConnectionPool(self._target.url)
        except ValueError as error:
            raise self._unreachable(error) from None
        named: asyncio.Future[ConnectionPool] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.get_running_loop().create_task(self._read(self._stream, receiver, named))
        try:
            async with asyncio.timeout(self._seconds):
                self._posts = await named
        except TimeoutError:
            await self.close()
            raise ConnectionLost.of(
                SSE_ENDPOINT_TIMEOUT, url=shown_url(self._target.url), seconds=self._seconds
            ) from None
        except BaseException:
            await self.close()
            raise

    async def _read(self, stream: ConnectionPool, receiver: Receiver, named: asyncio.Future[ConnectionPool]) -> None:
        """Read the stream to its end, which ends the connection. ``named`` gets the POST connections or an error."""
        try:
            await self._listen(stream, receiver, named)
            lost: Exception = ConnectionLost.of(SSE_STREAM_ENDED, url=shown_url(self._target.url))
        except (TransportError, StateError) as error:
            lost = error
        except OSError as error:
            lost = self._unreachable(error)
        if named.done():
            receiver.lose(lost)
        else:
            named.set_exception(lost)

    async def _listen(self, stream: ConnectionPool, receiver: Receiver, named: asyncio.Future[ConnectionPool]) -> None:
        headers = {"accept": "text/event-stream"}
        async with self._target.response(stream, "GET", None, headers) as answer:
            if not is_stream(answer):
                raise HttpStatus.by(self._target.url, answer)
            await self._dispatch(answer, receiver, named)

    async def _dispatch(self, answer: HttpResponse, receiver: Receiver, named: asyncio.Future[ConnectionPool]) -> None:
        endpoint, before = "", 0
        from tooltrue.transport.event_streams import events  # noqa: PLC0415 - few servers have this transport

        async for event in events(answer, self._target.url, _MAX_EVENT, self._pace):
            if event.event == "endpoint":
                endpoint = self._named_once(endpoint, event.data)
                if not named.done():
                    named.set_result(ConnectionPool(endpoint))
            elif not endpoint:  # no request has been sent yet
                before += 1
                if before > _MAX_BEFORE:
                    raise ConnectionLost.of(
                        SSE_ENDPOINT_TIMEOUT, url=shown_url(self._target.url), seconds=self._seconds
                    )
            elif event.event == "message" and event.data:
                receiver.feed(event.data.encode())

    def _named_once(self, before: str, reference: str) -> str:
        """The endpoint. It is named once: a different one later would move an open session."""
        endpoint = endpoint_of(self._target.url, reference)
        if before and endpoint != before:
            raise ConnectionLost.of(
                SSE_ENDPOINT_REFUSED,
                url=shown_url(self._target.url),
                endpoint=_quoted(reference),
                problem=Worded(REASON_SECOND_ENDPOINT, {}),
            )
        return endpoint

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        if self._posts is None or self._reading is None or self._reading.done():
            raise ConnectionLost.of(CONNECTION_CLOSED)
        task = self._start(
            self._post_notification(self._posts, frame) if id is None else self._ask(self._posts, frame, id)
        )
        if id is None:
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _ask(self, posts: ConnectionPool, frame: bytes, id: Id) -> None:
        """Post a request; its answer arrives on the stream."""
        try:
            await self._post(posts, frame)
        except Exception as error:  # noqa: BLE001 - whoever waits for the answer is told
            if self._receiver is not None:
                self._receiver.fail(id, error if isinstance(error, TransportError) else self._unreachable(error))

    async def _post_notification(self, posts: ConnectionPool, frame: bytes) -> None:
        """Post a message that has no answer; give up on a server that does not accept it in time."""
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                await self._post(posts, frame)
        except Exception as error:  # noqa: BLE001 - of the server, the connection, or a store of credentials
            _log.info("a message that has no answer could not be posted: %s", error)

    async def _post(self, posts: ConnectionPool, frame: bytes) -> None:
        async with self._target.response(posts, "POST", frame, {"content-type": "application/json"}) as answer:
            if not 200 <= answer.status < 300:
                raise HttpStatus.by(self._target.url, answer)

    async def flush(self) -> None:
        if self._telling:
            await asyncio.wait(self._telling)

    def last_words(self) -> str:
        return ""

    def opened(self, id: Id) -> None:
        """No-op: the stream is the session."""

    def renew(self) -> None:
        """No-op: a session lives as long as its stream."""

    def abandon(self, id: Id) -> None:
        """No-op: on a shared channel the client cancels by sending a notification."""

    async def listen(self, headers: Mapping[str, str]) -> None:
        """No-op: all messages arrive on the one stream."""

    async def close(self) -> None:
        """Close the stream, and with it the session."""
        reading, self._reading = self._reading, None
        tasks = [*self._tasks, *([] if reading is None else [reading])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for connections in (self._stream, self._posts):
            if connections is not None:
                connections.close()
        self._stream = self._posts = None

    def _unreachable(self, error: Exception) -> ConnectionLost:
        return ConnectionLost.of(SERVER_UNREACHABLE, url=shown_url(self._target.url), problem=fact_of(error))


def endpoint_of(url: str, reference: str) -> str:
    """The URL for posting, as named by the server at ``url``. ``ConnectionLost`` if it is of another origin."""
    base = urlsplit(url)
    bare = base._replace(netloc=base.netloc.rpartition("@")[2]).geturl()
    problem = _fault(reference)
    if problem is None:
        problem = Worded(REASON_OTHER_ORIGIN, {"url": bare})
        with contextlib.suppress(ValueError):
            endpoint = joined(bare, reference)
            if origin_of(endpoint) == origin_of(joined(bare, "")):
                # With the host as the operator wrote it, and the user name before it.
                return urlsplit(endpoint)._replace(netloc=base.netloc).geturl()
    raise ConnectionLost.of(SSE_ENDPOINT_REFUSED, url=bare, endpoint=_quoted(reference), problem=problem)


def _fault(reference: str) -> Worded | None:
    """The reason to refuse a reference before it is resolved; ``None`` if there is none."""
    if not reference.strip():
        return Worded(REASON_EMPTY, {})
    if len(reference) > _MAX_URL:
        return Worded(REASON_ENDPOINT_TOO_LONG, {})
    if not reference.isascii() or any(sign <= " " or sign in "\x7f\\" for sign in reference):
        return Worded(REASON_ENDPOINT_CHARACTERS, {})
    with contextlib.suppress(ValueError):
        parts = urlsplit(reference)
        # Parsers of URLs disagree on these: some take the first path segment for the host.
        if not parts.netloc and (parts.scheme or reference.startswith("//")):
            return Worded(REASON_ENDPOINT_WITHOUT_HOST, {})
    return None


def _quoted(text: str) -> str:
    return repr(text[:200])
