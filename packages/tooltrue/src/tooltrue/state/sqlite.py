"""Facts and log on an SQLite file, for the processes of one machine.

Both may share one file. Each object has its own thread and connection; the event loop never waits for a disk. SQLite
3.37 and later. Not for network file systems, whose locks do not hold.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Self

from tooltrue.errors import StateError
from tooltrue.state.facts import NANOSECONDS, Callback, Listeners, admit, nanoseconds, waiting
from tooltrue.state.log import LOWEST, ORIGIN, Mark
from tooltrue.state.log_thread import COLUMNS, Row, ThreadLog
from tooltrue.state.sqlite_thread import SqliteSettings, SqliteThread
from tooltrue.state.wording import STORE_NOT_OPEN

__all__ = ["SqliteFacts", "SqliteLog"]

logger = logging.getLogger("tooltrue.state")

EVENTS_KEPT = 60 * NANOSECONDS
"""A process that stalls for longer than this misses events."""
PRUNE_EVERY = 10 * NANOSECONDS
PAGE = 500

_FACTS = (
    "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value BLOB NOT NULL, dies INTEGER NOT NULL)"
    " WITHOUT ROWID, STRICT",
    "CREATE INDEX IF NOT EXISTS facts_dies ON facts (dies)",
    "CREATE TABLE IF NOT EXISTS rates (key TEXT PRIMARY KEY, arrival INTEGER NOT NULL) WITHOUT ROWID, STRICT",
    # AUTOINCREMENT: the number of a pruned event is never reused, otherwise listeners would miss the new one.
    "CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL,"
    " payload BLOB NOT NULL, at INTEGER NOT NULL) STRICT",
)

_LOG = (
    "CREATE TABLE IF NOT EXISTS log (position INTEGER PRIMARY KEY, writer TEXT NOT NULL, record TEXT NOT NULL,"
    " previous TEXT NOT NULL, hash TEXT NOT NULL,"
    " first_position INTEGER, first_time TEXT, last_time TEXT, checksums TEXT, counts TEXT) STRICT",
)
_LOG_ADDITIONS = {
    "log": {
        "first_position": "INTEGER",
        "first_time": "TEXT",
        "last_time": "TEXT",
        "checksums": "TEXT",
        "counts": "TEXT",
    },
}
"""Columns that files of layout 1 lack, and the last of them those of layout 2."""


class SqliteFacts:
    """Facts of all processes that open the same file. They survive a crash, but perhaps not a power cut.

    ``clock`` returns seconds and must be the same clock in all of the processes. It is called on the store's thread.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Callable[[], float] = time.time,
        poll: float = 0.1,
        patience: float = 5.0,
        capacity: int = 10_000,
    ) -> None:
        self._path = Path(path)
        self._thread = SqliteThread(self._path, SqliteSettings(_FACTS, "NORMAL", patience, capacity))
        self._is_open = False
        self._clock = clock
        self._pruned = 0
        self._listeners = Listeners()
        self._poll_seconds = poll
        self._poller: asyncio.Task[None] | None = None
        self._published = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._thread.start()
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        self._listeners = Listeners()
        poller = self._stop_polling()
        try:
            if poller is not None:
                await asyncio.wait((poller,))
        finally:
            await self._thread.close()

    async def get(self, key: str) -> bytes | None:
        return await self._thread.run(partial(self._get, key), writes=False)

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await self._thread.run(partial(self._put, key, value, seconds))

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        return await self._thread.run(partial(self._put_if_absent, key, value, seconds))

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        return await self._thread.run(partial(self._replace, key, old, value, seconds))

    async def remove(self, key: str) -> bytes | None:
        return await self._thread.run(partial(self._remove, key))

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        return await self._thread.run(partial(self._take, key, per_second=per_second, burst=burst, cost=cost))

    async def publish(self, channel: str, payload: bytes) -> None:
        await self._thread.run(partial(self._publish, channel, payload))
        self._published.set()  # listeners in this process need not wait for the next poll

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        after = await self._thread.run(_last_event, writes=False)
        if not self._is_open:  # closed meanwhile; a poller started now would never be stopped
            raise StateError.of(STORE_NOT_OPEN, path=self._path)
        end = self._listeners.add(channel, callback, after)
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll(after))
        return partial(self._unsubscribe, end)

    def _unsubscribe(self, end: Callable[[], None]) -> None:
        end()
        if not self._listeners:
            self._stop_polling()

    def _stop_polling(self) -> asyncio.Task[None] | None:
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.cancel()
        return poller

    async def _poll(self, position: int) -> None:
        """Deliver published events, of any process, while there are listeners."""
        while True:
            await self._next_poll()
            try:
                events = await self._thread.run(partial(_events_after, position), writes=False)
            except StateError as error:
                logger.warning("Events are late: %s", error)
                continue
            for position, channel, payload in events:
                self._listeners.deliver(channel, payload, position)
            if len(events) == PAGE:
                self._published.set()

    async def _next_poll(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds):
                await self._published.wait()
        self._published.clear()

    # The jobs: on the thread, in a transaction. They read the clock there, after waiting for the lock.

    def _get(self, key: str, db: Connection) -> bytes | None:
        now = nanoseconds(self._clock())
        row = db.execute("SELECT value FROM facts WHERE key = ? AND dies > ?", (key, now)).fetchone()
        return None if row is None else row[0]

    def _put(self, key: str, value: bytes, seconds: float, db: Connection) -> None:
        now = nanoseconds(self._clock())
        self._prune(now, db)
        db.execute(
            "INSERT INTO facts VALUES (?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value, dies = excluded.dies",
            (key, value, now + nanoseconds(seconds)),
        )

    def _put_if_absent(self, key: str, value: bytes, seconds: float, db: Connection) -> bool:
        if self._get(key, db) is not None:
            return False
        self._put(key, value, seconds, db)
        return True

    def _replace(self, key: str, old: bytes, value: bytes, seconds: float, db: Connection) -> bool:
        if self._get(key, db) != old:
            return False
        self._put(key, value, seconds, db)
        return True

    def _remove(self, key: str, db: Connection) -> bytes | None:
        value = self._get(key, db)
        db.execute("DELETE FROM facts WHERE key = ?", (key,))
        return value

    def _take(self, key: str, db: Connection, *, per_second: float, burst: int, cost: int) -> float:
        now = nanoseconds(self._clock())
        self._prune(now, db)
        row = db.execute("SELECT arrival FROM rates WHERE key = ?", (key,)).fetchone()
        arrival, wait = admit(now if row is None else row[0], now, per_second=per_second, burst=burst, cost=cost)
        if wait:
            return waiting(wait)
        db.execute(
            "INSERT INTO rates VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET arrival = excluded.arrival", (key, arrival)
        )
        return 0.0

    def _publish(self, channel: str, payload: bytes, db: Connection) -> None:
        now = nanoseconds(self._clock())
        self._prune(now, db)
        db.execute("INSERT INTO events (channel, payload, at) VALUES (?, ?, ?)", (channel, payload, now))

    def _prune(self, now: int, db: Connection) -> None:
        """Delete expired rows, at most once in ``PRUNE_EVERY``."""
        if abs(now - self._pruned) < PRUNE_EVERY:
            return
        self._pruned = now
        db.execute("DELETE FROM facts WHERE dies <= ?", (now,))
        db.execute("DELETE FROM rates WHERE arrival <= ?", (now,))
        db.execute("DELETE FROM events WHERE at <= ?", (now - EVENTS_KEPT,))


