"""A request on an idle connection is sent without a task. The caller learns the same as with one."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.event_loops import each_event_loop
from tooltrue.errors import ConnectionLost
from tooltrue.jsonrpc.messages import Id, Notification, RpcRequest
from tooltrue.jsonrpc.peer import NotificationChannel, Peer
from tooltrue.testing.state import LIMIT
from tooltrue.transport.event_streams import events
from tooltrue.transport.http_client import HttpLink
from tooltrue.transport.http_connection import HttpResponse
from tooltrue.transport.lines import InputPace
from tooltrue.transport.urls import shown_url

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.usefixtures("each_event_loop")

HEADERS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo"}
CALLER: ContextVar[str] = ContextVar("caller", default="nobody")


class Silent:
    """Notes in which context notifications come."""

    takes_batches = True

    def __init__(self) -> None:
        self.contexts: list[str] = []

    async def on_request(self, request: RpcRequest, exchange: NotificationChannel) -> bytes:
        return b"{}"

    def on_notification(self, notification: Notification) -> None:
        self.contexts.append(CALLER.get())


class WithTasks(HttpLink):
    """The reference: each request has a task."""

    def _send_plain(self, frame: bytes, id: Id, headers: Mapping[str, str]) -> bool:
        return False


def answer(body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def result(id: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":{"a":1}}' % id


EVENTS = b'data: {"jsonrpc":"2.0","method":"told"}\n\ndata: %b\n\n' % result(2)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
)
ERROR = b'{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}'
ANSWERS: dict[str, bytes] = {
    "a result": answer(result(2)),
    "a result with a charset": answer(result(2), "Application/JSON; charset=utf-8"),
    "a result in chunks": CHUNKED % (len(result(2)), result(2)),
    "a result after early hints": b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + answer(result(2)),
    "a result, and more": answer(result(2)) + b"more",
    "two results": answer(result(2)) * 2,
    "a result in a session": answer(result(2), more="mcp-session-id: s\r\n"),
    "a result of another request": answer(result(9)),
    "an error": answer(ERROR),
    "an error with its status": answer(ERROR, status="400 Bad"),
    "a status": answer(b"{}", status="503 Busy"),
    "a redirect": answer(b"{}", status="307 There", more="location: https://example.org/\r\n"),
    "accepted": answer(b"", status="202 Accepted"),
    "no body": answer(b""),
    "no JSON": answer(b"{"),
    "a duplicate key": answer(b'{"jsonrpc":"2.0","id":2,"result":{"a":1,"a":2}}'),
    "a page": answer(b"<p>", "text/html"),
    "events": answer(EVENTS, "text/event-stream"),
}
ENDS: dict[str, bytes] = {
    "a result, and the end": answer(result(2), more="connection: close\r\n"),
    "a result up to the end": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + result(2),
    "a result without its last byte": answer(result(2))[:-1],
    "half a head": answer(result(2))[:20],
    "no HTTP": b"hello",
    "nothing": b"",
}
"""Answers after which the server closes."""


class Heard:
    """The heads of the requests that a server has heard; ``second`` is set with the second."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.second = asyncio.Event()

    def note(self, head: bytes) -> None:
        self.heads.append(head)
        if len(self.heads) == 2:
            self.second.set()


@contextlib.asynccontextmanager
async def serving(answers: Iterable[list[bytes]]) -> AsyncIterator[tuple[str, Heard, list[asyncio.Event]]]:
    """A server that answers each request with some writes, and closes after an empty one. Yields its URL, what it
    hears, and for each connection the event of its end."""
    left, heard, ends = iter(answers), Heard(), list[asyncio.Event]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends.append(end := asyncio.Event())
        try:
            while True:
                heard.note(head := await reader.readuntil(b"\r\n\r\n"))
                parts = next(left)
                length = re.search(rb"content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                for part in parts:
                    if not part:
                        return
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            end.set()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp?a=b", heard, ends
    finally:
        server.close()


def request(peer: Peer, link: HttpLink, headers: Mapping[str, str] = HEADERS, **limits: Any) -> asyncio.Future[Any]:
    return asyncio.ensure_future(
        peer.request(
            "tools/call",
            {"name": "écho"},
            timeout=LIMIT,
            send=lambda frame, id: link.send(frame, id, headers),
            abandoned=link.abandon,
            **limits,
        )
    )


def told(kind: type[HttpLink], parts: list[bytes]) -> tuple[Any, ...]:
    """All that the client learns, and the server hears, if these bytes answer the second of three requests."""

    async def main() -> tuple[Any, ...]:
        silent = Silent()
        answers = [[answer(result(1))], parts, [answer(result(3))], [b""]]
        async with asyncio.timeout(LIMIT), serving(answers) as (url, heard, ends):
            link = kind(url, headers={"X-Own": "ours"})
            peer = Peer(lambda frame: None, silent, unreadable=lambda error: None)
            await link.open(peer)
            came: list[str] = []
            for number in range(3):
                CALLER.set(f"caller {number}")
                [outcome] = await asyncio.gather(request(peer, link), return_exceptions=True)
                came.append(f"{type(outcome)} {outcome}".replace(shown_url(url), "URL"))
            await peer.close()
            await link.close()
            port = url.split(":")[2].split("/")[0].encode()
            return came, silent.contexts, [head.replace(port, b"PORT") for head in heard.heads], len(ends)

    return asyncio.run(main())


@pytest.mark.parametrize("case", [*ANSWERS, *ENDS])
def test_an_answer_without_a_task_is_told_as_one_with_a_task(case: str):
    parts = [ANSWERS[case]] if case in ANSWERS else [ENDS[case], b""]
    assert told(HttpLink, parts) == told(WithTasks, parts)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([*ANSWERS, *ENDS]), st.lists(st.integers(1, 250), max_size=4, unique=True))
