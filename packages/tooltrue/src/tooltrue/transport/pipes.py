"""Ends of pipes, read and written when the event loop tells that they are ready.

A transport of asyncio costs several times as much for each message.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

__all__ = ["PipeInput", "PipeOutput"]

_CHUNK = 64 * 1024


class PipeInput:
    """Reads a pipe, socket or terminal when the loop tells that there is something to read, and leaves it open."""

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
            self.close()
            self._on_end()

    def pause(self) -> None:
        self._loop.remove_reader(self._source)

    def resume(self) -> None:
        if not self._has_ended:
            self._loop.add_reader(self._source, self._read)

    def close(self) -> None:
        self._has_ended = True
        self._loop.remove_reader(self._source)


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
