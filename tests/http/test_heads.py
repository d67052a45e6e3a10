"""The head of a request has a limit in size and in time, whoever sends it (B54)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from toolwright.transport import http_runner
from toolwright.transport.connections import Connections


class Pipe(asyncio.Transport):
    """The connection, as the protocol sees it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.closed = asyncio.Event()

    def close(self) -> None:
        self.closed.set()

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def write(self, data: Any) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def connected() -> tuple[Any, Pipe]:
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none")
    porter = http_runner._Porter(Connections())  # pyright: ignore[reportPrivateUsage]
    protocol = http_runner._Protocol(porter, config, ServerState(), {})  # pyright: ignore[reportPrivateUsage]
    pipe = Pipe()
    protocol.connection_made(cast(Any, pipe))
    return protocol, pipe


@pytest.mark.parametrize("start", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: lo"])
def test_b54_a_head_that_does_not_come_is_given_up(start: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_runner, "_HEAD_SECONDS", 0.01)

    async def main() -> None:
        protocol, pipe = connected()
        if start:
            protocol.data_received(start)
        async with asyncio.timeout(10):
            await pipe.closed.wait()
        protocol.connection_lost(None)

    asyncio.run(main())


@pytest.mark.requirement("XHDR-34")
def test_b54_a_head_without_end_is_given_up():
    async def main() -> None:
        protocol, pipe = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\n")
        for _ in range(100):
            protocol.data_received(b"x" * 1_000)
        assert pipe.closed.is_set()
        protocol.connection_lost(None)

    asyncio.run(main())


def test_b54_twin_a_head_in_pieces_and_a_second_request_are_served():
    async def main() -> None:
        protocol, pipe = connected()
        for _ in range(2):
            for part in (b"GET / HTTP/1.1\r\nHost: a", b"\r\nX: " + b"y" * 8_000, b"\r\n\r\n"):
                protocol.data_received(part)
            await asyncio.gather(*protocol.tasks)
        assert not pipe.closed.is_set()
        assert protocol.server_state.total_requests == 2
        protocol.connection_lost(None)

    asyncio.run(main())
