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
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
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

__all__ = ["ENGINES", "PATIENT", "SHOP", "Database", "database_of", "held_open", "owner_of", "run_as_owner", "shop"]

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

_TABLES = ("orders", "users", "ledger")
_ROWS = tuple(statement for statement in SHOP if statement.startswith("INSERT"))

_USUAL = "mysql://root@127.0.0.1:3306/"


Filled = AbstractContextManager[str]
"""A filled database, by the URL for a role with few rights."""
Database = Callable[[Path, tuple[str, ...]], Filled]
"""A database, which is emptied and filled anew for each use: by a folder of that use, and more statements than the
shop's. It has one use at a time."""


@contextmanager
def shop(engine: str, folder: Path, more: tuple[str, ...] = ()) -> Generator[str]:
    """The URL of a shop in ``engine``, through a role with few rights; gone afterwards.

    Its database is its own. A test that changes the shop takes the fixture ``fresh_shop``, which is faster; this is for
    a shop that several tests read, or that is held open meanwhile.
    """
    with database_of(engine, folder) as database, database(folder, more) as url:
        yield url


def database_of(engine: str, folder: Path) -> AbstractContextManager[Database]:
    """A database of ``engine``, gone afterwards. ``folder`` is for its files."""
    return _DATABASES[engine](folder)


@contextmanager
def held_open(url: str, access: Access, *, writes: bool = False) -> Generator[None]:
    """Keep a DuckDB file open meanwhile, for reading or writing, so that no session has to reopen it, which takes
    longer than most statements. Without effect for the other engines."""
    if url.startswith("duckdb:"):
        with closing(engine_of(url, access, PATIENT).open(writes=writes)):
            yield
    else:
        yield


# -- files: copies of one file -----------------------------------------------------------------------------------------


@contextmanager
def _sqlite(folder: Path) -> Generator[Database]:
    template = folder / "template.db"
    _run_sqlite(template, SHOP)
    yield functools.partial(_copied, template, "sqlite:///", _run_sqlite)


