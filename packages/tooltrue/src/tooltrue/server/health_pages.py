"""Pages beside the endpoint: liveness, readiness, and metrics for Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from tooltrue.errors import StateError
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.observe.meter import Figures, Meter, Sample, exposition, own_worker
from tooltrue.server.http import HttpEndpoint
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import Facts
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import HttpApp, Page, Reply

__all__ = ["SCOPE", "Health", "HealthPages", "WorkerGroup"]

SCOPE = "metrics"
"""The scope for the metrics, if callers are authenticated: they name tools that not every caller may see."""

_FRESH_SECONDS = 1.0
_ANSWER_SECONDS = 1.0
_TEXT = (("content-type", "text/plain; version=0.0.4; charset=utf-8"), ("cache-control", "no-store"))
_JSON = (("content-type", "application/json"), ("cache-control", "no-store"))


class Health:
    """``/healthz``: this process answers. ``/readyz``: it accepts requests, and its store answers, which is checked at
    most once a second.
    """

    def __init__(
        self, facts: Facts, is_serving: Callable[[], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._facts = facts
        self._is_serving = is_serving
        self._clock = clock
        self._checking = asyncio.Lock()
        self._checked_at = float("-inf")
        self._answers = False

    def pages(self) -> dict[str, Page]:
        return {"/healthz": self._health, "/readyz": self._readiness}

    async def _health(self, carrier: Carrier) -> Reply:
        return Reply(200, b'{"alive":true}', _JSON)

    async def _readiness(self, carrier: Carrier) -> Reply:
        if not self._is_serving():
            return _not_ready("not serving")
        if not await self._store_answers():
            return _not_ready("the state store does not answer")
        return Reply(200, b'{"ready":true}', _JSON)

    async def _store_answers(self) -> bool:
        async with self._checking:
            if self._clock() - self._checked_at >= _FRESH_SECONDS:
                try:
                    await self._facts.get("ready")
                    self._answers = True
                except StateError:
                    self._answers = False
                self._checked_at = self._clock()
            return self._answers


def _not_ready(because: str) -> Reply:
    return Reply(503, encode({"ready": False, "because": because}), _JSON)


class WorkerGroup:
    """The workers of one server, which exchange their figures through the facts that they share.

    ``name`` is that of the server; ``size`` is the number of its workers.
    """

    def __init__(self, facts: Facts, meter: Meter, name: str, size: int) -> None:
        self._facts = facts
        self._meter = meter
        self._channel = f"figures:{name}"
        self._size = size

    async def open(self) -> None:
        """Answer the other workers. Call on the event loop that serves."""
        if self._size > 1:
            await self._facts.subscribe(self._channel, self._on_request)

    def _on_request(self, payload: bytes) -> None:
        self._answering = asyncio.get_running_loop().create_task(self._answer(payload.decode()))

    async def _answer(self, back: str) -> None:
        with contextlib.suppress(StateError):  # the worker that asked does without
            await self._facts.publish(back, encode([own_worker(), self._meter.figures()]))

    async def figures(self) -> dict[str, Figures]:
        """The figures of all workers that answer in time, by worker; always including our own."""
        everyone = {own_worker(): self._meter.figures()}
        if self._size > 1:
            with contextlib.suppress(TimeoutError, StateError):
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await self._ask(everyone)
        return everyone

    async def _ask(self, everyone: dict[str, Figures]) -> None:
        back, complete = f"{self._channel}:{secrets.token_hex(8)}", asyncio.Event()

        def collect(payload: bytes) -> None:
            worker, figures = decode(payload)
            everyone[worker] = {name: [Sample(*sample) for sample in samples] for name, samples in figures.items()}
            if len(everyone) >= self._size:
                complete.set()

        end = await self._facts.subscribe(back, collect)
        try:
            await self._facts.publish(self._channel, back.encode())
            await complete.wait()
        finally:
            end()


class HealthPages:
    """All pages of one application. ``workers`` is the common name and the number of its workers; without it there are
    no metrics.
    """

    def __init__(
        self, endpoint: HttpEndpoint, served: ServedProvider, meter: Meter, workers: tuple[str, int] | None
    ) -> None:
        self._endpoint = endpoint
        self._hub = served.hub
        self._meter = meter
        self._app: HttpApp | None = None
        self._health = Health(served.facts, lambda: self._app is not None and self._app.ready)
        self._workers = None if workers is None else WorkerGroup(served.facts, meter, *workers)

    def of(self, app: HttpApp) -> HttpApp:
        """Return ``app``, after connecting readiness and metrics to it."""
        self._app = app
        self._meter.gauges["tooltrue_streams_open"] = lambda: app.long
        self._meter.gauges["tooltrue_listeners"] = lambda: self._hub.listening
        return app

    @contextlib.asynccontextmanager
    async def around(self, serving: Callable[[], AbstractAsyncContextManager[None]]) -> AsyncGenerator[None]:
        """Lifespan around all requests."""
        async with serving():
            if self._workers is not None:
                await self._workers.open()
            yield

    def by_path(self) -> dict[str, Page]:
        pages = self._health.pages()
        return pages if self._workers is None else {**pages, "/metrics": partial(self._figures, self._workers)}

    async def _figures(self, workers: WorkerGroup, carrier: Carrier) -> Reply:
        """The metrics, for callers that the endpoint admits and, if callers are authenticated, that have the scope."""
        caller = await self._endpoint.admit_to(SCOPE, carrier)
        if isinstance(caller, Reply):
            return caller
        return Reply(200, exposition(await workers.figures()).encode(), _TEXT)
