"""The connections of an HTTP server: httptools parses the requests, an ASGI application answers them.

uvicorn accepts the connections, and ends them with the server; the class of its connections is :class:`HttpProtocol`.
A response is written in one piece where it can be. There are limits on the size of a request head or a trailer, on the
time that a head takes to arrive, on the requests that wait for the one before them, and on the time in which a client
reads nothing of its response. An HTTP/1.0 client gets no chunks. No connection is upgraded.

Clients repeat the head of their requests: on one connection, only its Content-Length changes. A head that was parsed
and accepted is remembered with its connection, and when the same bytes come again, neither the head is parsed again nor
are the checks made again that look at nothing else (:class:`RemembersHeads`).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable
from urllib.parse import unquote

import httptools

from tooltrue.transport.http_server import UNTIL_CLOSE, Answerer, Event, Receive, Scope, Send

__all__ = ["HEAD_BYTES", "AsgiApp", "Connections", "HttpExchange", "HttpProtocol", "RemembersHeads", "ServerState"]

_HEAD_SECONDS = 10.0
_READ_SECONDS = 30.0
HEAD_BYTES = 65_536
_REQUEST_LINE_BYTES = len("GET  HTTP/1.1\r\n")
_FIELD_BYTES = len(": \r\n")
_MAX_UNREAD = 65_536  # bytes of a body that wait for the application before the connection is paused
_MAX_JOINED = 65_536  # bytes of a body that are copied to be written with the head
_MAX_QUEUED = 100
_MAX_KNOWN = 32
_MAX_KNOWN_BYTES = 2_048
_MAX_KNOWN_FIELDS = 40  # a field of four bytes takes 100 in memory
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ([0-9]{1,9})\r\n")
_NO_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_INVALID = b"Invalid HTTP request received."

_log = logging.getLogger("uvicorn.error")  # the log of the server whose connections these are

AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


@runtime_checkable
class RemembersHeads(Protocol):
    """An ASGI application that answers requests with a known head without looking at it again."""

    def answerer(self, scope: Scope) -> Answerer | None:
        """Return the function that answers requests with this head, whatever their length; ``None`` if the head does
        not pass all checks. Such a request has the whole of its body."""
        ...


class Connections(Protocol):
    """Admits connections, up to a limit."""

    def enter(self, transport: asyncio.Transport) -> str | None:
        """Admit a connection; the result is for :meth:`leave`. ``None``: it was refused, and has another protocol."""
        ...

    def leave(self, caller: str) -> None: ...


class ServerState(Protocol):
    """The state that uvicorn shares with its connections. ``default_headers`` is replaced, never changed."""

    total_requests: int
    connections: set[Any]
    tasks: set[asyncio.Task[None]]
    default_headers: list[tuple[bytes, bytes]]


class _StopParser(Exception):
    """Ends the connection: with 400, unless it is closed already."""


class HttpProtocol(asyncio.Protocol):
    """One connection. Its requests are answered one after the other, in order; between two of them, it stays open for
    ``keep_alive`` seconds."""

    def __init__(
        self,
        admission: Connections,
        app: AsgiApp,
        state: ServerState,
        *,
        keep_alive: float,
        app_state: dict[str, Any],
        root_path: str = "",
    ) -> None:
        self.state = state
        self.write: Callable[[bytes], None]
        self.is_write_paused = False
        self.client: tuple[str, int] | None = None
        self._admission = admission
        self._app = app
        self._keep_alive = keep_alive
        self._app_state = app_state
        self._root_path = root_path
        self._loop = asyncio.get_running_loop()
        self._caller: str | None = None
        self._transport: asyncio.Transport
        self._context: Context
        self._server: tuple[str, int | None] | None = None
        self._is_read_paused = False
        self._writable = asyncio.Event()
        # The parser, its request, and the limits on a head.
        self._parser: Any = httptools.HttpRequestParser(self)
        # A request behind one that asks to close is invalid: it must not spoil the answer to that one.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._is_between = True  # outside of a request: what comes next is the beginning of a head
        self._url = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._in_head = True
        self._head_size = 0  # bytes of a head, in the fields parsed so far
        self._received = 0  # bytes of an unfinished head or trailer
        self._has_body = False  # this piece has a part of a body, or the end of a request
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        # The unfinished exchanges: the first one runs, the last one is being received.
        self._exchanges: deque[HttpExchange] = deque()
        self._to_start: HttpExchange | None = None
        self._idle_since: float | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._known: dict[bytes, Answerer] = {}
        self._status_of: list[tuple[bytes, bytes]] = []
        self._status = b""

    # -- the connection ------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._caller = self._admission.enter(transport)
        if self._caller is None:
            return
        self._transport = transport
        self.write = transport.write
        self.client = _address(transport.get_extra_info("peername"))
        self._server = _address(transport.get_extra_info("sockname"))
        self._context = copy_context()
        self.state.connections.add(self)
        self._head_timer = self._loop.call_later(_HEAD_SECONDS, self.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._caller is None:
            return
        self._admission.leave(self._caller)
        self.state.connections.discard(self)
        for timer in (self._head_timer, self._idle_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        for exchange in self._exchanges:
            exchange.disconnect()
        self._known.clear()
        self.resume_writing()
        self._parser = None  # it refers to this object

    def shutdown(self) -> None:
        """End the connection, after the requests that it has received."""
        if self._exchanges:
            self._exchanges[-1].keep_alive = False
        else:
            self.close()

    def pause_writing(self) -> None:
        self.is_write_paused = True
        self._writable.clear()
        self._watch_reader()

    def resume_writing(self) -> None:
        self.is_write_paused = False
        self._writable.set()
        if self._read_timer is not None and not self.is_closing:
            self._read_timer.cancel()
            self._read_timer = None

    async def drained(self) -> None:
        """Wait until the client has read enough."""
        await self._writable.wait()

    def pause_reading(self) -> None:
        if not self._is_read_paused:
            self._is_read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._is_read_paused:
            self._is_read_paused = False
            self._transport.resume_reading()

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def forget_heads(self) -> None:
        self._known.clear()

    def close(self) -> None:
        """Close the connection, after the client has read what was written."""
        self._transport.close()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """Watch whether the client reads, until the connection ends or there is room for more."""
        if self._read_timer is None:
            size = self._transport.get_write_buffer_size()
            self._read_timer = self._loop.call_later(_READ_SECONDS, self._cut_off, size)

    def _cut_off(self, before: int) -> None:
        """End the connection of a client that has read nothing meanwhile."""
        self._read_timer = None
        if self._transport.get_write_buffer_size() < before:
            self._watch_reader()
        else:
            self._transport.abort()

    def _wait_for_request(self) -> None:
        """Begin the time between two requests. One timer serves many such times: most are short."""
        self._idle_since = self._loop.time()
        if self._idle_timer is None:
            self._idle_timer = self._loop.call_later(self._keep_alive, self._end_idle)

    def _end_idle(self) -> None:
        self._idle_timer = None
        if self._idle_since is None:
            return  # the next time begins with the end of a response
        rest = self._idle_since + self._keep_alive - self._loop.time()
        if rest <= 0:
            self.close()
        else:
            self._idle_timer = self._loop.call_later(rest, self._end_idle)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        data = bytes(data)  # a bytearray from the event loop of CPython 3.11 on Windows
        if not (self._is_between and self._known and not self._exchanges and self._begin_known(data)):
            self._parse(data)

    def _begin_known(self, data: bytes) -> bool:
        """Begin a request with a known head that came with the whole of its body, and nothing behind it."""
        if (found := _split(data)) is None or (answer := self._known.get(found[0])) is None:
            return False
        _, length, size = found
        exchange = HttpExchange(self, None, keep_alive=True)
        exchange.add_body(data[size:])
        exchange.end_body()
        self._exchanges.append(exchange)
        self._start(exchange, partial(answer, length, exchange))
        return True

    def _parse(self, data: bytes) -> None:
        can_learn, self._has_body = self._is_between, False
        try:
            self._feed(data)
        except httptools.HttpParserError:
            _log.warning("Invalid HTTP request received.")
            self._refuse()
        self._limit_head(len(data))
        if (exchange := self._to_start) is None:
            return
        self._to_start = None
        if can_learn and self._is_between:
            self._learn(data, exchange)
        self._start(exchange, self._asgi(exchange))

    def _feed(self, data: bytes) -> None:
        """Parse. The offer of an upgrade is ignored (RFC 9110, section 7.8), but not by the parser: it stops behind the
        head, and would take the body for another request. It gets the head again, without the offer."""
        while data:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                line = b"%b %b HTTP/%b\r\n" % (
                    self._parser.get_method(),
                    self._url,
                    self._parser.get_http_version().encode("ascii"),
                )
                fields = [field for field in self._fields if field[0] != b"upgrade"]
                data = line + _lines_of(fields) + b"\r\n" + data[upgrade.args[0] :]
            else:
                return

    def _limit_head(self, size: int) -> None:
        """Limit what the parser holds of a head or a trailer, and the time that a head takes to arrive."""
        if not self._has_body:
            self._received += size
            if self._received > HEAD_BYTES:
                self.close()
        if self._in_head and self._head_timer is None:
            self._head_timer = self._loop.call_later(_HEAD_SECONDS, self.close)
        elif not self._in_head and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self) -> None:
        if self.is_closing:
            return
        fields = [*self.state.default_headers, (b"content-type", b"text/plain; charset=utf-8")]
        fields += [(b"content-length", b"%d" % len(_INVALID)), (b"connection", b"close")]
        self._transport.write(_status_line(400) + _lines_of(fields) + b"\r\n" + _INVALID)
        self.close()

    def _learn(self, data: bytes, exchange: HttpExchange) -> None:
        """Remember the head of the first request in a piece that begins and ends between two requests.

        The parser has found one Content-Length in it, so the line that ``_split`` has cut is that header in every head
        with the same other bytes, the request is the only one in the piece, and a parser that begins a request reads
        equal bytes equally.
        """
        if exchange.scope is None or not (exchange.keep_alive and isinstance(self._app, RemembersHeads)):
            return
        names = [name for name, _ in exchange.scope["headers"]]
        if len(names) > _MAX_KNOWN_FIELDS or names.count(b"content-length") != 1 or not _SPECIAL.isdisjoint(names):
            return
        if (found := _split(data)) is None or (answer := self._app.answerer(exchange.scope)) is None:
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[found[0]] = answer

    # -- callbacks of the parser ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._is_between, self._idle_since = False, None
        self._in_head, self._received, self._head_size = True, 0, 0
        self._url, self._fields = b"", []

    def on_url(self, url: bytes) -> None:
        self._count(len(url) + _REQUEST_LINE_BYTES)
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _FIELD_BYTES)
        if self._in_head:
            self._fields.append((name.lower(), value))
        # A field behind the body is no header (RFC 9110, section 6.5.1), but the parser obeys this one.
        elif name.lower() == b"connection" and self._exchanges:
            self._exchanges[-1].keep_alive = False

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > HEAD_BYTES:
            self._exceed()

    def _exceed(self) -> None:
        self.close()
        raise _StopParser

    def on_headers_complete(self) -> None:
        if self._parser.should_upgrade():
            if self._parser.get_method() == b"CONNECT":
                raise _StopParser  # RFC 9110, section 9.3.6: a method of proxies
            return  # this head comes again
        self._in_head = False
        if len(self._exchanges) >= _MAX_QUEUED:
            self._exceed()
        version, method = self._parser.get_http_version(), self._parser.get_method().decode("ascii")
        url = httptools.parse_url(self._url)
        if url.host:
            self._fields = _of_host(self._fields, url)
        path = url.path.decode("ascii")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "server": self._server,
            "client": self.client,
            "scheme": "http",
            "method": method,
            "root_path": self._root_path,
            "path": self._root_path + (unquote(path) if "%" in path else path),
            "raw_path": self._root_path.encode("ascii") + url.path,
            "query_string": url.query or b"",
            "headers": self._fields,
            "state": self._app_state.copy(),
            "extensions": {UNTIL_CLOSE: {}},
        }
        keep_alive = version != "1.0" and self._parser.should_keep_alive()
        exchange = HttpExchange(self, scope, keep_alive=keep_alive)
        self._exchanges.append(exchange)
        if len(self._exchanges) == 1:
            self._to_start = exchange
        else:
            self.pause_reading()  # until the exchanges before this one have ended

    def on_body(self, body: bytes) -> None:
        self._has_body, self._received = True, 0
        if self._exchanges:
            self._exchanges[-1].add_body(body)

    def on_message_complete(self) -> None:
        if self._in_head:
            return  # this head comes again
        self._is_between = self._has_body = True
        if self._exchanges:
            self._exchanges[-1].end_body()

    # -- answering -----------------------------------------------------------------------------------------------------

    def _asgi(self, exchange: HttpExchange) -> Callable[[], Awaitable[None]]:
        if exchange.scope is None:
            raise RuntimeError("this head was not parsed")
        return partial(self._app, exchange.scope, exchange.receive, exchange.send)

    def _start(self, exchange: HttpExchange, answer: Callable[[], Awaitable[None]], *, eager: bool = True) -> None:
        """Run a request in a task, in the context of the connection: none of another request is seen there."""
        self._idle_since = None
        start = _start if eager else _start_lazy
        exchange.task = task = start(exchange.run(answer), self._loop, self._context.copy())
        if not task.done():
            self.state.tasks.add(task)

    def end_exchange(self) -> None:
        """The first exchange has its complete response: begin the next one, or wait for it."""
        self._exchanges.popleft()
        self.state.total_requests += 1
        if self.is_closing:
            return
        self.resume_reading()
        if self._exchanges:
            exchange = self._exchanges[0]
            self._start(exchange, self._asgi(exchange), eager=False)  # a long row of them must not be a deep stack
        else:
            self._wait_for_request()

    def status_of_success(self) -> bytes:
        """The first lines of a successful response."""
        defaults = self.state.default_headers
        if defaults is not self._status_of:
            self._status = _status_line(200) + _lines_of(defaults)
            self._status_of = defaults
        return self._status


class HttpExchange:
    """One request and its response, as ASGI has it.

    ``scope`` is ``None`` if the head was not parsed: only an :data:`Answerer` gets such an exchange.
    """

    __slots__ = (
        "_body",
        "_chunks",
        "_expects_continue",
        "_has_news",
        "_head",
        "_is_head",
        "_is_started",
        "_left",
        "_more_body",
        "_news",
        "_protocol",
        "_until_close",
        "is_complete",
        "is_disconnected",
        "keep_alive",
        "scope",
        "task",
    )

    def __init__(self, protocol: HttpProtocol, scope: Scope | None, *, keep_alive: bool) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.task: asyncio.Task[None] | None = None
        self.is_disconnected = False
        self.is_complete = False
        self._protocol = protocol
        # The request: its body, and whether there is news that `receive` has not told.
        self._body: bytes | bytearray = b""
        self._more_body = True
        self._has_news = False
        self._news: asyncio.Event | None = None
        # The response: its head, until it is written, and how the end of its body is found.
        self._is_started = False
        self._head = b""
        self._chunks = False
        self._left: int | None = None
        self._is_head = self._until_close = self._expects_continue = False
        if scope is not None:
            self._is_head = scope["method"] == "HEAD"
            self._until_close = scope["http_version"] == "1.0"
            self._expects_continue = _expects_continue(scope["headers"])

    @property
    def client(self) -> str | None:
        """The IP address of the client."""
        client = self._protocol.client
        return client[0] if client else None

    async def run(self, answer: Callable[[], Awaitable[None]]) -> None:
        """Answer the request; a failure to do so is logged and answered with 500, or ends the connection."""
        try:
            await answer()
        except BaseException as error:  # noqa: BLE001 - the last boundary
            _log.error("Exception in ASGI application\n", exc_info=error)
            await self._fail()
        else:
            if not self.is_complete and not self.is_disconnected:
                _log.error("ASGI callable returned without completing response.")
                await self._fail()
        finally:
            if self.task is not None:
                self._protocol.state.tasks.discard(self.task)

    async def _fail(self) -> None:
        if self._is_started:
            self._protocol.close()
            return
        text = b"Internal Server Error"
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text))]
        await self.send({"type": "http.response.start", "status": 500, "headers": [*headers, _CLOSE]})
        await self.send({"type": "http.response.body", "body": text})

    # -- the request ---------------------------------------------------------------------------------------------------

    def add_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
        elif isinstance(self._body, bytearray):
            self._body += body
        else:
            self._body = bytearray(self._body) + body
        if len(self._body) > _MAX_UNREAD:
            self._protocol.pause_reading()
        self._wake()

    def end_body(self) -> None:
        self._more_body = False
        self._wake()

    def disconnect(self) -> None:
        self.is_disconnected = True
        self._wake()

    def _wake(self) -> None:
        self._has_news = True
        if self._news is not None:
            self._news.set()
            self._news = None

    def take_body(self) -> bytes:
        """The body of a request that is complete."""
        body, self._body, self._has_news = bytes(self._body), b"", False
        return body

    async def receive(self) -> Event:
        """Return the next part of the body, or that the client has gone or has its response; see ASGI."""
        if self._expects_continue and not self._protocol.is_closing:
            self._protocol.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._expects_continue = False
        if not self.is_disconnected and not self.is_complete:
            self._protocol.resume_reading()
            if not self._has_news:
                self._news = self._news or asyncio.Event()
                await self._news.wait()
            self._has_news = False
        if self.is_disconnected or self.is_complete:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": self.take_body(), "more_body": self._more_body}

    # -- the response --------------------------------------------------------------------------------------------------

    async def send(self, message: Event) -> None:
        """Send the head or a part of the body; wait while the client reads nothing. A client that has gone gets
        nothing; see ASGI."""
        if self._protocol.is_write_paused and not self.is_disconnected:
            await self._protocol.drained()
        if self.is_disconnected:
            return
        if not self._is_started and message["type"] == "http.response.start":
            self._is_started = True
            if self._expects_continue and self._more_body:
                self.keep_alive = False  # the client may now omit the body, or not
            self._expects_continue = False
            self._head = self._head_of(message["status"], message.get("headers", ()))
        elif self._is_started and not self.is_complete and message["type"] == "http.response.body":
            self._write(message.get("body", b""), is_last=not message.get("more_body"))
        else:
            raise RuntimeError(f"Unexpected ASGI message '{message['type']}' sent.")

    def answer_json(self, body: bytes) -> bool:
        """Send a complete response of 200 with a JSON body; ``False`` if only :meth:`send` can do so now."""
        protocol = self._protocol
        if self._is_started or self.is_disconnected or protocol.is_write_paused or not self.keep_alive:
            return False
        if len(body) > _MAX_JOINED:
            return False
        self._is_started = True
        status = protocol.status_of_success()
        protocol.write(b"%bcontent-length: %d\r\ncontent-type: application/json\r\n\r\n%b" % (status, len(body), body))
        self._finish()
        return True

    def _head_of(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """The head of a response. ASGI forbids to send it before there is a part of the body."""
        if status >= 400:
            self._protocol.forget_heads()  # no memory is spent on clients that were not let in
        fields = [*self._protocol.state.default_headers, *((name.lower(), value) for name, value in headers)]
        for name, value in fields:
            if _NO_NAME.search(name) or _NO_VALUE.search(value):
                raise RuntimeError("Invalid HTTP header.")
            if name == b"content-length" and not self._chunks and not self._until_close:
                self._left = int(value)
            elif name == b"transfer-encoding" and value.lower() == b"chunked":
                self._chunks, self._left = True, None
            elif name == b"connection" and b"close" in (option.strip() for option in value.lower().split(b",")):
                self.keep_alive = False
        if status in (204, 304):
            self._is_head = True  # the client expects no body, and would take one for the next response
        elif not 200 <= status <= 599:
            raise RuntimeError(f"Invalid status {status}.")
        if self._chunks:
            fields = [field for field in fields if field[0] != b"content-length"]  # RFC 9112, section 6.2
        if not self.keep_alive and _CLOSE not in fields:
            fields.append(_CLOSE)
        if self._left is None and not self._chunks and not self._until_close:
            if self._is_head:
                self._left = 0
            else:
                self._chunks = True
                fields.append((b"transfer-encoding", b"chunked"))
        return _status_line(status) + _lines_of(fields) + b"\r\n"

    def _write(self, body: bytes, *, is_last: bool) -> None:
        data = self._framed(body, is_last=is_last)
        head, self._head = self._head, b""
        if len(data) <= _MAX_JOINED:
            data = head + data
        elif head:
            self._protocol.write(head)
        if data:
            self._protocol.write(data)
        if is_last:
            self._finish()

    def _framed(self, body: bytes, *, is_last: bool) -> bytes:
        if self._is_head:
            return b""
        if self._chunks:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk + b"0\r\n\r\n" if is_last else chunk
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0:
                raise RuntimeError("Response content longer than Content-Length")
            if is_last and self._left:
                raise RuntimeError("Response content shorter than Content-Length")
        return body

    def _finish(self) -> None:
        self.is_complete = True
        self._wake()
        if not self.keep_alive:
            self._protocol.close()
        self._protocol.end_exchange()


_CLOSE = (b"connection", b"close")
_SPECIAL = frozenset({b"transfer-encoding", b"expect"})  # what a request that is remembered may not have


def _of_host(fields: Iterable[tuple[bytes, bytes]], url: Any) -> list[tuple[bytes, bytes]]:
    """The fields of a request whose target is a whole URL: its host is that of the target, whatever the field says
    (RFC 9112, section 3.2.2)."""
    host = b"[%b]" % url.host if b":" in url.host else url.host
    named = host if url.port is None else b"%b:%d" % (host, url.port)
    return [(name, named if name == b"host" else value) for name, value in fields]


def _expects_continue(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in fields)


def _split(data: bytes) -> tuple[bytes, bytes, int] | None:
    """The head of a request without its length, the length, and the size of the head; ``None`` unless ``data`` is one
    short head and exactly so much body."""
    size = data.find(b"\r\n\r\n", 0, _MAX_KNOWN_BYTES) + 4
    if size < 4 or (found := _LENGTH.search(data, 0, size)) is None:
        return None
    length = found[1]
    if len(data) != size + int(length):
        return None
    start, end = found.span(1)
    return data[:start] + data[end:size], length, size


def _address(info: Any) -> tuple[str, int] | None:
    """Host and port; ``None`` for a local socket, which has neither."""
    return (str(cast(Any, info[0])), int(cast(Any, info[1]))) if isinstance(info, tuple) else None


def _lines_of(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % field for field in fields])


def _status_line(status: int) -> bytes:
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


# A task that has a name already is made in half the time.
def _start_lazy(
    coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: Context
) -> asyncio.Task[None]:
    return asyncio.Task(coroutine, loop=loop, name="tooltrue-http", context=context)


def _start_eager(
    coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: Context
) -> asyncio.Task[None]:
    return asyncio.Task(coroutine, loop=loop, name="tooltrue-http", context=context, eager_start=True)  # pyright: ignore[reportUnknownVariableType, reportCallIssue]


_start = _start_eager if hasattr(asyncio, "eager_task_factory") else _start_lazy
