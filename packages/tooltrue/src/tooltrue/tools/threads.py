"""Worker threads for plain functions, so that a slow one holds up neither the event loop nor another function.

asyncio's own executor joins its threads at exit, so one stuck tool would keep the process alive; these are daemons and
never delay exit. A thread cannot be stopped: an abandoned call keeps its thread until it ends, and with it the slot of
the call.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from tooltrue.tools.rounds import BecomesTask, InputRequired
from tooltrue.tools.wording import ABANDONED_THREAD_ENDED, THREAD_ABANDONED
from tooltrue.wording import sentence

__all__ = ["HELD", "Lane", "SlotHold", "ThreadPool"]

_log = logging.getLogger("tooltrue")


class SlotHold:
    """The concurrency slot of a call, released once neither the call itself nor a thread of it holds it."""

    __slots__ = ("_count", "_give_back")

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._count = 1
        self._give_back = give_back

    def keep(self) -> None:
        self._count += 1

    def let_go(self) -> None:
        self._count -= 1
        if not self._count:
            self._give_back()


HELD: contextvars.ContextVar[SlotHold | None] = contextvars.ContextVar("held", default=None)
"""The slot of the running call; held on by work that may outlast it. Used on the event loop only."""


class _ThreadJob:
    """A function on its way through a thread. The first to take the lock decides: if a thread does, it runs; if its
    caller gives up first, it never begins.
    """

    __slots__ = ("_abandoned", "_began", "_claim", "_function", "_hold", "_is_ended", "_loop", "future", "lane")

    def __init__(self, function: Callable[[], Any], lane: Lane) -> None:
        self._loop = asyncio.get_running_loop()
        self._function = functools.partial(contextvars.copy_context().run, function)
        self._claim = threading.Lock()
        self._began = 0.0
        self._is_ended = self._abandoned = False
        self._hold = HELD.get()
        if self._hold is not None:
            self._hold.keep()
        self.lane = lane
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.future.add_done_callback(self._settled)

    def run(self) -> Callable[[], None]:
        """Call the function on this thread, unless it was abandoned. Returns the function that reports to the loop."""
        if not self._claim.acquire(blocking=False):
            return lambda: None
        self._began = time.monotonic()
        try:
            end, value = self._finish, self._function()
        except BaseException as error:  # noqa: BLE001 - any exception belongs to the caller
            end, value = self._fail, error
        return lambda: self._report(end, value)

    def _report(self, end: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and no caller waits
            self._loop.call_soon_threadsafe(end, value)

    def _finish(self, value: Any) -> None:
        self._end()
        if not self.future.done():
            self.future.set_result(value)

    def _fail(self, error: BaseException) -> None:
        self._end()
        if not self.future.done():
            # A future cannot carry StopIteration, and the loop must not see SystemExit or KeyboardInterrupt.
            if isinstance(error, StopIteration) or not isinstance(error, Exception | InputRequired | BecomesTask):
                error = RuntimeError(f"the tool raised {type(error).__name__}").with_traceback(error.__traceback__)
            self.future.set_exception(error)

    def _end(self) -> None:
        self._is_ended = True
        if self._hold is not None:
            self._hold.let_go()
        if self._abandoned:
            self.lane.give_up(-1)
            self.lane.warn(ABANDONED_THREAD_ENDED, seconds=time.monotonic() - self._began)

    def _settled(self, future: asyncio.Future[Any]) -> None:
        if not future.cancelled() or self._is_ended:
            return
        if self._claim.acquire(blocking=False):  # no thread has begun it yet, and none will
            self._end()
        else:
            self._abandoned = True
            self.lane.give_up(1)
            self.lane.warn(THREAD_ABANDONED, count=self.lane.abandoned)


class Lane:
    """The calls of one function. At most ``share`` of them are on threads at once; the others are queued.

    ``abandoned`` counts the threads of abandoned calls, which cannot be stopped. The log warns the author of the tool
    about them; our own work, which ends, is ``silent``.
    """

    def __init__(self, pool: ThreadPool, name: str, share: int, *, silent: bool = False) -> None:
        self.pool = pool
        self._silent = silent
        self.name = name
        self.share = share
        self.threads = 0
        self.abandoned = 0
        self.waiting: deque[_ThreadJob] = deque()

    def give_up(self, more: int) -> None:
        """Add ``more`` to the abandoned threads, of this lane and of the pool."""
        self.abandoned += more
        self.pool.abandoned += more

    def warn(self, code: str, **facts: Any) -> None:
        if not self._silent:
            _log.warning("%s [%s]", sentence(code, "en", {"tool": self.name, **facts}), code)

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Return a future for ``function()``, called on a thread in the caller's context. Raises ``RuntimeError`` if it
        needs another thread, and the system has none.
        """
        job = _ThreadJob(function, self)
        try:
            self.pool.begin(job)
        except RuntimeError:
            job.future.cancel()  # gives back the place
            raise
        return job.future


