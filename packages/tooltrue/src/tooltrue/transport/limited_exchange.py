"""A request of an application that is not ours, and its response: the body of the request is limited in size and time.

A body beyond a limit is refused here, whatever the application makes of it: the refusal is sent at once if no response
has begun, and ``receive`` raises, so that a part of a body is never taken for the whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

__all__ = ["BodyLimits", "BodyRefused", "LimitedExchange"]


_Event: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Event]]
_Send: TypeAlias = Callable[[_Event], Awaitable[None]]


class BodyRefused(ConnectionError):
    """The rest of the body will not be read: it is beyond a limit, and the client has been told."""


class BodyLimits:
    """The limits of a body, and the functions that send the refusal of a body beyond each of them."""

    def __init__(
        self,
        size: int,
        seconds: float,
        too_large: Callable[[_Send], Awaitable[None]],
        too_slow: Callable[[_Send], Awaitable[None]],
    ) -> None:
        self.size = size
        self.seconds = seconds
        self.too_large = too_large
        self.too_slow = too_slow


class LimitedExchange:
    """``receive`` and ``send`` for an ASGI application, around those of the HTTP server.

    ``has_begun`` tells whether a response has begun, ``is_refused`` whether that is a refusal of the body, ``has_left``
    whether the application knows that the client is gone.
    """

    def __init__(self, receive: _Receive, send: _Send, limits: BodyLimits) -> None:
        self._receive = receive
        self._send = send
        self._limits = limits
        self._size = 0
        self._ends_at: float | None = None
        self._is_whole = False
        self.has_begun = False
        self.has_left = False
        self.is_refused = False

    async def receive(self) -> _Event:
        """The next part of the body. Raises :class:`BodyRefused` for a body beyond the limits."""
        if self.is_refused:
            raise BodyRefused
        try:
            event = await (self._receive() if self._is_whole else self._part())
        except TimeoutError:
            await self._refuse(self._limits.too_slow)
            raise BodyRefused from None
        if event["type"] != "http.request":
            self.has_left = True
            return event
        self._size += len(event.get("body", b""))
        self._is_whole = not event.get("more_body")
        if self._size > self._limits.size:
            await self._refuse(self._limits.too_large)
            raise BodyRefused
        return event

    async def _part(self) -> _Event:
        loop = asyncio.get_running_loop()
        if self._ends_at is None:
            self._ends_at = loop.time() + self._limits.seconds
        if loop.time() >= self._ends_at:
            raise TimeoutError
        async with asyncio.timeout_at(self._ends_at):
            # Parts may all be ready at once; other requests, and the time limit, need the event loop to run.
            await asyncio.sleep(0)
            return await self._receive()

    async def _refuse(self, refusal: Callable[[_Send], Awaitable[None]]) -> None:
        self.is_refused = True
        if not self.has_begun:
            self.has_begun = True
            await refusal(self._send)

    async def send(self, message: _Event) -> None:
        """Send a part of the response; after a refusal, no part is sent."""
        if not self.is_refused:
            self.has_begun = True
            await self._send(message)
