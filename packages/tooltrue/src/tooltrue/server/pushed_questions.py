"""Questions pushed to a session-based client over HTTP: they are sent on the stream of the request that asks, and
answered by a POST of their own, which may reach another worker (2025-11-25, basic/transports "Streamable HTTP").
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from typing import Protocol

from tooltrue.errors import ConnectionLost, InternalError, InvalidRequest, RequestTimeout, RpcError
from tooltrue.jsonrpc.messages import Failure, Json, RpcResponse, decode, encode, encode_request
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED, REQUEST_TIMEOUT
from tooltrue.server.legacy import LegacySession
from tooltrue.server.principal_quota import PrincipalQuota
from tooltrue.server.wording import MESSAGE_TOO_LARGE, TOO_MANY_OPEN_QUESTIONS
from tooltrue.state.facts import Facts
from tooltrue.tools.vocabulary import Principal

__all__ = ["PushedQuestions", "StreamDialogue"]

_ANSWERED = "answered"
_MAX_WAITING = 1_000
_MAX_ANSWER = 1024 * 1024


class QuestionStream(Protocol):
    """The stream on which a request is answered."""

    def notify(self, method: str, params: Json) -> None: ...

    def send(self, frame: bytes) -> None: ...


class PushedQuestions:
    """The open questions of this process. Only the session that was asked can answer, and only once.

    A principal may have 1,000 open questions at a worker, and an answer 1 MiB: a larger one becomes a failure.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._quota = PrincipalQuota(_MAX_WAITING)
        self._waiting: dict[str, asyncio.Future[Json]] = {}

    async def open(self) -> None:
        """Subscribe to answers that reach another worker."""
        await self._facts.subscribe(_ANSWERED, self._on_published)

    async def ask(
        self, stream: QuestionStream, session: str, principal: Principal, method: str, params: Json, seconds: float
    ) -> Json:
        """Return the client's answer. Raises its ``RpcError``, ``RequestTimeout``, or ``InternalError`` if too many
        questions are open.
        """
        if not self._quota.take(principal):
            raise InternalError.of(TOO_MANY_OPEN_QUESTIONS, limit=_MAX_WAITING)
        try:
            return await self._ask(stream, session, method, params, seconds)
        finally:
            self._quota.give_back(principal)

    async def _ask(self, stream: QuestionStream, session: str, method: str, params: Json, seconds: float) -> Json:
        id = secrets.token_hex(16)
        key = _key(session, id)
        await self._facts.put(_open_key(key), b"1", seconds)
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        is_answered = False
        try:
            stream.send(encode_request(id, method, params))
            async with asyncio.timeout(seconds):
                answer = await future
            is_answered = True
            return answer
        except TimeoutError:
            raise RequestTimeout.of(REQUEST_TIMEOUT, method=method, seconds=seconds) from None
        except RpcError:
            is_answered = True
            raise
        finally:
            del self._waiting[key]
            if not is_answered:
                stream.notify("notifications/cancelled", {"requestId": id})

    async def receive(self, session: str, message: RpcResponse | Failure) -> None:
        """Handle a client's response. Late or unsolicited responses are dropped, and not published to other workers."""
        key = _key(session, message.id)
        if await self._facts.remove(_open_key(key)) is None:
            return
        payload = _payload(key, message)
        if not self._settle(payload):
            await self._facts.publish(_ANSWERED, payload)

    def _on_published(self, payload: bytes) -> None:
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


def _key(session: str, id: object) -> str:
    """Identifies a question to all workers."""
    return hashlib.sha256(encode([session, id])).hexdigest()


def _open_key(key: str) -> str:
    return "asked:" + key


def _payload(key: str, message: RpcResponse | Failure) -> bytes:
    if isinstance(message, RpcResponse):
        payload = encode([key, None, message.result])
    else:
        payload = encode([key, [message.error.number, str(message.error)], None])
    if len(payload) <= _MAX_ANSWER:
        return payload
    error = InvalidRequest.of(MESSAGE_TOO_LARGE, limit=_MAX_ANSWER)
    return encode([key, [error.number, str(error)], None])


class StreamDialogue:
    """A session-based request over HTTP. Without a session token, an answer could not be attributed to a client, so no
    question is asked.
    """

    __slots__ = ("_detach", "_principal", "_questions", "_session", "_stream")

    def __init__(
        self,
        stream: QuestionStream,
        questions: PushedQuestions,
        session: LegacySession,
        principal: Principal,
        detach: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._questions = questions
        self._session = session
        self._principal = principal
        self._detach = detach

    def notify(self, method: str, params: Json) -> None:
        self._stream.notify(method, params)

    def detach(self) -> None:
        self._detach()

    async def ask(self, method: str, params: Json, seconds: float) -> Json:
        if self._session.token is None:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        return await self._questions.ask(self._stream, self._session.name, self._principal, method, params, seconds)
