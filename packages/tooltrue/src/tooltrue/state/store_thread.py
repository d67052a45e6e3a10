"""The thread that uses a database, so that the event loop never waits for a disk, a lock or a network.

Jobs are queued and run in order. All queued jobs share one transaction and one commit; each caller gets its result
after the commit. A job is a function of the connection. It must not keep state that a rollback would not revert,
because it may run twice.

The thread belongs to the event loop that called ``start``, which must be after a fork; ``close`` runs the queued jobs
and ends it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from tooltrue.errors import StateError
from tooltrue.protocol.types import Value
from tooltrue.state.wording import STORE_NOT_OPEN, STORE_QUEUE_FULL

__all__ = ["Backend", "Done", "StoreThread", "Work"]

T = TypeVar("T")
ConnectionT = TypeVar("ConnectionT")

LARGEST_GROUP = 1000

Work = Callable[[Any], Any]
"""A job: a function of the connection."""
Done = Callable[[Any, Exception | None], None]


class Backend(Protocol[ConnectionT]):
    """One kind of database, used by one thread.

    ``place`` names the database in errors. ``failures`` are the exceptions that mean that the database is unavailable,
    rather than that one job is bad.
    """

    place: str
    failures: tuple[type[Exception], ...]

    def connect(self) -> ConnectionT:
        """Open a connection. Raises ConfigurationError on failure."""
        ...

    def close(self, connection: ConnectionT) -> None: ...

    def transact(self, connection: ConnectionT, jobs: Sequence[Work], *, writes: bool) -> list[Any]:
        """The results of all jobs, committed; if it raises, no change was made."""
        ...

    def worded(self, error: Exception) -> StateError | None:
        """The error that a caller gets for an exception of the database; None for an exception of the job itself."""
        ...


class _StoreJob(Value, frozen=True):
    work: Work
    done: Done
    writes: bool
    urgent: bool


class StoreThread(Generic[ConnectionT]):
    """Up to ``capacity`` jobs may be queued; more are refused. Other jobs may join a job without a waiting caller for
    ``linger`` seconds. ``done`` callbacks and results arrive on the event loop, in the order of the jobs.
    """

    def __init__(self, backend: Backend[ConnectionT], capacity: int, linger: float = 0.0) -> None:
        self._backend = backend
        self._capacity = capacity
        self._linger = linger
        self._jobs: queue.SimpleQueue[_StoreJob | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Open the database. Raises ConfigurationError on failure."""
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.create_future()
        opened: asyncio.Future[None] = self._loop.create_future()
        self._jobs = queue.SimpleQueue()
        # A daemon: a store that was not closed must not keep the process from ending.
        self._thread = threading.Thread(
            target=self._main,
            args=(partial(_resolve, opened), partial(_resolve, self._end)),
            name=f"tooltrue {self._backend.place[-40:]}",
            daemon=True,
        )
        self._thread.start()
        try:
            await opened
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Run the queued jobs, close the database, end the thread. Closing twice is harmless.

        A locked database is waited for once; then the queued jobs fail.
        """
        thread, self._thread = self._thread, None
        if thread is None or self._end is None:
            return
        self._jobs.put(None)
        # Shielded: the thread now ends by itself, and the cancellation of this call must not cancel its final future.
        await asyncio.shield(self._end)
        thread.join()

    async def run(self, work: Callable[[ConnectionT], T], *, writes: bool = True) -> T:
        """The result of ``work``, once it is committed.

        Raises StateError if it was not committed: the database is unchanged. A cancelled caller does not stop the job.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._submit(_StoreJob(work, partial(_resolve, future), writes, urgent=True))
        return await future

    def post(self, work: Work, done: Done) -> None:
        """Add ``work`` to a later commit and return at once. Raises StateError if the queue is full or closed."""
        self._submit(_StoreJob(work, done, writes=True, urgent=False))

    def _submit(self, job: _StoreJob) -> None:
        if self._thread is None:
            raise StateError.of(STORE_NOT_OPEN, path=self._backend.place)
        if self._jobs.qsize() >= self._capacity:
            raise StateError.of(STORE_QUEUE_FULL, path=self._backend.place, limit=self._capacity)
        self._jobs.put(job)

    # Below: on the thread, except the callbacks that `_report` passes to the loop.

    def _main(self, opened: Done, end: Done) -> None:
        try:
            self._open_and_serve(opened)
        finally:
            self._report(end, None, None)

    def _open_and_serve(self, opened: Done) -> None:
        try:
            connection = self._backend.connect()
        except Exception as error:  # noqa: BLE001 - whoever opens it gets it, and would wait for ever otherwise
            self._report(opened, None, error)
            return
        try:
            self._report(opened, None, None)
            while group := self._next_group():
                failure = self._commit(connection, group)
                # The closer waits for one lock at most, not for one per group.
                if failure is not None and self._thread is None:
                    self._fail(self._rest(), failure)
                    return
        finally:
            self._backend.close(connection)

    def _rest(self) -> list[_StoreJob]:
        """The jobs still queued when the thread is asked to end."""
        jobs: list[_StoreJob] = []
        while (job := self._jobs.get()) is not None:
            jobs.append(job)
        return jobs

    def _next_group(self) -> list[_StoreJob]:
        """The jobs of the next transaction; an empty list when the thread should end."""
        group: list[_StoreJob] = []
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
            self._jobs.put(None)  # end after this group
        return group

    def _commit(self, connection: ConnectionT, group: Sequence[_StoreJob]) -> Exception | None:
        """Run the group and deliver the results. Returns the error if the database failed, rather than a job."""
        try:
            answers = self._backend.transact(
                connection, [job.work for job in group], writes=any(job.writes for job in group)
            )
        except self._backend.failures as error:
            # The database failed, not a job: locked, full, unreadable. Single attempts would wait for it each time.
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
            self._report(_answer, group, answers)
        return None

    def _fail(self, group: Sequence[_StoreJob], error: Exception) -> None:
        # One error per caller: several tasks that raise the same exception would mix up their tracebacks.
        errors = [self._backend.worded(error) or error for _ in group]
        self._report(_refuse, group, errors)

    def _report(self, callback: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None
        # A closed loop has no waiting callers left.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


def _resolve(future: asyncio.Future[Any], answer: Any, error: Exception | None) -> None:
    if future.done():  # the caller was cancelled
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)


def _answer(group: Sequence[_StoreJob], answers: Sequence[Any]) -> None:
    for job, answer in zip(group, answers, strict=True):
        job.done(answer, None)


def _refuse(group: Sequence[_StoreJob], errors: Sequence[Exception]) -> None:
    for job, error in zip(group, errors, strict=True):
        job.done(None, error)
