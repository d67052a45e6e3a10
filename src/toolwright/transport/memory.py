"""A client and a server in one process, over bytes all the same: what tests see is what a wire would carry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from toolwright.errors import ConnectionLost
from toolwright.jsonrpc.messages import Id
from toolwright.transport.carrier import Receiver

__all__ = ["Connectable", "MemoryLink", "ServerEnd"]


class ServerEnd(Protocol):
    """The server's end of a channel."""

    def feed(self, frame: bytes) -> None: ...

    async def close(self) -> None: ...


class Connectable(Protocol):
    """Anything that serves a channel: ``write`` is the way back, and takes one message without blocking."""

    def connect(self, write: Callable[[bytes], None]) -> ServerEnd: ...


class MemoryLink:
    """The client's end. Frames arrive in a later turn of the loop, as they would from anywhere else."""

    shared = True
    key = None  # what a name in this process means may change at any time

    def __init__(self, server: Connectable) -> None:
        self._connect = server.connect
        self._server: ServerEnd | None = None

    async def open(self, receiver: Receiver) -> None:
        loop = asyncio.get_running_loop()

        def write(frame: bytes) -> None:
            loop.call_soon(receiver.feed, frame)

        self._server = self._connect(write)

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        if self._server is None:
            raise ConnectionLost.of("TW5001")
        asyncio.get_running_loop().call_soon(self._server.feed, frame)

    def abandon(self, id: Id) -> None:
        """A shared channel is told by a notification, which is the client's to send."""

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Everything arrives on the one channel."""

    async def flush(self) -> None:
        """No message overtakes another."""

    def last_words(self) -> str:
        return ""

    def opened(self, id: Id) -> None:
        """A session needs no name on a channel of its own."""

    def renew(self) -> None:
        """A session lives as long as its channel."""

    async def close(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await server.close()
