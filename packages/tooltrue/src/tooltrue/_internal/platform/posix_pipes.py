"""Ends of pipes, read and written when the event loop tells that they are ready.

A transport of asyncio costs several times as much for each message.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import stat
import sys
import threading
from collections.abc import Callable

assert sys.platform != "win32"

__all__ = ["PipeInput", "PipeOutput", "SharedOutput", "shared_input"]

_CHUNK = 64 * 1024
_FEW = 16 * 1024
"""Bytes that wait to be written: above the one a reader has fallen behind, at the other it has caught up."""


class PipeInput:
    """Reads a pipe, socket or terminal when the loop tells that there is something to read."""

    def __init__(self, source: int, feed: Callable[[bytes], None], on_end: Callable[[], object]) -> None:
        self._source = source
        self._feed = feed
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._has_ended = False
        os.set_blocking(source, False)
        self.resume()

    def _read(self) -> None:
        try:
            data = os.read(self._source, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # the other end is gone
            data = b""
        if data:
            self._feed(data)
        else:
            self.stop()
            self._on_end()

    def pause(self) -> None:
        self._loop.remove_reader(self._source)

    def resume(self) -> None:
        if not self._has_ended:
            self._loop.add_reader(self._source, self._read)

    def stop(self) -> None:
        """Read no more, and leave the descriptor open."""
        self._has_ended = True
        self._loop.remove_reader(self._source)

    def close(self) -> None:
        """Read no more, and close the descriptor."""
        self.stop()
        os.close(self._source)


class PipeOutput:
    """The end of a pipe to write to: at once while the reader keeps up, otherwise when the loop tells that there is
    room. It owns the descriptor. Once the reader is gone, it is closed, and drops what has not been read."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.get_running_loop()
        self._backlog = bytearray()
        self._is_open = True
        self.is_closing = False
        os.set_blocking(target, False)
        self._loop.add_reader(target, self.abort)  # this end is "readable" once the reader is gone

    @property
    def unread(self) -> int:
        """Bytes that wait until there is room."""
        return len(self._backlog)

    def write(self, data: bytes) -> None:
        """Write, now or later. Does nothing once it is closing."""
        if self.is_closing:
            return
        if self._backlog:
            self._backlog += data
            return
        try:
            count = os.write(self._target, data)
        except BlockingIOError:
            count = 0
        except OSError:
            self.abort()
            return
        if count < len(data):
            self._backlog += data[count:]
            self._loop.add_writer(self._target, self._write_backlog)

    def _write_backlog(self) -> None:
        try:
            del self._backlog[: os.write(self._target, self._backlog)]
        except BlockingIOError:
            return
        except OSError:
            self.abort()
            return
        if not self._backlog:
            self._loop.remove_writer(self._target)
            if self.is_closing:
                self.abort()

    def close(self) -> None:
        """Close it, after what still has to be written."""
        self.is_closing = True
        if not self._backlog:
            self.abort()

    def abort(self) -> None:
        """Close it now."""
        self.is_closing = True
        self._backlog.clear()
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._target)
            self._loop.remove_writer(self._target)
            os.close(self._target)


class SharedOutput:
    """The output of a process that a descriptor carries away: bytes in order, without blocking the loop.

    They are written at once while the reader keeps up, otherwise later. The descriptor of a pipe, socket or terminal is
    written to directly, and the loop is asked only when it is full; files and devices are written to the end.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.crowded: Callable[[bool], None] = lambda crowded: None
        """Called when the reader has fallen behind, and when it has caught up."""
        self._on_gone: Callable[[], object] = lambda: None
        self._on_failure: Callable[[OSError], object] = lambda error: None
        self._gone = False
        self._drained = asyncio.Event()
        self._can_wait = _can_wait_for(descriptor)  # all others never block
        self._rest = memoryview(b"")
        self._backlog: list[bytes] = []
        self._backlog_size = 0
        self._is_crowded = False
        self._loop = asyncio.get_running_loop()

    def open(self, gone: Callable[[], object], failed: Callable[[OSError], object]) -> None:
        """``gone`` is called when the reader has closed its end, or nothing can be written any more; ``failed`` before
        it if a file or device cannot be written."""
        self._on_gone = gone
        self._on_failure = failed
        if self._can_wait:
            os.set_blocking(self._descriptor, False)
            if not os.isatty(self._descriptor):  # the end of a pipe to write to is "readable" once its reader is gone
                self._loop.add_reader(self._descriptor, self._end)

    def send(self, data: bytes) -> None:
        """Write, now or later. Does nothing once the reader is gone."""
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
            self._on_failure(error)
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

    async def close_within(self, seconds: float) -> None:
        """Close it once all is written, or after ``seconds``."""
        if not self._gone and (self._rest or self._backlog):
            self._drained.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._drained.wait()
        self._stop()
        os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return len(data)


class _FileInput:
    """A file is always read to its end, by a thread; its content is finite."""

    def __init__(self, source: int, feed: Callable[[bytes], None], on_end: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=_read_file, args=(source, loop, feed, on_end), name="tooltrue-stdin", daemon=True
        ).start()

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None: ...


def _read_file(
    source: int, loop: asyncio.AbstractEventLoop, feed: Callable[[bytes], None], on_end: Callable[[], object]
) -> None:
    while data := os.read(source, _CHUNK):
        loop.call_soon_threadsafe(feed, data)
    loop.call_soon_threadsafe(on_end)


def shared_input(
    source: int, feed: Callable[[bytes], None], on_end: Callable[[], object], on_hang_up: Callable[[], object]
) -> PipeInput | _FileInput:
    """Feed the input, then call ``on_end``. When the other end of a pipe, socket or terminal has closed, a thread calls
    ``on_hang_up``, even if the event loop is blocked."""
    if not _can_wait_for(source):
        return _FileInput(source, feed, on_end)
    threading.Thread(target=_watch_end, args=(source, on_hang_up), name="tooltrue-end", daemon=True).start()
    return PipeInput(source, feed, on_end)


def _watch_end(source: int, on_hang_up: Callable[[], object]) -> None:
    if sys.platform == "linux":
        poll = select.poll()
        poll.register(source, select.POLLRDHUP)
        poll.poll()
    else:
        _wait_for_end_of_file(source)
    on_hang_up()


if sys.platform != "linux":
    _NEVER = 1 << 30  # bytes that wait: their number does not end the wait below

    def _wait_for_end_of_file(source: int) -> None:
        with contextlib.closing(select.kqueue()) as queue:
            end = select.kevent(
                source,
                select.KQ_FILTER_READ,
                select.KQ_EV_ADD | select.KQ_EV_CLEAR,
                fflags=select.KQ_NOTE_LOWAT,
                data=_NEVER,
            )
            events = queue.control([end], 1)
            while not any(event.flags & select.KQ_EV_EOF for event in events):
                events = queue.control([], 1)


def _can_wait_for(descriptor: int) -> bool:
    """Whether the loop can wait for the descriptor: a pipe, socket or terminal. Files and devices can only be read."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
