"""Runs an ASGI application: where it may listen, and uvicorn with the settings that we stand for. Owns uvicorn."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from toolwright.errors import ConfigurationError
from toolwright.transport import processes
from toolwright.transport.http_server import LOOPBACK

__all__ = ["HEAD_BYTES", "Address", "bind", "check_bind", "hosts_of", "parse_address", "run"]

_GRACE_SECONDS = 1
_HEAD_SECONDS = 10.0
HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @property
    def shown(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str) -> Address:
    """``HOST:PORT``, ``[IPV6]:PORT`` or ``:PORT``, which is loopback. ``ConfigurationError`` for anything else."""
    host, colon, port = text.rpartition(":")
    is_bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if is_bare_ipv6 or not colon or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise ConfigurationError.of("TW4003", address=text)
    return Address(host.strip("[]") or "127.0.0.1", int(port))


def check_bind(address: Address, *, authenticates: bool) -> None:
    """Refuse to listen beyond loopback for whoever comes (``ConfigurationError`` with the ways out)."""
    if not address.is_loopback and not authenticates:
        raise ConfigurationError.of("TW4005", address=address.shown)


def hosts_of(address: Address) -> tuple[str, ...]:
    """The names under which the endpoint is reached: loopback's, and the address itself."""
    shown = f"[{address.host}]" if ":" in address.host else address.host
    return tuple(dict.fromkeys((*LOOPBACK, shown.lower())))


def bind(address: Address) -> socket.socket:
    """A socket that is bound there; port 0 takes a free one. ``ConfigurationError`` when it cannot be."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise ConfigurationError.of("TW4007", address=address.shown, problem=error.strerror or str(error)) from None
    listener.set_inheritable(True)
    return listener


class _Protocol(HttpToolsProtocol):
    """uvicorn's own, with an end to how long the head of a request may take to come, and how large it may be.

    Between two requests uvicorn's keep-alive limit holds. A head that comes in one piece, as nearly all do, has no
    timer.
    """

    _in_head = True
    _received = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._timer = self.loop.call_later(_HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head, self._received = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head:
            self._disarm()
            return
        self._received += len(data)
        if self._received > HEAD_BYTES:
            self.transport.close()
        elif self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def run(factory: Callable[[], Any], listener: socket.socket, *, workers: int) -> None:
    """Serve the application that ``factory`` makes until SIGINT or SIGTERM; no child is left. It is called by each
    worker; where there are several, it is pickled.
    """
    config = uvicorn.Config(
        factory,
        factory=True,
        workers=workers,
        interface="asgi3",
        http=_Protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        proxy_headers=False,  # who the peer is, the connection says
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=2048,
    )
    processes.adopt_orphans()
    # uvicorn ends in good order, and then raises the signal again for whoever was there before it: us.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listener])
        else:
            Multiprocess(config, sockets=[listener]).run()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        processes.end_children()
