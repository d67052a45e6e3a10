"""Connections of the server: readers that are slow or gone, idle time, the end, and the context of a request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

import pytest
from uvicorn.server import ServerState

from support.http_pipe import Pipe
from tooltrue import Server
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT
from tooltrue.transport import http_protocol
from tooltrue.transport.http_protocol import HttpProtocol

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class Open:
    """Admits every connection."""

    def enter(self, transport: asyncio.Transport) -> str:
        return "anyone"

    def leave(self, caller: str) -> None: ...


def connected(app: Any, keep_alive: float = 30) -> tuple[HttpProtocol, Pipe]:
    protocol = HttpProtocol(Open(), app, ServerState(), keep_alive=keep_alive, app_state={})
    pipe = Pipe()
    protocol.connection_made(cast(Any, pipe))
    return protocol, pipe


async def turns() -> None:
    """Let everything run that is ready."""
    for _ in range(30):
        await asyncio.sleep(0)


async def respond(send: Callable[[Any], Awaitable[None]], body: bytes = b"ok") -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def at_once(scope: Any, receive: Any, send: Any) -> None:
    await respond(send)


def test_a_connection_without_requests_is_closed_after_its_time():
    async def main() -> None:
        protocol, pipe = connected(at_once, keep_alive=0.01)
        protocol.data_received(GET)
        async with asyncio.timeout(LIMIT):
            await pipe.closed.wait()
        assert pipe.written.endswith(b"ok")
        protocol.connection_lost(None)

    asyncio.run(main())


def test_a_connection_is_not_idle_while_a_request_runs():
    async def main() -> None:
        asked, answer = asyncio.Event(), asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/slow":
                asked.set()
                await answer.wait()
            await respond(send)

        protocol, pipe = connected(app, keep_alive=0.01)
        protocol.data_received(GET)
        await turns()
        protocol.data_received(GET.replace(b"/ ", b"/slow "))
        await asked.wait()
        await asyncio.wait([asyncio.ensure_future(pipe.closed.wait())], timeout=0.05)
        assert not pipe.is_closing()
        answer.set()
        async with asyncio.timeout(LIMIT):
            await pipe.closed.wait()
        assert pipe.written.count(b"ok") == 2
        protocol.connection_lost(None)

    asyncio.run(main())


@pytest.mark.parametrize("queued", [0, 1])
def test_a_client_that_goes_ends_its_requests_the_running_one_too(queued: int):
    async def main() -> list[str]:
        told: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            told.append((await receive())["type"])
            told.append((await receive())["type"])
            await respond(send)  # nobody reads it

        protocol, pipe = connected(app)
        protocol.data_received(GET * (1 + queued))
        await turns()
        protocol.connection_lost(None)
        await turns()
        assert pipe.written == b""
        assert not protocol.state.tasks
        return told

    assert asyncio.run(main()) == ["http.request", "http.disconnect"]


def test_a_response_waits_for_a_client_that_does_not_read():
    async def main() -> None:
        protocol, pipe = connected(at_once)
        protocol.pause_writing()
        protocol.data_received(GET)
        await turns()
        assert pipe.written == b""
        protocol.resume_writing()
        await turns()
        assert pipe.written.endswith(b"ok")
        protocol.connection_lost(None)

    asyncio.run(main())


def test_the_end_of_the_server_closes_idle_connections_and_others_after_their_response():
    async def main() -> None:
        answer = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await answer.wait()
            await respond(send)

        idle, closed = connected(at_once)
        idle.shutdown()
        assert closed.is_closing()
        busy, open = connected(app)
        busy.data_received(GET)
        await turns()
        busy.shutdown()
        assert not open.is_closing()
        answer.set()
        await turns()
        assert open.is_closing()
        assert b"connection: close" in open.written
        idle.connection_lost(None)
        busy.connection_lost(None)

    asyncio.run(main())


def test_a_large_body_that_the_application_does_not_read_pauses_the_connection():
    async def main() -> None:
        go_on = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await go_on.wait()
            while (await receive())["more_body"]:
                pass
            await respond(send)

        protocol, pipe = connected(app)
        protocol.data_received(b"POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100_000)
        await turns()
        assert pipe.is_reading_paused
        go_on.set()
        await turns()
        assert not pipe.is_reading_paused
        protocol.data_received(b"x" * 100_000)
        await turns()
        assert pipe.written.endswith(b"ok")
        protocol.connection_lost(None)

    asyncio.run(main())


def test_no_request_sees_the_context_of_another_on_its_connection():
    async def main() -> list[str]:
        name, seen = ContextVar("name", default="nobody"), list[str]()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            seen.append(name.get())
            name.set(scope["path"])
            await receive()  # resumes the connection, with this context
            await respond(send)

        protocol, _ = connected(app)
        for _ in range(2):
            protocol.data_received(b"POST /a HTTP/1.1\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70_000)
            await turns()
        protocol.connection_lost(None)
        return seen

    assert asyncio.run(main()) == ["nobody", "nobody"]


# -- requests with a known head ----------------------------------------------------------------------------------------

META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}}


def call(tool: str) -> bytes:
    params = {"name": tool, "arguments": {}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Mcp-Name: {tool}",
        "Mcp-Method: tools/call",
        f"MCP-Protocol-Version: {versions.LATEST}",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


class Tools:
    """A server whose second call of `wait` waits until it is cancelled."""

    def __init__(self) -> None:
        self.server = Server("t", version="1", audit=False)
        self.calls = 0
        self.began, self.cancelled = asyncio.Event(), asyncio.Event()
        self.server.add_tool(self.wait, effect="read")

    async def wait(self) -> str:
        """Wait."""
        self.calls += 1
        if self.calls == 1:
            return "first"
        self.began.set()
        try:
            return await asyncio.Event().wait() and ""
        finally:
            self.cancelled.set()


def test_a_client_that_goes_ends_a_call_with_a_known_head(monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        tools = Tools()
        app = tools.server.http_app(signals=False)
        async with app.serving():
            protocol, pipe = connected(app)
            protocol.data_received(call("wait"))
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(*protocol.state.tasks)
                monkeypatch.setattr(protocol, "_parse", None)  # from here on, no head is parsed
                protocol.data_received(call("wait"))
                await tools.began.wait()
                protocol.connection_lost(None)
                await tools.cancelled.wait()
                await asyncio.gather(*protocol.state.tasks)
            assert pipe.written.count(b"HTTP/1.1") == 1

    asyncio.run(main())


def test_a_known_head_does_not_reach_a_server_that_has_ended():
    async def main() -> bytes:
        tools = Tools()
        app = tools.server.http_app(signals=False)
        async with app.serving():
            protocol, pipe = connected(app)
            protocol.data_received(call("wait"))
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(*protocol.state.tasks)
        before = len(pipe.written)
        protocol.data_received(call("wait"))
        await turns()
        protocol.connection_lost(None)
        assert tools.calls == 1
        return pipe.written[before:]

    assert b"HTTP/1.1 503 " in asyncio.run(main())


def test_a_connection_knows_a_limited_number_of_heads():
    async def main() -> None:
        app = Tools().server.http_app(signals=False)
        async with app.serving():
            protocol, _ = connected(app)
            for number in range(100):
                protocol.data_received(call(f"tool-{number}"))
                await turns()
                assert 1 <= len(protocol._known) <= http_protocol._MAX_KNOWN  # pyright: ignore[reportPrivateUsage]
            protocol.connection_lost(None)

    asyncio.run(main())
