"""The one thread that uses one SQLite file, so that the event loop never waits for a disk or a lock.

Jobs come in over a queue and run in its order. All that wait are one transaction and one commit; each caller gets its
answer after it. A job is a function of the connection. It must not keep state of its own that a rollback would not take
back, for it may run twice.

The thread belongs to whoever called ``start``, and to that event loop; ``close`` runs what is queued and ends it. Start
it after forking.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from toolwright.errors import ConfigurationError, StateError

__all__ = ["Settings", "SqliteThread"]

T = TypeVar("T")

LAYOUT = 1
"""The layout of all tables of this package; a file says in ``user_version`` which it has."""

LARGEST_GROUP = 1000

Work = Callable[[sqlite3.Connection], Any]
Done = Callable[[Any, Exception | None], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a thread treats its file.

    ``tables``       statements that make the tables where they are missing
    ``synchronous``  ``FULL``: a commit survives a power cut; ``NORMAL``: a crash of the process only
    ``patience``     seconds to wait for the locks of other processes
    ``capacity``     jobs that may wait; more are refused
    ``linger``       seconds in which a job that nobody waits for may be joined by others
    """

    tables: tuple[str, ...]
    synchronous: str
    patience: float
    capacity: int
    linger: float = 0.0


class _Job(NamedTuple):
    work: Work
    done: Done
    writes: bool
    urgent: bool


class SqliteThread:
    """``done`` callbacks and answers come on the event loop, in the order of the jobs."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._settings = settings
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Open the file, made with its folder where missing. ConfigurationError when that cannot be done."""
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        opened: asyncio.Future[None] = self._loop.create_future()
        self._jobs = queue.SimpleQueue()
        # A daemon: a store that nobody closed must not keep the process from ending.
        self._thread = threading.Thread(
            target=self._main,
            args=(partial(_resolve, opened), partial(_resolve, self._ended)),
            name=f"toolwright {self._path.name}",
            daemon=True,
        )
        self._thread.start()
        try:
            await opened
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Run what is queued, close the file, end the thread. Closing twice is harmless.

        A file that is locked is waited for once, for ``patience``; then what is queued fails.
        """
        thread, self._thread = self._thread, None
        if thread is None or self._ended is None:
            return
        self._jobs.put(None)
        # Shielded: the thread ends by itself now, and a cancelled closer must not make its farewell fail.
        await asyncio.shield(self._ended)
        thread.join()

    async def run(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = True) -> T:
        """What ``work`` returns, once it is committed.

        StateError when it was not: then nothing changed. A caller that is cancelled does not stop it.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._submit(_Job(work, partial(_resolve, future), writes, urgent=True))
        return await future

    def post(self, work: Work, done: Done) -> None:
        """Let ``work`` join a later commit and return at once. StateError when too much waits, or not open."""
        self._submit(_Job(work, done, writes=True, urgent=False))

    def _submit(self, job: _Job) -> None:
        if self._thread is None:
            raise StateError.of("TW7005", path=self._path)
        if self._jobs.qsize() >= self._settings.capacity:
            raise StateError.of("TW7004", path=self._path, limit=self._settings.capacity)
        self._jobs.put(job)

    # Below: on the thread, but for the callbacks that `_tell` hands to the loop.

    def _main(self, opened: Done, ended: Done) -> None:
        try:
            self._open_and_serve(opened)
        finally:
            self._tell(ended, None, None)

    def _open_and_serve(self, opened: Done) -> None:
        try:
            connection = _connect(self._path, self._settings)
        except ConfigurationError as error:
            self._tell(opened, None, error)
            return
        with closing(connection):
            self._tell(opened, None, None)
            while group := self._next_group():
                failure = self._commit(connection, group)
                # Whoever closes waits for one lock at the most, not for one with each group.
                if failure is not None and self._thread is None:
                    self._fail(self._rest(), failure)
                    return

    def _rest(self) -> list[_Job]:
        """What is still queued when the thread is told to end."""
        jobs: list[_Job] = []
        while (job := self._jobs.get()) is not None:
            jobs.append(job)
        return jobs

    def _next_group(self) -> list[_Job]:
        """The jobs of the next transaction; none when the thread is to end."""
        group: list[_Job] = []
        job = self._jobs.get()
        due = time.monotonic() + self._settings.linger
        while job is not None:
            group.append(job)
            if job.urgent:
                due = 0.0
            if len(group) == LARGEST_GROUP:
                return group
            try:
                job = self._jobs.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                return group
        if group:
            self._jobs.put(None)  # told to end after this group
        return group

    def _commit(self, connection: sqlite3.Connection, group: Sequence[_Job]) -> sqlite3.OperationalError | None:
        """Run the group and tell all who wait. Returns what failed if that was the file, not a job."""
        try:
            answers = _transact(connection, group)
        except sqlite3.OperationalError as error:
            # The file, not a job: locked, full, unreadable. Trying them one by one would wait as often.
            self._fail(group, error)
            return error
        except Exception as error:  # noqa: BLE001  whoever asked gets it; the thread lives
            if len(group) == 1:
                self._fail(group, error)
                return None
            # One bad job, such as a key that cannot be encoded, must fail alone.
            for job in group:
                self._commit(connection, (job,))
        else:
            self._tell(_answer, group, answers)
        return None

    def _fail(self, group: Sequence[_Job], error: Exception) -> None:
        if isinstance(error, sqlite3.Error):
            # One for each caller: an exception that several tasks raise mixes up their tracebacks.
            errors = [StateError.of("TW7003", path=self._path, problem=error) for _ in group]
        else:
            errors = [error for _ in group]
        self._tell(_refuse, group, errors)

    def _tell(self, callback: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


def _resolve(future: asyncio.Future[Any], answer: Any, error: Exception | None) -> None:
    if future.done():  # its caller was cancelled
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)


