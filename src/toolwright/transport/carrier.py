"""What a carrier knows of a message, beside its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from toolwright.jsonrpc.messages import Id
from toolwright.protocol.types import Value

__all__ = ["Carrier", "ClientLink", "Receiver"]


class Carrier(Value, frozen=True):
    """``headers`` (lower-case names) and ``peer`` (an IP address) are there on HTTP only."""

    kind: Literal["stdio", "memory", "http"]
    headers: Mapping[str, str] | None = None
    peer: str | None = None


class Receiver(Protocol):
    """Where everything goes that arrives. ``fail`` ends one request, ``lose`` all of them."""

    def feed(self, frame: bytes) -> None: ...

    def fail(self, id: Id, error: Exception) -> None: ...

    def lose(self, error: Exception) -> None: ...


class ClientLink(Protocol):
    """A client's end of a carrier. Everything that arrives is fed to the receiver that ``open`` was given.

    ``shared`` says whether all messages share one channel; where they do not (HTTP), each request has an answer stream
    of its own, and to abandon a request closes it.
    """

    @property
    def shared(self) -> bool: ...

    async def open(self, receiver: Receiver) -> None: ...

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str]) -> None:
        """Send one message. ``id`` is the request's, ``None`` for other messages; ``headers`` matter on HTTP only."""
        ...

    def abandon(self, id: Id) -> None:
        """Nobody waits for the answer to this request any more."""
        ...

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the stream for what belongs to no request, where the carrier needs one; returns once it is open."""
        ...

    async def close(self) -> None: ...
