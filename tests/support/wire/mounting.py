"""A real HTTP server on loopback that runs for many tests, in a thread; each mounts an application of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import pytest
import uvicorn

from tooltrue.testing.state import LIMIT

__all__ = ["Mounts", "running_mounts"]


Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class _Mounted:
    """An application, and its lifespan: from its first request on, as long as it is mounted."""

    def __init__(self, app: Application, *, lives: bool) -> None:
        self._app = app
        self._serving = getattr(app, "serving", None) if lives else None
        self._starting: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._serving is not None:
            if self._starting is None:
                self._loop, started = asyncio.get_running_loop(), asyncio.Event()
                self._living = self._loop.create_task(self._live(self._serving, started))
                self._starting = self._loop.create_task(_first(started, self._living))
            await asyncio.shield(self._starting)
        await self._app(scope, receive, send)

    async def _live(self, serving: Callable[[], Any], started: asyncio.Event) -> None:
        async with serving():
            started.set()
            await self._over.wait()

    async def _end(self) -> None:
        self._over.set()
        await self._living

    def end(self) -> None:
        if self._starting is not None:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(LIMIT)


async def _first(started: asyncio.Event, living: asyncio.Task[None]) -> None:
    """Until it has started; raises why it has not."""
    waiting = asyncio.get_running_loop().create_task(started.wait())
    await asyncio.wait([waiting, living], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if living.done():
        await living


class Mounts:
    """Applications by path: the application mounted as 7 has the endpoint ``/7/mcp``."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._apps: dict[str, _Mounted] = {}
        self._numbers = itertools.count(1)

    @contextlib.contextmanager
    def mounted(self, app: Application, *, lives: bool = True) -> Iterator[str]:
        """The path of ``app`` while the block runs. Its lifespan runs too, unless ``lives`` is false."""
        with self._mounted(lambda path: _Mounted(app, lives=lives)) as path:
            yield path

    @contextlib.contextmanager
    def mounted_at(self, make: Callable[[str], Application]) -> Iterator[str]:
        """The URL of an application that needs to know it; the application also serves its well-known paths."""
        origin = f"http://127.0.0.1:{self.port}"
        with self._mounted(lambda path: _Mounted(make(origin + path), lives=True)) as path:
            yield origin + path

    @contextlib.contextmanager
    def _mounted(self, make: Callable[[str], _Mounted]) -> Iterator[str]:
        number = str(next(self._numbers))
        path = f"/{number}/mcp"
        mounted = self._apps[number] = make(path)
        try:
            yield path
        finally:
            del self._apps[number]
            mounted.end()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        number, _, path = scope["path"].lstrip("/").partition("/")
        if number == ".well-known":
            number = path.split("/")[1] if path.count("/") else ""
            if number not in self._apps:
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body"})
                return
            path = scope["path"].lstrip("/")
        await self._apps[number]({**scope, "path": f"/{path}"}, receive, send)


@pytest.fixture(scope="session", name="mounts")
def running_mounts() -> Iterator[Mounts]:
    """The server, without any application mounted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = Mounts(listening.getsockname()[1])
        config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None, server_header=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="mounts")
        thread.start()
        try:
            yield app
        finally:
            server.should_exit = server.force_exit = True
            thread.join(LIMIT)