def _answer(group: Sequence[_Job], answers: Sequence[Any]) -> None:
    for job, answer in zip(group, answers, strict=True):
        job.done(answer, None)


def _refuse(group: Sequence[_Job], errors: Sequence[Exception]) -> None:
    for job, error in zip(group, errors, strict=True):
        job.done(None, error)


def _transact(connection: sqlite3.Connection, group: Sequence[_Job]) -> list[Any]:
    """The answers of all jobs, committed; or an exception and nothing done."""
    # IMMEDIATE takes the write lock before anything is read, so a job may read, decide and write.
    connection.execute("BEGIN IMMEDIATE" if any(job.writes for job in group) else "BEGIN")
    try:
        answers = [job.work(connection) for job in group]
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself after some errors, such as a full disk
            connection.execute("ROLLBACK")
        raise
    return answers


def _connect(path: Path, settings: Settings) -> sqlite3.Connection:
    """An open connection to a file that has its tables. ConfigurationError otherwise."""
    try:
        _create(path)
        connection = sqlite3.connect(path, timeout=settings.patience, isolation_level=None)
    except (sqlite3.Error, OSError) as error:
        raise ConfigurationError.of("TW7002", path=path, problem=error) from error
    try:
        _prepare(connection, path, settings)
    except sqlite3.Error as error:
        connection.close()
        raise ConfigurationError.of("TW7002", path=path, problem=error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Make the file for its owner alone, and folders that are missing likewise. What exists stays as it is.

    SQLite gives the files beside it the mode of this one.
    """
    for folder in reversed([folder for folder in path.parents if not folder.exists()]):
        folder.mkdir(0o700, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _prepare(connection: sqlite3.Connection, path: Path, settings: Settings) -> None:
    # A byte that was changed in a text must be seen as a changed text, not fail the read.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    _write_ahead(connection, settings.patience)
    connection.execute(f"PRAGMA synchronous={settings.synchronous}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        _lay_out(connection, path, settings.tables)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Readers don't stop writers from here on."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError:
            # Only this change does not wait for locks by itself; workers that start together meet here.
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _lay_out(connection: sqlite3.Connection, path: Path, tables: Sequence[str]) -> None:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > LAYOUT:
        raise ConfigurationError.of("TW7006", path=path, found=found, known=LAYOUT)
    for statement in tables:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={LAYOUT}")
