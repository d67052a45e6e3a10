"""Guarded HTTP fetches of URLs that an untrusted party may have named, limited in size and time.

HTTPS is required beyond loopback. Every address of the host is checked, and the connection goes to a checked address,
so that a later change of the DNS entry has no effect. Private networks and this machine are reachable only if the
operator has named that exact host and port, or if the party that names the URL is there itself; link-local addresses
only if the operator has named the address itself. Environment settings are ignored and cookies are not kept.

``get``, ``post`` and ``post_json`` are for expected documents: they follow no redirects. ``request`` is for arbitrary
content: it follows as many redirects as the fetcher allows, each guarded like the first URL, and decompresses the body
within the size limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from urllib.parse import SplitResult, urlsplit

from tooltrue.errors import TransportError, fact_of
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue.protocol.types import Value
from tooltrue.transport.addresses import IpAddress, is_local, is_public, parse
from tooltrue.transport.urls import Origin, joined, origin_of
from tooltrue.transport.wording import (
    FETCH_FAILED,
    FETCH_REFUSED,
    REASON_ADDRESS_NOT_PUBLIC,
    REASON_ANSWER_CODING,
    REASON_ANSWER_NOT_COMPRESSED,
    REASON_ANSWER_TOO_LARGE,
    REASON_ANSWER_TRUNCATED,
    REASON_FETCH_TIMEOUT,
    REASON_HOST_WITHOUT_ADDRESS,
    REASON_HTTPS_REQUIRED,
    REASON_PORT_NOT_OF_WEB,
    REASON_TOO_MANY_REDIRECTS,
    REASON_UNPACKED_RATIO,
    REASON_UNPACKED_TOO_LARGE,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # many processes have a fetcher and never fetch, and httpx2 takes longer to import than a client
    import httpx2

    from tooltrue.transport.kept_connections import ConnectionPlace, KeptConnections

__all__ = ["AppFetcher", "FetchResponse", "Fetched", "Fetcher", "NotFetched", "Resolve", "Why"]

_SECONDS = 5.0
_MAX_BYTES = 1024 * 1024
_UNPACKED = 1024 * 1024  # above this, a body that unpacks to _RATIO times its size counts as a decompression bomb
_RATIO = 200
T = TypeVar("T")

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a host and port to addresses."""

Why: TypeAlias = Literal["refused", "malformed", "late", "large", "redirects", "failed"]
OnProgress: TypeAlias = Callable[[int, int | None], None]
"""Progress callback: the number of bytes received, and the total if it is known."""
Before: TypeAlias = Callable[[str], Awaitable[None]]
"""Callback for each URL before it is requested, redirects included; an exception that it raises ends the request."""

_READING = frozenset(("GET", "HEAD", "QUERY"))
_MOVED = frozenset((301, 302, 303, 307, 308))
_ANYWHERE = frozenset(("accept", "accept-language", "user-agent"))
"""The headers that are kept when a redirect leads to another origin: those that do not identify the caller."""


class NotFetched(TransportError):
    """A fetch that the guard refused (TT4210) or that failed (TT4211). ``why`` is the reason in a form for programs."""

    why: Why = "failed"


class Fetched(Value, frozen=True):
    status: int
    body: bytes
    nonce: str | None = None
    """The nonce for the next DPoP proof (RFC 9449, section 8)."""


class FetchResponse(Value, frozen=True):
    """The answer to a request. ``url`` is the final one, after redirects; the names of ``headers`` are lower-case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


async def resolve(host: str, port: int) -> list[str]:
    """Resolve a host with the system's resolver."""
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in addresses]


