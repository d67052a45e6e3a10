"""Ends of pipes, read and written by threads, for systems whose event loop cannot wait for them: Windows.

A read or a write may block for ever in its thread. So the thread alone closes its descriptor, since on Windows a close
waits for it; and the threads are daemons, for which the end of the process does not wait.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import stat
import threading
from collections.abc import Callable

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["ThreadedInput", "ThreadedOutput", "ThreadedSharedOutput", "shared_input"]

_CHUNK = 64 * 1024
_FEW = 16 * 1024
"""Bytes that wait to be written: above the one a reader has fallen behind, at the other it has caught up."""
_MAX_UNFED = 4 * 1024 * 1024
"""Bytes that are read while the event loop is blocked, or the input is paused: so many may stand before the end of the
input, for it to be seen."""

if HAS_POSIX:

    def _make_binary(descriptor: int) -> None:
        """No-op: a line ends with one character here."""

else:
    import msvcrt

    def _make_binary(descriptor: int) -> None:
        msvcrt.setmode(descriptor, os.O_BINARY)


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(function)


class ThreadedInput:
    """Reads a descriptor on a thread of its own, and feeds the running event loop. ``on_hang_up`` is called by the
    thread when the input has ended, even if the event loop is blocked."""

    def __init__(
        self,
        source: int,
        feed: Callable[[bytes], None],
        on_end: Callable[[], object],
        on_hang_up: Callable[[], object] | None = None,
    ) -> None:
        self._source = source
        self._feed = feed
        self._on_end = on_end
        self._on_hang_up = on_hang_up
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._arrived: collections.deque[bytes] = collections.deque()
        self._size = 0
        self._has_ended = False  # the thread has read all
        self._is_scheduled = False
        self._is_paused = False
        self._is_stopped = False
        self._is_owned = False  # the descriptor is closed when it is not read any more
        self._is_reading = True
        _make_binary(source)
        threading.Thread(target=self._read, name="tooltrue-input", daemon=True).start()

    def _read(self) -> None:
        data = b"-"
        while data and self._wait_for_room():
            try:
                data = os.read(self._source, _CHUNK)
            except OSError:  # the other end is gone
                data = b""
            if not data and self._on_hang_up is not None:
                self._on_hang_up()
            self._take(data)
        with self._changed:
            self._is_reading = False
            if self._is_owned:
                os.close(self._source)

    def _wait_for_room(self) -> bool:
        """Return once more may be read: false if it is stopped."""
        with self._changed:
            while not self._is_stopped and self._size > _MAX_UNFED:
                self._changed.wait()
            return not self._is_stopped

    def _take(self, data: bytes) -> None:
        with self._changed:
            if data:
                self._arrived.append(data)
                self._size += len(data)
            else:
                self._has_ended = True
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            _call(self._loop, self._deliver)

    def _deliver(self) -> None:
        """On the loop: feed what has arrived meanwhile, in parts after which other callbacks of the loop have their
        turn."""
        with self._changed:
            part: list[bytes] = []
            size = 0
            is_over = False
            if self._is_paused or self._is_stopped:
                self._is_scheduled = False
                return
            while self._arrived and size < _CHUNK:
                size += len(self._arrived[0])
                part.append(self._arrived.popleft())
            self._size -= size
            self._is_scheduled = bool(self._arrived) or (self._has_ended and bool(part))
            is_over = self._has_ended and not part
            self._changed.notify()
        if is_over:
            self.stop()
            self._on_end()
            return
        if self._is_scheduled:
            self._loop.call_soon(self._deliver)
        if part:
            self._feed(part[0] if len(part) == 1 else b"".join(part))

    def pause(self) -> None:
        """Feed nothing more. The thread goes on until it has read some megabytes."""
        self._is_paused = True

    def resume(self) -> None:
        with self._changed:
            self._is_paused = False
            self._changed.notify()
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            self._loop.call_soon(self._deliver)

    def stop(self) -> None:
        """Read no more, and leave the descriptor open. What the thread reads after this is lost."""
        with self._changed:
            self._is_stopped = True
            self._arrived.clear()
            self._changed.notify()

    def close(self) -> None:
        """Read no more, and close the descriptor: at once, or as soon as the thread has returned from it."""
        self.stop()
        with self._changed:
            if self._is_reading:
                self._is_owned = True
            else:
                os.close(self._source)


class _WriterThread:
    """A thread that writes to a descriptor in order, and closes it in the end. ``on_progress`` is called on the event
    loop after it has written or failed, once for all that has happened meanwhile."""

    def __init__(self, target: int, on_progress: Callable[[], object] | None = None) -> None:
        self.error: OSError | None = None
        """Set once nothing can be written any more."""
        self.waiting = 0
        """Bytes that are not yet written."""
        self._target = target
        self._on_progress = on_progress
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._backlog: list[bytes] = []
        self._is_closing = False
        self._is_aborted = False
        self._is_scheduled = False
        _make_binary(target)
        threading.Thread(target=self._run, name="tooltrue-output", daemon=True).start()

    def write(self, data: bytes) -> None:
        with self._changed:
            if data and self.error is None and not self._is_closing:
                self.waiting += len(data)
                self._backlog.append(data)
                self._changed.notify()

    def close(self) -> None:
        """Let the thread close the descriptor, after what still has to be written."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()

    def abort(self) -> None:
        """Let the thread close the descriptor as soon as it has returned from it."""
        with self._changed:
            self._is_closing = self._is_aborted = True
            self._drop()
            self._changed.notify()

    def _drop(self) -> None:
        self._backlog.clear()
        self.waiting = 0

    def _run(self) -> None:
        while data := self._next():
            try:
                for begin in range(0, len(data), _CHUNK):
                    if self._is_aborted:
                        break
                    _write_all(self._target, memoryview(data)[begin : begin + _CHUNK])
                    self._count(min(_CHUNK, len(data) - begin))
            except OSError as error:
                with self._changed:
                    self.error = error
                    self._drop()
                self._tell()
        os.close(self._target)

    def _next(self) -> bytes:
        """The bytes to be written next; empty at the end."""
        with self._changed:
            while not (self._backlog or self._is_closing or self.error):
                self._changed.wait()
            data = b"".join(self._backlog)
            self._backlog.clear()
            return data

    def _count(self, size: int) -> None:
        with self._changed:
            self.waiting = max(0, self.waiting - size)  # an abort has forgotten them
        self._tell()

    def _tell(self) -> None:
        if self._on_progress is not None:
            with self._changed:
                is_first, self._is_scheduled = not self._is_scheduled, True
            if is_first:
                _call(self._loop, self._progress)

    def _progress(self) -> None:
        with self._changed:
            self._is_scheduled = False
        if self._on_progress is not None:
            self._on_progress()


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class ThreadedOutput:
    """The end of a pipe to write to, by a thread. It owns the descriptor. Once the reader is gone, it is closed at the
    next write, and drops what has not been read."""

    def __init__(self, target: int) -> None:
        self._is_closing = False
        self._writer = _WriterThread(target)

    @property
    def is_closing(self) -> bool:
        return self._is_closing or self._writer.error is not None

    @property
    def unread(self) -> int:
        """Bytes that wait until there is room."""
        return self._writer.waiting

    def write(self, data: bytes) -> None:
        """Write, later. Does nothing once it is closing."""
        self._writer.write(data)

    def close(self) -> None:
        """Close it, after what still has to be written."""
        self._is_closing = True
        self._writer.close()

    def abort(self) -> None:
        """Close it as soon as no write blocks its thread."""
        self._is_closing = True
        self._writer.abort()


