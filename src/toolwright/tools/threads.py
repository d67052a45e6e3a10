"""Worker threads for plain functions, so that a slow one does not hold up the event loop.

asyncio's own executor joins its threads at exit, so one stuck tool would keep the process alive; these are daemons and
never delay exit. A thread cannot be stopped: a call that nobody waits for any more keeps its thread until it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from toolwright.tools.rounds import InputRequired

__all__ = ["ThreadPool"]

_Job: TypeAlias = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class ThreadPool:
    """At most ``size`` threads, started when they are needed; what finds all of them busy waits its turn."""

    def __init__(self, size: int = 32) -> None:
        self._size = size
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """A future for ``function()``, called on a thread in the caller's context."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        self._jobs.put((lambda: context.run(function), loop, future))
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._work, name="toolwright-worker", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            function, loop, future = self._jobs.get()
            settle = _run(function, future)
            # Free before anybody hears of the result: the next call that it leads to finds this thread.
            with self._lock:
                self._idle += 1
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and nobody waits
                loop.call_soon_threadsafe(*settle)


def _run(
    function: Callable[[], Any], future: asyncio.Future[Any]
) -> tuple[Callable[..., None], asyncio.Future[Any], Any]:
    """Call the function, unless it was given up while it waited for a thread; what is left to do on the loop."""
    if future.cancelled():
        return _result, future, None
    try:
        return _result, future, function()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
        return _error, future, error


def _result(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _error(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        # A future cannot carry StopIteration, and the loop must not see SystemExit or KeyboardInterrupt.
        if isinstance(error, StopIteration) or not isinstance(error, Exception | InputRequired):
            error = RuntimeError(f"the tool raised {type(error).__name__}")
        future.set_exception(error)
