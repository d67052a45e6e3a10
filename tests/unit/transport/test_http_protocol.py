"""Connections of the server: readers that are slow or gone, idle time, the end, and the context of a request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

import pytest
from uvicorn.server import ServerState

from support.http_pipe import Pipe
from tooltrue import Principal, Server
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


# -- clients that stay without asking ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "more"),
    [(GET, b"\r\n"), (b"POST /early HTTP/1.1\r\nContent-Length: 9\r\n\r\n", b"1")],
    ids=["empty lines", "the body of an answered request"],
)
def test_bytes_that_begin_no_request_keep_no_connection_open(request_: bytes, more: bytes):
    async def main() -> None:
        protocol, pipe = connected(at_once, keep_alive=0.01)
        protocol.data_received(request_)
        await turns()
        assert pipe.written.endswith(b"ok")
        protocol.data_received(more)
        async with asyncio.timeout(LIMIT):
            await pipe.closed.wait()
        protocol.connection_lost(None)

    asyncio.run(main())


def test_a_request_whose_head_ends_after_the_response_before_it_is_not_cut_off():
    async def main() -> None:
        answers = {path: asyncio.Event() for path in ("/a", "/b")}
        began = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/b":
                began.set()
            await answers[scope["path"]].wait()
            await respond(send)

        protocol, pipe = connected(app, keep_alive=0.01)
        protocol.data_received(GET.replace(b"/ ", b"/a ") + b"GET /b HTTP/1.1\r\n")
        answers["/a"].set()
        await turns()
        protocol.data_received(b"\r\n")
        await began.wait()
        await asyncio.wait([asyncio.ensure_future(pipe.closed.wait())], timeout=0.05)
        assert not pipe.is_closing()
        answers["/b"].set()
        await turns()
        assert pipe.written.count(b"ok") == 2
        protocol.connection_lost(None)

    asyncio.run(main())


CHUNKS = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("start", [b"0\r\nX: ", b"0\r\n", b"1;", b"1\r\nx\r\n0\r\nX: "])
@pytest.mark.parametrize("line", [b"x" * 1_000, b"X: y\r\n" * 100])
def test_a_trailer_or_chunk_extension_without_end_is_given_up(start: bytes, line: bytes):
    async def main() -> None:
        protocol, pipe = connected(at_once)
        protocol.data_received(CHUNKS + start)
        for _ in range(200):
            if not pipe.is_closing():
                protocol.data_received(line)
        assert pipe.is_closing()
        await turns()
        protocol.connection_lost(None)

    asyncio.run(main())


def test_a_long_body_of_small_chunks_is_served():
    size = 40_000
    answers, is_closing = answers_to(CHUNKS, *[b"1\r\nx\r\n" * 100] * (size // 100), b"0\r\nX: y\r\n\r\n")
    assert answers == [b"[POST / " + b"x" * size + b"]"]
    assert not is_closing


def test_a_connection_queues_a_limited_number_of_requests():
    async def main() -> None:
        for number in (http_protocol._MAX_QUEUED, http_protocol._MAX_QUEUED + 1):  # pyright: ignore[reportPrivateUsage]
            protocol, pipe = connected(at_once)
            protocol.data_received(GET * number)
            while protocol.state.tasks:
                await asyncio.gather(*protocol.state.tasks)
            is_served = number == http_protocol._MAX_QUEUED  # pyright: ignore[reportPrivateUsage]
            assert pipe.is_closing() is not is_served
            assert pipe.written.count(b"ok") == (number if is_served else 1)
            protocol.connection_lost(None)

    asyncio.run(main())


@pytest.mark.parametrize("closing", [False, True])
def test_a_client_that_reads_nothing_is_cut_off_and_one_that_reads_slowly_is_not(
    closing: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_protocol, "_READ_SECONDS", 0.01)

    async def main() -> None:
        protocol, pipe = connected(at_once)
        aborted = asyncio.Event()
        monkeypatch.setattr(pipe, "abort", aborted.set)
        sizes = iter([300_000, 200_000, 100_000])  # it reads, and stops to

        def unread() -> int:
            pipe.unread = next(sizes, pipe.unread)
            return pipe.unread

        monkeypatch.setattr(pipe, "get_write_buffer_size", unread)
        protocol.close() if closing else protocol.pause_writing()
        async with asyncio.timeout(LIMIT):
            await aborted.wait()
        assert pipe.unread == 100_000
        protocol.connection_lost(None)

    asyncio.run(main())


@pytest.mark.parametrize("closing", [False, True])
def test_a_client_that_has_read_enough_is_watched_only_until_the_connection_has_ended(closing: bool):
    async def main() -> None:
        protocol, _ = connected(at_once)
        protocol.pause_writing()
        if closing:
            protocol.close()
        protocol.resume_writing()
        # An older timer would end a later pause too early.
        assert (protocol._read_timer is not None) is closing  # pyright: ignore[reportPrivateUsage]
        protocol.connection_lost(None)

    asyncio.run(main())


# -- bytes that could be taken for another request ---------------------------------------------------------------------


async def describe(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the method, the path, and the body."""
    body = b""
    while (event := await receive())["type"] == "http.request":
        body += event["body"]
        if not event["more_body"]:
            break
    await respond(send, b"[%b %b %b]" % (scope["method"].encode(), scope["path"].encode(), body))


