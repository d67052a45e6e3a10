"""A served provider and its handlers, ready for a transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tooltrue.errors import InvalidRequest
from tooltrue.jsonrpc.peer import Peer
from tooltrue.server.dual_era import Handlers, ServerConnection
from tooltrue.server.service import ServedProvider
from tooltrue.server.wording import MESSAGE_LINE_TOO_LONG
from tooltrue.tools.vocabulary import LOCAL, Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.lines import MAX_LINE

if TYPE_CHECKING:  # a server on stdio does without
    from tooltrue.server.http import HttpEndpoint
    from tooltrue.server.identity import Authenticate

__all__ = ["ProtocolServer", "ServerSession"]


class ProtocolServer:
    """Serves one provider over any number of channels and one HTTP endpoint."""

    def __init__(self, served: ServedProvider) -> None:
        self.served = served
        self._handlers = Handlers(served)
        served.provider.watch(served.hub.changed)

    def connect(
        self, write: Callable[[bytes], None], carrier: Carrier, principal: Principal | None = None
    ) -> ServerSession:
        """Open a session on a channel that both ends share. ``write`` takes one message and must not block.
        ``principal`` is the sender, if it is known already.
        """
        self._handlers.open()
        connection = ServerConnection(self._handlers, carrier, principal or LOCAL)
        return ServerSession(connection, write, self.served.language)

    def http(self, authenticate: Authenticate | None = None) -> HttpEndpoint:
        from tooltrue.server.http import HttpEndpoint  # noqa: PLC0415 - stdio needs no HTTP

        return HttpEndpoint(self._handlers, authenticate)


class ServerSession:
    """The server's end of a channel: feed it frames, close it once."""

    def __init__(self, connection: ServerConnection, write: Callable[[bytes], None], language: str) -> None:
        self._conversation = connection
        self._peer = connection.peer = Peer(write, connection, language=language, begin_plain=connection.begin_plain)
        self.feed = self._peer.feed
        self.hold = self._peer.hold
        self.is_busy = self._peer.is_busy

    def feed_from(self, principal: Principal, frame: bytes) -> None:
        """Like ``feed``, for channels whose messages have a sender each: the requests in it are those of
        ``principal``.
        """
        with self._conversation.spoken_by(principal):
            self.feed(frame)

    def too_long(self) -> None:
        """Answer a line over the limit; the connection ends."""
        self._peer.refuse(InvalidRequest.of(MESSAGE_LINE_TOO_LONG, limit=MAX_LINE))

    async def farewell(self) -> None:
        """End subscriptions with their closing answer, because the whole server shuts down
        (basic/patterns/subscriptions).
        """
        await self._conversation.farewell()

    async def drain(self) -> None:
        """Let running requests finish; subscriptions end."""
        self._conversation.close()
        await self._peer.drain()
        await self._conversation.wait_closed()

    async def close(self) -> None:
        """Cancel running requests, and return when they have ended."""
        self._conversation.close()
        await self._peer.close()
        await self._conversation.wait_closed()
