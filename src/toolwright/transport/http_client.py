"""Streamable HTTP, the client's half: each message is a POST, answered in JSON or by a stream. Owns httpx2."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from typing import Any

import httpx2

from toolwright.errors import ConnectionLost, RpcError, TransportError
from toolwright.jsonrpc.messages import Failure, Id, decode, parse
from toolwright.transport.carrier import Receiver

__all__ = ["HttpLink", "HttpStatus"]

_SESSION = "mcp-session-id"
_ACCEPT = "application/json, text/event-stream"
_MAX_BYTES = 64 * 1024 * 1024
_LISTEN_SECONDS = 2.0
_CLOSE_SECONDS = 2.0
_TELL_SECONDS = 10.0

_log = logging.getLogger("toolwright")


class HttpStatus(TransportError):
    """The endpoint refused a message with a status and no JSON-RPC error that would explain it."""

    status: int = 0


def _reason(body: bytes) -> str:
    """What a server says of its refusal, where that is a JSON-RPC error for no request."""
    with contextlib.suppress(RpcError):
        message = parse(decode(body))
        if isinstance(message, Failure) and message.id is None:
            return str(message.error)[:200]
    return ""


class HttpLink:
    """The client's end. ``headers`` go with every request; the session that a legacy server opens is kept here.

    Waiting for an answer is bounded by the request's own timeout, not by the connection's.
    """

    shared = False

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._headers = dict(headers or {})
        self._tasks: dict[Id | None, set[asyncio.Task[None]]] = {}
        self._receiver: Receiver | None = None
        self._client: httpx2.AsyncClient | None = None

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        # No proxies and no credentials from the environment: what is sent where is what the caller said.
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(10.0, read=None, pool=None), trust_env=False, follow_redirects=False
        )

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str]) -> None:
        self._start(id, self._post(frame, id, headers) if id is not None else self._tell(frame, headers))

    async def _tell(self, frame: bytes, headers: Mapping[str, str]) -> None:
        """Send what nobody waits for an answer to; a server that does not take it is given up on."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TELL_SECONDS):
                await self._post(frame, None, headers)

    def _start(self, id: Id | None, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        tasks = self._tasks.setdefault(id, set())
        tasks.add(task)
        task.add_done_callback(lambda task: self._ended(id, task))

    def _ended(self, id: Id | None, task: asyncio.Task[None]) -> None:
        tasks = self._tasks[id]
        tasks.discard(task)
        if not tasks:
            del self._tasks[id]

    async def _post(self, frame: bytes, id: Id | None, headers: Mapping[str, str]) -> None:
        try:
            async with self._stream(
                "POST", frame, {"content-type": "application/json", "accept": _ACCEPT, **headers}
            ) as response:
                await self._read(response, id)
        except TransportError as error:
            self._fail(id, error)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.SSEError) as error:
            self._fail(id, ConnectionLost.of("TW5006", url=self._url, problem=str(error) or type(error).__name__))

    @contextlib.asynccontextmanager
    async def _stream(
        self, method: str, body: bytes | None, headers: Mapping[str, str]
    ) -> AsyncGenerator[httpx2.Response]:
        if self._client is None:
            raise ConnectionLost.of("TW5001")
        async with self._client.stream(
            method, self._url, content=body, headers={**self._headers, **headers}
        ) as response:
            yield response

    async def _read(self, response: httpx2.Response, id: Id | None) -> None:
        if (session := response.headers.get(_SESSION)) is not None:
            self._headers[_SESSION] = session
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            await self._read_events(response)
            self._fail(id, ConnectionLost.of("TW5001"))  # an answer that came before has ended the request already
        elif kind == "application/json" and (body := await self._body(response)):
            self._feed(body)
            # What was not an answer to this request ends it all the same; nothing more will come.
            self._fail(id, self._refused(response.status_code, _reason(body)))
        elif id is not None or response.status_code >= 400:
            self._fail(id, self._refused(response.status_code))

    def _refused(self, status: int, said: str = "") -> HttpStatus:
        error = HttpStatus.of("TW5007", url=self._url, status=status, said=said and f": {said}")
        error.status = status
        return error

    async def _body(self, response: httpx2.Response) -> bytes:
        parts: list[bytes] = []
        async for part in response.aiter_bytes():
            parts.append(part)
            if sum(map(len, parts)) > _MAX_BYTES:
                raise ConnectionLost.of("TW5005")
        return b"".join(parts)

    async def _read_events(self, response: httpx2.Response) -> None:
        async for event in httpx2.EventSource(response, max_event_size=_MAX_BYTES):
            if event.data and event.event == "message":
                self._feed(event.data.encode())

    def _feed(self, frame: bytes) -> None:
        if self._receiver is not None:
            self._receiver.feed(frame)

    def _fail(self, id: Id | None, error: Exception) -> None:
        if self._receiver is not None and id is not None:
            self._receiver.fail(id, error)

    def abandon(self, id: Id) -> None:
        """Close the stream of a request: to a modern server that is a cancellation."""
        for task in tuple(self._tasks.get(id, ())):
            task.cancel()

    async def listen(self, headers: Mapping[str, str]) -> None:
        """Open a legacy session's stream for what belongs to no request. A server need not have one."""
        settled = asyncio.Event()
        self._start(None, self._listen(headers, settled))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_SECONDS):
                await settled.wait()

    async def _listen(self, headers: Mapping[str, str], settled: asyncio.Event) -> None:
        try:
            async with self._stream("GET", None, {"accept": "text/event-stream", **headers}) as response:
                settled.set()
                if response.status_code == 200:
                    await self._read_events(response)
        except (httpx2.HTTPError, httpx2.SSEError, TransportError) as error:
            _log.info("no stream for notifications: %s", error)
        finally:
            settled.set()

    async def close(self) -> None:
        """End every stream, and the legacy session if there is one."""
        client, self._client = self._client, None
        for tasks in tuple(self._tasks.values()):
            for task in tuple(tasks):
                task.cancel()
        await asyncio.gather(*(task for tasks in self._tasks.values() for task in tasks), return_exceptions=True)
        if client is not None:
            with contextlib.suppress(httpx2.HTTPError, TimeoutError):
                if _SESSION in self._headers:
                    await self._end_session(client)
            await client.aclose()

    async def _end_session(self, client: httpx2.AsyncClient) -> None:
        async with asyncio.timeout(_CLOSE_SECONDS), client.stream("DELETE", self._url, headers=self._headers):
            pass  # what the server says of it is nobody's concern
