"""Ways in which the database of tasks is away for a time."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
from collections.abc import AsyncGenerator, Sequence
from urllib.parse import urlsplit

from task_faults.workers import Worker

__all__ = ["Proxy", "full_disk", "locked_by_another", "proxied"]

SMALL = 64 * 1024
"""The size in bytes that no file may exceed while the disk is full. The log of SQLite is larger before long."""

_LOCK = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
database.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextlib.asynccontextmanager
async def locked_by_another(url: str) -> AsyncGenerator[None]:
    """Context in which another process has an exclusive lock on an SQLite database."""
    path = url.removeprefix("sqlite://")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _LOCK, path, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"locked\n"
        yield
    finally:
        await process.communicate(b"")  # which closes its input


@contextlib.asynccontextmanager
async def full_disk(workers: Sequence[Worker]) -> AsyncGenerator[None]:
    """Context in which these processes cannot make a file larger than a small size."""
    for worker in workers:
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (SMALL, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        for worker in workers:
            resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Proxy:
    """A TCP proxy before a server. Its connections can be cut."""

    def __init__(self, host: str, port: int) -> None:
        self._place = host, port
        self._writers = set[asyncio.StreamWriter]()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Refuse connections, and reset those that there are."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection(*self._place)
        self._writers |= {writer, to_writer}
        try:
            await asyncio.gather(_copy(reader, to_writer), _copy(to_reader, writer))
        finally:
            self._writers -= {writer, to_writer}
            writer.close()
            to_writer.close()

    @contextlib.asynccontextmanager
    async def stopped(self) -> AsyncGenerator[None]:
        """Context without connections."""
        self.stop()
        try:
            yield
        finally:
            await self.listen()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def proxied(url: str) -> AsyncGenerator[tuple[str, Proxy]]:
    """The URL of a PostgreSQL behind a proxy."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    proxy = Proxy(parts.hostname, parts.port or 5432)
    await proxy.listen()
    user, at, _ = parts.netloc.rpartition("@")
    try:
        yield parts._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}").geturl(), proxy
    finally:
        proxy.stop()
