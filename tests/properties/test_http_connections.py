"""The connections of the server against uvicorn's own: equal bytes are answered with equal bytes.

Both get the same requests, valid ones and others, in the same pieces, apart from requests for another protocol or a
tunnel, and bodies that were not called for: uvicorn may take what follows these for a request.

And an application that remembers heads answers as it does when it looks at each of them anew.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

import uvicorn
from hypothesis import example, given
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from support.http_pipe import Pipe
from tooltrue import Server
from tooltrue.protocol import modern, versions
from tooltrue.transport.http_protocol import HttpProtocol
from tooltrue.transport.http_server import HttpApp

DATE = [(b"date", b"Thu, 01 Jan 1970 00:00:00 GMT")]
TURNS = 30  # of the event loop: more than any exchange here needs


class Open:
    """Admits every connection."""

    def enter(self, transport: asyncio.Transport) -> str:
        return "anyone"

    def leave(self, caller: str) -> None: ...


def state() -> ServerState:
    state = ServerState()
    state.default_headers = DATE
    return state


def ours(app: Any) -> Any:
    return HttpProtocol(Open(), app, state(), keep_alive=30, app_state={})


def uvicorns(app: Any) -> Any:
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none", access_log=False, interface="asgi3")
    config.load()
    return HttpToolsProtocol(config, state(), {})


async def exchange(protocol: Any, pieces: list[bytes]) -> tuple[bytes, bool]:
    """Feed the pieces, with time for the application after each, and lose the connection. Returns what was written,
    and whether the server has closed the connection."""
    pipe = Pipe()
    protocol.connection_made(cast(Any, pipe))
    for piece in pieces:
        if pipe.is_closing():
            break
        protocol.data_received(piece)
        for _ in range(TURNS):
            await asyncio.sleep(0)
    closed = pipe.is_closing()
    protocol.connection_lost(None)
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert not asyncio.all_tasks() - {asyncio.current_task()}
    return pipe.written, closed


# -- against uvicorn ---------------------------------------------------------------------------------------------------


class Application:
    """An ASGI application that answers in the way that the path names, and remembers what it has seen."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        way = scope["path"].strip("/")
        names = ("method", "path", "raw_path", "query_string", "http_version", "client", "server", "scheme")
        self.seen.append([scope[name] for name in names])
        body = b"" if way in ("early", "halt") else await self.body(receive)
        # A trailer is no header: uvicorn adds it to them.
        self.seen.append([list(field) for field in scope["headers"] if field[0] != b"trailer-field"])
        self.seen.append(body)
        match way:
            case "stream":
                await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Name", b"v")]})
                for word in (b"one", b"", b"two"):
                    await send({"type": "http.response.body", "body": word, "more_body": True})
                await send({"type": "http.response.body"})
            case "empty":
                await send({"type": "http.response.start", "status": 204, "headers": []})
                await send({"type": "http.response.body", "body": b""})
            case "last":
                headers = [(b"content-length", b"2"), (b"Connection", b"close")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": b"ok"})
            case "crash":
                raise ValueError("crash")
            case "halt":
                pass
            case "halfway":
                await send({"type": "http.response.start", "status": 299, "headers": [(b"content-length", b"5")]})
                await send({"type": "http.response.body", "body": b"12", "more_body": True})
            case "large":
                await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"70000")]})
                await send({"type": "http.response.body", "body": b"x" * 70_000})
            case _:
                text = b"%d of %b" % (len(body), scope["method"].encode())
                headers = [(b"content-length", b"%d" % len(text)), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": text})

    async def body(self, receive: Any) -> bytes:
        parts = b""
        while (event := await receive())["type"] == "http.request":
            parts += event["body"]
            if not event["more_body"]:
                return parts
        return parts + b"(gone)"


METHODS = ["GET", "GET", "GET", "HEAD", "POST", "POST", "POST", "DELETE", "BREW", "PRI"]
PATHS = [
    "/",
    "/",
    "/early",
    "/stream",
    "/empty",
    "/last",
    "/crash",
    "/halt",
    "/halfway",
    "/large",
    "/a%20b?q=1",
    "*",
    "x",
]
FIELDS = [
    "Host: a",
    "host:a",
    "Accept: */*",
    "Connection: close",
    "Connection: keep-alive",
    "Connection: upgrade",
    "Upgrade: websocket",
    "Expect: 100-continue",
    "X: folded\r\n line",
    "X : space",
    "Trailing: \t spaces \t",
    "Content-Length: 1",
    "Content-Length: 1, 1",
    "Content-Length: -1",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: identity",
    "no colon",
    "X: \x01",
    "X: \xff",
    ": nameless",
]


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """A request: nearly all parts are of the usual kinds, some are not."""
    version = draw(st.sampled_from(["1.1"] * 9 + ["1.0", "2.0", "1.5"]))
    fields = draw(st.lists(st.sampled_from(FIELDS), max_size=2 if draw(st.integers(0, 3)) == 0 else 0))
    body = draw(st.binary(max_size=40))
    framing = draw(st.sampled_from(["length", "length", "length", "chunks", "none"]))
    if framing == "length":
        fields.insert(draw(st.integers(0, len(fields))), f"{draw(_LENGTH)}: {len(body)}")
    elif framing == "chunks":
        fields.append("Transfer-Encoding: chunked")
        trailer = b"Trailer-Field: x\r\n" if draw(st.booleans()) else b""
        chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:9], body[9:]) if part]
        body = b"".join(chunks) + b"0\r\n" + trailer + b"\r\n"
    else:
        body = b""
    path = draw(st.sampled_from(PATHS))
    if version == "1.0" and path == "/stream":
        path = "/"  # uvicorn would send chunks, which this client cannot read
    if "Expect: 100-continue" in fields and path in ("/early", "/halt"):
        path = "/"  # uvicorn would keep the connection
    if "Connection: upgrade" in fields and "Upgrade: websocket" in fields:
        fields.remove("Upgrade: websocket")
    line = f"{draw(st.sampled_from(METHODS))} {path} HTTP/{version}"
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1") + body


