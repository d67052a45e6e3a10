"""What a carrier knows of a message, beside its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from toolwright.jsonrpc.messages import Id
from toolwright.jsonrpc.peer import Dropped
from toolwright.protocol.types import Value

__all__ = ["Auth", "Authorizer", "Carrier", "ClientLink", "Receiver", "Refusal"]


class Carrier(Value, frozen=True):
    """``headers`` (lower-case names) and ``peer`` (an IP address) are there on HTTP only."""

    kind: Literal["stdio", "memory", "http"]
    headers: Mapping[str, str] | None = None
    peer: str | None = None


class Receiver(Protocol):
    """Where everything goes that arrives. ``fail`` ends one request, ``lose`` all of them; ``awaits`` tells whether
    somebody still waits for the answer to a request. ``dropped`` counts what was fed that is no message, or an answer
    to nothing, with the reason for the last."""

    @property
    def dropped(self) -> Dropped: ...

    def feed(self, frame: bytes) -> None: ...

    def awaits(self, id: Id) -> bool: ...

    def fail(self, id: Id, error: Exception) -> None: ...

    def lose(self, error: Exception) -> None: ...


class ClientLink(Protocol):
    """A client's end of a carrier. Everything that arrives is fed to the receiver that ``open`` was given.

    ``shared`` says whether all messages share one channel; where they do not (HTTP), each request has an answer stream
    of its own, and to abandon a request closes it.
    """

    @property
    def shared(self) -> bool: ...

    @property
    def key(self) -> str | None:
        """What tells this target from others, for as long as this process lives. ``None``: remember nothing of it."""
        ...

    async def open(self, receiver: Receiver) -> None:
        """Open it, for the first time or again after :meth:`close`."""
        ...

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        """Send one message. ``id`` is the request's, ``None`` for other messages.

        What follows matters on HTTP only: ``headers``, and whether an answer stream that breaks is ``resumable``.
        """
        ...

    async def flush(self) -> None:
        """Return once what was sent that has no answer has arrived, where messages could overtake each other."""
        ...

    def last_words(self) -> str:
        """What the other end has written last that was not meant for us; empty where there is no such thing."""
        ...

    def opened(self, id: Id) -> None:
        """The request ``id`` has opened a session: what its answer has named as such, if anything, goes with what
        follows. No other answer names one."""
        ...

    def renew(self) -> None:
        """Forget the session: the next message begins another. Where there are no sessions, nothing happens."""
        ...

    def abandon(self, id: Id) -> None:
        """Nobody waits for the answer to this request any more."""
        ...

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the stream for what belongs to no request, where the carrier needs one; returns once it is open."""
        ...

    async def close(self) -> None: ...


class Refusal(Value, frozen=True):
    """A request to a server on HTTP that was refused for want of the right to it, with 401 or 403.

    ``headers`` (lower-case names) are those of the answer, ``sent`` those of the request. ``peer`` is the IP address
    that answered, ``attempt`` is 0 for the first time that this request was sent.
    """

    status: int
    headers: Mapping[str, str]
    sent: Mapping[str, str]
    peer: str | None
    attempt: int


class Authorizer(Protocol):
    """What tells one server on HTTP who asks."""

    async def headers(self, method: str) -> Mapping[str, str]:
        """What goes with the next request; asked before each. Nothing while nobody has wanted to know."""
        ...

    async def challenged(self, refusal: Refusal) -> bool:
        """Whether to send the same request again. Raises ``TransportError`` where the refusal itself would say less
        than what went wrong here."""
        ...


class Auth(Protocol):
    """A way to say who asks. What it keeps for one server it gives to no other."""

    def for_server(self, url: str) -> Authorizer: ...
