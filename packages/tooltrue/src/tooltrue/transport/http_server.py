"""The server of Streamable HTTP: one ASGI application around an endpoint that is handed to it.

Answers are JSON; the first notification of a request turns its answer into an event stream (text/event-stream). Host
and Origin are checked first, on every path; the caller is authenticated before a body is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote_to_bytes, urlsplit

from tooltrue._internal.deadline import Alarm, Deadline
from tooltrue.errors import InternalError, InvalidRequest, RpcError, TooltrueError
from tooltrue.jsonrpc.messages import Json, encode_failure, encode_notification
from tooltrue.jsonrpc.peer import internal_error
from tooltrue.protocol.types import Value
from tooltrue.transport.carrier import CREDENTIAL_HEADERS, Carrier
from tooltrue.transport.limited_exchange import BodyLimits, LimitedExchange
from tooltrue.transport.signals import ends_on_signal
from tooltrue.transport.wording import (
    DUPLICATE_HEADER,
    HTTP_REQUEST_REFUSED,
    REASON_BODY_TIMEOUT,
    REASON_BODY_TOO_LARGE,
    REASON_CHARSET,
    REASON_CODING_NOT_READ,
    REASON_CONTENT_TYPE,
    REASON_HOST_NOT_SERVED,
    REASON_LENGTH_INVALID,
    REASON_ORIGIN_NOT_ALLOWED,
    REASON_PATH_UNKNOWN,
    REASON_STREAM_NEEDS_HTTP_1_1,
    ROUTE_WITHOUT_RESPONSE,
    SERVER_LIFESPAN_NOT_STARTED,
    SERVER_SHUTTING_DOWN,
    TOKEN_IN_URL,
)
from tooltrue.wording import Worded

__all__ = [
    "LOOPBACK",
    "RESERVED",
    "SSE_POSTS",
    "UNTIL_CLOSE",
    "AllowedHosts",
    "Answerer",
    "HttpApp",
    "HttpHandler",
    "Page",
    "Reply",
    "RestHandler",
    "Site",
    "SseHandler",
    "Stream",
    "WholeExchange",
    "client_left",
    "local_path",
    "needs_http_1_1",
    "send_reply",
]

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

UNTIL_CLOSE = "tooltrue.until_close"
"""The ASGI extension of an HTTP server that streams to an HTTP/1.0 client without chunks, until the stream closes."""

SSE_POSTS = "/messages"
_SSE_PATH = "/sse"


class WholeExchange(Protocol):
    """A request that has come with the whole of its body, and its response; its head is known to the application."""

    @property
    def client(self) -> str | None:
        """The IP address of the client."""
        ...

    def take_body(self) -> bytes: ...

    def answer_json(self, body: bytes) -> bool:
        """Send a complete response of 200 with a JSON body; ``False`` if only ``send`` can do so now."""
        ...

    async def receive(self) -> Event: ...

    async def send(self, message: Event, /) -> None: ...


Answerer: TypeAlias = Callable[[bytes, WholeExchange], Awaitable[None]]
"""Answers a request with a known head and the given Content-Length."""

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

RESERVED = ("mcp", "sse", "messages", "healthz", "readyz", "metrics", ".well-known")
"""The first segments of the paths that are the server's own."""

_KEEP_ALIVE_SECONDS = 15.0
_WATCH_AFTER_SECONDS = 0.05
_READ_SECONDS = 30.0
_LAST_SECONDS = 0.5
_MAX_QUEUED = 1_000
_MAX_WAITING = 8 * 1024 * 1024
_MAX_DIGITS = 18
_DIGITS = re.compile("[0-9]+")


class Reply(Value, frozen=True):
    """A complete HTTP answer; the body is JSON unless ``headers`` say otherwise."""

    status: int
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()


Page: TypeAlias = Callable[[Carrier], Awaitable[Reply]]
"""Handler of a GET outside the endpoint: metadata, health. The caller is not authenticated."""

CallerT = TypeVar("CallerT")
CallerIn = TypeVar("CallerIn", contravariant=True)


class HttpHandler(Protocol[CallerT]):
    """Serves requests. ``admit`` authenticates or refuses the caller, once per request and before a body is read."""

    async def open(self) -> None: ...

    async def admit(self, carrier: Carrier) -> CallerT | Reply: ...

    async def post(self, body: bytes, caller: CallerT, stream: Stream) -> Reply: ...

    async def listen(self, caller: CallerT, stream: Stream) -> Reply | None: ...

    async def delete(self, caller: CallerT) -> Reply: ...

    def closing(self) -> None: ...