_LENGTH = st.sampled_from(["Content-Length", "content-length", "CONTENT-LENGTH"])


@st.composite
def conversations(draw: st.DrawFn, request: st.SearchStrategy[bytes]) -> list[bytes]:
    """Requests, one a piece or cut at random."""
    sent = draw(st.lists(request, min_size=1, max_size=4))
    if draw(st.booleans()):
        return sent
    text = b"".join(sent)
    cuts = sorted(draw(st.sets(st.integers(1, len(text)), max_size=5)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if start < end]


def run(make: Callable[[Any], Any], app: Any, pieces: list[bytes]) -> Any:
    async def main() -> Any:
        return await exchange(make(app), pieces)

    return asyncio.run(main())


@given(conversations(requests()))
@example([b"GET / HTTP/1.1\r\n\r\n" * 3])
@example([b"POST /early HTTP/1.1\r\nContent-Length: 9\r\n\r\n1", b"23456789GET / HTTP/1.1\r\n\r\n"])
@example([b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", b"abc"])
@example([b"GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n"])
def test_a_connection_answers_as_that_of_uvicorn(pieces: list[bytes]):
    its, own = Application(), Application()
    assert run(ours, own, pieces) == run(uvicorns, its, pieces)
    assert own.seen == its.seen


# -- known heads -------------------------------------------------------------------------------------------------------


def served() -> Server:
    server = Server("t", version="1", audit=False, authenticate=None)

    @server.tool(effect="read")
    async def echo(text: str) -> str:
        """Repeat a text."""
        return text

    return server


META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}}


def call(text: str, **more: Any) -> bytes:
    params = {"name": "echo", "arguments": {"text": text}, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **more}).encode()


