"""The log on PostgreSQL, for the processes of many machines. Owner of psycopg, which is an extra: ``postgres``.

One thread with one connection, as for SQLite. A lost connection is reopened for the next group of jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import conninfo

from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.log import ORIGIN, Mark
from tooltrue.state.log_thread import COLUMNS, Row, ThreadLog
from tooltrue.state.places import without_password
from tooltrue.state.store_thread import StoreThread, Work
from tooltrue.state.wording import AUDIT_DATABASE_NOT_OPENABLE, AUDIT_DATABASE_UNUSABLE

__all__ = ["PostgresLog"]

_LINGER = 0.05
_NAME = "tooltrue_log"
_LAYOUT = f"""\
CREATE TABLE IF NOT EXISTS {_NAME} (
    position bigint PRIMARY KEY, writer text NOT NULL, record text NOT NULL, previous text NOT NULL, hash text NOT NULL,
    first_position bigint, first_time text, last_time text, checksums text, counts text
)"""
_IS_OLD = f"""\
SELECT NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = '{_NAME}'::regclass AND attname = 'counts' AND NOT attisdropped
)"""
_ADDITIONS = f"""\
ALTER TABLE {_NAME}
    ADD COLUMN IF NOT EXISTS first_position bigint, ADD COLUMN IF NOT EXISTS first_time text,
    ADD COLUMN IF NOT EXISTS last_time text, ADD COLUMN IF NOT EXISTS checksums text,
    ADD COLUMN IF NOT EXISTS counts text
"""
"""Columns that the tables of earlier releases lack."""


class PostgresLog(ThreadLog["_Connected"]):
    """A log that all processes with the same ``url`` write to, in the table ``tooltrue_log``.

    Appended records are as durable as the server's commits. ``patience``: seconds to wait for the server and for locks.
    """

    def __init__(
        self,
        url: str,
        *,
        writer: str | None = None,
        linger: float = _LINGER,
        patience: float = 5.0,
        capacity: int = 20_000,
    ) -> None:
        backend = _Postgres(url, patience)
        super().__init__(backend.place, StoreThread(backend, 10_000, linger), _PostgresTable(), writer, capacity)


class _Connected:
    """A connection that is opened on first use, and again after a loss."""

    def __init__(self, url: str, patience: float) -> None:
        self._url = url
        self._patience = patience
        self._connection: psycopg.Connection | None = None

    @property
    def db(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = _connect(self._url, self._patience)
        return self._connection

    def drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(url: str, patience: float) -> psycopg.Connection:
    parameters = conninfo.conninfo_to_dict(url)
    milliseconds = int(patience * 1000)
    parameters.setdefault("connect_timeout", max(2, round(patience)))
    parameters.setdefault("application_name", "tooltrue")
    parameters.setdefault("tcp_user_timeout", milliseconds)
    limits = f"-c lock_timeout={milliseconds} -c statement_timeout={4 * milliseconds}"
    parameters["options"] = f"{parameters.get('options') or ''} {limits}"
    return psycopg.connect("", autocommit=True, **parameters)  # pyright: ignore[reportArgumentType]


class _Postgres:
    failures: tuple[type[Exception], ...] = (
        psycopg.OperationalError,
        psycopg.InterfaceError,
        psycopg.errors.ReadOnlySqlTransaction,  # the server is a standby now; a new connection may reach the primary
    )

    def __init__(self, url: str, patience: float) -> None:
        self.place = without_password(url)
        self._url = url
        self._patience = patience

    def connect(self) -> _Connected:
        connected = _Connected(self._url, self._patience)
        try:
            with connected.db.transaction():
                # Two sessions that create the same table at once would fail, in spite of IF NOT EXISTS.
                connected.db.execute(_LOCK)
                connected.db.execute(_LAYOUT)
                # Not IF NOT EXISTS: only the owner of the table may state it, even if there is nothing to add.
                if connected.db.execute(_IS_OLD).fetchone() == (True,):
                    connected.db.execute(_ADDITIONS)
        except psycopg.Error as error:
            connected.drop()
            raise ConfigurationError.of(
                AUDIT_DATABASE_NOT_OPENABLE, url=self.place, problem=_first_line(error)
            ) from None
        return connected

    def close(self, connection: _Connected) -> None:
        with suppress(psycopg.Error):
            connection.drop()

    def transact(self, connection: _Connected, jobs: Sequence[Work], *, writes: bool) -> list[Any]:
        try:
            with connection.db.transaction():
                if writes:
                    # From here to the commit no other writer reads the head.
                    connection.db.execute(_LOCK)
                return [work(connection) for work in jobs]
        except self.failures:
            with suppress(psycopg.Error):
                connection.drop()
            raise

    def worded(self, error: Exception) -> StateError | None:
        is_ours = isinstance(error, psycopg.Error)
        return StateError.of(AUDIT_DATABASE_UNUSABLE, url=self.place, problem=_first_line(error)) if is_ours else None


_LOCK = "SELECT pg_advisory_xact_lock(7811886471)"


def _first_line(error: Exception) -> str:
    """The first line of a message; the others repeat the statement, or list attempts at other addresses."""
    return str(error).strip().partition("\n")[0]


_FETCHED = 20
"""Rows per round trip: a row holds up to 500 records."""
_COPY = f"COPY {_NAME} ({', '.join(COLUMNS)}) FROM STDIN"
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM {_NAME} WHERE position > %s ORDER BY position"


class _PostgresTable:
    def head(self, db: _Connected) -> Mark:
        row = db.db.execute(f"SELECT position, hash FROM {_NAME} ORDER BY position DESC LIMIT 1").fetchone()
        return ORIGIN if row is None else Mark(*row)

    def insert(self, db: _Connected, rows: Sequence[Row]) -> None:
        # COPY costs a twentieth of the CPU of list parameters, whose texts psycopg escapes one by one in Python.
        with db.db.cursor() as cursor, cursor.copy(_COPY) as copy:
            for row in rows:
                copy.write_row(row)

    def rows(self, db: _Connected, after: int) -> Iterator[Row]:
        # A cursor of the server: the client would hold the whole log.
        with db.db.cursor("tooltrue_log_rows") as cursor:
            cursor.itersize = _FETCHED
            cursor.execute(_SELECT, (after,))
            yield from cursor

    def forget(self, db: _Connected, last: int) -> None:
        db.db.execute(f"DELETE FROM {_NAME} WHERE position <= %s", (last,))
