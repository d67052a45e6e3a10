"""Runs an ASGI application under uvicorn: listening addresses, and uvicorn's settings. Owns uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from multiprocessing import reduction
from typing import Any, Protocol, cast

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from tooltrue._internal.platform import processes
from tooltrue._internal.platform.listening_sockets import AcceptThread, reserve_address
from tooltrue._internal.platform.parents import stop_with_parent
from tooltrue._internal.platform.stop_signals import STOP_SIGNALS, leave_console_to_parent, stop_this_process
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.errors import ConfigurationError, InternalError
from tooltrue.jsonrpc.messages import encode_failure
from tooltrue.transport.connection_limit import ConnectionLimit
from tooltrue.transport.http_protocol import HttpProtocol, ServerState
from tooltrue.transport.http_server import LOOPBACK
from tooltrue.transport.wording import (
    CONNECTION_LIMIT_REACHED,
    CONNECTION_NOT_ACCEPTED,
    LISTEN_ADDRESS_INVALID,
    LISTEN_FAILED,
    PUBLIC_ADDRESS_WITHOUT_AUTHENTICATION,
    TOO_MANY_CONNECTIONS,
)
from tooltrue.wording import coded_sentence

__all__ = ["Address", "Companion", "beside", "bind", "check_bind", "hosts_of", "parse_address", "run", "shared"]

_GRACE_SECONDS = 1
_MAX_LEAVING = 100
_LEAVING_SECONDS = 1.0
_COMPLAIN_SECONDS = 30.0
_NOT_STARTED = 2  # the exit code of the command, if a worker cannot start
_TURNS = 20  # of the event loop, after a connection was accepted

_log = logging.getLogger("tooltrue")


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @property
    def netloc(self) -> str:
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
    """Parse ``HOST:PORT``, ``[IPV6]:PORT`` or ``:PORT`` (loopback). Raises ``ConfigurationError`` for anything else."""
    host, colon, port = text.rpartition(":")
    is_bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if is_bare_ipv6 or not colon or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise ConfigurationError.of(LISTEN_ADDRESS_INVALID, address=text)
    return Address(host.strip("[]") or "127.0.0.1", int(port))


def check_bind(address: Address, *, authenticates: bool) -> None:
    """Raise ``ConfigurationError``, with the remedies, for listening beyond loopback without authentication."""
    if not address.is_loopback and not authenticates:
        raise ConfigurationError.of(PUBLIC_ADDRESS_WITHOUT_AUTHENTICATION, address=address.netloc)


def hosts_of(address: Address) -> tuple[str, ...]:
    """The host names of the endpoint: those of loopback, and the address itself."""
    url_host = f"[{address.host}]" if ":" in address.host else address.host
    return tuple(dict.fromkeys((*LOOPBACK, url_host.lower())))


def bind(address: Address) -> socket.socket:
    """Bind a socket to the address; port 0 selects a free port. Raises ``ConfigurationError`` if that fails."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        reserve_address(listener)
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise ConfigurationError.of(
            LISTEN_FAILED, address=address.netloc, problem=error.strerror or str(error)
        ) from None
    listener.set_inheritable(True)
    return listener


if HAS_POSIX:

    class _SharedListener(socket.socket):
        """The listening socket of several workers. A worker that has accepted a connection passes its next turns.

        asyncio accepts until no connection waits, so that the first worker to wake up would serve a whole burst alone.
        The turns take a tenth of a millisecond, in which another worker wakes up.
        """

        _turns_passed = _TURNS

        def accept(self) -> tuple[socket.socket, Any]:
            """In a turn that is passed, say that no connection waits; the event loop asks again as long as one does."""
            if self._turns_passed < _TURNS:
                self._turns_passed += 1
                raise BlockingIOError
            accepted = super().accept()
            self._turns_passed = 0
            return accepted

        def __reduce__(self) -> tuple[Any, ...]:
            return _received, (reduction.DupFd(self.fileno()), self.family, self.type, self.proto)

    def shared(listener: socket.socket) -> socket.socket:
        """The same listening socket, for several workers; ``listener`` itself is detached."""
        return _SharedListener(fileno=listener.detach())

    def _received(descriptor: Any, family: int, kind: int, protocol: int) -> _SharedListener:
        return _SharedListener(family, kind, protocol, fileno=descriptor.detach())

else:

    def shared(listener: socket.socket) -> socket.socket:
        """The same listening socket, for several workers: ``listener`` itself, which ``multiprocessing`` can share."""
        return listener


