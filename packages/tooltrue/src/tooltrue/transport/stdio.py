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
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, Protocol

from tooltrue.transport import processes
from tooltrue.transport.lines import LineSplitter
from tooltrue.transport.wording import STDOUT_NOT_WRITABLE
from tooltrue.wording import coded_sentence

__all__ = ["serve"]

_log = logging.getLogger("tooltrue")

_CHUNK = 64 * 1024
_END_SECONDS = 1.0
_LAST_SECONDS = 2.5
_FAREWELL_SECONDS = 0.2


class StdioSession(Protocol):
    """A served session: it accepts lines and can be ended."""

    @property
    def busy(self) -> bool: ...

    def feed(self, frame: bytes) -> None: ...

    def hold(self, hold: bool) -> None: ...

    def too_long(self) -> None: ...

    async def drain(self) -> None: ...

    async def farewell(self) -> None: ...

    async def close(self) -> None: ...


class _Writer:
    """Writes lines in order without blocking the loop: at once while the reader keeps up, otherwise later."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.more_to_come: Callable[[], bool] = lambda: False
        self._reader = _Watch()
        self._pending: list[bytes] = []
        self._size = 0
        self._scheduled = False
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None

    async def open(self, gone: Callable[[], None]) -> None:
        """``gone`` is called when the reader has closed its end."""
        self._reader.on_end = gone
        if _can_wait_for(self._descriptor):  # all others never block
            self._transport, _ = await self._loop.connect_write_pipe(
                lambda: self._reader, os.fdopen(self._descriptor, "wb", buffering=0)
            )

    def when_crowded(self, call: Callable[[bool], None]) -> None:
        """Call back when the reader has fallen behind, and when it has caught up."""
        self._reader.crowded = call

    def write(self, frame: bytes) -> None:
        """Send now, or together with answers that are about to follow."""
        self._pending += (frame, b"\n")
        self._size += len(frame)
        if self._size > _CHUNK or not (self._scheduled or self.more_to_come()):
            self._flush()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush_scheduled)

    def _flush_scheduled(self) -> None:
        self._scheduled = False
        self._flush()

    def _flush(self) -> None:
        if not self._pending:
            return
        data = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        if self._transport is not None:
            self._transport.write(data)
        elif not self._reader.gone.is_set():
            self._write_file(data)

    def _write_file(self, data: bytes) -> None:
        try:
            _write_all(self._descriptor, data)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            _log.error("%s", coded_sentence(STDOUT_NOT_WRITABLE, "en", {"problem": problem}))
            self._reader.connection_lost(error)

    async def close(self) -> None:
        """Flush to the reader, for at most a second."""
        self._flush()
        if self._transport is not None:
            self._transport.close()
            await _within(_END_SECONDS, self._reader.gone.wait())
            if not self._reader.gone.is_set():
                self._transport.abort()


class _Watch(asyncio.BaseProtocol):
    """Detects that the other end of a pipe has closed."""

    def __init__(self) -> None:
        self.on_end: Callable[[], object] = lambda: None
        self.crowded: Callable[[bool], None] = lambda crowded: None
        self.gone = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        self.on_end()

    def pause_writing(self) -> None:
        self.crowded(True)

    def resume_writing(self) -> None:
        self.crowded(False)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class _StdinReader(_Watch, asyncio.Protocol):
    def __init__(self, feed: Callable[[bytes], None], on_end: Callable[[], object]) -> None:
        super().__init__()
        self._feed = feed
        self.on_end = on_end

    def data_received(self, data: bytes) -> None:
        self._feed(data)


def _take_descriptors() -> tuple[int, int]:
    """Private copies of standard input and output; 0 becomes empty and 1 becomes standard error, also for children."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, target


async def serve(make: Callable[[Callable[[bytes], None]], StdioSession]) -> None:
    """Serve until the input ends, or SIGINT or SIGTERM arrives; then end all work and child processes within 3 seconds.

    ``make(write)`` creates the session; ``write`` takes one message without its newline. When the input ends, pending
    requests have a second to finish; a signal ends them at once.
    """
    source, target = _take_descriptors()
    finished, stopped = asyncio.Event(), asyncio.Event()
    _on_signals(lambda: (stopped.set(), finished.set()))
    processes.adopt_orphans()
    writer = _Writer(target)
    await writer.open(finished.set)
    session = make(writer.write)
    writer.more_to_come = lambda: session.busy
    splitter = LineSplitter(session.feed, lambda: (session.too_long(), finished.set()))
    reading = await _read(source, splitter.feed, lambda: (splitter.end(), finished.set()))

    def crowded(is_crowded: bool) -> None:
        # A client that does not read answers can send no more requests, and its pending ones wait.
        reading.pause_reading() if is_crowded else reading.resume_reading()
        session.hold(is_crowded)

    writer.when_crowded(crowded)
    await finished.wait()
    reading.close()
    await _end(session, stopped)
    await writer.close()
    processes.end_children()


def _on_signals(stop: Callable[[], object]) -> None:
    """Call ``stop`` on the loop. If a tool blocks the loop (and with it the loop's own signal handlers), end anyway."""
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        processes.exit_within(_LAST_SECONDS)
        loop.call_soon_threadsafe(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


class _Unstoppable(asyncio.ReadTransport):
    """A file is always read to its end; its content is finite."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

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


async def _read(source: int, feed: Callable[[bytes], None], on_end: Callable[[], object]) -> asyncio.ReadTransport:
    """Feed the input, then call ``on_end``; the returned transport pauses and stops it."""
    loop = asyncio.get_running_loop()
    if not _can_wait_for(source):
        threading.Thread(
            target=_read_file, args=(source, loop, feed, on_end), name="tooltrue-stdin", daemon=True
        ).start()
        return _Unstoppable()
    threading.Thread(target=_watch_end, args=(source,), name="tooltrue-end", daemon=True).start()
    transport: Any
    transport, _ = await loop.connect_read_pipe(
        lambda: _StdinReader(feed, on_end), os.fdopen(source, "rb", buffering=0)
    )
    if hasattr(transport, "max_size"):  # asyncio's own loop; its 256 KiB buffers, a fresh one a read, cost 15 µs a call
        transport.max_size = _CHUNK
    return transport


def _watch_end(source: int) -> None:
    """After the other end has closed, end the process in time even if a tool blocks the event loop."""
    poll = select.poll()
    poll.register(source, select.POLLRDHUP)
    poll.poll()
    processes.exit_within(_LAST_SECONDS)


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
