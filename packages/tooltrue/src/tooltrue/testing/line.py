"""A raw connection to a server: it sends data unchanged, and keeps every message that comes back.

For behaviour that a client would never show: malformed messages, arguments that are not an object, a call that is
cancelled at once. ``Client`` is for all other uses.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Self

from tooltrue.client.eras import Era
from tooltrue.client.negotiation import negotiate
from tooltrue.errors import ConnectionLost, RequestTimeout, RpcError
from tooltrue.jsonrpc.messages import (
    Id,
    Json,
    encode_notification,
    encode_request,
    is_object,
)
from tooltrue.jsonrpc.peer import Dropped
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED, REQUEST_TIMEOUT
from tooltrue.protocol import versions
from tooltrue.protocol.headers import METHOD_HEADER, VERSION_HEADER
from tooltrue.transport.carrier import TransportLink

__all__ = ["Line"]


_CARRIER = " carrier"  # marks an error of the carrier in place of an answer


class Line:
    """``async with Line(link, revision, seconds) as line``: an open connection, with the handshake if the revision has
    one.

    ``seconds`` is the limit for each answer.
    """

    dropped = Dropped()  # every message is kept

    def __init__(self, link: TransportLink, revision: str, seconds: float) -> None:
        self.link = link
        self._revision = revision
        self._seconds = seconds
        self._inbox: asyncio.Queue[dict[str, Json] | None] = asyncio.Queue()
        self._error: Exception | None = None
        self._last_id = 0
        self._era: Era | None = None

    async def __aenter__(self) -> Self:
        await self.link.open(self)
        try:
            self._era, _ = await negotiate(self._ask, self._tell, self._seconds, revision=self._revision)
        except BaseException:
            await self.link.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.link.close()

    # --- receiving ----------------------------------------------------------------------------------------------------

    def feed(self, frame: bytes) -> None:
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(frame)
            if is_object(message):
                self._inbox.put_nowait(message)

    def awaits(self, id: Id) -> bool:
        """Always true: every message is queued until it is read, and so is the loss of the connection."""
        return True

    def fail(self, id: Id, error: Exception) -> None:
        """Note that the carrier has no answer for one request, or none beside the one that came."""
        self._inbox.put_nowait({"id": id, _CARRIER: str(error)})

    def lose(self, error: Exception) -> None:
        self._error = error
        self._inbox.put_nowait(None)

    async def take(self, seconds: float | None = None) -> dict[str, Json] | None:
        """The next message; ``None`` when none comes in time. ``ConnectionLost`` after the connection has ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._seconds if seconds is None else seconds):
                message = await self._inbox.get()
                if message is None:
                    raise self._error or ConnectionLost.of(CONNECTION_CLOSED)
                return message
        return None

    async def reply(self, seconds: float) -> dict[str, Json] | None:
        """The server's next answer to any request; its requests and notifications are dropped."""
        while (message := await self.take(seconds)) is not None:
            if _CARRIER not in message and "method" not in message:
                break
        return message

    async def answer(self, id: Id) -> dict[str, Json] | None:
        """The answer to the request with this id; every other message is dropped."""
        while (message := await self.take()) is not None:
            if message.get("id") == id and _CARRIER in message:
                return None
            if message.get("id") == id and "method" not in message:
                return message
        return None

    # --- sending ------------------------------------------------------------------------------------------------------

    def ask(self, method: str, params: Mapping[str, Json]) -> Id:
        """Send a request with the additions of the era. Returns its id."""
        return self._send(self._era, method, dict(params))

    def params(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """The parameters of a request with the additions of the era."""
        return dict(params) if self._era is None else self._era.params(params, None)

    def tell(self, method: str, params: Mapping[str, Json]) -> None:
        """Send a notification."""
        full_params = dict(params) if self._era is None else self._era.params(params, None)
        headers = {} if self._era is None else self._era.headers(method, full_params)
        self.link.send(encode_notification(method, full_params), None, headers)

    def send(self, frame: bytes) -> None:
        """Send bytes unchanged."""
        is_bare = self._revision in versions.MODERN
        headers = {VERSION_HEADER: self._revision} | ({METHOD_HEADER: "none"} if is_bare else {})
        self.link.send(frame, None, headers)

    @property
    def sign_of_life(self) -> str:
        """The method of the simplest request."""
        return "ping" if self._era is None else self._era.sign_of_life

    async def lives(self) -> bool:
        """Whether the server still answers."""
        try:
            return await self.answer(self.ask(self.sign_of_life, {})) is not None
        except ConnectionLost:
            return False

    def _send(self, era: Era | None, method: str, params: dict[str, Json]) -> Id:
        self._last_id += 1
        full_params = params if era is None else era.params(params, None)
        headers = {} if era is None else era.headers(method, full_params)
        self.link.send(encode_request(self._last_id, method, full_params), self._last_id, headers)
        return self._last_id

    async def _ask(self, era: Era | None, method: str, params: dict[str, Json], seconds: float) -> Json:
        id = self._send(era, method, params)
        answer = await self.answer(id)
        if answer is None:
            raise RequestTimeout.of(REQUEST_TIMEOUT, method=method, seconds=seconds)
        error = answer.get("error")
        if is_object(error):
            raise RpcError.received(int(error.get("code", 0)), str(error.get("message", "")), error.get("data"))
        if era is None:
            self.link.opened(id)
        return answer.get("result")

    def _tell(self, era: Era, method: str) -> None:
        self.link.send(encode_notification(method, {}), None, era.headers(method, {}))
