"""Questions that are pushed to a legacy client over HTTP: they leave on the stream of the request that asks, and are
answered by a POST of their own, which may reach another worker (2025-11-25, basic/transports "Streamable HTTP").
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from typing import Protocol

from toolwright.errors import ConnectionLost, RequestTimeout, RpcError
from toolwright.jsonrpc.messages import Answer, Failure, Json, decode, encode, encode_request
from toolwright.state.facts import Facts

__all__ = ["Questions", "StreamDialogue"]

_ANSWERED = "answered"


class Way(Protocol):
    """The stream on which a request is answered."""

    def notify(self, method: str, params: Json) -> None: ...

    def send(self, frame: bytes) -> None: ...


class Questions:
    """What is asked in this process and has no answer yet. Only the session that was asked can answer."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._waiting: dict[str, asyncio.Future[Json]] = {}

    async def open(self) -> None:
        """Hear of answers that reach another worker."""
        await self._facts.subscribe(_ANSWERED, self._heard)

    async def ask(self, stream: Way, token: str, method: str, params: Json, seconds: float) -> Json:
        id = secrets.token_hex(16)
        key = _key(token, id)
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        answered = False
        try:
            stream.send(encode_request(id, method, params))
            async with asyncio.timeout(seconds):
                answer = await future
            answered = True
            return answer
        except TimeoutError:
            raise RequestTimeout.of("TW5002", method=method, seconds=seconds) from None
        except RpcError:
            answered = True
            raise
        finally:
            del self._waiting[key]
            if not answered:
                stream.notify("notifications/cancelled", {"requestId": id})

    async def answered(self, token: str, message: Answer | Failure) -> None:
        """An answer has come in. One that nobody waits for, or no longer, means nothing."""
        error = None
        if isinstance(message, Failure):
            error = [message.error.number, str(message.error)]
        payload = encode([_key(token, message.id), error, None if error else message.result])  # pyright: ignore
        if not self._settle(payload):
            await self._facts.publish(_ANSWERED, payload)

    def _heard(self, payload: bytes) -> None:
        self._settle(payload)

    def _settle(self, payload: bytes) -> bool:
        key, error, result = decode(payload)
        future = self._waiting.get(key)
        if future is None or future.done():
            return False
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(RpcError.received(error[0], error[1]))
        return True


def _key(token: str, id: object) -> str:
    """What names a question to all workers; the token itself is not written anywhere."""
    return hashlib.sha256(encode([token, id])).hexdigest()


class StreamDialogue:
    """A legacy request over HTTP. Without a session nobody could be told apart who answers, so nobody is asked."""

    __slots__ = ("_detach", "_questions", "_token", "_way")

    def __init__(
        self, way: Way, questions: Questions, token: str | None, detach: Callable[[], None] = lambda: None
    ) -> None:
        self._way = way
        self._questions = questions
        self._token = token
        self._detach = detach

    def notify(self, method: str, params: Json) -> None:
        self._way.notify(method, params)

    def detach(self) -> None:
        self._detach()

    async def ask(self, method: str, params: Json, seconds: float) -> Json:
        if self._token is None:
            raise ConnectionLost.of("TW5001")
        return await self._questions.ask(self._way, self._token, method, params, seconds)