class SseHandler(Protocol[CallerIn]):
    """The two endpoints of HTTP+SSE (2024-11-05): the stream, and the URL for the client's messages."""

    async def listen(self, caller: CallerIn, stream: Stream) -> Reply | None: ...

    async def post(self, body: bytes, caller: CallerIn, query: bytes) -> Reply: ...


class RestHandler(Protocol[CallerIn]):
    """The endpoint of programs that speak no MCP: calls of tools by name, and the description of these operations."""

    async def post(self, name: str, body: bytes, caller: CallerIn) -> Reply: ...

    async def describe(self, base: str, caller: CallerIn) -> Reply:
        """Describe the operations. ``base`` is the path before ``/tools``."""
        ...


class Site(Protocol):
    """The author's handler of one request beside the endpoint. A ``public`` one has no authenticated caller."""

    @property
    def public(self) -> bool: ...

    async def serve(self, caller: Any, scope: Scope, exchange: LimitedExchange) -> None: ...


class Sites(Protocol):
    """The author's routes beside the endpoint."""

    def find(self, path: str, method: str) -> Site | Sequence[str] | None:
        """The handler of a path, relative to where the application is mounted; the allowed methods if ``method`` is
        none of them; ``None`` for an unknown path."""
        ...

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Context in which the applications among the routes are open."""
        ...


class AllowedHosts(Value, frozen=True):
    """The ``Host`` and ``Origin`` names that may reach the endpoint, at any port. Default: loopback.

    Protects against requests from other sites in a browser (CSRF) and from names made to point here (DNS rebinding).
    """

    hosts: tuple[str, ...] = LOOPBACK

    def refusal(self, headers: dict[str, str]) -> Worded | None:
        """The reason to refuse a request, or ``None``."""
        host = _host_name(headers.get("host", ""))
        if host not in self.hosts:
            return Worded(REASON_HOST_NOT_SERVED, {"host": host[:80]})
        origin = headers.get("origin")
        if origin is not None and not self._origin(origin):
            return Worded(REASON_ORIGIN_NOT_ALLOWED, {"origin": origin[:80]})
        return None

    def _origin(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and not parts.path and _host_name(parts.netloc) in self.hosts


def _host_name(host: str) -> str:
    """``host:port`` without the port, in lower case; brackets of an IPv6 address stay."""
    name, colon, port = host.rpartition(":")
    return (name if colon and _DIGITS.fullmatch(port) else host).lower()


class HttpApp:
    """The ASGI application. ``path`` is the endpoint's; other paths are 404, except those of ``sse``, of ``pages``,
    which any client that reaches the host may GET, and of ``sites``, the author's routes, which come last. ``others``
    are applications with endpoints of their own, by path, which take precedence; with a ``path`` of ``None`` there are
    these alone. ``rest`` answers ``POST /tools/NAME`` and ``GET /openapi.json`` beside the endpoint.

    A request that repeats a header in ``once``, by which callers authenticate, is refused. Headers with credentials are
    removed once a caller is admitted, except those that ``credentials()`` returns. ``around`` is a context that is open
    while requests are served. ``ready`` tells whether more requests should come; it can be cleared before the server
    ends. A body may have ``max_body`` bytes and must arrive within ``body_seconds``. With ``signals``, SIGINT and
    SIGTERM call :meth:`closing` before the HTTP server's own handler runs. ``language`` is that of errors.
    """

    def __init__(
        self,
        endpoint: HttpHandler[Any],
        access: AllowedHosts,
        *,
        path: str | None = "/mcp",
        sse: SseHandler[Any] | None = None,
        pages: Mapping[str, Page] | None = None,
        sites: Sites | None = None,
        once: frozenset[bytes] = frozenset(),
        credentials: Callable[[], Collection[str]] = tuple,
        around: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext,
        max_body: int = 16 * 1024 * 1024,
        body_seconds: float = 30.0,
        signals: bool = True,
        language: str = "en",
        others: Mapping[str, HttpApp] | None = None,
        rest: RestHandler[Any] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._others = others or {}
        self._access = access
        self._path = path or "/NAME/mcp"  # for a refusal
        self._language = language
        self._ending = self._reply(503, InternalError.of(SERVER_SHUTTING_DOWN))
        self._sse = sse
        self._pages = pages or {}
        self._sites = sites
        self._once = _ONCE | once
        self._credentials = (*CREDENTIAL_HEADERS, *sorted(name.decode("latin-1") for name in once - _CREDENTIAL_NAMES))
        self._credential_names = frozenset(name.encode() for name in self._credentials)
        self._declared = credentials
        self._around = around
        self._max_body = max_body
        self._body_seconds = body_seconds
        self._signals = partial(ends_on_signal, self.closing) if signals else contextlib.nullcontext
        self._routes: dict[str, dict[str, _Handler]] = {}
        if path is not None:
            self._routes[path] = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
        if sse is not None:
            self._routes |= {_SSE_PATH: {"GET": self._sse_get}, SSE_POSTS: {"POST": self._sse_post}}
        self._rest = rest
        self._base = (path or "").removesuffix("/mcp")
        self._no_response = self._reply(500, InternalError.of(ROUTE_WITHOUT_RESPONSE))
        self._limits = BodyLimits(
            max_body,
            body_seconds,
            lambda send: send_reply(send, self._too_large()),
            lambda send: send_reply(send, self._too_slow()),
        )
        self._long: set[_ends_with_the_client] = set()
        self._serves = False
        self.ready = False

    @property
    def long(self) -> int:
        """The number of open long-running requests: streams, and slow calls."""
        return len(self._long) + sum(other.long for other in self._others.values())

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Context in which requests are served, on the serving event loop; the ASGI lifespan enters it. Outside of it
        the endpoint answers 503, because neither the audit log nor the operator's rules would be in effect.
        """
        async with self._around(), self._sites.serving() if self._sites else contextlib.nullcontext():
            await self._endpoint.open()
            async with contextlib.AsyncExitStack() as stack:
                for other in self._others.values():
                    await stack.enter_async_context(other.serving())
                stack.enter_context(self._signals())
                self._serves = self.ready = True
                try:
                    yield
                finally:
                    self._serves = self.ready = False

    def lifespan(self, outer: object, /) -> AbstractAsyncContextManager[None]:
        """:meth:`serving`, as the lifespan of the application where this one is mounted, which does not start it by
        itself: ``FastAPI(lifespan=tools.lifespan)``.
        """
        return self.serving()

    def closing(self) -> None:
        """Announce the end of the server: requests open after a moment get an error. Call it on the serving loop."""
        self.ready = False
        for other in self._others.values():
            other.closing()
        self._endpoint.closing()
        asyncio.get_running_loop().call_later(_LAST_SECONDS, self._end_long)

    def _end_long(self) -> None:
        for request in tuple(self._long):
            request.dismiss()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with contextlib.AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self.serving())
            except TooltrueError as error:
                await send({"type": "lifespan.startup.failed", "message": error.say(self._language)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self.closing()
        await send({"type": "lifespan.shutdown.complete"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close"})
        if (other := self._other(scope)) is not None:
            return await other(scope, receive, send)
        headers, repeated = _read_headers(scope["headers"], self._once)
        route = self._route(scope, headers, repeated)
        if isinstance(route, Reply):
            return await send_reply(send, route)
        client = scope.get("client")
        carrier = Carrier("http", headers, client[0] if client else None)
        if isinstance(route, _PageRoute):
            return await send_reply(send, await route.page(carrier))
        if not self._serves:
            return await send_reply(send, self._not_started())
        if isinstance(route, _SiteRoute) and route.site.public:
            return await self._serve_site(route.site, None, scope, headers, receive, send)
        caller = await self._endpoint.admit(carrier)
        if isinstance(caller, Reply):
            return await send_reply(send, caller)
        self._withhold(headers)
        if isinstance(route, _SiteRoute):
            scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in self._credential_names]}
            return await self._serve_site(route.site, caller, scope, headers, receive, send)
        return await route(_HttpRequest(caller, headers, scope, receive, send))

    def _other(self, scope: Scope) -> HttpApp | None:
        """The application of another endpoint that serves this path."""
        if not self._others:
            return None
        path = local_path(scope).rstrip("/")
        if (other := self._others.get(path)) is not None or (base := _base_of(path)) is None:
            return other
        beside = self._others.get(f"{base}/mcp")
        return beside if beside is not None and beside._rest is not None else None

    def _withhold(self, headers: dict[str, str]) -> None:
        """Remove credentials, so that no later code can pass them on."""
        if present := [name for name in self._credentials if name in headers]:
            declared = self._declared()
            for name in present:
                if name not in declared:
                    del headers[name]

    def _route(
        self, scope: Scope, headers: dict[str, str], repeated: str | None
    ) -> Reply | _PageRoute | _SiteRoute | _Handler:
        """The handler of a request, or its refusal, as far as the head alone decides."""
        if (refused := self._refused_head(headers, repeated)) is not None:
            return refused
        path = local_path(scope).rstrip("/")
        if (page := self._pages.get(path)) is not None and scope["method"] in ("GET", "HEAD"):
            return _PageRoute(page)
        methods = self._routes.get(path) or self._rest_methods(scope)
        if methods is None:
            return self._elsewhere(scope)
        handle = methods.get(scope["method"])
        if handle is None:
            return Reply(405, headers=(("allow", ", ".join(methods)),))
        if _has_token(scope.get("query_string", b"")):
            return self._reply(400, InvalidRequest.of(TOKEN_IN_URL))
        return handle

    def _rest_methods(self, scope: Scope) -> Mapping[str, _Handler] | None:
        """The methods of a path of the endpoint without MCP; ``None`` for any other path, and other spellings of it."""
        path = local_path(scope)
        if self._rest is None or _base_of(path) != self._base or not _is_plain(scope):
            return None
        name = path.removeprefix(f"{self._base}{_TOOLS}")
        if name == path:
            return {"GET": self._rest_description}
        return {"POST": partial(self._rest_post, name)}

    def _refused_head(self, headers: dict[str, str], repeated: str | None) -> Reply | None:
        if repeated:
            return self._reply(400, InvalidRequest.of(DUPLICATE_HEADER, header=repeated))
        reason = self._access.refusal(headers)
        return None if reason is None else self._refusal(403, reason)

    def refusal(self, scope: Scope) -> Reply | None:
        """The refusal of a request by the headers that every path checks, or ``None``."""
        headers, repeated = _read_headers(scope["headers"], self._once)
        return self._refused_head(headers, repeated) or self._refused_length(headers)

    def failure(self, error: RpcError) -> Reply:
        """The answer to a request that the author's code has failed to answer."""
        return self._reply(500, error)

    def _elsewhere(self, scope: Scope) -> Reply | _PageRoute | _SiteRoute:
        """The handler of a path that is not the server's own."""
        if (page := self._metadata_page(scope)) is not None:
            return _PageRoute(page)
        site = self._sites.find(local_path(scope), scope["method"]) if self._sites is not None else None
        if site is None or not _is_plain(scope):
            return self._refusal(404, Worded(REASON_PATH_UNKNOWN, {"path": self._path}))
        if isinstance(site, Sequence):
            return Reply(405, headers=(("allow", ", ".join(site)),))
        if not site.public and _has_token(scope.get("query_string", b"")):
            return self._reply(400, InvalidRequest.of(TOKEN_IN_URL))
        return _SiteRoute(site)

    def _metadata_page(self, scope: Scope) -> Page | None:
        """The page of an application that is mounted a second time, at the well-known path of its metadata."""
        if scope["method"] not in ("GET", "HEAD") or not scope.get("root_path", "").startswith("/.well-known"):
            return None
        return self._pages.get(scope["path"].rstrip("/"))

    async def _serve_site(
        self, site: Site, caller: Any, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> None:
        """Serve a request of the author's routes. A failure is logged, and answered without its text."""
        if (refusal := self._refused_length(headers)) is not None:
            await send_reply(send, refusal)
            return
        exchange = self.limited(receive, send)
        reply = self._no_response
        try:
            await site.serve(caller, scope, exchange)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            if not (exchange.is_refused or exchange.has_left):
                reply = self._reply(500, internal_error(error))
        if not exchange.has_begun:
            await send_reply(send, reply)

    def limited(self, receive: Receive, send: Send) -> LimitedExchange:
        """A request and its response, with the limits of a body."""
        return LimitedExchange(receive, send, self._limits)

    def _not_started(self) -> Reply:
        return self._reply(503, InternalError.of(SERVER_LIFESPAN_NOT_STARTED))

    def answerer(self, scope: Scope) -> Answerer | None:
        """Return the function that answers the POSTs to the endpoint with the head in ``scope``; ``None`` if there is
        more to do than to admit the caller and to read a body. Their Content-Length may be another."""
        if (other := self._other(scope)) is not None:
            return other.answerer(scope)
        headers, repeated = _read_headers(scope["headers"], self._once)
        is_post = self._route(scope, headers, repeated) == self._post
        if not is_post or self._unread(headers) is not None or _is_whole(scope):
            return None
        has_credentials = any(name in headers for name in self._credentials)
        return partial(self._answer_known, headers, has_credentials)

    async def _answer_known(
        self, known: dict[str, str], has_credentials: bool, length: bytes, exchange: WholeExchange
    ) -> None:
        if not self._serves:
            return await send_reply(exchange.send, self._not_started())
        headers = {**known, "content-length": length.decode("ascii")}
        caller = await self._endpoint.admit(Carrier("http", headers, exchange.client))
        if isinstance(caller, Reply):
            return await send_reply(exchange.send, caller)
        if has_credentials:
            self._withhold(headers)
        body = exchange.take_body()
        if len(body) > self._max_body:
            return await send_reply(exchange.send, self._too_large())
        stream = Stream(exchange.send)
        async with _ends_with_the_client(exchange.receive, stream, self._long, self._ending):
            reply = await self._endpoint.post(body, caller, stream)
            if stream.is_open or reply.status != 200 or reply.headers or not exchange.answer_json(reply.body):
                await stream.finish(reply)
        return None

    async def _post(self, request: _HttpRequest) -> None:
        body = await self._read(request)
        if body is None:
            return
        stream = Stream(request.send, whole=request.whole)
        async with _ends_with_the_client(request.receive, stream, self._long, self._ending):
            await stream.finish(await self._endpoint.post(body, request.caller, stream))

    async def _read(self, request: _HttpRequest) -> bytes | None:
        """The body; ``None`` if the request has been answered already, or the client is gone."""
        headers = request.headers
        if (refusal := self._unread(headers)) is not None:
            return await send_reply(request.send, refusal)
        if (refusal := self._refused_length(headers)) is not None:
            return await send_reply(request.send, refusal)
        try:
            body = await self._body(request.receive)
        except TimeoutError:
            return await send_reply(request.send, self._too_slow())
        except ConnectionError:
            return None  # the client is gone
        if body is None:
            return await send_reply(request.send, self._too_large())
        return body

    def _unread(self, headers: Mapping[str, str]) -> Reply | None:
        """The refusal of a body in another media type or coding."""
        if (reason := _unreadable(headers.get("content-type", ""))) is not None:
            return self._refusal(415, reason)
        if (coding := _foreign_coding(headers.get("content-encoding", ""))) is not None:
            # The header distinguishes this 415 from one for a media type (RFC 9110, section 12.5.3).
            reason = Worded(REASON_CODING_NOT_READ, {"coding": coding[:40]})
            return self._refusal(415, reason, ("accept-encoding", "identity"))
        return None

    def _refused_length(self, headers: Mapping[str, str]) -> Reply | None:
        """The refusal of a body by its length alone."""
        length = headers.get("content-length", "0")
        if not _DIGITS.fullmatch(length):
            return self._refusal(400, Worded(REASON_LENGTH_INVALID, {"length": length[:40]}))
        return None if self._has_room_for(length) else self._too_large()

    def _too_slow(self) -> Reply:
        # An idle connection stays open for 30 s; one with half a request is closed.
        reason = Worded(REASON_BODY_TIMEOUT, {"seconds": self._body_seconds})
        return self._refusal(408, reason, ("connection", "close"))

    def _too_large(self) -> Reply:
        return self._refusal(413, Worded(REASON_BODY_TOO_LARGE, {"limit": self._max_body}))

    def _has_room_for(self, length: str) -> bool:
        digits = length.lstrip("0")
        return len(digits) <= _MAX_DIGITS and int(digits or "0") <= self._max_body

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body, or ``None`` if it is too large."""
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
            await asyncio.sleep(0)  # parts may all be ready at once; the body's time limit needs the event loop to run

    def _refusal(self, status: int, reason: Worded, *headers: tuple[str, str]) -> Reply:
        return self._reply(status, InvalidRequest.of(HTTP_REQUEST_REFUSED, reason=reason), *headers)

    def _reply(self, status: int, error: RpcError, *headers: tuple[str, str]) -> Reply:
        return Reply(status, encode_failure(None, error, self._language), headers)

    async def _rest_post(self, name: str, request: _HttpRequest) -> None:
        body = await self._read(request)
        if body is None or self._rest is None:
            return
        stream = Stream(request.send)
        async with _ends_with_the_client(request.receive, stream, self._long, self._ending):
            await stream.finish(await self._rest.post(name, body, request.caller))

    async def _rest_description(self, request: _HttpRequest) -> None:
        if self._rest is not None:
            base = f"{request.scope.get('root_path', '')}{self._base}"
            await send_reply(request.send, await self._rest.describe(base, request.caller))

    async def _get(self, request: _HttpRequest) -> None:
        if "text/event-stream" not in request.headers.get("accept", "").lower():
            return await send_reply(request.send, Reply(405, headers=(("allow", "POST, DELETE"),)))
        return await self._listen(request, self._endpoint)

    async def _listen(self, request: _HttpRequest, endpoint: HttpHandler[Any] | SseHandler[Any]) -> None:
        if request.whole:
            await send_reply(request.send, needs_http_1_1(self._language))
            return
        stream = Stream(request.send)
        async with _ends_with_the_client(request.receive, stream, self._long, self._ending):
            await stream.finish(await endpoint.listen(request.caller, stream))

    async def _delete(self, request: _HttpRequest) -> None:
        await send_reply(request.send, await self._endpoint.delete(request.caller))

    async def _sse_get(self, request: _HttpRequest) -> None:
        if self._sse is not None:
            await self._listen(request, self._sse)

    async def _sse_post(self, request: _HttpRequest) -> None:
        body = await self._read(request)
        if body is not None and self._sse is not None:
            await send_reply(request.send, await self._sse.post(body, request.caller, request.scope["query_string"]))


class _HttpRequest(Value, frozen=True):
    """An admitted request."""

    caller: Any
    headers: Mapping[str, str]
    scope: Scope
    receive: Receive
    send: Send

    @property
    def whole(self) -> bool:
        """Whether the answer must be sent whole, with its length. HTTP/1.0 has no chunks (RFC 9112, section 6.1), and
        not every HTTP server omits them for such a client."""
        return _is_whole(self.scope)


_Handler: TypeAlias = Callable[[_HttpRequest], Awaitable[None]]


class _PageRoute(Value, frozen=True):
    page: Page


class _SiteRoute(Value, frozen=True):
    site: Site


_TOOLS = "/tools/"
_DESCRIPTION = "/openapi.json"


def _base_of(path: str) -> str | None:
    """The path before that of a call without MCP, or of the description; ``None`` for any other path."""
    if path.endswith(_DESCRIPTION):
        return path.removesuffix(_DESCRIPTION)
    base, found, name = path.rpartition(_TOOLS)
    return base if found and name and "/" not in name else None


def local_path(scope: Scope) -> str:
    """The path of a request below the place where the application is mounted."""
    return scope["path"].removeprefix(scope.get("root_path", ""))


_ESCAPED_SIGNS = re.compile(rb"%(?:2[fF]|5[cC]|2[eE])")  # slash, backslash, dot


def _is_plain(scope: Scope) -> bool:
    """Whether a path has one reading: programs do not agree on dot segments, empty ones, and slashes that are escaped
    or turned round, and the one that an author mounts may find another path there than the one that was authorized."""
    path = scope["path"]
    segments = path.rstrip("/").split("/")[1:]
    readable = (
        not any(segment in ("", ".", "..") for segment in segments)
        and path.isprintable()
        and not {"\\", "%"} & set(path)
    )
    return readable and "//" not in path and not _ESCAPED_SIGNS.search(scope.get("raw_path") or b"")


def _is_whole(scope: Scope) -> bool:
    return scope.get("http_version") == "1.0" and UNTIL_CLOSE not in (scope.get("extensions") or ())


def _unreadable(content_type: str) -> Worded | None:
    """The reason to refuse a content type, or ``None``. Fast for plain ``application/json``, the usual one."""
    if content_type == "application/json":
        return None
    kind, _, parameters = content_type.lower().partition(";")
    if kind.strip() != "application/json":
        # A browser may send text/plain to another site without asking, but not JSON.
        return Worded(REASON_CONTENT_TYPE, {})
    for name, _, value in (parameter.partition("=") for parameter in parameters.split(";")):
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            return Worded(REASON_CHARSET, {})
    return None


def _foreign_coding(content_encoding: str) -> str | None:
    """The first content coding that would need decoding, or ``None``."""
    codings = (coding.strip().lower() for coding in content_encoding.split(","))
    return next((coding for coding in codings if coding not in ("", "identity")), None)


def _read_headers(raw: Sequence[tuple[bytes, bytes]], once: frozenset[bytes]) -> tuple[dict[str, str], str | None]:
    """Headers by name, and the first one repeated against the rules. Others are joined as lists (RFC 9110, 5.3)."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    if len(headers) == len(raw):
        return headers, None
    if (repeated := _repeated(raw, once)) is not None:
        return headers, repeated
    return {
        name: ", ".join(v.decode("latin-1") for n, v in raw if n == name.encode("latin-1")) for name in headers
    }, None


def _repeated(raw: Sequence[tuple[bytes, bytes]], once: frozenset[bytes]) -> str | None:
    names: set[bytes] = set()
    for name, _ in raw:
        if name in names and (name.startswith(b"mcp-") or name in once):
            return name.decode("latin-1")
        names.add(name)
    return None


# If repeated, these could be read differently by a proxy in front of us and by us.
_ONCE = frozenset({b"host", b"origin", b"content-type", b"content-length", b"authorization", b"x-api-key"})


def needs_http_1_1(language: str) -> Reply:
    """The refusal of an endless stream to a client that could only receive it whole."""
    error = InvalidRequest.of(HTTP_REQUEST_REFUSED, reason=Worded(REASON_STREAM_NEEDS_HTTP_1_1, {}))
    headers = (("upgrade", "HTTP/1.1"), ("connection", "upgrade"))
    return Reply(426, encode_failure(None, error, language), headers)


_CREDENTIAL_NAMES = frozenset(name.encode() for name in CREDENTIAL_HEADERS)
_DECODINGS = 3  # a proxy in front may decode once, and so may the program that wrote the URL


def _has_token(query: bytes) -> bool:
    """Whether a query contains ``access_token``, in any case and percent-encoded up to ``_DECODINGS`` times."""
    for _ in range(_DECODINGS):
        query = unquote_to_bytes(query)
    return b"access_token" in query.lower()


_JSON = (b"content-type", b"application/json")
_STREAM = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
)


async def send_reply(send: Send, reply: Reply) -> None:
    headers: list[tuple[bytes, bytes]] = []
    if reply.status not in (204, 304):  # these have no body, and a length would be another's (RFC 9110, section 8.6)
        headers.append((b"content-length", b"%d" % len(reply.body)))
    if reply.body and (not reply.headers or all(name != "content-type" for name, _ in reply.headers)):
        headers.append(_JSON)
    if reply.status >= 400:  # a cache may store 404, 405 and 410 by default (RFC 9110, section 15.1)
        headers.append((b"cache-control", b"no-store"))
    for name, value in reply.headers:
        headers.append((name.encode(), value.encode("latin-1")))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def client_left(receive: Callable[[], Awaitable[Mapping[str, Any]]]) -> bool:
    """Wait until the client disconnects. ``False`` if the application server does not report it.

    After the end of a body, only ``http.disconnect`` may follow (ASGI, HTTP connection scope). Some servers instead
    return another message at once on every call, so the loop yields to the event loop, and stops after a second end.
    """
    has_ended = False
    while (event := await receive())["type"] != "http.disconnect":
        if has_ended:
            return False
        has_ended = not event.get("more_body")
        await asyncio.sleep(0)
    return True


class _ends_with_the_client(Alarm):
    """Cancels the current task when the client disconnects, and swallows that cancellation: there is no one to answer.

    Short requests, which are nearly all, never start the watcher. Long ones are in ``long``, where :meth:`dismiss`
    finds them when the server is about to end; ``ending`` is the reply to those.
    """

    __slots__ = (
        "_ending",
        "_ending_reply",
        "_gone",
        "_long",
        "_loop",
        "_receive",
        "_request",
        "_stream",
        "_watcher",
    )

    def __init__(self, receive: Receive, stream: Stream, long: set[_ends_with_the_client], ending: Reply) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task that could be cancelled")
        self._receive = receive
        self._stream = stream
        self._long = long
        self._ending_reply = ending
        self._watcher: asyncio.Task[None] | None = None
        self._gone = False
        self._ending = False
        self._request = task
        self._loop = task.get_loop()
        super().__init__(_WATCH_AFTER_SECONDS, self._loop)

    async def __aenter__(self) -> None: ...

    def ring(self) -> None:
        self._watcher = self._loop.create_task(self._watch())
        self._long.add(self)

    async def _watch(self) -> None:
        if await client_left(self._receive):
            self._gone = True
            self._request.cancel()

    def dismiss(self) -> None:
        """Answer that the server is about to end, unless there is an answer already."""
        self._ending = True
        self._request.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self.end()
        if self._watcher is not None:
            self._watcher.cancel()
            self._long.discard(self)
        cancelled = kind is asyncio.CancelledError
        if cancelled and self._ending and not self._gone:
            await self._stream.finish(self._ending_reply)
        self._stream.abandon()
        return cancelled and (self._gone or self._ending)


class Stream:
    """The answer of one request: JSON at the end, or an event stream from the first notification on.

    ``send`` does not block; a writer task sends the queued events, and a comment line after a period of silence, so
    that no proxy closes the connection. A reader that falls behind loses the oldest events, unless the sender waits for
    ``room``, or gives up on a reader that is ``behind``. A ``whole`` stream is sent at its end, with its length; it
    holds the newest events, up to 8 MiB.
    """

    def __init__(self, send: Send, *, whole: bool = False) -> None:
        self._send = send
        self.whole = whole
        self._writer: asyncio.Task[None] | None = None
        self._abandoned = False

    def open(self) -> None:
        """Start the stream before there is an event to send."""
        if self._writer is None and not self._abandoned:
            self._queue: deque[bytes] = deque(maxlen=_MAX_QUEUED)
            self._more = asyncio.Event()
            self._drained = asyncio.Event()
            self._waiting = 0
            self._last = False
            self._writer = asyncio.get_running_loop().create_task(self._write())

    def notify(self, method: str, params: Json) -> None:
        if not self._abandoned:
            self.send(encode_notification(method, params))

    def send(self, frame: bytes, id: str | None = None) -> None:
        """Queue one message; with an ``id``, the stream can be resumed after it."""
        self._event(b"event: message\n" + _id_line(id) + b"data: %b\n\n" % frame)

    def say(self, kind: str, data: str) -> None:
        """Queue an event other than a message: one line of text of the given kind."""
        self._event(f"event: {kind}\ndata: {data}\n\n".encode())

    def prime(self, id: str) -> None:
        """Queue an event without data: from here on the stream can be resumed (2025-11-25, basic/transports)."""
        self._event(_id_line(id) + b"data: \n\n")

    def _event(self, event: bytes) -> None:
        if self._abandoned:
            return
        self.open()
        self._queue.append(event)
        self._waiting += len(event)
        self._more.set()

    @property
    def behind(self) -> bool:
        """Whether the queue for the reader is too long; further events may displace the oldest."""
        if self._abandoned or self._writer is None:
            return False
        return len(self._queue) >= _MAX_QUEUED or self._waiting > _MAX_WAITING

    async def room(self) -> None:
        """Wait while the reader is behind. A reader that accepts no data at all is given up eventually."""
        while self.behind:
            self._drained.clear()
            await self._drained.wait()

    @property
    def is_open(self) -> bool:
        """Whether the answer has become an event stream."""
        return self._writer is not None

    @property
    def gone(self) -> bool:
        """Whether the stream has no reader, and will not have one."""
        return self._abandoned

    def leave(self, retry: int | None = None) -> None:
        """Release the connection without an answer. ``retry``: milliseconds until the client should return."""
        if retry is not None:
            self._event(b"retry: %d\n\n" % retry)
        if self._writer is not None and not self._abandoned:
            self._abandoned = self._last = True
            self._more.set()
            self._drained.set()

    async def finish(self, reply: Reply | None) -> None:
        """Send the answer: the whole of it, or the last event of the stream, which it ends. The status of an open
        stream is sent already; an answer of 5xx is expressed by its end alone.
        """
        if self._writer is None:
            await send_reply(self._send, reply or Reply(202))
            return
        if reply is not None and reply.body and reply.status < 500:
            self.send(reply.body)
        del reply  # a queued answer is held once, not twice
        self._last = True
        self._more.set()
        with contextlib.suppress(TimeoutError):
            await self._writer

    def abandon(self) -> None:
        """Drop the stream: there is no reader, and later events of a call that continues are discarded."""
        self._abandoned = True
        if self._writer is not None:
            self._writer.cancel()
            self._drained.set()

    async def _write(self) -> None:
        try:
            await (self._write_whole() if self.whole else self._write_events())
        finally:
            self._abandoned = True
            self._drained.set()

    async def _write_whole(self) -> None:
        events: deque[bytes] = deque()
        size = 0
        while not (self._last and not self._queue):
            for event in self._drain():
                events.append(event)
                size += len(event)
            while size > _MAX_WAITING and len(events) > 1:
                size -= len(events.popleft())
            if not self._last:
                await self._more.wait()
        await send_reply(self._send, Reply(200, b"".join(events), (*_STREAM, ("connection", "close"))))

    async def _write_events(self) -> None:
        headers = [(name.encode(), value.encode()) for name, value in _STREAM]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        while not (self._last and not self._queue):
            await self._chunk(b"".join(self._drain()) or b": keep-alive\n\n")
            await self._wait()
        await self._send({"type": "http.response.body", "body": b""})

    def _drain(self) -> Iterable[bytes]:
        self._more.clear()
        self._drained.set()
        self._waiting = 0
        while self._queue:
            yield self._queue.popleft()

    async def _wait(self) -> None:
        if self._queue or self._last:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
                await self._more.wait()

    async def _chunk(self, data: bytes) -> None:
        # A client that keeps its connection open without reading times out.
        async with asyncio.timeout(_READ_SECONDS):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})


def _id_line(id: str | None) -> bytes:
    return b"" if id is None else b"id: %b\n" % id.encode()
