"""The thread that uses an SQLite file, one per file. SQLite 3.37 and later."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tooltrue._internal.platform.private_files import ensure_private_file, make_private_folder
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.protocol.types import Value
from tooltrue.state.store_thread import StoreThread, Work
from tooltrue.state.wording import STATE_FILE_NOT_OPENABLE, STATE_FILE_TOO_NEW, STATE_FILE_UNUSABLE

__all__ = ["SqliteSettings", "SqliteThread"]

LAYOUT = 3
"""The newest layout version that this release knows. A file's ``user_version`` is the newest of its tables."""


class SqliteSettings(Value, frozen=True, eq=False):
    """Settings of a thread for its file.

    ``tables``       statements that create missing tables
    ``synchronous``  ``FULL``: a commit survives a power cut; ``NORMAL``: a crash of the process only
    ``patience``     seconds to wait for the locks of other processes
    ``capacity``     jobs that may be queued; more are refused
    ``linger``       seconds in which other jobs may join a job that has no waiting caller
    ``layout``       the layout version of the tables
    ``additions``    columns, with their types, that older layouts of a table lack
    """

    tables: tuple[str, ...]
    synchronous: str
    patience: float
    capacity: int
    linger: float = 0.0
    layout: int = 1
    additions: Mapping[str, Mapping[str, str]] = {}


class SqliteThread(StoreThread[sqlite3.Connection]):
    def __init__(self, path: Path, settings: SqliteSettings) -> None:
        super().__init__(_Sqlite(path, settings), settings.capacity, settings.linger)


class _Sqlite:
    failures: tuple[type[Exception], ...] = (sqlite3.OperationalError,)

    def __init__(self, path: Path, settings: SqliteSettings) -> None:
        self.place = str(path)
        self._path = path
        self._settings = settings

    def connect(self) -> sqlite3.Connection:
        return _connect(self._path, self._settings)

    def close(self, connection: sqlite3.Connection) -> None:
        connection.close()

    def transact(self, connection: sqlite3.Connection, jobs: Sequence[Work], *, writes: bool) -> list[Any]:
        # IMMEDIATE takes the write lock before the first read, so that a job may read, decide and write.
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        try:
            answers = [work(connection) for work in jobs]
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # SQLite rolls back by itself after some errors, such as a full disk
                connection.execute("ROLLBACK")
            raise
        return answers

    def worded(self, error: Exception) -> StateError | None:
        is_ours = isinstance(error, sqlite3.Error)
        return StateError.of(STATE_FILE_UNUSABLE, path=self._path, problem=error) if is_ours else None


def _connect(path: Path, settings: SqliteSettings) -> sqlite3.Connection:
    """Open the file and create its tables. Raises ConfigurationError on failure."""
    try:
        _create(path)
        connection = sqlite3.connect(path, timeout=settings.patience, isolation_level=None)
    except (sqlite3.Error, OSError, ValueError) as error:  # ValueError: not a valid file name
        raise ConfigurationError.of(STATE_FILE_NOT_OPENABLE, path=path, problem=error) from error
    try:
        _prepare(connection, path, settings)
    except sqlite3.Error as error:
        connection.close()
        raise ConfigurationError.of(STATE_FILE_NOT_OPENABLE, path=path, problem=error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Create the file, and missing folders, for their owner alone. Existing ones stay unchanged.

    SQLite gives its auxiliary files the mode of this one; on Windows they have the rights of the folder.
    """
    make_private_folder(path.parent)
    ensure_private_file(path)


def _prepare(connection: sqlite3.Connection, path: Path, settings: SqliteSettings) -> None:
    # A byte changed in a text must show as a changed text, not fail the read.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    _write_ahead(connection, settings.patience)
    connection.execute(f"PRAGMA synchronous={settings.synchronous}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        _lay_out(connection, path, settings)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to write-ahead logging: readers no longer block writers."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError:
            # Only this pragma does not wait for locks by itself; workers that start together collide here.
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _lay_out(connection: sqlite3.Connection, path: Path, settings: SqliteSettings) -> None:
    layout: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if layout > LAYOUT:
        raise ConfigurationError.of(STATE_FILE_TOO_NEW, path=path, found=layout, known=LAYOUT)
    for statement in settings.tables:
        connection.execute(statement)
    for table, columns in settings.additions.items():
        present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for column in columns.keys() - present:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {columns[column]}")
    if layout < settings.layout:  # the same number again would be a write, and wait for the disk
        connection.execute(f"PRAGMA user_version={settings.layout}")
