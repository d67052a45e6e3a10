"""The interface between a client and its transport, and the transport facts of a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Protocol

from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.peer import Dropped
from tooltrue.protocol.types import Value

__all__ = ["CREDENTIAL_HEADERS", "Auth", "Authorizer", "Carrier", "Receiver", "Refusal", "TransportLink"]

CREDENTIAL_HEADERS: Final = ("authorization", "x-api-key", "proxy-authorization", "cookie")
"""The headers of HTTP that hold the credentials of a caller."""


class Carrier(Value, frozen=True):
    """Transport facts of a message. ``headers`` (lower-case names) and ``peer`` (an IP address) exist on HTTP only."""

    kind: Literal["stdio", "memory", "http"]
    headers: Mapping[str, str] | None = None
    peer: str | None = None


class Receiver(Protocol):
    """Receives the frames of a link. ``fail`` ends one request, ``lose`` all of them; ``awaits`` tells whether a caller
    still waits for the answer to a request. ``dropped`` counts the frames that were no valid message, or an answer to
    no request, with the reason for the last."""

    @property
    def dropped(self) -> Dropped: ...

    def feed(self, frame: bytes) -> None: ...

    def awaits(self, id: Id) -> bool: ...

    def fail(self, id: Id, error: Exception) -> None: ...

    def lose(self, error: Exception) -> None: ...


class TransportLink(Protocol):
    """A client's end of a transport. Incoming frames are fed to the receiver that was passed to ``open``.

    ``shared`` tells whether all messages use one channel. Where they do not (HTTP), each request has its own answer
    stream, and abandoning the request closes that stream.
    """

    @property
    def shared(self) -> bool: ...

    @property
    def key(self) -> str | None:
        """Identifies the target while this process lives. ``None``: facts about it must not be cached."""
        ...

    async def open(self, receiver: Receiver) -> None:
        """Open the link, for the first time or again after :meth:`close`."""
        ...

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        """Send one message. ``id`` is that of a request, ``None`` for other messages.

        Only HTTP uses the other parameters: ``headers``, and whether an interrupted answer stream is ``resumable``.
        """
        ...

    async def flush(self) -> None:
        """Return once the sent messages that have no answer have arrived, on transports that could reorder messages."""
        ...

    def last_words(self) -> str:
        """The last lines that the other end wrote besides messages; empty for most transports."""
        ...

    def opened(self, id: Id) -> None:
        """The request ``id`` has opened a session: later messages carry the session id from its answer, if there is
        one. Session ids in other answers are ignored."""
        ...

    def renew(self) -> None:
        """Forget the session; the next message begins a new one. Does nothing on transports without sessions."""
        ...

    def abandon(self, id: Id) -> None:
        """Give up a request: no caller waits for its answer any more."""
        ...

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open the stream for messages outside of requests, if the transport needs one; return once it is open."""
        ...

    async def close(self) -> None: ...


class Refusal(Value, frozen=True):
    """A request that an HTTP server refused with 401 or 403, for lack of authorization.

    ``headers`` (lower-case names) are those of the answer, ``sent`` those of the request. ``peer`` is the IP address
    that answered, ``attempt`` is 0 for the first time that this request was sent.
    """

    status: int
    headers: Mapping[str, str]
    sent: Mapping[str, str]
    peer: str | None
    attempt: int


class Authorizer(Protocol):
    """Authenticates the requests to one HTTP server."""

    async def headers(self, method: str) -> Mapping[str, str]:
        """The credentials for the next request; called before each. Empty until the server has asked for some."""
        ...

    def ready(self) -> Mapping[str, str] | None:
        """The credentials for a POST, as :meth:`headers` returns them, if they are known without waiting."""
        ...

    async def challenged(self, refusal: Refusal) -> bool:
        """Whether to send the request again. Raises ``TransportError`` if that explains more than the refusal does."""
        ...


class Auth(Protocol):
    """A method of authentication. State kept for one server is never used for another."""

    def for_server(self, url: str) -> Authorizer: ...