def _last_event(db: Connection) -> int:
    # Not max(number): the last event may have been pruned.
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    return 0 if row is None else row[0]


def _events_after(number: int, db: Connection) -> list[tuple[int, str, bytes]]:
    return db.execute(
        "SELECT number, channel, payload FROM events WHERE number > ? ORDER BY number LIMIT ?", (number, PAGE)
    ).fetchall()


class SqliteLog(ThreadLog[Connection]):
    """A log that all processes with the same file write to. Appended records survive a power cut.

    Notes wait up to ``linger`` seconds for others, so that many share one batch and one commit.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        writer: str | None = None,
        linger: float = 0.05,
        patience: float = 5.0,
        capacity: int = 20_000,
    ) -> None:
        settings = SqliteSettings(_LOG, "FULL", patience, capacity, linger, 3, _LOG_ADDITIONS)
        thread = SqliteThread(Path(path), settings)
        super().__init__(str(path), thread, _SqliteTable(), writer, capacity)


class _SqliteTable:
    def head(self, db: Connection) -> Mark:
        row = db.execute("SELECT position, hash FROM log ORDER BY position DESC LIMIT 1").fetchone()
        return ORIGIN if row is None else Mark(*row)

    def insert(self, db: Connection, rows: Sequence[Row]) -> None:
        for row in rows:
            db.execute(_INSERT, row)

    def rows(self, db: Connection, after: int) -> Iterator[Row]:
        # LOWEST is beyond SQLite's integers.
        yield from db.execute(_SELECT, (-math.inf if after <= LOWEST else after,))

    def forget(self, db: Connection, last: int) -> None:
        db.execute("DELETE FROM log WHERE position <= ?", (last,))


_INSERT = f"INSERT INTO log ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM log WHERE position > ? ORDER BY position"
