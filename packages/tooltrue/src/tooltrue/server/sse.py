"""HTTP+SSE, the transport of 2024-11-05, deprecated since: a stream, and a second endpoint that its client posts to.

A stream is a session, and a channel that both ends share like a pipe: every message of the server goes over the stream,
and the session ends with it. It cannot be resumed or moved to another worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass
from urllib.parse import parse_qs

from tooltrue.errors import InternalError, InvalidParams
from tooltrue.jsonrpc.messages import encode_failure
from tooltrue.server.http import HttpCaller
from tooltrue.server.principal_quota import PrincipalQuota
from tooltrue.server.server import ProtocolServer, ServerSession
from tooltrue.server.wording import TOO_MANY_SESSIONS, TOO_MANY_STREAMS, UNKNOWN_SESSION
from tooltrue.transport.http_server import SSE_POSTS, Reply, Stream

__all__ = ["SseEndpoint"]

_END_SECONDS = 1.0


_OF_ONE = 100


@dataclass(frozen=True, slots=True)
class _Open:
    session: ServerSession
    principal: str


class SseEndpoint:
    """The sessions of one process: at most ``limit``, and at most ``of_one`` of one principal. A client that does not
    read its answers loses the session.

    A message has the authorization of its own POST, which may be less than that of the stream.
    """

    def __init__(self, server: ProtocolServer, *, limit: int = 1_000, of_one: int = _OF_ONE) -> None:
        self._server = server
        self._language = server.served.language
        self._limit = limit
        self._of_each = PrincipalQuota(of_one)
        self._sessions: dict[str, _Open] = {}

    async def listen(self, caller: HttpCaller, stream: Stream) -> Reply | None:
        """Serve one session, from the ``endpoint`` event, which names the URL to post to, until either end closes the
        stream.
        """
        if len(self._sessions) >= self._limit:
            return Reply(
                503, encode_failure(None, InternalError.of(TOO_MANY_SESSIONS, limit=self._limit), self._language)
            )
        if not self._of_each.take(caller.principal):
            error = InternalError.of(TOO_MANY_STREAMS, limit=self._of_each.limit)
            return Reply(503, encode_failure(None, error, self._language))
        try:
            return await self._open(caller, stream)
        finally:
            self._of_each.give_back(caller.principal)

    async def _open(self, caller: HttpCaller, stream: Stream) -> None:
        over = asyncio.Event()

        def write(frame: bytes) -> None:
            stream.send(frame)
            if stream.behind:
                over.set()

        id = secrets.token_urlsafe(24)
        session = self._server.connect(write, caller.carrier, caller.principal)
        self._sessions[id] = _Open(session, caller.principal.id)
        # Relative, so that it holds below any path where this is mounted or proxied.
        stream.say("endpoint", f"{SSE_POSTS[1:]}?session={id}")
        hub = self._server.served.hub
        stop_listening = hub.listen(lambda _: over.set() if hub.closed else None)
        try:
            if not hub.closed:
                await over.wait()
        finally:
            stop_listening()
            del self._sessions[id]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):  # a tool may ignore its cancellation
                    await session.close()

    async def post(self, body: bytes, caller: HttpCaller, query: bytes) -> Reply:
        """Accept one message; its answer goes over the stream."""
        id = parse_qs(query.decode("latin-1")).get("session", [""])[-1]
        stream = self._sessions.get(id)
        if stream is None or stream.principal != caller.principal.id:
            return Reply(404, encode_failure(None, InvalidParams.of(UNKNOWN_SESSION), self._language))
        stream.session.feed_from(caller.principal, body)
        return Reply(202)
