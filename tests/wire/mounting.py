"""A real HTTP server on loopback that runs for many tests, in a thread; each mounts an application of its own."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import pytest
import uvicorn

from toolwright.testing.state import LIMIT

__all__ = ["Mounts", "running_mounts"]


Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class Mounts:
    """Applications by path: what is mounted as 7 is reached at ``/7/mcp``."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._apps: dict[str, Application] = {}
        self._numbers = itertools.count(1)

    @contextlib.contextmanager
    def mounted(self, app: Application) -> Iterator[str]:
        """The path of ``app`` for as long as the block runs."""
        number = str(next(self._numbers))
        self._apps[number] = app
        try:
            yield f"/{number}/mcp"
        finally:
            del self._apps[number]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        number, _, path = scope["path"].lstrip("/").partition("/")
        await self._apps[number]({**scope, "path": f"/{path}"}, receive, send)


@pytest.fixture(scope="session", name="mounts")
def running_mounts() -> Iterator[Mounts]:
    """The server, with nothing mounted yet."""
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
