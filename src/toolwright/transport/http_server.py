"""Streamable HTTP, the server's half: one ASGI application around an endpoint that is handed to it.

Answers are JSON; the first notification of a request turns its answer into a stream (text/event-stream). Host and
Origin are checked on every path, before anything else is looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from toolwright.deadline import Deadline
from toolwright.errors import InvalidRequest
from toolwright.jsonrpc.messages import Json, encode_failure, encode_notification
from toolwright.protocol.types import Value
from toolwright.transport.carrier import Carrier

__all__ = ["LOOPBACK", "Access", "Endpoint", "HttpApp", "Reply", "Stream"]

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

_KEEP_ALIVE_SECONDS = 15.0
_WATCH_AFTER_SECONDS = 0.05
_READ_SECONDS = 30.0
_MAX_QUEUED = 1_000


class Reply(Value, frozen=True):
    """A whole HTTP answer; a body is JSON."""

    status: int
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()


class Endpoint(Protocol):
    """What is served."""

    async def open(self) -> None: ...

    async def post(self, body: bytes, carrier: Carrier, stream: Stream) -> Reply: ...

    async def listen(self, carrier: Carrier, stream: Stream) -> Reply | None: ...

    async def delete(self, carrier: Carrier) -> Reply: ...

    def closing(self) -> None: ...


class Access(Value, frozen=True):
    """Which ``Host`` and ``Origin`` may reach the endpoint: names without port, any port. Loopback unless said.

    A page of another site that a browser shows (CSRF), or that has its name point here (DNS rebinding), is refused by
    it.
    """

    hosts: tuple[str, ...] = LOOPBACK

    def refusal(self, headers: dict[str, str]) -> str | None:
        """Why a request may not come in, or ``None``."""
        host = _host_name(headers.get("host", ""))
        if host not in self.hosts:
            return f"Host {host[:80]!r} is not served here"
        origin = headers.get("origin")
        if origin is not None and not self._origin(origin):
            return f"Origin {origin[:80]!r} is not allowed here"
        return None

    def _origin(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and not parts.path and _host_name(parts.netloc) in self.hosts


def _host_name(host: str) -> str:
    """``host:port`` without its port, in lower case; brackets of an IPv6 address stay."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


class HttpApp:
    """The ASGI application. ``path`` is the endpoint's; everything else is 404.

    A body may have ``max_body`` bytes, and ``body_seconds`` to arrive.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        access: Access,
        *,
        path: str = "/mcp",
        max_body: int = 16 * 1024 * 1024,
        body_seconds: float = 30.0,
    ) -> None:
        self._endpoint = endpoint
        self._access = access
        self._path = path
        self._max_body = max_body
        self._body_seconds = body_seconds
        self._methods = {"POST": self._post, "GET": self._get, "DELETE": self._delete}

    async def open(self) -> None:
        """Before the first request, on the event loop that serves; the ASGI lifespan does it."""
        await self._endpoint.open()

    def closing(self) -> None:
        """The server is about to end."""
        self._endpoint.closing()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.closing()
        await send({"type": "lifespan.shutdown.complete"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close"})
        headers, repeated = _read_headers(scope["headers"])
        if repeated:
            return await _send(send, Reply(400, encode_failure(None, InvalidRequest.of("TW1027", header=repeated))))
        if (reason := self._access.refusal(headers)) is not None:
            return await _send(send, _refusal(403, reason))
        if scope["path"].rstrip("/") != self._path:
            return await _send(send, _refusal(404, f"nothing here; the endpoint is {self._path}"))
        handle = self._methods.get(scope["method"])
        if handle is None:
            return await _send(send, Reply(405, headers=(("allow", ", ".join(self._methods)),)))
        client = scope.get("client")
        return await handle(Carrier("http", headers, client[0] if client else None), receive, send)

    async def _post(self, carrier: Carrier, receive: Receive, send: Send) -> None:
        headers = carrier.headers or {}
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            # A browser may send text/plain to another site without asking; JSON it may not.
            return await _send(send, _refusal(415, "send application/json"))
        try:
            body = await self._body(headers.get("content-length"), receive)
        except TimeoutError:
            return await _send(send, _refusal(408, f"the body did not arrive within {self._body_seconds:g} s"))
        except ConnectionError:
            return None  # nobody is left to answer
        if body is None:
            return await _send(send, _refusal(413, f"a body may have {self._max_body} bytes"))
        stream = Stream(send)
        async with _ends_with_the_client(receive, stream):
            await stream.finish(await self._endpoint.post(body, carrier, stream))
        return None

    async def _body(self, length: str | None, receive: Receive) -> bytes | None:
        """The whole body, or ``None`` when it is too large."""
        if length is not None and length.isdigit() and int(length) > self._max_body:
            return None
        deadline = Deadline(self._body_seconds)
        try:
            return await self._parts(receive)
        except asyncio.CancelledError:
            if deadline.was_the_reason():
                raise TimeoutError from None
            raise
        finally:
            deadline.end()

    async def _parts(self, receive: Receive) -> bytes | None:
        parts: list[bytes] = []
        size = 0
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                raise ConnectionError
            parts.append(event.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                return None
            if not event.get("more_body"):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _get(self, carrier: Carrier, receive: Receive, send: Send) -> None:
        if "text/event-stream" not in (carrier.headers or {}).get("accept", ""):
            return await _send(send, Reply(405, headers=(("allow", "POST, DELETE"),)))
        stream = Stream(send)
        async with _ends_with_the_client(receive, stream):
            await stream.finish(await self._endpoint.listen(carrier, stream))
        return None

    async def _delete(self, carrier: Carrier, receive: Receive, send: Send) -> None:
        await _send(send, await self._endpoint.delete(carrier))


def _read_headers(raw: Sequence[tuple[bytes, bytes]]) -> tuple[dict[str, str], str | None]:
    """Headers by name, and the first that is repeated although it may not be."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    return headers, None if len(headers) == len(raw) else _repeated(raw)


