"""A served provider and its doors, ready for a transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolwright.errors import InvalidRequest
from toolwright.jsonrpc.peer import Peer
from toolwright.loading import load
from toolwright.server.dual_era import Conversation, Doors
from toolwright.server.served import Served
from toolwright.tools.toolset import LOCAL, Principal
from toolwright.transport.carrier import Carrier
from toolwright.transport.lines import MAX_LINE

if TYPE_CHECKING:  # a server on stdio does without
    from toolwright.server.http import HttpDoors
    from toolwright.server.identity import Authenticate

__all__ = ["ProtocolServer", "ServerSession"]


class ProtocolServer:
    """Serves one provider over any number of channels and one HTTP endpoint."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._doors = Doors(served)
        served.provider.watch(served.hub.changed)

    def connect(
        self, write: Callable[[bytes], None], carrier: Carrier, principal: Principal | None = None
    ) -> ServerSession:
        """A session on a channel that both ends share. ``write`` takes one message and must not block. ``principal`` is
        who speaks, where that is known already.
        """
        self._doors.open()
        conversation = Conversation(self._doors, carrier, principal or LOCAL)
        return ServerSession(conversation, write, self.served.language)

    def http(self, authenticate: Authenticate | None = None) -> HttpDoors:
        return load("server.http:HttpDoors")(self._doors, authenticate)


class ServerSession:
    """The server's end of a channel: feed it frames, close it once."""

    def __init__(self, conversation: Conversation, write: Callable[[bytes], None], language: str) -> None:
        self._conversation = conversation
        self._peer = conversation.peer = Peer(write, conversation, language=language)
        self.feed = self._peer.feed
        self.hold = self._peer.hold

    def feed_from(self, principal: Principal, frame: bytes) -> None:
        """As ``feed``, where each message has a sender of its own: what it asks is asked by ``principal``."""
        with self._conversation.spoken_by(principal):
            self.feed(frame)

    @property
    def busy(self) -> bool:
        """Whether more answers are to come soon, so that it pays to send them together."""
        return self._peer.busy

    def too_long(self) -> None:
        """Answer a line that is over the limit; the connection ends."""
        self._peer.refuse(InvalidRequest.of("TW1069", limit=MAX_LINE))

    async def farewell(self) -> None:
        """The whole server is about to end: tell those who listen (basic/patterns/subscriptions)."""
        await self._conversation.farewell()

    async def drain(self) -> None:
        """Let what runs finish; subscriptions end."""
        self._conversation.close()
        await self._peer.drain()
        await self._conversation.ended()

    async def close(self) -> None:
        """Cancel what runs, and return when it has ended."""
        self._conversation.close()
        await self._peer.close()
        await self._conversation.ended()