class ThreadPool:
    """At most ``size`` threads, started on demand, and one more for a lane that would have none: stuck functions never
    block the others. Threads without work end with the pool: they hold its queue, and not the pool.
    """

    def __init__(self, size: int = 32) -> None:
        self._size = size
        self.abandoned = 0
        self._lock = threading.Lock()
        self._handed: queue.SimpleQueue[_ThreadJob | None] = queue.SimpleQueue()
        weakref.finalize(self, self._handed.put, None).atexit = False
        self._turns: deque[Lane] = deque()  # lanes with queued jobs; each gets a thread in its turn
        self._threads = 0
        self._idle = 0
        self._rest = self.lane("", size)

    def lane(self, name: str, share: int | None = None, *, silent: bool = False) -> Lane:
        """Return the lane of one function, which gets half of the threads unless ``share`` is given."""
        return Lane(self, name, share or max(1, self._size // 2), silent=silent)

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Like :meth:`Lane.run`, for functions without a lane of their own."""
        return self._rest.run(function)

    def begin(self, job: _ThreadJob) -> None:
        lane = job.lane
        with self._lock:
            if lane.threads < lane.share and self._idle:
                self._idle -= 1
                lane.threads += 1
                self._handed.put(job)
            elif lane.threads < lane.share and (self._threads < self._size or not lane.threads):
                threading.Thread(target=_work, args=(self._handed,), name="tooltrue-worker", daemon=True).start()
                self._threads += 1  # not before: the system may have none to give
                lane.threads += 1
                self._handed.put(job)
            else:
                if not lane.waiting:
                    self._turns.append(lane)
                lane.waiting.append(job)

    def next_of(self, lane: Lane) -> tuple[_ThreadJob | None, bool]:
        """Return the next job for a thread that worked for ``lane``, and whether the thread is needed without one."""
        with self._lock:
            job = self._next(lane)
            if job is not None:
                return job, True
            if self._threads > self._size:
                self._threads -= 1
                return None, False
            self._idle += 1
            return None, True

    def _next(self, before: Lane) -> _ThreadJob | None:
        """Return the next job for a thread that worked for ``before``: one of that lane, if it would have no thread
        left.
        """
        before.threads -= 1
        if before.waiting and not before.threads:
            self._turns.remove(before)
            return self._turn(before)
        for _ in range(len(self._turns)):
            lane = self._turns.popleft()
            if lane.threads < lane.share:
                return self._turn(lane)
            self._turns.append(lane)
        return None

    def _turn(self, lane: Lane) -> _ThreadJob:
        job = lane.waiting.popleft()
        lane.threads += 1
        if lane.waiting:
            self._turns.append(lane)
        return job


def _work(handed: queue.SimpleQueue[_ThreadJob | None]) -> None:
    """Run jobs on this thread, until the pool has too many threads or is gone."""
    is_needed = True
    while is_needed:
        job = handed.get()
        if job is None:
            handed.put(None)  # for the next thread of the pool
            return
        while job is not None:
            report, lane = job.run(), job.lane
            # Free before the result is reported: the next call that it leads to finds this thread.
            job, is_needed = lane.pool.next_of(lane)
            report()
            del report, lane  # the result and the pool are released while the thread waits
