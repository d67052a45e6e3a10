"""One HTTP worker: an ASGI application that builds the server when it starts and lets go of everything when it ends."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any

from toolwright.cli.callers import Callers
from toolwright.cli.targets import Spec, load_server
from toolwright.state.urls import open_facts
from toolwright.transport import processes
from toolwright.transport.http_server import Access, HttpApp, Receive, Scope, Send

__all__ = ["VARIABLE", "Job", "Worker", "app"]

VARIABLE = "TOOLWRIGHT_WORKER"
_LAST_SECONDS = 1.8


@dataclass(frozen=True, slots=True)
class Job:
    """``hosts`` may be named in Host and Origin; ``keys`` seal, base64; ``state`` is the URL of the shared facts; with
    ``sse`` the deprecated HTTP+SSE is served too.
    """

    spec: Spec
    callers: Callers
    hosts: tuple[str, ...]
    state: str
    keys: tuple[str, ...]
    sse: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def read(text: str) -> Job:
        said = json.loads(text)
        spec, config = said["spec"], said["spec"]["config"]
        spec = Spec(spec["target"], tuple(spec["roots"]), config and (config[0], config[1]), spec["confirm"])
        callers = Callers(**said["callers"])
        return Job(spec, callers, tuple(said["hosts"]), said["state"], tuple(said["keys"]), said["sse"])


def app() -> Worker:
    """The application of this worker. The keys do not stay where a tool's child process would inherit it."""
    return Worker(Job.read(os.environ.pop(VARIABLE)))


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
            self._job.callers.let_into(server)
            server.share(keys=[base64.b64decode(key) for key in self._job.keys], facts=facts)
            self._app = server.http_app(access=Access(self._job.hosts), sse=self._job.sse)
            await stack.enter_async_context(self._app.serving())
            _before_the_end(self._app.closing)
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _before_the_end(closing: Callable[[], None]) -> None:
    """Call ``closing`` when the signal to end comes, before the HTTP server waits for open streams to end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        then = signal.getsignal(number)

        def handle(number: int, frame: FrameType | None, then: Any = then) -> None:
            processes.exit_within(_LAST_SECONDS)
            loop.call_soon_threadsafe(closing)
            if callable(then):
                then(number, frame)

        signal.signal(number, handle)
