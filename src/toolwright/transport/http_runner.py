"""Runs an ASGI application: where it may listen, and uvicorn with the settings that we stand for. Owns uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.supervisors import Multiprocess

from toolwright.errors import ConfigurationError, InternalError
from toolwright.jsonrpc.messages import encode_failure
from toolwright.transport import processes
from toolwright.transport.connections import Connections
from toolwright.transport.http_server import LOOPBACK, UNTIL_CLOSE
from toolwright.wording import sentence

__all__ = ["HEAD_BYTES", "Address", "beside", "bind", "check_bind", "hosts_of", "parse_address", "run"]

_GRACE_SECONDS = 1
_HEAD_SECONDS = 10.0
HEAD_BYTES = 65_536
_REQUEST_LINE_BYTES = len("GET  HTTP/1.1\r\n")
_FIELD_BYTES = len(": \r\n")
_MAX_LEAVING = 100
_LEAVING_SECONDS = 1.0
_COMPLAIN_SECONDS = 30.0

_log = logging.getLogger("toolwright")


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


class _Porter:
    """Lets in whom there is room for, and turns the others away; one for each worker."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._leaving = 0
        self._complained = float("-inf")

    def enter(self, transport: asyncio.Transport) -> str | None:
        """Whose place the connection has, for :meth:`leave`. Without a place it is told so, and ends."""
        peer = get_remote_addr(transport)
        caller = self._connections.enter(peer[0] if peer else "")  # a local socket has no address
        if caller is None:
            self._turn_away(transport)
        return caller

    def leave(self, caller: str) -> None:
        self._connections.leave(caller)

    def _turn_away(self, transport: asyncio.Transport) -> None:
        self._complain()
        if self._leaving >= _MAX_LEAVING:
            transport.abort()
            return
        self._leaving += 1
        transport.set_protocol(_TurnedAway(transport, self._gone))

    def _gone(self) -> None:
        self._leaving -= 1

    def _complain(self) -> None:
        """Say so in the log, though not for every connection."""
        now = asyncio.get_running_loop().time()
        if now - self._complained >= _COMPLAIN_SECONDS:
            self._complained = now
            limits = {"most": self._connections.most, "of_one": self._connections.most_of_one}
            _log.warning("%s [TW7060]", sentence("TW7060", "en", limits))


class _TurnedAway(asyncio.Protocol):
    """A connection without a place. It stays for a moment, for who is cut off while sending may read no answer."""

    def __init__(self, transport: asyncio.Transport, gone: Callable[[], None]) -> None:
        self._gone = gone
        transport.write(_NO_ROOM)
        transport.write_eof()
        self._end = asyncio.get_running_loop().call_later(_LEAVING_SECONDS, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._gone()


def _no_room() -> bytes:
    body = encode_failure(None, InternalError.of("TW7061"))
    head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 5\r\nconnection: close"
    return f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


_NO_ROOM = _no_room()


class _Protocol(HttpToolsProtocol):
    """uvicorn's own, with a bound on how many there are, and an end to how long the head of a request may take to come,
    and how large it may be. An HTTP/1.0 client gets no chunks.

    Between two requests uvicorn's keep-alive limit holds. A head that comes in one piece, as nearly all do, has no
    timer.
    """

    _in_head = True
    _received = 0  # of a head that has not ended yet
    _read = 0  # of a head, in the fields that the parser has found
    _follows = False  # the head began behind another request, in the same piece
    _timer: asyncio.TimerHandle | None = None
    _caller: str | None = None

    def __init__(self, porter: _Porter, *uvicorns: Any, **named: Any) -> None:
        super().__init__(*uvicorns, **named)
        self._porter = porter

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._caller = self._porter.enter(transport)
        if self._caller is not None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(_HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._caller is not None:
            self._porter.leave(self._caller)
            self._disarm()
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head, self._received, self._read = True, 0, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url) + _REQUEST_LINE_BYTES)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _FIELD_BYTES)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._read += size
        if self._read > HEAD_BYTES:
            self.transport.close()
            raise _HeadTooLarge

    def on_headers_complete(self) -> None:
        self._in_head = False
        self.scope["extensions"] = {UNTIL_CLOSE: {}}
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0":
            _send_until_close(self.cycle)

    def on_message_complete(self) -> None:
        self._follows = True
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self._follows = False
        super().data_received(data)
        if not self._in_head:
            self._disarm()
            return
        if not self._follows:
            self._received += len(data)
        if self._received > HEAD_BYTES:
            self.transport.close()
        elif self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _HeadTooLarge(Exception):
    """Stops the parser; the connection is closed already."""


def _send_until_close(cycle: Any) -> None:
    """Have uvicorn send an answer without chunks: its end is that of the connection (RFC 9112, section 6.3)."""
    send = cycle.send

    async def unchunked(message: Any) -> None:
        cycle.chunked_encoding = False
        cycle.expected_content_length = len(message.get("body", b""))  # or uvicorn would miss a length
        await send(message)

    cycle.send = unchunked


def run(
    factory: Callable[[], Any], listener: socket.socket, *, workers: int, connections: Connections | None = None
) -> None:
    """Serve the application that ``factory`` makes until SIGINT or SIGTERM; no child is left. It is called by each
    worker; where there are several, it is pickled, and ``connections`` is, which bounds those of each worker.
    """
    porter = _Porter(connections or Connections())
    config = uvicorn.Config(
        factory if workers == 1 else partial(_in_worker, factory, os.getpid()),
        factory=True,
        workers=workers,
        interface="asgi3",
        http=cast(Any, partial(_Protocol, porter)),
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
            _Workers(config, sockets=[listener]).run()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        processes.end_children()


class _Workers(Multiprocess):
    """Passes every signal to end on to the workers: the second one ends those that are draining."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._signals = 0

    def handle_int(self) -> None:
        self._signals += 1
        super().handle_int()

    def handle_term(self) -> None:
        self._signals += 1
        super().handle_term()

    def join_all(self) -> None:
        # From here on uvicorn does not look into its queue of signals any more.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _number, _frame: self._end_again())
        self.handle_signals()
        if self._signals > 1:
            self._end_again()
        super().join_all()

    def _end_again(self) -> None:
        for worker in self.processes:
            if worker.pid is not None and worker.exitcode is None:
                # The other signal: two of one kind are one to a process that has not looked yet.
                os.kill(worker.pid, signal.SIGINT)


def _in_worker(factory: Callable[[], Any], parent: int) -> Any:
    """A worker does not outlive who has started it, not even where that is killed: it would keep the port."""
    processes.die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:  # that has ended meanwhile
        signal.raise_signal(signal.SIGTERM)
    return factory()


@contextlib.contextmanager
def beside(app: Any) -> Generator[str]:
    """Serve ``app`` on a free port of loopback, in a thread, for as long as the block runs: its URL. For tests."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None, server_header=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="beside")
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
