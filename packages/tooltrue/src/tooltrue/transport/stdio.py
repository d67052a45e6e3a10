"""A server on standard input and output: one JSON message per line (basic/transports/stdio).

The protocol has descriptors of its own. Other output of this process and its children goes to standard error, and no
other code reads standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import signal
import stat
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import FrameType
from typing import Protocol

from tooltrue.transport import processes
from tooltrue.transport.lines import LineSplitter
from tooltrue.transport.pipes import PipeInput
from tooltrue.transport.wording import STDOUT_NOT_WRITABLE
from tooltrue.wording import coded_sentence

__all__ = ["LIFESPAN_SECONDS", "serve"]

_log = logging.getLogger("tooltrue")

_CHUNK = 64 * 1024
_FEW = 16 * 1024
"""Bytes that wait to be written: above the one a reader has fallen behind, at the other it has caught up."""
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


class _Output:
    """Writes lines in order without blocking the loop: at once while the reader keeps up, otherwise later.

    The descriptor of a pipe, socket or terminal is written to directly, and the loop is asked only when it is full: a
    transport of asyncio costs several times as much for each answer.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.more_to_come: Callable[[], bool] = lambda: False
        self.crowded: Callable[[bool], None] = lambda crowded: None
        """Called when the reader has fallen behind, and when it has caught up."""
        self._on_gone: Callable[[], object] = lambda: None
        self._gone = False
        self._drained = asyncio.Event()
        self._can_wait = _can_wait_for(descriptor)  # all others never block
        self._pending: list[bytes] = []
        self._size = 0
        self._scheduled = False
        self._collects = False
        self._rest = memoryview(b"")
        self._backlog: list[bytes] = []
        self._backlog_size = 0
        self._is_crowded = False
        self._loop = asyncio.get_running_loop()

    def open(self, gone: Callable[[], None]) -> None:
        """``gone`` is called when the reader has closed its end."""
        self._on_gone = gone
        if self._can_wait:
            os.set_blocking(self._descriptor, False)
            if not os.isatty(self._descriptor):  # the end of a pipe to write to is "readable" once its reader is gone
                self._loop.add_reader(self._descriptor, self._end)

    def write(self, frame: bytes) -> None:
        """Send now, or together with answers that are about to follow."""
        follows = self._collects or self._scheduled or self.more_to_come()
        if not (follows or self._pending):
            self._send(frame + b"\n")
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
            self._send(data)

    def _send(self, data: bytes) -> None:
        if self._gone:
            return
        if self._rest or self._backlog:
            self._queue(data)
            return
        try:
            count = os.write(self._descriptor, data) if self._can_wait else _write_all(self._descriptor, data)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._fail(error)
            return
        if count < len(data):
            self._rest = memoryview(data)[count:]
            self._loop.add_writer(self._descriptor, self._write_rest)
            self._tell_crowded()

    def _queue(self, data: bytes) -> None:
        self._backlog.append(data)
        self._backlog_size += len(data)
        self._tell_crowded()

    def _write_rest(self) -> None:
        if not self._rest:
            self._rest = memoryview(b"".join(self._backlog))
            self._backlog.clear()
            self._backlog_size = 0
        try:
            self._rest = self._rest[os.write(self._descriptor, self._rest) :]
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        if not (self._rest or self._backlog):
            self._loop.remove_writer(self._descriptor)
            self._drained.set()
        self._tell_crowded()

    def _tell_crowded(self) -> None:
        waiting = len(self._rest) + self._backlog_size
        is_crowded = waiting > (_FEW if self._is_crowded else _CHUNK)
        if is_crowded is not self._is_crowded:
            self._is_crowded = is_crowded
            self.crowded(is_crowded)

    def _fail(self, error: OSError) -> None:
        if not self._can_wait:
            problem = os.strerror(error.errno or 0)
            _log.error("%s", coded_sentence(STDOUT_NOT_WRITABLE, "en", {"problem": problem}))
        self._end()

    def _end(self) -> None:
        """The reader is gone: nothing can be sent any more."""
        if self._gone:
            return
        self._gone = True
        self._stop()
        self._drained.set()
        self._on_gone()

    def _stop(self) -> None:
        if self._can_wait:
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)

    async def close(self) -> None:
        """Flush to the reader, for at most a second."""
        self._flush()
        if not self._gone and (self._rest or self._backlog):
            self._drained.clear()
            await _within(_END_SECONDS, self._drained.wait())
        self._stop()
        os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return len(data)


class _Input(Protocol):
    """Reads in the background; can be paused, and stops when it is closed."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


def _take_descriptors() -> tuple[int, int]:
    """Private copies of standard input and output; 0 becomes empty and 1 becomes standard error, also for children."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
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
    output.open(finished.set)
    session = make(output.write)
    output.more_to_come = session.is_busy
    splitter = LineSplitter(session.feed, lambda: (session.too_long(), finished.set()))

    def on_end() -> None:
        splitter.end()
        finished.set()

    reading = _read(source, partial(output.collect, splitter.feed), on_end, last_seconds)

    def crowded(is_crowded: bool) -> None:
        # A client that does not read answers can send no more requests, and its pending ones wait.
        reading.pause() if is_crowded else reading.resume()
        session.hold(is_crowded)

    output.crowded = crowded
    await finished.wait()
    reading.close()
    await _end(session, stopped)
    await output.close()


def _on_signals(stop: Callable[[], object], last_seconds: float) -> None:
    """Call ``stop`` on the loop. If a tool blocks the loop (and with it the loop's own signal handlers), end anyway."""
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        processes.exit_within(last_seconds)
        loop.call_soon_threadsafe(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


class _FileInput:
    """A file is always read to its end, by a thread; its content is finite."""

    def __init__(self, source: int, feed: Callable[[bytes], None], on_end: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=_read_file, args=(source, loop, feed, on_end), name="tooltrue-stdin", daemon=True
        ).start()

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


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


def _read(source: int, feed: Callable[[bytes], None], on_end: Callable[[], object], last_seconds: float) -> _Input:
    """Feed the input, then call ``on_end``."""
    if not _can_wait_for(source):
        return _FileInput(source, feed, on_end)
    threading.Thread(target=_watch_end, args=(source, last_seconds), name="tooltrue-end", daemon=True).start()
    return PipeInput(source, feed, on_end)


def _watch_end(source: int, last_seconds: float) -> None:
    """After the other end has closed, end the process in time even if a tool blocks the event loop."""
    poll = select.poll()
    poll.register(source, select.POLLRDHUP)
    poll.poll()
    processes.exit_within(last_seconds)


def _can_wait_for(descriptor: int) -> bool:
    """Whether the loop can wait for the descriptor: a pipe, socket or terminal. Files and devices can only be read."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _read_file(
    source: int, loop: asyncio.AbstractEventLoop, feed: Callable[[bytes], None], on_end: Callable[[], object]
) -> None:
    while data := os.read(source, _CHUNK):
        loop.call_soon_threadsafe(feed, data)
    loop.call_soon_threadsafe(on_end)
