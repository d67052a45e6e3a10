"""A client over an author's own transport: the public interface, and the adapter to that of the built-in transports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from tooltrue.errors import ConfigurationError, ConnectionLost, DefinitionError, TransportError
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.transport.carrier import Receiver
from tooltrue.transport.wording import CLIENT_LINK_FAILED, CLIENT_LINK_NOT_READ

__all__ = ["ClientLink", "ClientLinkAdapter", "LinkReceiver"]

_MAX_UNSENT = 64 * 1024 * 1024
_PATIENCE_SECONDS = 2.0


class LinkReceiver(Protocol):
    """Receives the messages of a link, on the event loop of the client.

    ``feed`` takes one message, as UTF-8 JSON; one that is not valid is dropped and counted. ``lose`` ends the
    connection with an error, for example a :class:`tooltrue.TransportError`: all requests that wait fail with it.
    """

    def feed(self, frame: bytes) -> None: ...

    def lose(self, error: Exception) -> None: ...


@runtime_checkable
class ClientLink(Protocol):
    """A client's end of one channel that carries whole messages in both directions, each in the order it was sent.

    ``open`` connects, for the first time or again after ``close``, and from then on feeds each incoming message to
    ``receiver``; where the channel breaks, it calls ``receiver.lose``. It raises ``ConfigurationError`` where another
    attempt is useless. ``send`` sends one message, UTF-8 JSON without a
    line break, and returns once the channel has taken it; it is called for one message at a time. ``close`` ends the
    channel; it is called once if ``open`` has succeeded, also after a failure, and no message is fed after it.

    One client uses a link at a time. The channel itself identifies the caller: a link carries no headers.
    """

    async def open(self, receiver: LinkReceiver) -> None: ...

    async def send(self, frame: bytes) -> None: ...

    async def close(self) -> None: ...


class ClientLinkAdapter:
    """The built-in transports' interface around an author's link. One task sends the messages, in their order.

    Errors of the link become ``TransportError``, but not those that no other attempt settles. Messages that the link
    does not take are kept up to 64 MiB.
    """

    shared = True
    key = None  # the same link may lead to another server at any time

    def __init__(self, link: ClientLink) -> None:
        self._link = link
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent_bytes = 0
        self._sender: asyncio.Task[None] | None = None
        self._is_open = False

    async def open(self, receiver: Receiver) -> None:
        try:
            await self._link.open(receiver)
        except (TransportError, ConfigurationError, DefinitionError):
            raise
        except Exception as error:
            raise self._failed(error) from error
        self._is_open = True
        self._sender = asyncio.ensure_future(self._send_all(receiver))

    async def _send_all(self, receiver: Receiver) -> None:
        try:
            while True:
                frame = await self._unsent.get()
                await self._link.send(frame)
                self._unsent_bytes -= len(frame)
                self._unsent.task_done()
        except Exception as error:  # noqa: BLE001 - the requests that wait learn of it
            self._sender = None
            receiver.lose(error if isinstance(error, TransportError) else self._failed(error))

    def _failed(self, error: Exception) -> ConnectionLost:
        return ConnectionLost.of(CLIENT_LINK_FAILED, link=type(self._link).__name__, problem=error)

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        if self._sender is None:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        if self._unsent_bytes > _MAX_UNSENT:
            raise ConnectionLost.of(CLIENT_LINK_NOT_READ, link=type(self._link).__name__)
        self._unsent_bytes += len(frame)
        self._unsent.put_nowait(frame)

    async def flush(self) -> None:
        """No-op: messages are delivered in order."""

    def last_words(self) -> str:
        return ""

    def opened(self, id: Id) -> None:
        """No-op: the channel identifies its session."""

    def renew(self) -> None:
        """No-op: a session lives as long as its channel."""

    def abandon(self, id: Id) -> None:
        """No-op: on a shared channel the client cancels by sending a notification."""

    async def listen(self, headers: Mapping[str, str]) -> None:
        """No-op: all messages arrive on the one channel."""

    async def close(self) -> None:
        """Give messages that were sent already a moment to leave, then close the link."""
        sender, self._sender = self._sender, None
        try:
            if sender is not None:
                unsent = asyncio.ensure_future(self._unsent.join())
                await asyncio.wait((sender, unsent), timeout=_PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in (sender, unsent):
                    task.cancel()
                await asyncio.wait((sender, unsent))
        finally:
            if self._is_open:
                self._is_open = False
                await self._link.close()
