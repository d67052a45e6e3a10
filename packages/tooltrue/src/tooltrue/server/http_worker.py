"""One HTTP worker: an ASGI application that builds the server at startup and releases all resources at shutdown."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import signal
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Protocol, TypeAlias

from tooltrue._internal.platform import processes
from tooltrue._internal.platform.stop_signals import STOP_SIGNALS, watch
from tooltrue.errors import TooltrueError
from tooltrue.protocol.terminal import tell
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.server.identity import Authenticate
from tooltrue.state.facts import Facts
from tooltrue.state.urls import open_facts
from tooltrue.transport.http_server import AllowedHosts, Answerer, HttpApp, Receive, Scope, Send

__all__ = ["LoadServer", "ServedServer", "Worker", "WorkerSettings", "begin", "no_log_format"]

_LAST_SECONDS = 1.8


class ServedServer(Protocol):
    """The server of an author, as far as serving it over HTTP needs it."""

    @property
    def auth_settings(self) -> AuthSettings: ...

    @property
    def has_keys(self) -> bool: ...

    @property
    def endpoint_paths(self) -> Sequence[str]: ...

    @property
    def end_seconds(self) -> float: ...

    def authenticator(self) -> Authenticate | None: ...

    async def check_rules(self) -> None: ...

    def use_auth(self, auth_settings: AuthSettings) -> None: ...

    def share(
        self, *, keys: Sequence[bytes], facts: Facts, workers: tuple[str, int], metrics: bool, has_new_keys: bool
    ) -> None: ...

    def http_app(self, *, access: AllowedHosts | None, sse: bool, rest: bool, signals: bool) -> HttpApp: ...


LoadServer: TypeAlias = Callable[[], ServedServer]


def no_log_format() -> None:
    """Leave the log as the program has configured it."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of a worker, pickled if there are several. ``load`` makes the server; ``hosts`` are allowed in Host
    and Origin; ``keys`` seal, base64 (``has_new_keys`` if they were made for this start); ``state`` is the URL of the
    shared store; ``sse`` also serves the deprecated HTTP+SSE transport, ``rest`` programs that speak no MCP, and
    ``metrics`` the figures of the ``crew``: the common name of the workers, and their number. ``drain``: seconds
    between the stop signal and the end. ``begin_log`` configures the log.
    """

    load: LoadServer
    callers: AuthSettings
    hosts: tuple[str, ...]
    state: str
    keys: tuple[str, ...]
    sse: bool = False
    crew: tuple[str, int] = ("", 1)
    metrics: bool = False
    drain: float = 0.0
    has_new_keys: bool = False
    begin_log: Callable[[], None] = no_log_format
    rest: bool = False


def begin(job: WorkerSettings) -> Worker:
    """Create the application of this worker. In another process the job arrives through a pipe: an environment can be
    read by any process of the same user for as long as the worker lives."""
    job.begin_log()
    return Worker(job)


class Worker:
    """ASGI: the lifespan opens the shared facts and the server; requests go to its endpoint."""

    def __init__(self, job: WorkerSettings) -> None:
        self._job = job
        self._app: HttpApp | None = None
        self.failure: TooltrueError | KeyboardInterrupt | None = None
        """Why it could not start, for the process that runs it alone."""
        self._is_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)

    def answerer(self, scope: Scope) -> Answerer | None:
        return None if self._app is None else self._app.answerer(scope)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._serve(receive, send)
        except TooltrueError as error:
            if self._is_started:
                raise
            self.failure = error
            if self._job.crew[1] > 1:  # in a process of its own, which tells it itself
                tell(f"tooltrue: {error.say()}")
            await send({"type": "lifespan.startup.failed"})
        except asyncio.CancelledError:
            if self._is_started:
                raise
            # A signal stopped the start.
            self.failure = KeyboardInterrupt()
            await send({"type": "lifespan.startup.failed"})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, receive: Receive, send: Send) -> None:
        async with contextlib.AsyncExitStack() as stack:
            facts = await stack.enter_async_context(open_facts(self._job.state))
            server = self._job.load()
            server.use_auth(self._job.callers)
            server.share(
                keys=[base64.b64decode(key) for key in self._job.keys],
                facts=facts,
                workers=self._job.crew,
                metrics=self._job.metrics,
                has_new_keys=self._job.has_new_keys,
            )
            self._app = server.http_app(
                access=AllowedHosts(self._job.hosts), sse=self._job.sse, rest=self._job.rest, signals=False
            )
            last_seconds = _LAST_SECONDS + server.end_seconds
            with _stopped_by_signals(last_seconds):
                await stack.enter_async_context(self._app.serving())
            _before_the_end(self._app, self._job.drain, last_seconds)
            await self._started()
            # All objects of the start stay until the process ends, so that no collection needs to look at them.
            gc.freeze()
            self._is_started = True
            await send({"type": "lifespan.startup.complete"})
            await receive()

    async def _started(self) -> None:
        """For subclasses: the server answers now, and the first client is about to come."""


@contextlib.contextmanager
def _stopped_by_signals(last_seconds: float) -> Generator[None]:
    """Within the block, a stop signal cancels the current task, and then the HTTP server's own handler runs."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before = _handlers()

    def stop(number: int, frame: FrameType | None) -> None:
        processes.exit_within(last_seconds)
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)
        if callable(then := before[signal.Signals(number)]):
            then(number, frame)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _before_the_end(app: HttpApp, drain: float, last_seconds: float) -> None:
    """On the stop signal, become unready and end ``drain`` seconds later; on a second signal, end at once.

    The application is closed before the HTTP server waits for open streams to end.
    """
    loop = asyncio.get_running_loop()
    for number, handler in _handlers().items():
        signal.signal(number, partial(_ending, loop, app, drain, last_seconds, handler))
    watch(partial(processes.exit_within, last_seconds + drain))  # if a tool keeps the main thread in C code


def _handlers() -> dict[signal.Signals, Any]:
    """The handlers of the stop signals, without those that are ignored. SIGBREAK ends the server as SIGTERM does."""
    handlers: dict[signal.Signals, Any] = {}
    for number in STOP_SIGNALS:
        if (handler := signal.getsignal(number)) is not signal.SIG_IGN:
            handlers[number] = handler if number == signal.SIGINT else signal.getsignal(signal.SIGTERM)
    return handlers


def _ending(
    loop: asyncio.AbstractEventLoop,
    app: HttpApp,
    drain: float,
    last_seconds: float,
    then: Any,
    number: int,
    frame: FrameType | None,
) -> None:
    is_draining = drain > 0 and app.ready
    if is_draining:
        app.ready = False  # first: a signal that arrives within this function is the second one
    # A thread counts the time from here, so that a blocked event loop does not delay the end.
    processes.exit_within(last_seconds + (drain if is_draining else 0.0))

    def end() -> None:
        app.closing()
        if callable(then):
            then(number, frame)

    loop.call_soon_threadsafe(partial(loop.call_later, drain, end) if is_draining else end)
