"""HTTP responses as the client parses them, for any behaviour of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.event_loops import each_event_loop
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_connection import Broken, ConnectionPool

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.usefixtures("each_event_loop")

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX-Thing: a\r\nx-thing: b\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhello"
EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + WHOLE


def run(answers: Iterable[list[bytes]], test: Callable[[ConnectionPool, list[bytes]], Coroutine[Any, Any, Any]]) -> Any:
    """A server that answers each request with some writes; an empty one closes. ``test`` sees the requests, too."""
    left, heard = iter(answers), list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        try:
            while True:
                heard.append(await reader.readuntil(b"\r\n\r\n"))
                for part in next(left):
                    if not part:
                        return
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError, StopIteration, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def main() -> Any:
        async with asyncio.timeout(LIMIT):
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            client = ConnectionPool(f"http://127.0.0.1:{port}/mcp?a=b c#d")
            try:
                said = await test(client, heard)
                return said, len(connections)
            finally:
                client.close()
                server.close()

    connections: list[asyncio.StreamWriter] = []
    return asyncio.run(main())


async def asked(client: ConnectionPool, heard: list[bytes]) -> tuple[int, dict[str, str], bytes]:
    async with client.request("POST", b"", {}) as answer:
        return answer.status, answer.headers, b"".join([part async for part in answer.parts()])


async def asked_twice(client: ConnectionPool, heard: list[bytes]) -> list[bytes]:
    return [(await asked(client, heard))[2] for _ in range(2)]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([WHOLE, CHUNKED, TO_THE_END, EARLY]), st.lists(st.integers(1, 80), max_size=6, unique=True))
def test_an_answer_is_the_same_however_it_is_cut(answer: bytes, cuts: list[int]):
    edges = [0, *sorted(cut for cut in cuts if cut < len(answer)), len(answer)]
    parts = [answer[start:end] for start, end in pairwise(edges)]
    (status, headers, body), _ = run([[*parts, b""]], asked)
    assert (status, body) == (200, b"hello")
    assert headers.get("x-thing", "a, b") == "a, b"
    assert "link" not in headers


def test_a_connection_is_used_again_once_its_answer_has_been_read_and_no_sooner():
    assert run([[WHOLE], [CHUNKED]], asked_twice) == ([b"hello", b"hello"], 1)
    closing = WHOLE.replace(b"X-Thing: a", b"connection: close")
    assert run([[closing, b""], [WHOLE]], asked_twice) == ([b"hello", b"hello"], 2)

    async def half(client: ConnectionPool, heard: list[bytes]) -> bytes:
        async with client.request("POST", b"", {}) as answer:
            assert answer.status == 200
        return (await asked(client, heard))[2]

    assert run([[WHOLE[:-2]], [WHOLE]], half) == (b"hello", 2)


@pytest.mark.parametrize(
    "answer",
    [
        [b""],
        [WHOLE[:-1], b""],
        [CHUNKED[:-4], b""],
        [b"HTTP/1.1 200 OK\r\ncontent-le", b""],
        [b"SSH-2.0-OpenSSH\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000],
        [CHUNKED[:-2], *(1_000 * [b"a: " + 1_000 * b"b" + b"\r\n"])],
        [b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello"],
    ],
    ids=["nothing", "short", "chunks", "head", "another protocol", "two lengths", "endless", "trailers", "upgrade"],
)
def test_an_incomplete_response_is_a_broken_connection(answer: list[bytes]):
    with pytest.raises(Broken):
        run([answer], asked)


def test_a_connection_that_was_closed_before_the_request_is_a_broken_connection(monkeypatch: pytest.MonkeyPatch):
    opened = ConnectionPool._open  # pyright: ignore[reportPrivateUsage]

    async def closed(client: ConnectionPool) -> Any:
        connection = await opened(client)
        connection.close()
        with pytest.raises(Broken):
            await connection.answer()
        return connection

    monkeypatch.setattr(ConnectionPool, "_open", closed)
    with pytest.raises(Broken):
        run([[WHOLE]], asked)


def test_trailers_of_a_chunked_body_do_not_change_the_response_headers():
    answer = CHUNKED[:-2] + b"x-thing: c\r\nmcp-session-id: other\r\n\r\n"
    assert run([[answer]], asked) == ((200, {"transfer-encoding": "chunked"}, b"hello"), 1)


def test_an_unsolicited_response_is_discarded():
    smuggled = WHOLE + WHOLE.replace(b"hello", b"wrong")
    assert run([[smuggled], [WHOLE], [WHOLE]], asked_twice) == ([b"hello", b"hello"], 2)


def test_a_header_cannot_hold_another():
    async def test(client: ConnectionPool, heard: list[bytes]) -> None:
        for name, value in (("a", "b\r\nc: d"), ("a", "b\0"), ("a b", "c"), ("a", "日")):
            with pytest.raises(Broken):
                async with client.request("POST", None, {name: value}):
                    pass
        await asked(client, heard)
        assert len(heard) == 1
        assert heard[0].startswith(b"POST /mcp?a=b%20c HTTP/1.1\r\nhost: 127.0.0.1:")

    run([[WHOLE]], test)


def test_a_large_answer_is_read_no_faster_than_it_is_wanted():
    size = 8 * 1024 * 1024

    async def test(client: ConnectionPool, heard: list[bytes]) -> int:
        async with client.request("POST", b"", {}) as answer:
            return sum([len(part) async for part in answer.parts()])

    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size
    assert run([[head, *[b"x" * 65_536] * (size // 65_536)]], test)[0] == size


@pytest.mark.parametrize("url", ["ftp://a/", "http://", "http://a:b/", "/mcp"])
def test_an_address_that_leads_nowhere_is_refused(url: str):
    with pytest.raises(ValueError, match=r"host|[Pp]ort"):
        ConnectionPool(url)