def _run_sqlite(file: Path, statements: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        for statement in statements:
            db.execute(statement)
        db.execute("COMMIT")


@contextmanager
def _duckdb(folder: Path) -> Generator[Database]:
    template = folder / "template.duckdb"
    _run_duckdb(template, SHOP)
    yield functools.partial(_copied, template, "duckdb:///", _run_duckdb)


def _run_duckdb(file: Path, statements: tuple[str, ...]) -> None:
    with closing(duckdb.connect(str(file))) as db:
        for statement in statements:
            db.execute(statement)


@contextmanager
def _copied(
    template: Path, scheme: str, run: Callable[[Path, tuple[str, ...]], None], folder: Path, more: tuple[str, ...]
) -> Generator[str]:
    file = shutil.copyfile(template, folder / f"shop{template.suffix}")
    if more:
        run(file, more)
    yield f"{scheme}{file}"


# -- PostgreSQL: the schema is dropped, and made anew by one script ----------------------------------------------------


@contextmanager
def _postgresql(folder: Path) -> Generator[Database]:
    with postgres_database() as url, psycopg.connect(url, autocommit=True) as db:
        yield functools.partial(_filled_postgresql, url, db)


_EMPTY_POSTGRESQL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$
DECLARE
    made name;
    owner name := (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'public');
BEGIN
    FOR made IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', made);
    END LOOP;
    EXECUTE format('CREATE SCHEMA public AUTHORIZATION %I', owner);
END
$$;
GRANT USAGE ON SCHEMA public TO PUBLIC
"""
"""Ends other sessions, which may hold locks, and leaves the schemas of a new database. A new database takes some twenty
times as long, also from a template."""


@contextmanager
def _filled_postgresql(url: str, db: psycopg.Connection[Any], folder: Path, more: tuple[str, ...]) -> Generator[str]:
    role = f"tooltrue_{uuid.uuid4().hex[:12]}"  # a new one, because tests give rights and settings to it
    rights = (
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE, CREATE ON SCHEMA public TO {role}",
        *(f"GRANT ALL ON ALL {made} IN SCHEMA public TO {role}" for made in ("TABLES", "SEQUENCES")),
    )
    db.execute(";\n".join((_EMPTY_POSTGRESQL, *SHOP, *more, *rights)).encode())
    parts = urlsplit(url)
    shown = f"postgresql://{role}@{parts.hostname}:{parts.port or 5432}{parts.path}"
    _OWNERS[shown] = url
    try:
        yield shown
    finally:
        db.execute(f"{_EMPTY_POSTGRESQL}; DROP OWNED BY {role}; DROP ROLE {role}".encode())


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
        with _mysql_root(urlsplit(url).path.strip("/")) as cursor:
            for statement in statements:
                cursor.execute(statement)
    else:
        with psycopg.connect(_OWNERS[url], autocommit=True) as db:
            for statement in statements:
                db.execute(statement.encode())


# -- MariaDB: the rows are written anew, and after a change of more than rows the whole database ----------------------


@contextmanager
def _mysql(folder: Path) -> Generator[Database]:
    name = f"tooltrue_{uuid.uuid4().hex[:12]}"
    with _mysql_root() as cursor:
        try:
            yield _MysqlDatabase(cursor, name).filled
        finally:
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")


@contextmanager
def _mysql_root(database: str | None = None) -> Generator[pymysql.cursors.Cursor]:
    server = urlsplit(_mysql_server())
    user: Mapping[str, Any] = {"user": server.username, "password": server.password or "", "autocommit": True}
    place = {"host": server.hostname, "port": server.port or 3306, "database": database}
    with pymysql.connect(**user, **place) as db, db.cursor() as cursor:
        yield cursor


@dataclass
class _MysqlDatabase:
    """A database, and what it has besides rows once it has the shop alone. There each table takes longer to make than
    all rows together."""

    cursor: pymysql.cursors.Cursor
    name: str
    structure: list[Any] | None = None

    @contextmanager
    def filled(self, folder: Path, more: tuple[str, ...]) -> Generator[str]:
        if self.structure is not None and self.structure == self._current_structure():
            self._run("BEGIN", *(f"DELETE FROM {table}" for table in _TABLES), *_ROWS, "COMMIT", *more)
        else:
            self._make()
            self._run(*more)
        self._run(
            f"CREATE USER {self.name}@'%', {self.name}@localhost",
            f"GRANT ALL ON {self.name}.* TO {self.name}@'%', {self.name}@localhost",
        )
        server = urlsplit(_mysql_server())
        try:
            yield f"mysql://{self.name}@{server.hostname}:{server.port or 3306}/{self.name}"
        finally:
            self._run(f"DROP USER {self.name}@'%', {self.name}@localhost")
            _end_sessions(self.cursor, self.name)  # they may hold locks

    def _make(self) -> None:
        self._run(
            f"DROP DATABASE IF EXISTS {self.name}",
            f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4",
            f"USE {self.name}",
            *SHOP,
        )
        self.structure = self._current_structure()

    def _current_structure(self) -> list[Any]:
        """The definitions of tables, views, functions, procedures, triggers and events."""
        names = [name.replace("`", "``") for (name,) in self._rows("SHOW TABLES")]
        statements = (
            *(f"SHOW CREATE TABLE `{name}`" for name in names),
            *(f"SHOW {kind} STATUS WHERE Db = '{self.name}'" for kind in ("FUNCTION", "PROCEDURE")),
            *("SHOW TRIGGERS", "SHOW EVENTS"),
        )
        return [self._rows(statement) for statement in statements]

    def _run(self, *statements: str) -> None:
        for statement in statements:
            self.cursor.execute(statement)

    def _rows(self, statement: str) -> tuple[Any, ...]:
        self.cursor.execute(statement)
        return self.cursor.fetchall()


def _end_sessions(cursor: pymysql.cursors.Cursor, user: str) -> None:
    cursor.execute("SELECT id FROM information_schema.processlist WHERE user = %s", (user,))
    for (session,) in cursor.fetchall():
        with suppress(pymysql.MySQLError):  # it has ended meanwhile
            cursor.execute(f"KILL {session}")


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


_DATABASES: Mapping[str, Callable[[Path], AbstractContextManager[Database]]] = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "postgresql": _postgresql,
    "mysql": _mysql,
}
