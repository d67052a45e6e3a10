"""Replaces waits for time in this process by waits for SIGUSR1. A counted server imports this module before it starts.

Under callgrind a call takes more than a hundred times as long, but 50 ms of the clock are still 50 ms. The thread that
writes records would write a few at a time instead of hundreds, and a different number in each run. Here it writes the
records of all calls since the last signal at once. Work that is done once in so many seconds is left out.

Timers of the event loop go off a hundred times later, for the same reason: a call that takes a millisecond elsewhere
must not meet what a server does after 50.

Only the standard library and uvloop are changed, so that each commit is counted in the same way:
`queue.SimpleQueue.get` with a time limit, `threading.Event.wait` with one, `asyncio.sleep`, and the timers of loops.
"""

import asyncio
import contextlib
import queue
import signal
import threading
from typing import Any

_SLOWER = 100
_ELAPSED = object()
_queues: "set[_SignalledQueue]" = set()


class _SignalledQueue(queue.SimpleQueue[Any]):
    """A queue whose time limits end on the signal."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not block or timeout == 0:
            return super().get(block=False)
        if timeout is not None:
            _queues.add(self)
        item = super().get()
        _queues.discard(self)
        if item is not _ELAPSED:
            return item
        if timeout is None:  # the signal came too late for a wait that has ended
            return self.get()
        raise queue.Empty


def _elapse_on_signal() -> None:
    while True:
        signal.sigwait({signal.SIGUSR1})
        while _queues:
            _queues.pop().put(_ELAPSED)


def _wait(self: threading.Event, timeout: float | None = None) -> bool:
    return _event_wait(self, None if timeout else timeout)


async def _sleep(delay: float, result: Any = None) -> Any:
    return await (asyncio.get_running_loop().create_future() if delay > 0 else _asyncio_sleep(delay, result))


def _call_at(self: Any, when: float, callback: Any, *arguments: Any, context: Any = None) -> Any:
    now = self.time()
    return _loop_call_at(self, now + _SLOWER * (when - now), callback, *arguments, context=context)


_event_wait, _asyncio_sleep = threading.Event.wait, asyncio.sleep
_loop_call_at = asyncio.BaseEventLoop.call_at
queue.SimpleQueue = _SignalledQueue
threading.Event.wait = _wait
asyncio.sleep = _sleep
asyncio.BaseEventLoop.call_at = _call_at  # which its `call_later` calls
with contextlib.suppress(ImportError):
    import uvloop

    def _call_later(self: Any, delay: float, callback: Any, *arguments: Any, context: Any = None) -> Any:
        return _uvloop_call_later(self, _SLOWER * delay, callback, *arguments, context=context)

    _uvloop_call_later = uvloop.Loop.call_later
    uvloop.Loop.call_later = _call_later  # which its `call_at` calls
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})  # threads inherit it: the signal is for the new one only
threading.Thread(target=_elapse_on_signal, daemon=True).start()
