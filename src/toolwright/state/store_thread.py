"""The one thread that uses one database, so that the event loop never waits for a disk, a lock or a network.

Jobs come in over a queue and run in its order. All that wait are one transaction and one commit; each caller gets its
answer after it. A job is a function of the connection. It must not keep state of its own that a rollback would not take
back, for it may run twice.

The thread belongs to whoever called ``start``, and to that event loop; ``close`` runs what is queued and ends it. Start
it after forking.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from toolwright.errors import StateError

__all__ = ["Backend", "Done", "StoreThread", "Work"]

T = TypeVar("T")
ConnectionT = TypeVar("ConnectionT")

LARGEST_GROUP = 1000

Work = Callable[[Any], Any]
"""A job: a function of the connection."""
Done = Callable[[Any, Exception | None], None]


class Backend(Protocol[ConnectionT]):
    """One kind of database, used by one thread.

    ``place`` is what errors call it. ``failures`` are the exceptions that say that it cannot be used now, rather than
    that one job is bad.
    """

    place: str
    failures: tuple[type[Exception], ...]

    def connect(self) -> ConnectionT:
        """ConfigurationError when that cannot be done."""
        ...

    def close(self, connection: ConnectionT) -> None: ...

    def transact(self, connection: ConnectionT, jobs: Sequence[Work], *, writes: bool) -> list[Any]:
        """The answers of all jobs, committed; or an exception and nothing done."""
        ...

    def worded(self, error: Exception) -> StateError | None:
        """What a caller is told of an exception of the database; None for one of the job's own."""
        ...


class _Job(NamedTuple):
    work: Work
    done: Done
    writes: bool
    urgent: bool


class StoreThread(Generic[ConnectionT]):
    """``capacity`` jobs may wait; more are refused. A job that nobody waits for may be joined by others for ``linger``
    seconds. ``done`` callbacks and answers come on the event loop, in the order of the jobs.
    """

    def __init__(self, backend: Backend[ConnectionT], capacity: int, linger: float = 0.0) -> None:
        self._backend = backend
        self._capacity = capacity
        self._linger = linger
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Open the database. ConfigurationError when that cannot be done."""
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        opened: asyncio.Future[None] = self._loop.create_future()
        self._jobs = queue.SimpleQueue()
        # A daemon: a store that nobody closed must not keep the process from ending.
        self._thread = threading.Thread(
            target=self._main,
            args=(partial(_resolve, opened), partial(_resolve, self._ended)),
            name=f"toolwright {self._backend.place[-40:]}",
            daemon=True,
        )
        self._thread.start()
        try:
            await opened
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Run what is queued, close the database, end the thread. Closing twice is harmless.

        A database that is locked is waited for once; then what is queued fails.
        """
        thread, self._thread = self._thread, None
        if thread is None or self._ended is None:
            return
        self._jobs.put(None)
        # Shielded: the thread ends by itself now, and a cancelled closer must not make its farewell fail.
        await asyncio.shield(self._ended)
        thread.join()

    async def run(self, work: Callable[[ConnectionT], T], *, writes: bool = True) -> T:
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
            raise StateError.of("TW7005", path=self._backend.place)
        if self._jobs.qsize() >= self._capacity:
            raise StateError.of("TW7004", path=self._backend.place, limit=self._capacity)
        self._jobs.put(job)

    # Below: on the thread, but for the callbacks that `_tell` hands to the loop.

    def _main(self, opened: Done, ended: Done) -> None:
        try:
            self._open_and_serve(opened)
        finally:
            self._tell(ended, None, None)

    def _open_and_serve(self, opened: Done) -> None:
        try:
            connection = self._backend.connect()
        except Exception as error:  # noqa: BLE001 - whoever opens it gets it, and would wait for ever otherwise
            self._tell(opened, None, error)
            return
        try:
            self._tell(opened, None, None)
            while group := self._next_group():
                failure = self._commit(connection, group)
                # Whoever closes waits for one lock at the most, not for one with each group.
                if failure is not None and self._thread is None:
                    self._fail(self._rest(), failure)
                    return
        finally:
            self._backend.close(connection)

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
        due = time.monotonic() + self._linger
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

    def _commit(self, connection: ConnectionT, group: Sequence[_Job]) -> Exception | None:
        """Run the group and tell all who wait. Returns what failed if that was the database, not a job."""
        try:
            answers = self._backend.transact(
                connection, [job.work for job in group], writes=any(job.writes for job in group)
            )
        except self._backend.failures as error:
            # The database, not a job: locked, full, unreadable. Trying them one by one would wait as often.
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
        # One for each caller: an exception that several tasks raise mixes up their tracebacks.
        errors = [self._backend.worded(error) or error for _ in group]
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
