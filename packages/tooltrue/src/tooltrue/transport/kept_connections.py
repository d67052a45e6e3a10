"""Connections that stay open between requests, each for one origin, one TLS context and one checked address.

They are closed after an idle time, and with their event loop: an asynchronous generator holds each, which the loop
closes at its end (``asyncio.run`` does so).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import httpx2

from tooltrue.protocol.types import Value
from tooltrue.transport.addresses import IpAddress

__all__ = ["ConnectionPlace", "KeptConnections"]

_IDLE_SECONDS: Final = 15.0
_PLACES: Final = 4
_CONNECTIONS: Final = 8
"""The idle connections of one place."""


class ConnectionPlace(Value, frozen=True):
    """The target of a connection. ``tls``: the ``id()`` of the context, which the caller holds."""

    scheme: str
    host: str
    port: int
    address: IpAddress
    tls: int


class KeptConnections:
    """Transports of HTTP whose connections are used again, for a few places at a time: those of others are closed after
    the request."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._transports: WeakKeyDictionary[asyncio.AbstractEventLoop, _OfLoop] = WeakKeyDictionary()
        self._closing = set[asyncio.Task[None]]()

    @contextlib.asynccontextmanager
    async def transport(
        self, place: ConnectionPlace, tls: ssl.SSLContext | bool
    ) -> AsyncGenerator[httpx2.AsyncHTTPTransport]:
        """A transport for requests to this place."""
        transports = self._transports.setdefault(asyncio.get_running_loop(), {})
        if place not in transports and len(transports) >= _PLACES:
            async with httpx2.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
                yield transport
            return
        if place not in transports:
            transports.setdefault(place, await _KeptTransport.opened(tls, self._idle_seconds))
        one = transports[place]
        one.begin()
        try:
            yield one.transport
        finally:
            one.end(self._idle_seconds, lambda: self._close(transports, place))

    def _close(self, transports: _OfLoop, place: ConnectionPlace) -> None:
        task = asyncio.get_running_loop().create_task(transports.pop(place).aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _KeptTransport:
    """A transport, and the number of requests that use it. It is closed when there were none for a while."""

    def __init__(self, transport: httpx2.AsyncHTTPTransport, holder: AsyncGenerator[httpx2.AsyncHTTPTransport]) -> None:
        self.transport = transport
        self._holder = holder
        self._requests = 0
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def opened(cls, tls: ssl.SSLContext | bool, idle_seconds: float) -> _KeptTransport:
        limits = httpx2.Limits(max_keepalive_connections=_CONNECTIONS, keepalive_expiry=idle_seconds)
        holder = _held(httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits))
        return cls(await anext(holder), holder)

    def begin(self) -> None:
        self._requests += 1
        if self._timer is not None:
            self._timer.cancel()

    def end(self, idle_seconds: float, close: Callable[[], None]) -> None:
        self._requests -= 1
        if not self._requests:
            self._timer = asyncio.get_running_loop().call_later(idle_seconds, close)

    async def aclose(self) -> None:
        await self._holder.aclose()


_OfLoop: TypeAlias = dict[ConnectionPlace, _KeptTransport]


async def _held(transport: httpx2.AsyncHTTPTransport) -> AsyncGenerator[httpx2.AsyncHTTPTransport]:
    async with transport:
        yield transport
