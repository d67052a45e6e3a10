"""A hostile server over HTTP: each POST gets an event stream with all messages in answer to its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator

from tooltrue.testing.hostile.server import Hostile, HostileSession
from tooltrue.testing.hostile.tricks import Message, Trick

__all__ = ["serving_http"]

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_NO = b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@contextlib.asynccontextmanager
async def serving_http(server: Hostile, port: int = 0) -> AsyncGenerator[str]:
    """Serve on this machine, and yield the URL. All requests are one visit."""
    visit = server.visit(lambda frame: None, _room)
    writers: set[asyncio.StreamWriter] = set()
    tasks: set[asyncio.Task[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await _answer(server, visit, reader, writer)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        task = asyncio.ensure_future(connection(reader, writer))
        tasks.add(task)
        try:
            await asyncio.wait((task,))
        finally:
            writer.close()
            writers.discard(writer)
            tasks.discard(task)

    async with await asyncio.start_server(connected, "127.0.0.1", port, limit=64 * 1_048_576) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        for task in tuple(tasks):
            task.cancel()
        for writer in tuple(writers):
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _room()


async def _room() -> None:
    await asyncio.sleep(0)


async def _answer(
    server: Hostile, visit: HostileSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    if not head.startswith("post "):
        writer.write(_NO)
        return
    length = next((int(line[15:]) for line in head.splitlines() if line.startswith("content-length:")), 0)
    message: Message = json.loads(await reader.readexactly(length))
    if "id" not in message or "method" not in message:
        writer.write(_ACCEPTED)
        await visit.take(message)
        return
    if (trick := _of_http(server, message)) is not None and trick.http is not None:

        async def write(part: bytes) -> None:
            writer.write(part)
            await writer.drain()

        server.note(message["method"])
        await trick.http(write, message)
        return
    writer.write(_HEAD)
    stream = visit.beside(lambda frame: writer.write(b"data: " + frame + b"\n\n"), writer.drain)
    disconnect = asyncio.ensure_future(reader.read())  # a client that closes has cancelled
    handling = asyncio.ensure_future(stream.take(message))
    await asyncio.wait((disconnect, handling), return_when="FIRST_COMPLETED")
    if message["method"] == "subscriptions/listen":
        await disconnect
    for one in (disconnect, handling):
        one.cancel()
    await writer.drain()


def _of_http(server: Hostile, message: Message) -> Trick | None:
    """The trick of HTTP that answers this call, if any."""
    tool_name = message.get("params", {}).get("name") if message["method"] == "tools/call" else None
    return next((trick for trick in server.tricks if trick.http is not None and trick.name == tool_name), None)