BODIES = st.one_of(
    *[st.text(max_size=30).map(call)] * 4,
    st.sampled_from([b"", b"{", b"[]", call("x", id=None), call("x", method="tools/list"), call("x" * 200_000)]),
    st.sampled_from([call("x").replace(b"echo", name) for name in (b"none", b"e", b"ECHO")]),
)
HEADS: dict[str, list[str]] = {
    "Host": ["localhost", "localhost:80", "elsewhere", ""],
    "Content-Type": ["application/json", "application/json; charset=utf-8", "text/plain"],
    "Accept": ["application/json, text/event-stream"],
    "MCP-Protocol-Version": [versions.LATEST, "2025-06-18", "1"],
    "Mcp-Method": ["tools/call", "tools/list"],
    "Mcp-Name": ["echo", "none", "=?base64?ZWNobw==?="],
    "Origin": ["http://localhost", "http://elsewhere"],
    "X-Forwarded-For": ["10.0.0.1", "127.0.0.1"],
    "Authorization": ["Bearer x"],
    "Content-Encoding": ["identity", "gzip"],
}
USUAL = ["Host", "Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]


OFFER = "Connection: Upgrade\r\nUpgrade: h2c"
RARELY = st.sampled_from([False] * 7 + [True])


@st.composite
def heads(draw: st.DrawFn) -> str:
    """The fields of a head, and the place of its length. Most heads are valid."""
    usual = {name: HEADS[name][0] for name in USUAL}
    if draw(RARELY):
        name = draw(st.sampled_from(sorted(HEADS)))
        usual[name] = draw(st.sampled_from(HEADS[name]))
    fields = [f"{name}: {value}" for name, value in usual.items()]
    fields.insert(draw(st.integers(0, len(fields))), f"{draw(_LENGTH)}: LENGTH")
    if draw(RARELY):
        fields.append(draw(st.sampled_from([*fields, "X: Content-Length: 1", "Content-Length : LENGTH", OFFER])))
    path = draw(st.sampled_from(["/mcp"] * 20 + ["/mcp/", "/mcp?access_token=x", "/healthz", "/"]))
    return "\r\n".join([f"POST {path} HTTP/1.1", *fields, "", ""])


@st.composite
def repeating(draw: st.DrawFn) -> list[bytes]:
    """Requests with few heads, each of which comes several times with different bodies."""
    few = draw(st.lists(heads(), min_size=1, max_size=2))
    sent: list[bytes] = [b"\r\n"] if draw(RARELY) else []
    for _ in range(draw(st.integers(2, 6))):
        body = draw(BODIES)
        length = draw(st.sampled_from([str(len(body))] * 30 + [f"0{len(body)}", str(len(body) + 1), "x"]))
        request = draw(st.sampled_from(few)).replace("LENGTH", length).encode() + body
        cut = draw(st.integers(1, len(request) - 1)) if draw(RARELY) else 0
        if sent and draw(RARELY):
            sent[-1] += request
        else:
            sent += [request[:cut], request[cut:]] if cut else [request]
    return sent


class Counted:
    """An application that remembers heads, and how many requests took the short way."""

    def __init__(self, app: HttpApp) -> None:
        self._app = app
        self.known = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    def answerer(self, scope: Any) -> Any:
        if (answer := self._app.answerer(scope)) is None:
            return None

        async def counted(length: bytes, exchange: Any) -> None:
            self.known += 1
            await answer(length, exchange)

        return counted


def answered(pieces: list[bytes], *, remembers: bool) -> tuple[Any, int]:
    """The bytes that are written for the pieces, and how many of them took the short way."""

    async def main() -> tuple[Any, int]:
        app = served().http_app(signals=False)
        counted = Counted(app)
        async with app.serving():
            written = await exchange(ours(counted if remembers else app.__call__), pieces)
        return written, counted.known

    return asyncio.run(main())


USUAL_HEAD = "\r\n".join(
    ["POST /mcp HTTP/1.1", *(f"{name}: {HEADS[name][0]}" for name in USUAL), "Content-Length: LENGTH", "", ""]
)


def usual(body: bytes) -> bytes:
    return USUAL_HEAD.replace("LENGTH", str(len(body))).encode() + body


@given(repeating())
@example([usual(call("a")), usual(call("bcd")), usual(call("e" * 100))])
@example([usual(call("a")) + usual(call("b")), usual(call("c"))])
@example([usual(call("a")).replace(b"\r\n", f"\r\n{OFFER}\r\n".encode(), 1)] * 3)
def test_a_known_head_is_answered_as_an_unknown_one(pieces: list[bytes]):
    assert answered(pieces, remembers=True)[0] == answered(pieces, remembers=False)[0]


def test_a_head_is_known_from_its_second_time_on_with_any_length():
    written, known = answered([usual(call("x" * size)) for size in (1, 10, 100, 1_000)], remembers=True)
    assert known == 3
    assert written[0].count(b"HTTP/1.1 200 OK") == 4


def test_a_response_is_written_in_one_piece():
    async def main() -> int:
        app = served().http_app(signals=False)
        async with app.serving():
            pipe, protocol = Pipe(), ours(app)
            protocol.connection_made(cast(Any, pipe))
            for size in (1, 10):
                protocol.data_received(usual(call("x" * size)))
                for _ in range(TURNS):
                    await asyncio.sleep(0)
            protocol.connection_lost(None)
        return pipe.writes

    assert asyncio.run(main()) == 2
