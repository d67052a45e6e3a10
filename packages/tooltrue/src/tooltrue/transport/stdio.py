"""A server on standard input and output: one JSON message per line (basic/transports/stdio).

The protocol has descriptors of its own. Other output of this process and its children goes to standard error, and no
other code reads standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import FrameType
from typing import Protocol

from tooltrue._internal.platform import processes, stop_signals
from tooltrue._internal.platform.descriptors import open_empty_input
from tooltrue._internal.platform.pipes import RunningInput, SharedOutput, shared_input
from tooltrue.transport.lines import LineSplitter
from tooltrue.transport.wording import STDOUT_NOT_WRITABLE
from tooltrue.wording import coded_sentence

__all__ = ["LIFESPAN_SECONDS", "serve"]

_log = logging.getLogger("tooltrue")

_CHUNK = 64 * 1024
_END_SECONDS = 1.0
_LAST_SECONDS = 2.5
LIFESPAN_SECONDS = 1.0
"""How long the context of a server may take to end within the 3 seconds."""
_FAREWELL_SECONDS = 0.2


class StdioSession(Protocol):
    """A served session: it accepts lines and can be ended."""

    def is_busy(self) -> bool: ...

    def feed(self, frame: bytes) -> None: ...

    def hold(self, hold: bool) -> None: ...

    def too_long(self) -> None: ...

    async def drain(self) -> None: ...

    async def farewell(self) -> None: ...

    async def close(self) -> None: ...


class _Output(SharedOutput):
    """Writes lines in order without blocking the loop: at once while the reader keeps up, otherwise later."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.more_to_come: Callable[[], bool] = lambda: False
        self._pending: list[bytes] = []
        self._size = 0
        self._scheduled = False
        self._collects = False
        self._loop = asyncio.get_running_loop()

    def write(self, frame: bytes) -> None:
        """Send now, or together with answers that are about to follow."""
        follows = self._collects or self._scheduled or self.more_to_come()
        if not (follows or self._pending):
            self.send(frame + b"\n")
            return
        self._pending += (frame, b"\n")
        self._size += len(frame)
        if self._size > _CHUNK or not follows:
            self._flush()
        elif not (self._collects or self._scheduled):
            self._scheduled = True
            self._loop.call_soon(self._flush_scheduled)

    def collect(self, feed: Callable[[bytes], None], data: bytes) -> None:
        """Pass ``data`` to ``feed``, and send the answers that come at once together: those of tasks that take their
        first step where they are made (CPython 3.12 and later)."""
        self._collects = True
        try:
            feed(data)
        finally:
            self._collects = False
            if not self._scheduled:
                self._flush()

    def _flush_scheduled(self) -> None:
        self._scheduled = False
        self._flush()

    def _flush(self) -> None:
        if self._pending:
            data = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
            self.send(data)

    async def close(self) -> None:
        """Flush to the reader, for at most a second."""
        self._flush()
        await self.close_within(_END_SECONDS)


def _take_descriptors() -> tuple[int, int]:
    """Private copies of standard input and output; 0 becomes empty and 1 becomes standard error, also for children."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    empty = open_empty_input()
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, target


async def serve(
    make: Callable[[Callable[[bytes], None]], StdioSession],
    around: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext,
    more_seconds: float = 0.0,
) -> None:
    """Serve until the input ends, or SIGINT or SIGTERM arrives; then end all work and child processes within 3 seconds,
    and ``more_seconds``.

    ``make(write)`` creates the session; ``write`` takes one message without its newline. It is served within
    ``around()``; a signal that arrives earlier stops that. When the input ends, pending requests have a second to
    finish; a signal ends them at once.
    """
    source, target = _take_descriptors()
    finished, stopped = asyncio.Event(), asyncio.Event()
    last_seconds = _LAST_SECONDS + more_seconds
    start = _Start()
    _on_signals(lambda: (stopped.set(), finished.set(), start.stop()), last_seconds)
    processes.adopt_orphans()
    async with start.of(around()):
        if not stopped.is_set():
            await _serve(make, source, target, finished, stopped, last_seconds)
    processes.end_children()


class _Start:
    """The start of a context, which can be stopped; then its block is entered nevertheless."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._is_stopped = False

    def stop(self) -> None:
        if self._task is not None:
            self._is_stopped = True
            self._task.cancel()

    @contextlib.asynccontextmanager
    async def of(self, context: AbstractAsyncContextManager[None]) -> AsyncGenerator[None]:
        async with contextlib.AsyncExitStack() as stack:
            self._task = task = asyncio.current_task()
            try:
                await stack.enter_async_context(context)
            except asyncio.CancelledError:
                if not self._is_stopped or task is None or task.uncancel():
                    raise
            finally:
                self._task = None
            yield


async def _serve(
    make: Callable[[Callable[[bytes], None]], StdioSession],
    source: int,
    target: int,
    finished: asyncio.Event,
    stopped: asyncio.Event,
    last_seconds: float,
) -> None:
    output = _Output(target)
    output.open(finished.set, _report_failure)
    session = make(output.write)
    output.more_to_come = session.is_busy
    splitter = LineSplitter(session.feed, lambda: (session.too_long(), finished.set()))

    def on_end() -> None:
        splitter.end()
        finished.set()

    reading: RunningInput = shared_input(
        source, partial(output.collect, splitter.feed), on_end, partial(processes.exit_within, last_seconds)
    )

    def crowded(is_crowded: bool) -> None:
        # A client that does not read answers can send no more requests, and its pending ones wait.
        reading.pause() if is_crowded else reading.resume()
        session.hold(is_crowded)

    output.crowded = crowded
    await finished.wait()
    reading.stop()
    await _end(session, stopped)
    await output.close()


def _report_failure(error: OSError) -> None:
    problem = os.strerror(error.errno or 0)
    _log.error("%s", coded_sentence(STDOUT_NOT_WRITABLE, "en", {"problem": problem}))


def _on_signals(stop: Callable[[], object], last_seconds: float) -> None:
    """Call ``stop`` on the loop. The process ends anyway if a tool blocks the loop, or keeps the main thread in C code,
    where no handler runs."""
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        processes.exit_within(last_seconds)
        loop.call_soon_threadsafe(stop)

    stop_signals.handle(handle)
    stop_signals.watch(partial(processes.exit_within, last_seconds))


async def _end(session: StdioSession, stopped: asyncio.Event) -> None:
    if stopped.is_set():
        await _within(_FAREWELL_SECONDS, session.farewell())
    else:
        await _within(_END_SECONDS, session.drain())
    await _within(_END_SECONDS, session.close())


async def _within(seconds: float, work: Coroutine[object, object, object]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work