class ThreadedSharedOutput:
    """The output of a process that a descriptor carries away: bytes in order, without blocking the loop. A thread
    writes them."""

    def __init__(self, descriptor: int) -> None:
        self.crowded: Callable[[bool], None] = lambda crowded: None
        """Called when the reader has fallen behind, and when it has caught up."""
        self._on_gone: Callable[[], object] = lambda: None
        self._on_failure: Callable[[OSError], object] = lambda error: None
        self._gone = False
        self._is_crowded = False
        self._drained = asyncio.Event()
        mode = os.fstat(descriptor).st_mode
        self._is_file = not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))
        self._writer = _WriterThread(descriptor, self._progress)

    def open(self, gone: Callable[[], object], failed: Callable[[OSError], object]) -> None:
        """``gone`` is called when a write has shown that the reader has closed its end, or nothing can be written any
        more; ``failed`` before it if a file or device cannot be written."""
        self._on_gone = gone
        self._on_failure = failed

    def send(self, data: bytes) -> None:
        """Write, later. Does nothing once the reader is gone."""
        self._writer.write(data)
        self._tell_crowded()

    def _progress(self) -> None:
        if self._writer.waiting == 0:
            self._drained.set()
        self._tell_crowded()
        if (error := self._writer.error) is not None and not self._gone:
            self._gone = True
            if self._is_file:
                self._on_failure(error)
            self._on_gone()

    def _tell_crowded(self) -> None:
        is_crowded = self._writer.waiting > (_FEW if self._is_crowded else _CHUNK)
        if is_crowded is not self._is_crowded:
            self._is_crowded = is_crowded
            self.crowded(is_crowded)

    async def close_within(self, seconds: float) -> None:
        """Close it once all is written, or after ``seconds``."""
        if self._writer.waiting:
            self._drained.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._drained.wait()
        self._writer.abort()


def shared_input(
    source: int, feed: Callable[[bytes], None], on_end: Callable[[], object], on_hang_up: Callable[[], object]
) -> ThreadedInput:
    """Feed the input, then call ``on_end``. When the input has ended, and is no file, a thread calls ``on_hang_up``,
    even if the event loop is blocked."""
    is_file = stat.S_ISREG(os.fstat(source).st_mode)
    return ThreadedInput(source, feed, on_end, None if is_file else on_hang_up)
