"""A real Redis or Valkey for tests: the machine's own, or one that is started for them.

``TOOLTRUE_TEST_REDIS`` gives its URL; otherwise a server at 127.0.0.1:6379 is used, otherwise
``redis-server`` or ``valkey-server`` is started. Without any, tests are skipped; where CI=true, they fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tooltrue.testing.state import LIMIT


def program() -> str:
    """The server program of this machine."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        message = "no Redis: set TOOLTRUE_TEST_REDIS, or install redis-server or valkey-server"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    return found


class OwnRedis:
    """A server of the test's own, which may be stopped and started again. Its port is kept from others meanwhile."""

    def __init__(self, folder: Path, *options: str, tls: bool = False) -> None:
        server, self._held = program(), socket.socket()
        # With this option the server can listen beside this socket, which reserves the port against other processes.
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.port = self._held.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        ports = ["--port", "0", "--tls-port", str(self.port)] if tls else ["--port", str(self.port)]
        self._command = [server, "--bind", "127.0.0.1", *ports, "--save", "", "--dir", str(folder), *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the server ended at once"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
        raise AssertionError("the server does not listen")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(LIMIT)

    def close(self) -> None:
        self.stop()
        self._held.close()


@contextlib.contextmanager
def own_redis(*options: str, tls: bool = False) -> Iterator[OwnRedis]:
    with (
        tempfile.TemporaryDirectory(prefix="tooltrue-redis-") as folder,
        contextlib.closing(OwnRedis(Path(folder), *options, tls=tls)) as server,
    ):
        server.start()
        yield server


@functools.cache
def _of_the_machine() -> str | None:
    url = os.environ.get("TOOLTRUE_TEST_REDIS", "redis://127.0.0.1:6379/0")
    try:
        with Redis.from_url(url, socket_connect_timeout=LIMIT) as client:
            client.ping()
    except RedisError:
        assert "TOOLTRUE_TEST_REDIS" not in os.environ, "TOOLTRUE_TEST_REDIS names a server that does not answer"
        return None
    return url


@contextlib.contextmanager
def redis_url() -> Iterator[str]:
    """The URL of an empty store with a unique key prefix. The keys under the prefix are deleted at the end."""
    with contextlib.ExitStack() as stack:
        url = _of_the_machine() or stack.enter_context(own_redis()).url
        prefix = f"tooltrue-test-{secrets.token_hex(6)}:"
        try:
            yield f"{url}?prefix={prefix}"
        finally:
            with Redis.from_url(url) as client:
                for key in client.scan_iter(match=f"{prefix}*", count=1000):
                    client.delete(key)


async def age(url: str, seconds: float) -> None:
    """Let that time pass for all that is in a store: values end earlier, and rates were taken from longer ago."""
    await asyncio.to_thread(_age, url, seconds)


def _age(url: str, seconds: float) -> None:
    address, _, prefix = url.partition("?prefix=")
    with Redis.from_url(address) as client:
        for key in client.scan_iter(match=f"{prefix}*", count=1000):
            left = client.pttl(key)
            if b":rate:" in key and (arrival := client.get(key)) is not None:
                client.set(key, int(arrival) - int(seconds * 1_000_000), keepttl=True)
            client.pexpire(key, left - int(seconds * 1000))
