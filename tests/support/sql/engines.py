"""The four database engines for tests, each with the same small shop in it. All are real engines.

The MariaDB or MySQL is the server that ``TOOLTRUE_TEST_MYSQL`` names, the machine's own, or one started for the tests.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import psycopg
import pymysql
import pytest

from support.postgres import database as postgres_database
from tooltrue_toolbox.sql import Access, SqlLimits
from tooltrue_toolbox.sql.engine import engine_of

__all__ = ["ENGINES", "PATIENT", "SHOP", "held_open", "owner_of", "run_as_owner", "shop"]

ENGINES = ("sqlite", "duckdb", "postgresql", "mysql")

PATIENT = SqlLimits(seconds=60.0, lock_seconds=60.0, connect_seconds=60.0)
"""For what has to pass: a busy machine takes longer than usual limits allow."""

SHOP = (
    "CREATE TABLE orders (id integer PRIMARY KEY, customer varchar(100), total decimal(10, 2), state varchar(20))",
    "CREATE TABLE users (id integer PRIMARY KEY, name varchar(100), password_hash varchar(100))",
    "CREATE TABLE ledger (id integer PRIMARY KEY, amount integer)",
    "CREATE VIEW paid AS SELECT id, total FROM orders WHERE state = 'paid'",
    "INSERT INTO orders VALUES (1, 'Lin', 10.50, 'paid'), (2, 'Ada', 99.99, 'open'), (3, 'Lin', 0.10, 'paid')",
    "INSERT INTO users VALUES (1, 'Lin', 'scrypt-1'), (2, 'Ada', 'scrypt-2')",
    "INSERT INTO ledger VALUES (1, 1000)",
)
"""Three orders, two users, a ledger that nobody is to see, and a view."""

_USUAL = "mysql://root@127.0.0.1:3306/"


@contextmanager
def shop(engine: str, folder: Path, more: tuple[str, ...] = ()) -> Generator[str]:
    """The URL of a shop in ``engine``, through a role with few rights; gone afterwards."""
    with _EMPTY[engine](folder, (*SHOP, *more)) as url:
        yield url


@contextmanager
def held_open(url: str, access: Access, *, writes: bool = False) -> Generator[None]:
    """Keep a DuckDB file open meanwhile, for reading or writing, so that no session has to reopen it, which takes
    longer than most statements. Without effect for the other engines."""
    if url.startswith("duckdb:"):
        with closing(engine_of(url, access, PATIENT).open(writes=writes)):
            yield
    else:
        yield


@contextmanager
def _sqlite(folder: Path, statements: tuple[str, ...]) -> Generator[str]:
    file = folder / "shop.db"
    with closing(sqlite3.connect(file)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()
    yield f"sqlite:///{file}"


@contextmanager
def _duckdb(folder: Path, statements: tuple[str, ...]) -> Generator[str]:
    file = folder / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as db:
        for statement in statements:
            db.execute(statement)
    yield f"duckdb:///{file}"


@contextmanager
def _postgresql(folder: Path, statements: tuple[str, ...]) -> Generator[str]:
    role = f"tooltrue_{uuid.uuid4().hex[:12]}"
    with postgres_database() as url:
        with psycopg.connect(url, autocommit=True) as db:
            for statement in statements:
                db.execute(statement.encode())
            db.execute(f"CREATE ROLE {role} LOGIN".encode())
            db.execute(f"GRANT USAGE, CREATE ON SCHEMA public TO {role}".encode())
            for made in ("TABLES", "SEQUENCES"):
                db.execute(f"GRANT ALL ON ALL {made} IN SCHEMA public TO {role}".encode())
        parts = urlsplit(url)
        shown = f"postgresql://{role}@{parts.hostname}:{parts.port or 5432}{parts.path}"
        _OWNERS[shown] = url
        try:
            yield shown
        finally:
            with psycopg.connect(url, autocommit=True) as db:
                db.execute(f"DROP OWNED BY {role}".encode())
                db.execute(f"DROP ROLE {role}".encode())


_OWNERS: dict[str, str] = {}
"""The URL of a shop in PostgreSQL → that of its owner."""


def owner_of(url: str) -> str:
    """The URL of the shop at ``url`` through a role that may do everything. That of a file is the same."""
    if url.startswith("mysql:"):
        return _mysql_server().rstrip("/") + urlsplit(url).path
    return _OWNERS.get(url, url)


def run_as_owner(url: str, *statements: str) -> None:
    """Runs statements as the owner of the shop at ``url``, which is on a server."""
    if url.startswith("mysql:"):
        server = urlsplit(_mysql_server())
        said: Mapping[str, Any] = {"user": server.username, "password": server.password or "", "autocommit": True}
        place = {"host": server.hostname, "port": server.port or 3306, "database": urlsplit(url).path.strip("/")}
        with pymysql.connect(**said, **place) as db, db.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    else:
        with psycopg.connect(_OWNERS[url], autocommit=True) as db:
            for statement in statements:
                db.execute(statement.encode())


@contextmanager
def _mysql(folder: Path, statements: tuple[str, ...]) -> Generator[str]:
    server, name = urlsplit(_mysql_server()), f"tooltrue_{uuid.uuid4().hex[:12]}"
    said: Mapping[str, Any] = {
        "host": server.hostname,
        "port": server.port or 3306,
        "user": server.username,
        "password": server.password or "",
        "autocommit": True,
    }
    with pymysql.connect(**said) as db, db.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        cursor.execute(f"USE {name}")
        for statement in statements:
            cursor.execute(statement)
        cursor.execute(f"CREATE USER {name}@'%'")
        cursor.execute(f"CREATE USER {name}@localhost")
        for host in ("'%'", "localhost"):
            cursor.execute(f"GRANT ALL ON {name}.* TO {name}@{host}")
        try:
            yield f"mysql://{name}@{server.hostname}:{server.port or 3306}/{name}"
        finally:
            cursor.execute(f"DROP DATABASE {name}")
            cursor.execute(f"DROP USER {name}@'%', {name}@localhost")


@functools.cache
def _mysql_server() -> str:
    if said := os.environ.get("TOOLTRUE_TEST_MYSQL"):
        return said
    with suppress(pymysql.MySQLError):
        pymysql.connect(host="127.0.0.1", user="root", connect_timeout=30).close()
        return _USUAL
    if (started := _start_mysql()) is not None:
        return started
    if os.environ.get("CI"):
        pytest.fail("no MySQL: name one in TOOLTRUE_TEST_MYSQL, or install a server")
    pytest.skip("no MySQL here")


def _start_mysql() -> str | None:
    """A server of our own, from MariaDB's packages."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    server, install = shutil.which("mariadbd", path=path), shutil.which("mariadb-install-db", path=path)
    if server is None or install is None:
        return None
    data = tempfile.mkdtemp(prefix="tooltrue-mysql-")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    user = ["--user=root"] if os.geteuid() == 0 else []
    how = [f"--datadir={data}", *user]
    made = [install, *how, "--auth-root-authentication-method=normal"]
    subprocess.run(made, check=True, capture_output=True)
    running = subprocess.Popen(
        [server, "--no-defaults", *how, f"--port={port}", "--bind-address=127.0.0.1", f"--socket={data}/s"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    atexit.register(running.kill)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(pymysql.MySQLError):
            pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=30).close()
            return f"mysql://root@127.0.0.1:{port}/"
    return None


_EMPTY = {"sqlite": _sqlite, "duckdb": _duckdb, "postgresql": _postgresql, "mysql": _mysql}
