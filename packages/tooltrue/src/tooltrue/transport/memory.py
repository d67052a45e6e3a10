"""A client and a server in one process, connected by bytes: tests see exactly the frames that a wire would carry."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Protocol

from tooltrue.errors import ConnectionLost
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.transport.carrier import Receiver

__all__ = ["Connectable", "MemoryLink", "ServerEnd"]


class ServerEnd(Protocol):
    """The server's end of a channel."""

    def feed(self, frame: bytes) -> None: ...

    async def close(self) -> None: ...


class Connectable(Protocol):
    """A server for a channel. ``write`` sends to the client, one message per call, without blocking. If it has a method
    ``in_lifespan``, a client is connected within that context.
    """

    def connect(self, write: Callable[[bytes], None]) -> ServerEnd: ...


class MemoryLink:
    """The client's end. Frames arrive in a later iteration of the event loop, as they would from another process."""

    shared = True
    key = None  # a name in this process may refer to another server at any time

    def __init__(self, server: Connectable) -> None:
        self._connect = server.connect
        self._lifespan: Callable[[], contextlib.AbstractAsyncContextManager[None]] = getattr(
            server, "in_lifespan", contextlib.nullcontext
        )
        self._server: ServerEnd | None = None
        self._open = contextlib.AsyncExitStack()

    async def open(self, receiver: Receiver) -> None:
        await self._open.enter_async_context(self._lifespan())
        loop = asyncio.get_running_loop()

        def write(frame: bytes) -> None:
            loop.call_soon(receiver.feed, frame)

        self._server = self._connect(write)

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        if self._server is None:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        asyncio.get_running_loop().call_soon(self._server.feed, frame)

    def abandon(self, id: Id) -> None:
        """No-op: on a shared channel the client cancels by sending a notification."""

    async def listen(self, headers: Mapping[str, str]) -> None:
        """No-op: all messages arrive on the one channel."""

    async def flush(self) -> None:
        """No-op: messages are delivered in order."""

    def last_words(self) -> str:
        return ""

    def opened(self, id: Id) -> None:
        """No-op: the channel identifies its session."""

    def renew(self) -> None:
        """No-op: a session lives as long as its channel."""

    async def close(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await server.close()
        await self._open.aclose()