class _Porter:
    """Admits connections up to the limit and refuses the others; one per worker."""

    def __init__(self, connections: ConnectionLimit) -> None:
        self._connections = connections
        self._leaving = 0
        self._complained = float("-inf")

    def enter(self, transport: asyncio.Transport) -> str | None:
        """Admit a connection; the result is for :meth:`leave`. If no slot is free, refuse it and return ``None``."""
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
        """Log a warning, at most once in ``_COMPLAIN_SECONDS``."""
        now = asyncio.get_running_loop().time()
        if now - self._complained >= _COMPLAIN_SECONDS:
            self._complained = now
            limits = {"most": self._connections.most, "of_one": self._connections.most_of_one}
            _log.warning("%s", coded_sentence(CONNECTION_LIMIT_REACHED, "en", limits))


class _TurnedAway(asyncio.Protocol):
    """A refused connection. It stays open briefly: a client that is cut off while sending may not read the answer."""

    def __init__(self, transport: asyncio.Transport, gone: Callable[[], None]) -> None:
        self._gone = gone
        transport.write(_NO_ROOM)
        transport.write_eof()
        self._end = asyncio.get_running_loop().call_later(_LEAVING_SECONDS, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._gone()


def _no_room() -> bytes:
    body = encode_failure(None, InternalError.of(TOO_MANY_CONNECTIONS))
    head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 5\r\nconnection: close"
    return f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


_NO_ROOM = _no_room()


def _connection(
    porter: _Porter,
    config: uvicorn.Config,
    server_state: ServerState,
    app_state: dict[str, Any],
    _loop: asyncio.AbstractEventLoop | None = None,
) -> HttpProtocol:
    """Make the protocol of one connection, as uvicorn asks for it."""
    return HttpProtocol(
        porter,
        cast(Any, config).loaded_app,
        server_state,
        keep_alive=config.timeout_keep_alive,
        app_state=app_state,
        root_path=config.root_path,
    )


class Companion(Protocol):
    """A process beside several workers, which the workers use. ``start`` begins it, ``keep_alive`` begins another if it
    has ended, and is called about twice a second; ``end`` ends it, after the workers."""

    def start(self) -> None: ...

    def keep_alive(self) -> None: ...

    def end(self) -> None: ...


def run(
    factory: Callable[[], Any],
    listener: socket.socket,
    *,
    workers: int,
    connections: ConnectionLimit | None = None,
    companion: Companion | None = None,
) -> None:
    """Serve the application created by ``factory`` until a stop signal; leaves no child process behind. Each worker
    calls ``factory``. With several, ``factory`` and ``connections`` are pickled, and ``companion`` runs beside them;
    ``connections`` limits each worker.

    If the application cannot start, raises its ``failure``; with several workers, the process ends with exit code 2.
    """
    porter = _Porter(connections or ConnectionLimit())
    config = uvicorn.Config(
        factory if workers == 1 else partial(_in_worker, factory),
        factory=True,
        # uvicorn would choose a loop for several workers on Windows that can start no programs.
        loop="auto" if HAS_POSIX else "asyncio:new_event_loop",
        workers=workers,
        interface="asgi3",
        http=cast(Any, partial(_connection, porter)),
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        proxy_headers=False,  # the peer is the other end of the connection
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=2048,
    )
    processes.adopt_orphans()
    # uvicorn shuts down cleanly, then raises the signal again for the handler installed before its own: ours.
    _on_termination(signal.default_int_handler)
    try:
        if workers == 1:
            _run_alone(config, listener)
        else:
            _run_workers(config, listener, companion)
    except KeyboardInterrupt:
        pass
    finally:
        _on_termination(signal.SIG_IGN)
        processes.end_children()
        gc.freeze()  # the end of the interpreter need not look at all objects


def _on_termination(handler: Any) -> None:
    for number in STOP_SIGNALS:
        if number != signal.SIGINT:
            signal.signal(number, handler)


def _run_alone(config: uvicorn.Config, listener: socket.socket) -> None:
    _leave_telling_to_the_application()
    try:
        _Server(config).run(sockets=[listener])
    except SystemExit:
        failure = getattr(cast(Any, config).loaded_app, "failure", None)
        raise failure or SystemExit(_NOT_STARTED) from None


def _run_workers(config: uvicorn.Config, listener: socket.socket, companion: Companion | None) -> None:
    workers = _Workers(config, [shared(listener)], companion)
    workers.run()
    if not workers.is_stopped and any(worker.exitcode == STARTUP_FAILURE for worker in workers.processes):
        sys.exit(_NOT_STARTED)


def _leave_telling_to_the_application() -> None:
    """Leave out uvicorn's line about an application that cannot start, which the application explains itself."""
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.msg != "Application startup failed. Exiting.")