def test_an_answer_in_parts_is_told_as_one_with_a_task(case: str, cuts: list[int]):
    whole = ANSWERS[case] if case in ANSWERS else ENDS[case]
    edges = [0, *sorted(cut for cut in cuts if cut < len(whole)), len(whole)]
    parts = [whole[start:end] for start, end in pairwise(edges) if start < end]
    parts += [b""] if case in ENDS else []
    assert told(HttpLink, parts) == told(WithTasks, parts)


@pytest.mark.parametrize("ending", ["cancelled", "late", "closed"])
def test_a_request_that_is_given_up_closes_its_connection(ending: str):
    async def main() -> None:
        answers = [[answer(result(1))], [answer(b"")[:9]], [answer(result(3))]]
        async with asyncio.timeout(LIMIT), serving(answers) as (url, heard, ends):
            link = HttpLink(url)
            peer = Peer(lambda frame: None, Silent())
            await link.open(peer)
            await request(peer, link)
            given_up = request(peer, link, total=0.02 if ending == "late" else LIMIT)
            await heard.second.wait()
            if ending == "cancelled":
                given_up.cancel()
            if ending == "closed":
                await peer.close()
                await link.close()
            await asyncio.gather(given_up, return_exceptions=True)
            await ends[0].wait()
            if ending != "closed":
                assert await request(peer, link) == {"a": 1}
                assert len(ends) == 2
            await link.close()

    asyncio.run(main())


def test_the_remembered_heads_have_a_bound_and_hold_no_arguments():
    async def main() -> None:
        answers = [[answer(result(number))] for number in range(1, 400)]
        async with asyncio.timeout(LIMIT), serving(answers) as (url, heard, _):
            link = HttpLink(url)
            peer = Peer(lambda frame: None, Silent())
            await link.open(peer)
            await request(peer, link)
            for _ in range(2):
                await request(peer, link, {**HEADERS, "mcp-param-city": "Hiroshima"})
            assert heard.heads[-1].count(b"mcp-param-city: Hiroshima") == 1
            assert "Hiroshima" not in str(link._heads)  # pyright: ignore[reportPrivateUsage]
            for number in range(300):
                await request(peer, link, {**HEADERS, "mcp-name": f"tool_{number}"})
                assert b"mcp-name: tool_%d\r\n" % number in heard.heads[-1]
            assert 0 < len(link._heads) <= 256  # pyright: ignore[reportPrivateUsage]
            await peer.close()
            await link.close()

    asyncio.run(main())


def test_a_header_that_cannot_be_sent_fails_its_request_alone():
    async def main() -> None:
        answers = [[answer(result(1))], [answer(result(3))]]
        async with asyncio.timeout(LIMIT), serving(answers) as (url, heard, _):
            link = HttpLink(url)
            peer = Peer(lambda frame: None, Silent())
            await link.open(peer)
            await request(peer, link)
            with pytest.raises(ConnectionLost, match="mcp-name"):
                await request(peer, link, {**HEADERS, "mcp-name": "a\r\nb: c"})
            assert await request(peer, link) == {"a": 1}
            assert len(heard.heads) == 2
            await peer.close()
            await link.close()

    asyncio.run(main())


class EagerAnswer(HttpResponse):
    """A stream of events that are all there already."""

    def __init__(self, count: int) -> None:
        self.status = 200
        self.headers = {"content-type": "text/event-stream"}
        self._count = count

    async def parts(self) -> AsyncIterator[bytes]:
        for _ in range(self._count):
            yield b"data: -\n\n"


def test_a_stream_that_always_has_another_event_leaves_the_event_loop_to_others() -> None:
    async def main() -> int:
        turns, is_over = 0, False

        async def count() -> None:
            nonlocal turns
            while not is_over:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        async for _ in events(EagerAnswer(2_000), "http://127.0.0.1/", 1_000, InputPace(1e6)):
            pass
        is_over = True
        await counting
        return turns

    assert asyncio.run(main()) >= 19


def test_a_stream_is_read_at_its_pace() -> None:
    async def main() -> float:
        began = asyncio.get_running_loop().time()
        async for _ in events(EagerAnswer(15), "http://127.0.0.1/", 1_000, InputPace(100 / 8)):
            pass
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(main()) >= 0.15
