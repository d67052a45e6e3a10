"""A raw HTTP client, independent of our own: it sends exactly the given request, each over its own socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tooltrue.testing.state import LIMIT

__all__ = ["ENVELOPE", "JSON", "VERSION", "Answer", "Endpoint", "Headers", "Stream", "in_session", "modern", "soon"]

T = TypeVar("T")
Headers = Sequence[tuple[str, str | None]]  # `None` removes a default header

VERSION = "io.modelcontextprotocol/protocolVersion"
ENVELOPE: dict[str, Any] = {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


async def soon(event: Awaitable[T]) -> T:
    """The result of ``event``, within the common time limit."""
    async with asyncio.timeout(LIMIT):
        return await event


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> int:
        """The code of a JSON-RPC error."""
        return self.json["error"]["code"]


class Stream:
    """An answer of which the head has come."""

    def __init__(self, reader: asyncio.StreamReader, status: int, headers: dict[str, str]) -> None:
        self._reader = reader
        self._unread = ""
        self.status = status
        self.headers = headers

    async def body(self) -> bytes:
        """All of it, to its end."""
        if "transfer-encoding" in self.headers:
            return b"".join([chunk async for chunk in self._chunks()])
        return await soon(self._reader.readexactly(int(self.headers.get("content-length", 0))))

    async def rest(self) -> bytes:
        """All bytes until the connection ends."""
        return await soon(self._reader.read())

    async def _chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.chunk():
            yield chunk

    async def chunk(self) -> bytes:
        """The next piece of a stream as it was sent; empty at its end."""
        size = int(await soon(self._reader.readline()), 16)
        return (await soon(self._reader.readexactly(size + 2)))[:-2]

    async def event(self) -> dict[str, str]:
        """The fields of the next event of a stream, empty at its end; keep-alive comments are skipped."""
        while True:
            while "\n\n" not in self._unread:
                if not (chunk := await self.chunk()):
                    return {}
                self._unread += chunk.decode()
            event, _, self._unread = self._unread.partition("\n\n")
            if not event.startswith(":"):
                return {
                    name: value.removeprefix(" ") for name, _, value in (e.partition(":") for e in event.split("\n"))
                }

    async def message(self) -> Any:
        """The message of the next event that has one."""
        while (event := await self.event()).get("event") != "message":
            assert event, "the stream has ended"
        return json.loads(event["data"])


@dataclass(frozen=True)
class Endpoint:
    """Where a server is reached."""

    port: int
    path: str
    version: str = "1.1"

    @contextlib.asynccontextmanager
    async def open(self, method: str, body: bytes = b"", headers: Headers = ()) -> AsyncIterator[Stream]:
        """A request whose answer is read as it comes; the connection goes with the block."""
        named = {name.lower() for name, _ in headers}
        usual = (("Host", f"127.0.0.1:{self.port}"), ("Content-Length", str(len(body))), ("Connection", "close"))
        unnamed = [pair for pair in usual if pair[0].lower() not in named]
        said = [f"{name}: {value}" for name, value in (*unnamed, *headers) if value is not None]
        lines = [f"{method} {self.path} HTTP/{self.version}", *said, "", ""]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write("\r\n".join(lines).encode("latin-1") + body)
            yield await _head(reader)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def ask(self, method: str, body: bytes = b"", headers: Headers = ()) -> Answer:
        async with self.open(method, body, headers) as stream:
            return Answer(stream.status, stream.headers, await stream.body())

    async def post(self, message: Any, headers: Headers = ()) -> Answer:
        """The answer to a message with the headers that are given, and those that every POST has."""
        return await self.ask("POST", json.dumps(message).encode(), (*JSON, *headers))

    async def modern(self, method: str, params: dict[str, Any] | None = None, **changes: str | None) -> Answer:
        """The answer to a stateless request. ``changes`` replaces its headers; a value of ``None`` removes one."""
        message, headers = modern(method, params, **changes)
        return await self.post(message, headers)

    async def initialize(
        self, revision: str = "2025-11-25", headers: Headers = (), capabilities: dict[str, Any] | None = None
    ) -> str:
        """Open a legacy session: its id."""
        client = {"name": "c", "version": "1"}
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client}
        answer = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, headers)
        assert answer.json["result"]["protocolVersion"] == revision
        return answer.headers["mcp-session-id"]

    async def legacy(self, session: str, method: str, params: dict[str, Any] | None = None) -> Answer:
        """The answer to a request of a legacy session."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return await self.post(message, in_session(session))


JSON = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))


def in_session(session: str) -> Headers:
    return (("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25"))


def modern(method: str, params: dict[str, Any] | None = None, **changes: str | None) -> tuple[dict[str, Any], Headers]:
    """A stateless request and its headers; ``mcp_name="x"`` sets a header, ``mcp_name=None`` removes it."""
    params = {"_meta": dict(ENVELOPE), **(params or {})}
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if isinstance(params.get("name"), str):
        headers["mcp-name"] = params["name"]
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    sent = tuple((name, value) for name, value in {**headers, **named}.items() if value is not None)
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, sent


async def _head(reader: asyncio.StreamReader) -> Stream:
    head = (await soon(reader.readuntil(b"\r\n\r\n"))).decode("latin-1")
    status, *lines = head.strip().split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return Stream(reader, int(status.split()[1]), {name.lower(): value for name, _, value in pairs})
