"""One SQLite file, or one in memory, for the toolbox: one transaction at a time, from any thread.

The owner of ``sqlite3`` for the internal stores of toolbox families. A transaction is atomic, even when the process is
killed during it, and committed data survives a power loss. Several processes may use one file: each waits for the
others for a few seconds. A transaction that exceeds its time is interrupted. A store that is no longer used is closed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import finalize

from tooltrue._internal.platform.private_files import ensure_private_file
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue_toolbox.wording import (
    TOOL_STORE_LOCK_TIMEOUT,
    TOOL_STORE_PATH_INVALID,
    TOOL_STORE_QUERY_TIMEOUT,
    TOOL_STORE_UNUSABLE,
)

__all__ = ["Rows", "SqliteStore"]

Rows = list[tuple[Any, ...]]

_PATIENCE = 5.0
"""Seconds to wait for other processes."""
_SECONDS = 10.0
"""For one transaction."""
_INSTRUCTIONS = 20_000
"""Instructions of SQLite's virtual machine between two checks of the clock."""


class SqliteStore:
    """A store with ``tables``, opened on first use. ``kind`` marks files of this sort: others are refused.

    ``path`` is ``None`` for one in memory, which ends with the process.
    """

    def __init__(self, path: Path | None, kind: int, tables: Sequence[str]) -> None:
        self._path = path
        self._kind = kind
        self._tables = tables
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._disconnect: Callable[[], object] = lambda: None
        self._file: tuple[int, int] | None = None
        self._deadline = _TransactionDeadline()

    def check(self) -> None:
        """``ConfigurationError`` where the file cannot be used."""
        with self._lock:
            self._connect()

    def close(self) -> None:
        with self._lock:
            self._disconnect()
            self._connection = None

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A transaction that sees one state of the file throughout."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """An exclusive write transaction; committed at its end, rolled back when it raises."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._connect()
            except ConfigurationError as error:
                raise ToolError.of(TOOL_STORE_UNUSABLE, problem=error.facts["problem"]) from error
            self._deadline.ends = time.monotonic() + _SECONDS
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                _undo(connection)
                if isinstance(error, sqlite3.DatabaseError) and (worded := _worded(error)):
                    raise worded from error
                raise

    def _connect(self) -> sqlite3.Connection:
        try:
            if self._connection is not None and self._file != self._identity():
                self._disconnect()  # the file was replaced, for example by a backup
                self._connection = None
            if self._connection is None:
                self._connection = self._open()
                # Not `__del__`: a garbage collection may finalize the connection before the store.
                self._disconnect = finalize(self, self._connection.close)
        except (sqlite3.Error, OSError) as error:
            place = "memory" if self._path is None else str(self._path)
            raise ConfigurationError.of(TOOL_STORE_PATH_INVALID, place=place, problem=str(error)) from error
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            # For its owner alone; SQLite gives the files beside it the same mode.
            ensure_private_file(self._path)
            self._file = self._identity()
        connection = sqlite3.connect(
            self._path or ":memory:", timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _identity(self) -> tuple[int, int] | None:
        """The identity of the file; ``None`` if it does not exist, and for a store in memory."""
        try:
            status = None if self._path is None else os.stat(self._path)
        except FileNotFoundError:
            return None
        return None if status is None else (status.st_dev, status.st_ino)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("BEGIN IMMEDIATE")
        application_id: int = connection.execute("PRAGMA application_id").fetchone()[0]
        is_new = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
        if application_id != self._kind and not (is_new and application_id == 0):
            raise sqlite3.DatabaseError("it is a database of something else")
        for statement in self._tables:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={self._kind}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA synchronous=FULL")
        connection.set_progress_handler(self._deadline.is_late, _INSTRUCTIONS)


class _TransactionDeadline:
    """The time at which the current transaction has to end. A connection refers to it, and so not to its store."""

    ends = 0.0

    def is_late(self) -> bool:
        return self.ends != 0.0 and time.monotonic() > self.ends


def _undo(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # SQLite has rolled back by itself after some errors, such as a full disk
        connection.execute("ROLLBACK")


def _worded(error: sqlite3.DatabaseError) -> ToolError | None:
    """The error for the model; ``None`` for a mistake of ours."""
    name = error.sqlite_errorname.split("_")[1] if hasattr(error, "sqlite_errorname") else ""
    match name:
        case "BUSY" | "LOCKED":
            return ToolError.of(TOOL_STORE_LOCK_TIMEOUT, seconds=_PATIENCE)
        case "INTERRUPT":
            return ToolError.of(TOOL_STORE_QUERY_TIMEOUT, seconds=_SECONDS)
        case _ if isinstance(error, sqlite3.OperationalError) or name in ("CORRUPT", "NOTADB"):
            return ToolError.of(TOOL_STORE_UNUSABLE, problem=str(error))
        case _:
            return None
