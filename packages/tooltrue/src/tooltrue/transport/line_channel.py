"""A channel between two processes of one machine: one JSON message per line, over a private connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import cast

from tooltrue._internal.platform.private_sockets import PrivateConnection, attach_private
from tooltrue.transport.lines import MAX_LINE, LineSplitter

__all__ = ["LineChannel"]

_PATIENCE_SECONDS = 1.0
_MAX_LINE = 2 * MAX_LINE  # a message from another channel fits, also after it has been written anew


class LineChannel(asyncio.Protocol):
    """One end. ``on_line`` gets each line; ``on_end`` is called once, when the channel ends at either side. ``crowded``
    is called when the other end does not read (``True``), and when it does again."""

    def __init__(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self.on_line = on_line
        self.crowded: Callable[[bool], None] = lambda is_crowded: None
        self._on_end = on_end
        self._splitter = LineSplitter(self._line, self.abort, _MAX_LINE)
        self._transport: asyncio.Transport | None = None
        self._may_write = asyncio.Event()
        self._ended = asyncio.Event()

    @classmethod
    async def over(
        cls, connection: PrivateConnection, on_line: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> LineChannel:
        """A channel over a connection."""
        channel = cls(on_line, on_end)
        await attach_private(connection, channel)
        return channel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._may_write.set()

    def _line(self, line: bytes) -> None:
        self.on_line(line)

    def data_received(self, data: bytes) -> None:
        self._splitter.feed(bytes(data))  # a bytearray from the event loop of CPython 3.11 on Windows

    def pause_writing(self) -> None:
        self._may_write.clear()
        self.crowded(True)

    def resume_writing(self) -> None:
        self._may_write.set()
        self.crowded(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()
        self._may_write.set()
        self._on_end()

    def write(self, line: bytes) -> None:
        """Send a line, without waiting. A line after the end is dropped."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line + b"\n")

    async def until_taken(self) -> None:
        """Wait until the other end has read enough to take more."""
        await self._may_write.wait()

    def pause(self, is_paused: bool) -> None:
        """Read no more for now, or again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading() if is_paused else self._transport.resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Send what is left, for at most a second, and end the channel."""
        if self._transport is not None:
            self._transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    await self._ended.wait()
            self._transport.abort()
