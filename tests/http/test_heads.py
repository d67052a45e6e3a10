"""The head of a request has a size limit and a timeout, for every sender (B54)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from uvicorn.server import ServerState

from support.http_pipe import Pipe
from tooltrue.testing.state import LIMIT
from tooltrue.transport import http_protocol, http_runner
from tooltrue.transport.connection_limit import ConnectionLimit
from tooltrue.transport.http_protocol import HttpProtocol


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def streaming(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for word in (b"one", b"two", b""):
        await send({"type": "http.response.body", "body": word, "more_body": bool(word)})


def connected(app: Any = app) -> tuple[Any, Pipe]:
    porter = http_runner._Porter(ConnectionLimit())  # pyright: ignore[reportPrivateUsage]
    protocol = HttpProtocol(porter, app, ServerState(), keep_alive=30, app_state={})
    pipe = Pipe()
    protocol.connection_made(cast(Any, pipe))
    return protocol, pipe


@pytest.mark.parametrize("start", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: lo"])
def test_b54_a_head_that_does_not_come_is_given_up(start: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_protocol, "_HEAD_SECONDS", 0.01)

    async def main() -> None:
        protocol, pipe = connected()
        if start:
            protocol.data_received(start)
        async with asyncio.timeout(LIMIT):
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
            await asyncio.gather(*protocol.state.tasks)
        assert not pipe.closed.is_set()
        assert protocol.state.total_requests == 2
        protocol.connection_lost(None)

    asyncio.run(main())


def head_of(size: int, shape: str) -> bytes:
    """A whole head of so many bytes, most of them in one place or in many."""
    line, end = b"GET / HTTP/1.1\r\nHost: a\r\n", b"\r\n"
    if shape == "one long value":
        return line + b"X: " + b"y" * (size - len(line) - 7) + b"\r\n" + end
    if shape == "a long path":
        return line.replace(b"/ ", b"/" + b"y" * (size - len(line) - 2) + b" ") + end
    if shape == "a long name":
        return line + b"y" * (size - len(line) - 7) + b": x\r\n" + end
    field = b"X: yyyyy\r\n"
    fields, rest = divmod(size - len(line) - 12, len(field))
    return line + field * fields + b"X: " + b"y" * (rest + 5) + b"\r\n" + end


SHAPES = ["one long value", "a long path", "a long name", "many fields"]


@pytest.mark.parametrize("piece", [1_000_000, 65_536, 30_000, 1_000])
@pytest.mark.parametrize("size", [65_537 + 100, 70_000, 130_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_b54_a_head_beyond_the_limit_is_closed_at_once_and_runs_nothing(shape: str, size: int, piece: int):
    async def main() -> None:
        protocol, pipe = connected()
        head = head_of(size, shape)
        assert abs(len(head) - size) <= 2
        for start in range(0, size, piece):
            if not pipe.closed.is_set():
                protocol.data_received(head[start : start + piece])
        assert pipe.closed.is_set()
        assert not protocol.state.tasks
        assert protocol.state.total_requests == 0
        protocol.connection_lost(None)

    asyncio.run(main())


@pytest.mark.parametrize("piece", [1_000_000, 30_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_b54_twin_a_head_just_below_the_limit_is_served(shape: str, piece: int):
    async def main() -> None:
        protocol, pipe = connected()
        head = head_of(65_400, shape)
        for start in range(0, len(head), piece):
            protocol.data_received(head[start : start + piece])
        await asyncio.gather(*protocol.state.tasks)
        assert protocol.state.total_requests == 1
        assert not pipe.closed.is_set()
        protocol.connection_lost(None)

    asyncio.run(main())


def test_b54_twin_a_head_that_begins_behind_a_large_body_is_not_taken_for_part_of_it():
    async def main() -> None:
        protocol, pipe = connected()
        protocol.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n")
        protocol.data_received(b"x" * 200_000 + b"GET / HTTP/1.1\r\nHost")
        protocol.data_received(b": a\r\n\r\n")
        while protocol.state.tasks:
            await asyncio.gather(*protocol.state.tasks)
        assert protocol.state.total_requests == 2
        assert not pipe.closed.is_set()
        protocol.connection_lost(None)

    asyncio.run(main())


@pytest.mark.parametrize(("version", "chunked"), [("1.0", False), ("1.1", True)])
def test_a_stream_has_no_chunks_for_a_client_that_knows_none(version: str, chunked: bool):
    async def main() -> None:
        protocol, pipe = connected(streaming)
        protocol.data_received(f"GET / HTTP/{version}\r\nHost: a\r\n\r\n".encode())
        await asyncio.gather(*protocol.state.tasks)
        head, _, body = pipe.written.partition(b"\r\n\r\n")
        assert (b"transfer-encoding: chunked" in head) is chunked
        assert (b"connection: close" in head) is not chunked
        assert body == (b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n" if chunked else b"onetwo")
        assert pipe.closed.is_set() is not chunked
        protocol.connection_lost(None)

    asyncio.run(main())