def _repeated(raw: Sequence[tuple[bytes, bytes]]) -> str | None:
    seen: set[bytes] = set()
    for name, _ in raw:
        if name in seen and (name.startswith(b"mcp-") or name in _ONCE):
            return name.decode("latin-1")
        seen.add(name)
    return None


# Read twice, these could mean one thing to whoever stands before us and another to us.
_ONCE = (b"host", b"origin", b"content-type", b"authorization")


def _refusal(status: int, reason: str) -> Reply:
    return Reply(status, encode_failure(None, InvalidRequest.of("TW1028", reason=reason)))


async def _send(send: Send, reply: Reply) -> None:
    headers: list[tuple[bytes, bytes]] = []
    if reply.status != 204:  # which has neither a body nor its length (RFC 9110, section 8.6)
        headers.append((b"content-length", b"%d" % len(reply.body)))
    if reply.body:
        headers.append((b"content-type", b"application/json"))
    headers += ((name.encode(), value.encode("latin-1")) for name, value in reply.headers)
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


class _ends_with_the_client:
    """Cancels the current task when the client goes away, and swallows that cancellation: nobody is left to answer.

    Short requests, nearly all, never start the watcher.
    """

    def __init__(self, receive: Receive, stream: Stream) -> None:
        self._receive = receive
        self._stream = stream
        self._watcher: asyncio.Task[None] | None = None
        self._gone = False

    async def __aenter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._request = asyncio.current_task()
        self._timer = self._loop.call_later(_WATCH_AFTER_SECONDS, self._start)

    def _start(self) -> None:
        self._watcher = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        if self._request is not None:
            self._request.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        self._stream.abandon()
        return self._gone and kind is asyncio.CancelledError


class Stream:
    """The way back of one request: JSON at the end, or a stream from the first notification on.

    ``notify`` does not block; a writer task sends what has been queued, and a comment line when there is nothing for a
    while, so that nobody between closes the connection. A reader who does not keep up loses the oldest notifications.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._writer: asyncio.Task[None] | None = None
        self._abandoned = False

    def open(self) -> None:
        """Begin the stream before there is anything to say."""
        if self._writer is None and not self._abandoned:
            self._queue: deque[bytes] = deque(maxlen=_MAX_QUEUED)
            self._more = asyncio.Event()
            self._last = False
            self._writer = asyncio.get_running_loop().create_task(self._write())

    def notify(self, method: str, params: Json) -> None:
        self.send(encode_notification(method, params))

    def send(self, frame: bytes) -> None:
        """Send one message, which begins the stream."""
        if self._abandoned:
            return
        self.open()
        self._queue.append(frame)
        self._more.set()

    async def finish(self, reply: Reply | None) -> None:
        """Send the answer: the whole of it, or the last event of the stream."""
        if self._writer is None:
            await _send(self._send, reply or Reply(202))
            return
        if reply is not None and reply.body:
            self._queue.append(reply.body)
        self._last = True
        self._more.set()
        with contextlib.suppress(TimeoutError):
            await self._writer

    def abandon(self) -> None:
        """Nobody reads any more; a call that goes on all the same has nobody to tell."""
        self._abandoned = True
        if self._writer is not None:
            self._writer.cancel()

    async def _write(self) -> None:
        headers = [
            (b"content-type", b"text/event-stream"),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        while not (self._last and not self._queue):
            await self._chunk(b"".join(self._drain()) or b": keep-alive\n\n")
            await self._wait()
        await self._send({"type": "http.response.body", "body": b""})

    def _drain(self) -> Iterable[bytes]:
        self._more.clear()
        while self._queue:
            yield b"event: message\ndata: %b\n\n" % self._queue.popleft()

    async def _wait(self) -> None:
        if self._queue or self._last:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
                await self._more.wait()

    async def _chunk(self, data: bytes) -> None:
        # A client that keeps its connection and reads nothing is not waited for.
        async with asyncio.timeout(_READ_SECONDS):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