def answers_to(*pieces: bytes) -> tuple[list[bytes], bool]:
    """The bodies and statuses of all answers, and whether the connection was closed."""

    async def main() -> tuple[list[bytes], bool]:
        protocol, pipe = connected(describe)
        for piece in pieces:
            if not pipe.is_closing():
                protocol.data_received(piece)
                await turns()
        protocol.connection_lost(None)
        return re.findall(rb"(?s)HTTP/1.1 [45]..|\[.*?\]", pipe.written), pipe.is_closing()

    return asyncio.run(main())


HIDDEN = b"GET /hidden HTTP/1.1\r\n\r\n"
UPGRADE = b"POST /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_of_a_request_that_offers_an_upgrade_is_not_another_request(in_pieces: bool, chunked: bool):
    if chunked:
        head = UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)
    else:
        head, body = UPGRADE + b"Content-Length: %d\r\n\r\n" % len(HIDDEN), HIDDEN
    pieces = [head, body, GET] if in_pieces else [head + body + GET]
    assert answers_to(*pieces) == ([b"[POST /a " + HIDDEN + b"]", b"[GET / ]"], False)


def test_a_request_that_offers_an_upgrade_does_not_disturb_the_one_before_it():
    assert answers_to(GET + UPGRADE + b"\r\n" + GET)[0] == [b"[GET / ]", b"[POST /a ]", b"[GET / ]"]


def test_a_request_for_a_tunnel_is_refused_and_its_body_is_not_another_request():
    head = b"CONNECT /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN)
    assert answers_to(head, HIDDEN) == answers_to(head + HIDDEN) == ([b"HTTP/1.1 400"], True)


def test_a_trailer_that_ends_the_connection_for_the_parser_ends_it_for_the_client():
    assert answers_to(CHUNKS + b"0\r\nConnection: close\r\n\r\n", GET) == ([b"[POST / ]"], True)


