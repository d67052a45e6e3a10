"""HTTP/1.1 connections to one origin, kept alive and reused; answers are streamed.

Limited to the needs of an MCP client, because a general HTTP client costs more than the call itself: no redirects,
proxies, cookies, compression or retries. All failures are an ``OSError``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

import httptools

from tooltrue.transport.wording import (
    REASON_ANSWER_NOT_HTTP,
    REASON_CONNECT_TIMEOUT,
    REASON_CONNECTION_CLOSED,
    REASON_HEAD_TOO_LARGE,
    REASON_HEADER_INVALID,
    REASON_NOT_HTTP_URL,
    REASON_UNREQUESTED_ANSWER,
)
from tooltrue.wording import Worded

__all__ = ["Broken", "Connection", "ConnectionPool", "HttpResponse"]

_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 4.0  # shorter than servers keep idle connections open
_MAX_IDLE = 32
_MAX_HEAD_BYTES = 64 * 1024
_UNREAD_BYTES = 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_SAFE = "%/:=&?~#+!$,;'@()*[]"
_END_OF_HEAD = b"\r\n\r\n"
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Broken(ConnectionError):
    """The other end closed the connection too early, or does not speak HTTP."""


class HttpResponse:
    """Status and headers (lower-case names) of an answer; :meth:`parts` reads its body, once."""

    def __init__(self, connection: Connection, status: int, headers: dict[str, str]) -> None:
        self.status = status
        self.headers = headers
        self._connection = connection

    @property
    def peer(self) -> str | None:
        """The IP address of the server."""
        return self._connection.peer

    async def parts(self) -> AsyncIterator[bytes]:
        while (part := await self._connection.part()) is not None:
            yield part


class ConnectionPool:
    """Connections to the origin of ``url``. Raises ``ValueError`` unless it is an http(s) URL with a host."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(Worded(REASON_NOT_HTTP_URL, {}))
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
        self._host, self._port = host, parts.port or _PORTS[parts.scheme]
        self._target = quote(parts.path or "/", safe=_SAFE) + (
            f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
        )
        url_host = f"[{host}]" if ":" in host else host
        self._own = {
            "host": url_host if parts.port is None else f"{url_host}:{parts.port}",
            "accept-encoding": "identity",
        }
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._own["authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: deque[Connection] = deque()

    @contextlib.asynccontextmanager
    async def request(self, verb: str, body: bytes | None, headers: Mapping[str, str]) -> AsyncGenerator[HttpResponse]:
        """Send one request. Its connection is closed at the end unless the whole answer has been read."""
        head = self._head(verb, body, headers)
        connection = self.take_idle() or await self._open()
        try:
            connection.send(head if body is None else head + body)
            yield await connection.answer()
        finally:
            self.give_back(connection)

    @contextlib.asynccontextmanager
    async def answer_on(self, connection: Connection) -> AsyncGenerator[HttpResponse]:
        """The answer to a request that has been sent already; otherwise like :meth:`request`."""
        try:
            yield await connection.answer()
        finally:
            self.give_back(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _head(self, verb: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        fields = self._own | {name.lower(): value for name, value in headers.items()}
        if body is not None:
            fields["content-length"] = str(len(body))
        return self._encoded(verb, fields)

    def head_of_post(self, headers: Mapping[str, str]) -> bytes:
        """The head of a POST with any body, up to the number that is its length. Raises :class:`Broken` for headers
        that cannot be sent."""
        fields = self._own | {name.lower(): value for name, value in headers.items()}
        fields.pop("content-length", None)
        return self._encoded("POST", {**fields, "content-length": ""}).removesuffix(_END_OF_HEAD)

    def _encoded(self, verb: str, fields: Mapping[str, str]) -> bytes:
        for name, value in fields.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise Broken(Worded(REASON_HEADER_INVALID, {"name": name}))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{verb} {self._target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")

    def take_idle(self) -> Connection | None:
        """An open connection without a request, if there is one."""
        oldest = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def _open(self) -> Connection:
        loop = asyncio.get_running_loop()
        name = self._host if self._tls is not None else None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    Connection, self._host, self._port, ssl=self._tls, server_hostname=name
                )
        except TimeoutError:
            raise Broken(Worded(REASON_CONNECT_TIMEOUT, {"seconds": _CONNECT_SECONDS})) from None
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request, or close it unless the whole answer has been read."""
        if connection.can_be_used_again:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
            if len(self._idle) > _MAX_IDLE:
                self._idle.popleft().close()
        else:
            connection.close()


class Connection(asyncio.Protocol):
    """One connection, with one answer at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.on_arrival: Callable[[], None] | None = None
        """Called when more of the answer is there, or the connection is lost."""
        self._lost: Exception | None = None
        self.peer: str | None = None
        self.idle_since = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._has_head = False
        self._parts: deque[bytes] = deque()
        self._unread = 0
        self._is_whole = False
        self._stays_open = False
        self._has_been_asked = False

    # --- calls by the client -----------------------------------------------------------------------------------------

    def send(self, request: bytes) -> None:
        self._begin()
        self._has_been_asked = True
        if self._transport is not None and self.is_open:  # uvloop raises for a closed one; `answer` tells the reason
            self._transport.write(request)

    async def answer(self) -> HttpResponse:
        while not self._has_head:
            await self._more()
        return self._response()

    def answer_so_far(self) -> HttpResponse | None:
        """The answer, if its head is there."""
        return self._response() if self._has_head else None

    @property
    def has_more_to_come(self) -> bool:
        """Whether the rest of the answer comes without being waited for, since little of it is unread."""
        return not self._is_whole and self._lost is None and self._unread <= _UNREAD_BYTES

    @property
    def has_whole_body(self) -> bool:
        """Whether all of a body is there, and nothing of it has been read."""
        return self._is_whole and self._lost is None and 0 < self._unread <= _UNREAD_BYTES

    def whole_body(self) -> bytes:
        """Read the whole body."""
        body = b"".join(self._parts)
        self._parts.clear()
        self._unread = 0
        return body

    def _response(self) -> HttpResponse:
        return HttpResponse(self, self._parser.get_status_code(), self._headers)

    async def part(self) -> bytes | None:
        """The next part of the body; ``None`` at its end."""
        while not self._parts:
            if self._is_whole:
                return None
            await self._more()
        part = self._parts.popleft()
        self._unread -= len(part)
        if self._unread <= _UNREAD_BYTES and self._transport is not None:
            self._transport.resume_reading()
        return part

    async def _more(self) -> None:
        if self._lost is not None:
            raise self._lost
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    @property
    def is_open(self) -> bool:
        return self._lost is None and self._transport is not None and not self._transport.is_closing()

    @property
    def can_be_used_again(self) -> bool:
        return self.is_open and self._stays_open and not self._parts

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- callbacks of the event loop ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        address: Any = transport.get_extra_info("peername")
        self.peer = str(address[0]) if address else None

    def data_received(self, data: bytes) -> None:
        if not self._has_been_asked or self._is_whole:
            self._fail(Broken(Worded(REASON_UNREQUESTED_ANSWER, {})))
            return
        is_body, had = self._has_head, self._unread
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(Broken(Worded(REASON_ANSWER_NOT_HTTP, {"problem": error})))
        if is_body == self._has_head and self._unread == had and not self._is_whole:  # neither body nor its end
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD_BYTES:
                self._fail(Broken(Worded(REASON_HEAD_TOO_LARGE, {})))
        else:
            self._head_bytes = 0
        self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        ends_here = self._has_head and not {"content-length", "transfer-encoding"} & self._headers.keys()
        if ends_here and exc is None:
            self._is_whole = True
        self._fail(Broken(str(exc) if exc else Worded(REASON_CONNECTION_CLOSED, {})))

    def _fail(self, error: Exception) -> None:
        if self._lost is None:
            self._lost = error
        self.close()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        if self.on_arrival is not None:
            self.on_arrival()

    # --- callbacks of the parser -------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._is_whole:  # an answer after the answer: it is dropped, and the connection is not reused
            self._stays_open = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_whole or self._has_head:  # fields after the body (trailers) do not change the headers
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers = self._headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        if self._is_whole:
            return
        self._has_head = self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        if self._is_whole:
            return
        self._parts.append(body)
        self._unread += len(body)
        if self._unread > _UNREAD_BYTES and self._transport is not None:
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._is_whole:
            return
        if self._has_head:
            self._is_whole = True
            self._stays_open = self._parser.should_keep_alive()  # known only at this point
        else:
            self._headers = {}  # 1xx: the final answer is still to come
