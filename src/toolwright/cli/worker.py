"""One HTTP worker: an ASGI application that builds the server when it starts and lets go of everything when it ends."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import signal
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from toolwright.cli import logs
from toolwright.cli.targets import Spec, load_server
from toolwright.server.callers import Callers
from toolwright.state.urls import open_facts
from toolwright.transport import processes
from toolwright.transport.http_server import Access, HttpApp, Receive, Scope, Send

__all__ = ["Job", "Worker", "begin"]

_LAST_SECONDS = 1.8


@dataclass(frozen=True, slots=True)
class Job:
    """``hosts`` may be named in Host and Origin; ``keys`` seal, base64; ``state`` is the URL of the shared facts; with
    ``sse`` the deprecated HTTP+SSE is served too, with ``metrics`` the figures of the ``crew``: what the workers are
    called together, and how many they are. ``drain``: seconds between the signal to end and the end.
    """

    spec: Spec
    callers: Callers
    hosts: tuple[str, ...]
    state: str
    keys: tuple[str, ...]
    sse: bool = False
    crew: tuple[str, int] = ("", 1)
    metrics: bool = False
    drain: float = 0.0
    log_format: str = "text"


def begin(job: Job) -> Worker:
    """The application of this worker. The job comes by a pipe, where it is another process: what stands in an
    environment, any process of the same user can read as long as that one lives.
    """
    logs.begin(job.log_format)
    return Worker(job)


class Worker:
    """ASGI: the lifespan opens the shared facts and the server; requests go to its endpoint."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._app: HttpApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with contextlib.AsyncExitStack() as stack:
            facts = await stack.enter_async_context(open_facts(self._job.state))
            server = load_server(self._job.spec)
            server.let_in(self._job.callers)
            server.share(
                keys=[base64.b64decode(key) for key in self._job.keys],
                facts=facts,
                crew=self._job.crew,
                metrics=self._job.metrics,
            )
            self._app = server.http_app(access=Access(self._job.hosts), sse=self._job.sse, signals=False)
            await stack.enter_async_context(self._app.serving())
            _before_the_end(self._app, self._job.drain)
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _before_the_end(app: HttpApp, drain: float) -> None:
    """When the signal to end comes, be ready no more, end ``drain`` seconds later; at once when it comes again.

    The application is closed before the HTTP server waits for open streams to end.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_ending, loop, app, drain, signal.getsignal(number)))


def _ending(
    loop: asyncio.AbstractEventLoop, app: HttpApp, drain: float, then: Any, number: int, frame: FrameType | None
) -> None:
    is_draining = drain > 0 and app.ready
    if is_draining:
        app.ready = False  # first of all: another signal may come within this function, and is the second one
    # Counted from here, on a thread: whatever blocks the event loop does not hold up the end.
    processes.exit_within(_LAST_SECONDS + (drain if is_draining else 0.0))

    def end() -> None:
        app.closing()
        if callable(then):
            then(number, frame)

    loop.call_soon_threadsafe(partial(loop.call_later, drain, end) if is_draining else end)