class _Supervisor(Multiprocess):
    """Forwards every termination signal to the workers: the second one ends workers that are draining."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], companion: Companion | None) -> None:
        super().__init__(config, sockets)
        self._signals = 0
        self._companion = companion

    def run(self) -> None:
        if self._companion is None:
            super().run()
            return
        self._companion.start()
        try:
            super().run()
        finally:
            self._companion.end()

    def keep_subprocess_alive(self) -> None:
        self.keep_workers_alive()
        # A signal to the whole process group ends the companion too, before this loop comes to it.
        if self._companion is not None and not (self.should_exit.is_set() or self.signal_queue):
            self._companion.keep_alive()

    def keep_workers_alive(self) -> None:
        super().keep_subprocess_alive()

    @property
    def is_stopped(self) -> bool:
        """Whether a signal ends them, and not a failure."""
        return self._signals > 0

    def handle_int(self) -> None:
        self._signals += 1
        super().handle_int()

    def handle_term(self) -> None:
        self._signals += 1
        super().handle_term()

    def handle_break(self) -> None:
        self._signals += 1
        super().handle_break()

    def join_all(self) -> None:
        # From here on uvicorn no longer reads its signal queue.
        for number in STOP_SIGNALS:
            signal.signal(number, lambda _number, _frame: self._end_again())
        self.handle_signals()
        if self._signals > 1:
            self._end_again()
        super().join_all()

    def _end_again(self) -> None:
        for worker in self.processes:
            if worker.pid is not None and worker.exitcode is None:
                # SIGINT, because a second pending SIGTERM would merge with the first.
                os.kill(worker.pid, signal.SIGINT)


if HAS_POSIX:
    _Server = uvicorn.Server
    _Workers = _Supervisor
else:
    _STOP = b"stop"

    class _Server(uvicorn.Server):
        """The server of one worker, where the event loops of several processes cannot accept from one socket."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=[])
            for listener in sockets or ():
                listener.listen(self.config.backlog)
                self.servers.append(cast(Any, AcceptThread(listener, self._protocol, _not_accepted)))

        def _protocol(self) -> asyncio.BaseProtocol:
            protocol_of_connection: Callable[..., asyncio.BaseProtocol] = cast(Any, self.config).http_protocol_class
            return protocol_of_connection(
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )

    def _not_accepted(error: OSError) -> None:
        _log.warning("%s", coded_sentence(CONNECTION_NOT_ACCEPTED, "en", {"problem": error.strerror or str(error)}))

    class _ToldWorker(Process):
        """A worker that no signal reaches: the parent tells it to end on the connection by which it asks whether it is
        alive."""

        def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
            super().__init__(config, sockets)
            self._has_been_asked = self._has_answered = False

        def is_alive(self, timeout: float = 5) -> bool:
            """Whether it runs, and answers in time once it has answered at all: a start may take longer."""
            if self._has_answered:
                return super().is_alive(timeout)
            if not self._has_been_asked:
                self.parent_conn.send(b"ping")
                self._has_been_asked = True
            if self.parent_conn.poll(0):
                self.parent_conn.recv()
                self._has_answered = True
            return self.process.is_alive()

        @property
        def server(self) -> uvicorn.Server:
            if self._server is None:
                self._server = _Server(self.config)
            return self._server

        def pong(self) -> None:
            if self.child_conn.recv() == _STOP:
                stop_this_process()
            else:
                self.child_conn.send(self.server.started)

        def terminate(self) -> None:
            if self.exitcode is None:
                with contextlib.suppress(OSError):  # it is about to end
                    self.parent_conn.send(_STOP)

    class _Workers(_Supervisor):
        """The workers of a system that sends no signals from one process to another."""

        processes: list[Process]

        def init_processes(self) -> None:
            self.processes.extend(self._worker() for _ in range(self.processes_num))

        def keep_workers_alive(self) -> None:
            for place, worker in enumerate(self.processes):
                if self.should_exit.is_set() or worker.is_alive(timeout=self.config.timeout_worker_healthcheck):
                    continue
                worker.kill()  # it does not answer
                worker.join()
                if worker.exitcode == STARTUP_FAILURE:  # and so would the next one
                    self.should_exit.set()
                else:
                    self.processes[place] = self._worker()

        def _worker(self) -> Process:
            worker = _ToldWorker(self.config, self.sockets)
            worker.start()
            return worker

        def _end_again(self) -> None:
            self.terminate_all()


def _in_worker(factory: Callable[[], Any]) -> Any:
    """Create the application in a worker, which ends with its parent, even a killed one: it would keep the port."""
    leave_console_to_parent()
    stop_with_parent()
    _leave_telling_to_the_application()
    return factory()


@contextlib.contextmanager
def beside(app: Any) -> Generator[str]:
    """Serve ``app`` on a free loopback port, in a thread, while the block runs; yields the URL. For tests."""
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