@pytest.mark.parametrize("path", [b"/early", b"/"])
def test_a_request_whose_body_was_not_called_for_ends_the_connection(path: bytes):
    """The next bytes may be that body, or another request."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (respond(send) if scope["path"] == "/early" else describe(scope, receive, send))

    async def main() -> bool:
        protocol, pipe = connected(app)
        protocol.data_received(b"POST %b HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n" % path)
        await turns()
        if path == b"/":
            assert pipe.written == b"HTTP/1.1 100 Continue\r\n\r\n"
            protocol.data_received(b"x")
            await turns()
        assert pipe.is_closing() is (b"connection: close" in pipe.written)
        protocol.connection_lost(None)
        return pipe.is_closing()

    assert asyncio.run(main()) is (path == b"/early")


# -- requests with a known head ----------------------------------------------------------------------------------------

META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}}


def call(tool: str, *more: str) -> bytes:
    params = {"name": tool, "arguments": {}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Mcp-Name: {tool}",
        "Mcp-Method: tools/call",
        f"MCP-Protocol-Version: {versions.LATEST}",
        *more,
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


def known_after(*requests: bytes, authenticate: Any = None) -> list[int]:
    """The number of known heads after each of the requests."""

    async def main() -> list[int]:
        server = Server("t", version="1", audit=False, authenticate=authenticate)

        @server.tool(effect="read")
        async def wait() -> str:
            """Wait not."""
            return ""

        app = server.http_app(signals=False)
        async with app.serving():
            protocol, _ = connected(app)
            counts = list[int]()
            for request in requests:
                protocol.data_received(request)
                await turns()
                counts.append(len(protocol._known))  # pyright: ignore[reportPrivateUsage]
            protocol.connection_lost(None)
        return counts

    return asyncio.run(main())


def test_a_connection_knows_a_limited_number_of_heads():
    heads = [call("wait", f"X: {number}") for number in range(100)]
    most = http_protocol._MAX_KNOWN  # pyright: ignore[reportPrivateUsage]
    assert known_after(*heads) == [*range(1, most + 1)] * 3 + [*range(1, 100 - 3 * most + 1)]


def test_an_event_loop_may_pass_its_bytes_in_an_array():
    """So does that of CPython 3.11 on Windows."""
    request = cast(bytes, bytearray(call("wait")))
    assert known_after(request, request) == [1, 1]


def test_a_head_of_many_fields_is_not_known():
    assert known_after(call("wait", *[f"X{number}: " for number in range(100)])) == [0]


def test_no_head_of_a_client_that_was_not_let_in_is_known():
    def authenticate(carrier: Any) -> Principal | None:
        return Principal("ada") if carrier.headers.get("authorization") == "Bearer a" else None

    good = call("wait", "Authorization: Bearer a")
    assert known_after(good, call("wait"), good, authenticate=authenticate) == [1, 0, 1]


def answered(status: int, headers: list[tuple[bytes, bytes]], request: bytes = GET) -> bytes:
    """The bytes of two responses with a body, one after the other."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"HTTP/1.1 200 OK"})

    async def main() -> bytes:
        protocol, pipe = connected(app)
        protocol.data_received(request * 2)
        await turns()
        protocol.connection_lost(None)
        return bytes(pipe.written)

    return asyncio.run(main())


@pytest.mark.parametrize("status", [204, 304])
@pytest.mark.parametrize("headers", [[], [(b"content-length", b"15")], [(b"transfer-encoding", b"chunked")]])
def test_a_response_without_a_body_is_not_followed_by_one(status: int, headers: list[tuple[bytes, bytes]]):
    """A client would take it for the beginning of the next response."""
    written = answered(status, headers)
    assert b"200 OK" not in written
    assert written.count(b"HTTP/1.1 %d " % status) == 2 == written.count(b"\r\n\r\n")
    assert written.endswith(b"\r\n\r\n")


def test_twin_a_response_with_a_body_has_it():
    assert answered(200, [(b"content-length", b"15")]).count(b"\r\n\r\nHTTP/1.1 200 OK") == 2


def test_a_response_has_one_framing():
    """Programs do not agree on the one that counts."""
    written = answered(200, [(b"content-length", b"3"), (b"transfer-encoding", b"chunked")])
    assert b"content-length" not in written
    assert written.count(b"f\r\nHTTP/1.1 200 OK\r\n0\r\n\r\n") == 2


@pytest.mark.parametrize("status", [100, 101, 199, 600, 99_999])
def test_a_response_is_none_that_another_one_follows(status: int):
    assert answered(status, []) == b""


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"http://evil.example/mcp", "evil.example"),
        (b"http://evil.example:81/mcp", "evil.example:81"),
        (b"http://[::1]:8000/mcp", "[::1]:8000"),
        (b"/mcp", "localhost"),
    ],
)
def test_b44_the_host_of_a_whole_url_counts_and_not_the_header(target: bytes, host: str):
    hosts: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        hosts.append(dict(scope["headers"])[b"host"].decode())
        assert scope["path"] == "/mcp"
        await respond(send)

    async def main() -> None:
        protocol, _ = connected(app)
        protocol.data_received(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
        await turns()
        protocol.connection_lost(None)

    asyncio.run(main())
    assert hosts == [host]
