"""A PostgreSQL for tests: the one that ``TOOLTRUE_TEST_POSTGRES`` names, the machine's own, or one that is started.

No part of it is mocked. Without a server, tests are skipped, but not where ``CI`` is set.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

_USUAL = "postgresql://127.0.0.1:5432/postgres"


@contextmanager
def database() -> Generator[str]:
    """The URL of a new, empty database, which is gone afterwards."""
    server, name = _server(), f"tooltrue_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield server.rpartition("/")[0] + f"/{name}"
    finally:
        with psycopg.connect(server, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@functools.cache
def _server() -> str:
    said = os.environ.get("TOOLTRUE_TEST_POSTGRES")
    if said:
        return said
    with suppress(psycopg.OperationalError):
        psycopg.connect(_USUAL, connect_timeout=30).close()
        return _USUAL
    if (started := _start()) is not None:
        return started
    if os.environ.get("CI"):
        pytest.fail("no PostgreSQL: name one in TOOLTRUE_TEST_POSTGRES, or install its server")
    pytest.skip("no PostgreSQL here")


def _start() -> str | None:
    """Start a separate server from the installed packages, and return its URL, or ``None`` without packages."""
    places = [*Path("/usr/lib/postgresql").glob("*/bin"), *map(Path, os.environ.get("PATH", "").split(":"))]
    folder = next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)
    if folder is None:
        return None
    data = tempfile.mkdtemp(prefix="tooltrue-postgres-")
    user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    if user is not None:
        shutil.chown(data, user)
    run = functools.partial(subprocess.run, user=user, cwd=data)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={data}"
    run([folder / "initdb", "-D", data, "-A", "trust", "-U", "test"], check=True, capture_output=True)
    run([folder / "pg_ctl", "-D", data, "-w", "-o", options, "start"], check=True, stdout=subprocess.DEVNULL)
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    atexit.register(run, [folder / "pg_ctl", "-D", data, "-m", "immediate", "stop"], capture_output=True)
    return f"postgresql://test@127.0.0.1:{port}/postgres"