class Fetcher:
    """Fetches URLs. ``named``: URLs set by the operator; their origins are trusted further than others. ``beside``: the
    address of the party that names the URL; a party on this machine may name addresses of this machine, a party in a
    private network those of private networks. ``plain``: allow HTTP without TLS. ``ports``: the ports allowed at
    origins that the operator has not named; default: all. ``redirects``: the maximum that ``request`` follows.
    ``named_tls``: the TLS of named origins, such as one with a client certificate; no other origin sees it. ``kept``:
    the connections that requests which read use again, after the same checks; any other request has a connection of its
    own, since it cannot be repeated on another if that is closed meanwhile.
    """

    def __init__(
        self,
        named: Iterable[str] = (),
        *,
        beside: IpAddress | None = None,
        resolve: Resolve = resolve,
        seconds: float = _SECONDS,
        max_bytes: int = _MAX_BYTES,
        plain: bool = False,
        ports: Iterable[int] | None = None,
        redirects: int = 0,
        named_tls: ssl.SSLContext | None = None,
        kept: KeptConnections | None = None,
    ) -> None:
        self._named = frozenset(map(origin_of, named))
        self._beside = beside
        self._resolve = resolve
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._plain = plain
        self._ports = None if ports is None else frozenset(ports)
        self._redirects = redirects
        self._named_tls = named_tls
        self._kept = kept
        self._tls: ssl.SSLContext | None = None

    async def get(self, url: str) -> Fetched:
        """GET a document. Raises :class:`NotFetched`."""
        return await self._bounded("GET", url)

    async def post(
        self,
        url: str,
        form: Mapping[str, str],
        login: tuple[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """POST a form, with a user name and password if given. Raises :class:`NotFetched`."""
        return await self._bounded("POST", url, auth=login, data=form, headers=headers)

    async def post_json(self, url: str, value: Json, login: tuple[str, str] | None = None) -> Fetched:
        """POST a JSON value, with a user name and password if given. Raises :class:`NotFetched`."""
        headers = {"content-type": "application/json"}
        return await self._bounded("POST", url, auth=login, content=encode(value), headers=headers)

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        on_progress: OnProgress | None = None,
        before: Before | None = None,
    ) -> FetchResponse:
        """Request a URL and return the answer, whatever its status. Redirects are followed for GET only. Raises
        :class:`NotFetched`, and the exceptions of ``before``."""
        return await self._guarded(url, self._follow(method, url, dict(headers or {}), content, on_progress, before))

    async def check(self, url: str) -> None:
        """Raise :class:`NotFetched` for a URL that the guard would refuse, without a request."""
        await self._guarded(url, self._address(url))

    async def _bounded(self, method: str, url: str, **content: Any) -> Fetched:
        return await self._guarded(url, self._fetch(method, url, **content))

    async def _guarded(self, url: str, work: Awaitable[T]) -> T:
        bare_url = url.partition("?")[0][:200]
        try:
            async with asyncio.timeout(self._seconds):
                return await work
        except _Guarded as error:
            raise _not_fetched(FETCH_REFUSED, "refused", bare_url, error) from None
        except _Failed as error:
            raise _not_fetched(FETCH_FAILED, error.why, bare_url, error) from None
        except TimeoutError:
            raise _not_fetched(
                FETCH_FAILED, "late", bare_url, Worded(REASON_FETCH_TIMEOUT, {"seconds": self._seconds})
            ) from None
        except Exception as error:
            import httpx2  # noqa: PLC0415 - few processes fetch

            if not isinstance(error, OSError | ValueError | httpx2.HTTPError | httpx2.InvalidURL):
                raise
            why: Why = "malformed" if isinstance(error, ValueError | httpx2.InvalidURL) else "failed"
            raise _not_fetched(FETCH_FAILED, why, bare_url, error) from None

    async def _follow(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        content: bytes | None,
        on_progress: OnProgress | None,
        before: Before | None,
    ) -> FetchResponse:
        origin = origin_of(url)
        for _ in range(self._redirects + 1):
            if before is not None:
                await before(url)
            async with self._response(method, url, headers=headers, content=content) as response:
                location = response.headers.get("location")
                if method != "GET" or location is None or response.status_code not in _MOVED or not self._redirects:
                    body = await _decoded(response, self._max_bytes, on_progress)
                    return FetchResponse(url, response.status_code, _headers(response), body)
            url = joined(url, location)
            if origin_of(url) != origin:
                headers = {name: value for name, value in headers.items() if name.lower() in _ANYWHERE}
        raise _Failed("redirects", Worded(REASON_TOO_MANY_REDIRECTS, {"limit": self._redirects}))

    async def _fetch(self, method: str, url: str, **request: Any) -> Fetched:
        async with self._response(method, url, accept_encoding="identity", **request) as response:
            body = b"".join([part async for part in _raw(response, self._max_bytes)])
            return Fetched(response.status_code, body, response.headers.get("dpop-nonce"))

    @contextlib.asynccontextmanager
    async def _response(
        self,
        method: str,
        url: str,
        *,
        auth: tuple[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        data: Mapping[str, str] | None = None,
        content: bytes | None = None,
        accept_encoding: str = "gzip",
    ) -> AsyncGenerator[httpx2.Response]:
        import httpx2  # noqa: PLC0415 - few processes fetch

        address = await self._address(url)
        parts = urlsplit(url)
        request = httpx2.Request(
            method,
            _at(parts, address),
            headers={
                "accept": "application/json",
                "accept-encoding": accept_encoding,
                **(headers or {}),
                "host": parts.netloc,
            },
            data=data,
            content=content,
            extensions={
                "sni_hostname": parts.hostname or "",  # the certificate is for the name, not the address
                "timeout": httpx2.Timeout(self._seconds).as_dict(),
            },
        )
        if self._kept is not None and method in _READING:
            async with (
                self._kept.transport(self._place(url, address), self._context(url)) as transport,
                contextlib.aclosing(await transport.handle_async_request(request)) as response,
            ):
                yield response
            return
        async with (
            # Another name may lead to the same address, so that no other request has this connection.
            httpx2.AsyncClient(verify=self._context(url), trust_env=False, timeout=self._seconds) as client,
            contextlib.aclosing(await client.send(request, auth=auth, stream=True, follow_redirects=False)) as response,
        ):
            yield response

    def _place(self, url: str, address: IpAddress) -> ConnectionPlace:
        from tooltrue.transport.kept_connections import ConnectionPlace  # noqa: PLC0415 - few processes fetch

        origin = origin_of(url)
        return ConnectionPlace(origin.scheme, origin.host, origin.port, address, id(self._context(url)))

    def _context(self, url: str) -> ssl.SSLContext | bool:
        origin = origin_of(url)
        if origin.scheme == "http":
            return False
        if self._named_tls is not None and origin in self._named:
            return self._named_tls
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    async def _address(self, url: str) -> IpAddress:
        """The address to connect to. All addresses of the host must pass the check, since any of them may be used."""
        origin = origin_of(url)
        literal = parse(origin.host)
        texts = [origin.host] if literal else await self._resolve(origin.host, origin.port)
        addresses = [address for address in map(parse, texts) if address is not None]
        if not addresses:
            raise OSError(Worded(REASON_HOST_WITHOUT_ADDRESS, {}))
        for address in addresses:
            self._check(origin, address, is_literal=literal is not None)
        return addresses[0]

    def _check(self, origin: Origin, address: IpAddress, *, is_literal: bool) -> None:
        named = origin in self._named
        near = self._beside is not None and is_local(address) and _are_together(address, self._beside)
        if not is_public(address) and not near and not (named and (is_literal or is_local(address))):
            raise _Guarded(Worded(REASON_ADDRESS_NOT_PUBLIC, {"address": address}))
        if self._ports is not None and not named and origin.port not in self._ports:
            raise _Guarded(Worded(REASON_PORT_NOT_OF_WEB, {"port": origin.port}))
        if origin.scheme != "https" and not self._plain and not ((named or near) and address.is_loopback):
            raise _Guarded(Worded(REASON_HTTPS_REQUIRED, {}))


class AppFetcher(Fetcher):
    """Calls an ASGI application of this process, within the same limits of size and time. No address is resolved and
    no connection is made; the lifespan of the application is for its owner to enter."""

    def __init__(self, app: Any, *, seconds: float = _SECONDS, max_bytes: int = _MAX_BYTES) -> None:
        super().__init__(seconds=seconds, max_bytes=max_bytes)
        self._app = app

    @contextlib.asynccontextmanager
    async def _response(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None, **_: Any
    ) -> AsyncGenerator[httpx2.Response]:
        import httpx2  # noqa: PLC0415 - few processes fetch

        own = {"accept": "application/json", "accept-encoding": "identity", **(headers or {})}
        transport = httpx2.ASGITransport(self._app, raise_app_exceptions=False)
        async with (
            asyncio.timeout(self._seconds),
            httpx2.AsyncClient(transport=transport, trust_env=False) as client,
            contextlib.aclosing(
                await client.send(httpx2.Request(method, url, headers=own, content=content), stream=True)
            ) as response,
        ):
            yield response


def _are_together(one: IpAddress, other: IpAddress) -> bool:
    """Whether both addresses are of this machine, or both of a private network."""
    return is_local(one) and is_local(other) and one.is_loopback == other.is_loopback


class _Guarded(Exception):
    """The reason why the guard refused a fetch."""

    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)


class _Failed(Exception):
    """The reason why a fetch failed, with a code for programs."""

    def __init__(self, why: Why, problem: Worded | str) -> None:
        super().__init__(problem)
        self.why: Why = why


def _not_fetched(code: str, why: Why, url: str, problem: Exception | Worded) -> NotFetched:
    reason = problem if isinstance(problem, Worded) else getattr(problem, "strerror", None) or fact_of(problem)
    error = NotFetched.of(code, url=url, problem=reason)
    error.why = why
    return error


def _headers(response: httpx2.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


async def _raw(response: httpx2.Response, limit: int) -> AsyncIterator[bytes]:
    """The body as it was sent, up to the limit."""
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > limit:
            raise _Failed("large", Worded(REASON_ANSWER_TOO_LARGE, {"limit": limit}))
        yield part


async def _decoded(response: httpx2.Response, limit: int, on_progress: OnProgress | None) -> bytes:
    """The decompressed body. Never produces more than ``limit`` bytes."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise _Failed("failed", Worded(REASON_ANSWER_CODING, {"coding": coding[:40]}))
    unpack = None if coding in ("identity", "") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    length = response.headers.get("content-length", "")
    total = int(length) if length.isdecimal() and len(length) < 16 else None
    parts, size, came = list[bytes](), 0, 0
    async for part in _raw(response, limit):
        came += len(part)
        parts.append(part if unpack is None else _unpacked(unpack, part, limit + 1 - size))
        size += len(parts[-1])
        if size > limit:
            raise _Failed("large", Worded(REASON_UNPACKED_TOO_LARGE, {"limit": limit}))
        if size > _UNPACKED and size > came * _RATIO:
            raise _Failed("large", Worded(REASON_UNPACKED_RATIO, {"ratio": _RATIO}))
        if on_progress is not None:
            on_progress(came, total)
    if unpack is not None and parts and not unpack.eof:
        raise _Failed("failed", Worded(REASON_ANSWER_TRUNCATED, {}))
    return b"".join(parts)


def _unpacked(unpack: Any, part: bytes, room: int) -> bytes:
    try:
        return unpack.decompress(part, room)
    except zlib.error as error:
        raise _Failed("failed", Worded(REASON_ANSWER_NOT_COMPRESSED, {})) from error


def _at(parts: SplitResult, address: IpAddress) -> str:
    host = f"[{address}]" if address.version == 6 else str(address)
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=host + port, fragment="").geturl()
