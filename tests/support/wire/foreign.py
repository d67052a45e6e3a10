"""An HTTP server of somebody else's, in a few lines: each request goes to a function, which answers as it likes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Heard:
    """A request. ``said`` is its JSON, ``at`` when it came by the clock of the loop."""

    verb: str
    path: str
    headers: Mapping[str, str]
    said: dict[str, Any]
    at: float

    @property
    def method(self) -> str:
        return self.said.get("method", "")


class Reply:
    """The way back: JSON at once, or a stream of events that is cut off where the function returns."""

    def __init__(self, request: Heard, writer: asyncio.StreamWriter) -> None:
        self._request = request
        self.writer = writer
        self.is_stream = False

    def _head(self, status: int, **headers: str) -> None:
        said = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"HTTP/1.1 {status} Whatever\r\n{said}\r\n".encode())

    async def body(self, status: int, body: bytes = b"", **headers: str) -> None:
        self._head(status, content_length=str(len(body)), **headers)
        self.writer.write(body)
        await self.writer.drain()

    async def result(self, result: Any, **headers: str) -> None:
        answer = {"jsonrpc": "2.0", "id": self._request.said["id"], "result": result}
        await self.body(200, json.dumps(answer).encode(), content_type="application/json", **headers)

    async def error(self, code: int, status: int = 200, data: Any = None) -> None:
        error = {"code": code, "message": "no"} | ({} if data is None else {"data": data})
        answer = {"jsonrpc": "2.0", "id": self._request.said["id"], "error": error}
        await self.body(status, json.dumps(answer).encode(), content_type="application/json")

    async def stream(self) -> None:
        """The length is not known, so that the end of the connection ends it."""
        self.is_stream = True
        self._head(200, content_type="text/event-stream", connection="close")
        await self.writer.drain()

    async def event(self, message: Any = None, *, id: str = "", retry: int | None = None) -> None:
        lines = [f"id: {id}"] if id else []
        lines += [f"retry: {retry}"] if retry is not None else []
        lines += [f"data: {json.dumps({'jsonrpc': '2.0', **message}) if message else ''}"]
        self.writer.write(("\n".join(lines) + "\n\n").encode())
        await self.writer.drain()

    async def named(self, event: str, data: str) -> None:
        """An event that is no message."""
        self.writer.write(f"event: {event}\ndata: {data}\n\n".encode())
        await self.writer.drain()

    async def comment(self) -> None:
        self.writer.write(b": nothing\n\n")
        await self.writer.drain()


Answering = Callable[[Heard, Reply], Awaitable[None]]


@dataclass
class Foreign:
    """``serving``: a task for each connection that is open."""

    url: str
    heard: list[Heard]
    serving: set[asyncio.Task[Any]]

    def methods(self) -> list[str]:
        return [request.method or request.verb for request in self.heard]


@contextlib.asynccontextmanager
async def foreign(answer: Answering) -> AsyncIterator[Foreign]:
    """Serve; in the end every connection is closed."""
    heard: list[Heard] = []
    running: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            while True:
                request = await _read(reader)
                heard.append(request)
                reply = Reply(request, writer)
                await answer(request, reply)
                if reply.is_stream:
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            running.discard(task)
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Foreign(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp", heard, running)
    finally:
        listening.close()
        for task in tuple(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Heard:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    verb, path, _ = head[0].split(" ", 2)
    return Heard(verb, path, headers, json.loads(body or b"{}"), asyncio.get_running_loop().time())
