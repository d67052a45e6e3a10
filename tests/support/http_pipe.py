"""The transport of an HTTP connection in memory: what a protocol writes and whether it has closed."""

from __future__ import annotations

import asyncio
from typing import Any


class Pipe(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.closed = asyncio.Event()
        self.written = b""
        self.writes = 0
        self.is_reading_paused = False
        self.unread = 0  # bytes that the client has yet to read

    def close(self) -> None:
        self.closed.set()

    def abort(self) -> None:
        self.closed.set()

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def write(self, data: Any) -> None:
        self.writes += 1
        self.written += bytes(data)

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False
