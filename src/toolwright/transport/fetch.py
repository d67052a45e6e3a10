"""The one way to fetch what somebody else may have named: guarded, small and soon over.

HTTPS beyond loopback. Every address of the host is looked at, and the connection goes to one that was (a name that
means something else a moment later leads nowhere else). Private networks and this machine are reached only where the
operator has named that very host and port; link-local addresses only where the operator has named the address itself.
No redirect is followed, nothing is taken from the environment, and the answer is bounded in size and time.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

import httpx2

from toolwright.errors import TransportError
from toolwright.protocol.types import Value
from toolwright.transport.addresses import IpAddress, is_local, is_public, parse

__all__ = ["Fetched", "Fetcher", "NotFetched", "Resolve", "origin_of"]

_SECONDS = 5.0
_MAX_BYTES = 1024 * 1024
_PORTS = {"https": 443, "http": 80}

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host."""


class NotFetched(TransportError):
    """Nothing came: the guard refused (TW4210), or it failed (TW4211)."""


class Fetched(Value, frozen=True):
    status: int
    body: bytes


class Origin(Value, frozen=True):
    scheme: str
    host: str
    port: int


def origin_of(url: str) -> Origin:
    """Where a URL leads. ``ValueError`` for what is no plain ``http(s)`` URL."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None or not url.isascii():
        raise ValueError("it is not an http(s) URL with a host and without a user")
    return Origin(parts.scheme, parts.hostname.lower(), parts.port or _PORTS[parts.scheme])


async def resolve(host: str, port: int) -> list[str]:
    """What the system says."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class Fetcher:
    """``named``: URLs that the operator has set; where they lead is trusted further than other places."""

    def __init__(self, named: Iterable[str] = (), *, resolve: Resolve = resolve, seconds: float = _SECONDS) -> None:
        self._named = frozenset(map(origin_of, named))
        self._resolve = resolve
        self._seconds = seconds
        self._tls: ssl.SSLContext | None = None

    async def get(self, url: str) -> Fetched:
        """What is there. Raises :class:`NotFetched`."""
        return await self._bounded("GET", url)

    async def post(self, url: str, form: Mapping[str, str], login: tuple[str, str]) -> Fetched:
        """The answer to a form, sent with a name and a password. Raises :class:`NotFetched`."""
        return await self._bounded("POST", url, form, login)

    async def _bounded(
        self, method: str, url: str, form: Mapping[str, str] | None = None, login: tuple[str, str] | None = None
    ) -> Fetched:
        shown = url.partition("?")[0][:200]
        try:
            async with asyncio.timeout(self._seconds):
                return await self._fetch(method, url, form, login)
        except _Guarded as error:
            raise NotFetched.of("TW4210", url=shown, problem=str(error)) from None
        except (OSError, ValueError, UnicodeError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NotFetched.of("TW4211", url=shown, problem=str(error) or type(error).__name__) from None

    async def _fetch(
        self, method: str, url: str, form: Mapping[str, str] | None, login: tuple[str, str] | None
    ) -> Fetched:
        origin = origin_of(url)
        address = await self._address(origin)
        request = httpx2.Request(
            method,
            _at(urlsplit(url), address),
            headers={"host": urlsplit(url).netloc, "accept": "application/json", "accept-encoding": "identity"},
            data=form,
            extensions={"sni_hostname": origin.host},  # the certificate is the name's, not the address's
        )
        auth = None if login is None else httpx2.BasicAuth(*login)
        async with (
            # A connection is never used again: another name may lead to the same address.
            httpx2.AsyncClient(verify=self._context(origin), trust_env=False, timeout=self._seconds) as client,
            contextlib.aclosing(await client.send(request, auth=auth, stream=True, follow_redirects=False)) as response,
        ):
            return Fetched(response.status_code, await _body(response))

    def _context(self, origin: Origin) -> ssl.SSLContext | bool:
        if origin.scheme == "http":
            return False
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    async def _address(self, origin: Origin) -> IpAddress:
        """Where to connect to: an address that may be. All that the name has are looked at, for any may be taken."""
        literal = parse(origin.host)
        texts = [origin.host] if literal else await self._resolve(origin.host, origin.port)
        addresses = [address for address in map(parse, texts) if address is not None]
        if not addresses:
            raise OSError("the host has no address")
        for address in addresses:
            self._check(origin, address, is_literal=literal is not None)
        return addresses[0]

    def _check(self, origin: Origin, address: IpAddress, *, is_literal: bool) -> None:
        named = origin in self._named
        if not is_public(address) and not (named and (is_literal or is_local(address))):
            raise _Guarded(f"{address} is no public address, and the settings do not name this host and port")
        if origin.scheme != "https" and not (named and address.is_loopback):
            raise _Guarded("https is wanted")


class _Guarded(Exception):
    """Why the guard refuses."""


async def _body(response: httpx2.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise ValueError(f"the answer has more than {_MAX_BYTES} bytes")
    return b"".join(parts)


def _at(parts: SplitResult, address: IpAddress) -> str:
    host = f"[{address}]" if address.version == 6 else str(address)
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=host + port, fragment="").geturl()
