"""A client of HTTP+SSE (2024-11-05), and its behaviour with faulty and hostile servers."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.clock import skip
from support.wire import servers
from support.wire.foreign import Answering, Foreign, Heard, Reply, foreign
from support.wire.mounting import Mounts
from tooltrue import Client
from tooltrue.client.answers import Elicitation
from tooltrue.errors import ConfigurationError, ConnectionLost, TooltrueError, TransportError
from tooltrue.testing.state import LIMIT
from tooltrue.transport import sse_client
from tooltrue.transport.carrier import Refusal, TransportLink
from tooltrue.transport.http_client import HttpTarget
from tooltrue.transport.sse_client import endpoint_of

INITIALIZED = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
DONE = {"content": [{"type": "text", "text": "done"}], "isError": False}

Act = Callable[[Client], Awaitable[Any]]


class Old:
    """A minimal server of 2024-11-05. ``endpoint`` is the first event of its streams; ``refusal`` is the status for a
    POST to the URL of the stream."""

    def __init__(self, endpoint: str = "/messages", refusal: int = 405) -> None:
        self.endpoint = endpoint
        self.refusal = refusal
        self.stream: Reply | None = None
        self.over = asyncio.Event()

    async def begin(self, reply: Reply) -> None:
        await reply.named("endpoint", self.endpoint)

    async def posted(self, request: Heard, reply: Reply) -> None:
        await reply.body(202, b"Accepted")
        if request.method == "initialize":
            await self.say({"id": request.said["id"], "result": INITIALIZED})
        elif "id" in request.said and "method" in request.said:
            await self.say({"id": request.said["id"], "result": DONE})

    async def say(self, message: Any) -> None:
        assert self.stream is not None
        await self.stream.event(message)

    async def __call__(self, request: Heard, reply: Reply) -> None:
        if request.verb == "GET":
            await reply.stream()
            self.stream = reply
            await self.begin(reply)
            await self.over.wait()
        elif request.path.startswith("/messages"):
            await self.posted(request, reply)
        else:
            await reply.body(self.refusal)


async def call(client: Client) -> str:
    return (await client.call_tool("t")).text


def run(answer: Answering, act: Act = call, **settings: Any) -> tuple[Any, Foreign]:
    async def main() -> tuple[Any, Foreign]:
        async with asyncio.timeout(LIMIT), foreign(answer) as server, Client(server.url, **settings) as client:
            return await act(client), server

    return asyncio.run(main())


def refused(answer: Answering, **settings: Any) -> tuple[TooltrueError, list[Heard]]:
    """The error of a client that cannot be opened, and the requests that it sent."""

    async def main() -> tuple[TooltrueError, list[Heard]]:
        async with asyncio.timeout(LIMIT), foreign(answer) as server:
            with pytest.raises(TooltrueError) as caught:
                async with Client(server.url, **settings):
                    pytest.fail("it is open")
            return caught.value, server.heard

    return asyncio.run(main())


# -- finding it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 405, 406, 410, 415, 422])
def test_it_is_tried_last_where_both_ways_of_streamable_http_are_refused(status: int):
    said, server = run(Old(refusal=status))
    assert said == "done"
    assert [(request.verb, request.method) for request in server.heard] == [
        ("POST", "server/discover"),
        ("POST", "initialize"),
        ("GET", ""),
        ("POST", "initialize"),
        ("POST", "notifications/initialized"),
        ("POST", "tools/call"),
    ]


@pytest.mark.parametrize("status", [401, 403, 407, 408, 429, 500, 503])
def test_a_refusal_that_says_nothing_of_the_transport_is_the_answer(status: int):
    error, heard = refused(Old(refusal=status))
    assert error.code == "TT5007"
    assert {request.verb for request in heard} == {"POST"}


@pytest.mark.parametrize("setting", [{"transport": "http"}, {"revision": "2026-07-28"}])
def test_it_is_not_tried_where_something_else_is_wanted(setting: dict[str, str]):
    error, heard = refused(Old(), **setting)
    assert error.code == "TT5007"
    assert {request.verb for request in heard} == {"POST"}


def test_a_server_that_has_neither_is_told_by_its_first_refusal():
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.body(405 if request.verb == "POST" else 406)

    error, heard = refused(answer)
    assert "HTTP status 405" in str(error)
    assert heard[-1].verb == "GET"


def test_where_it_is_asked_for_nothing_else_is_tried():
    said, server = run(Old(), transport="sse")
    assert said == "done"
    assert server.heard[0].verb == "GET"
    assert server.methods()[1] == "initialize"
    with pytest.raises(ConfigurationError):
        Client("http://127.0.0.1:1/", transport="carrier pigeon")  # pyright: ignore[reportArgumentType]


def test_a_redirect_of_the_stream_is_not_followed():
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.body(307, location="http://elsewhere.test/sse")

    error, heard = refused(answer, transport="sse")
    assert error.code == "TT5031"
    assert len(heard) == 1


# -- the endpoint ------------------------------------------------------------------------------------------------------

URL = "https://srv.test:8443/a/sse?x=1"
TAKEN = {
    "/messages?session=1": "https://srv.test:8443/messages?session=1",
    "messages": "https://srv.test:8443/a/messages",
    "../m": "https://srv.test:8443/m",
    "?session=1": "https://srv.test:8443/a/sse?session=1",
    "https://srv.test:8443/m": "https://srv.test:8443/m",
    "HTTPS://SRV.test:8443/m": "https://srv.test:8443/m",
    "//srv.test:8443/m": "https://srv.test:8443/m",
    "/m?next=https://evil.test/": "https://srv.test:8443/m?next=https://evil.test/",
    "/m//evil.test": "https://srv.test:8443/m//evil.test",
    "/@evil.test/m": "https://srv.test:8443/@evil.test/m",
}
FOREIGN = [
    "https://evil.test/m",
    "https://evil.test:8443/m",
    "//evil.test/m",
    "//evil.test:8443/m",
    "///evil.test/m" * 400,
    "https://srv.test/m",
    "https://srv.test:443/m",
    "https://srv.test:8444/m",
    "//srv.test/m",
    "http://srv.test:8443/m",
    "https://srv.test.:8443/m",
    "https://srv.test.evil.test:8443/m",
    "https://evil.srv.test:8443/m",
    "https://srv.test:8443@evil.test/m",
    "https://user@srv.test:8443/m",
    "https://user:word@srv.test:8443/m",
    "https://@evil.test:8443/m",
    "//user@srv.test:8443/m",
    "\\\\evil.test\\m",
    "/\\evil.test/m",
    "https:\\\\evil.test/m",
    "/m\tx",
    " https://evil.test/m",
    "/m x",
    "/m\x00",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/plain,x",
    "ftp://srv.test:8443/m",
    "ws://srv.test:8443/m",
    "mailto:a@srv.test",
    "https://[::1]:8443/m",
    "https://[::1/m",
    "https://srv.test:99999/m",
    "https://srv.test:x/m",
    "https://127.0.0.1:8443/m",
    "https://srv\u3002test:8443/m",
    "https:///m",
    "https:m",
    "https:/m",
    "///evil.test/m",
    "",
    "   ",
    "/" + "m" * 5000,
]


@pytest.mark.attack("B80")
@pytest.mark.parametrize("said", TAKEN)
def test_b80_twin_an_endpoint_of_the_same_origin_is_taken(said: str):
    assert endpoint_of(URL, said) == TAKEN[said]


@pytest.mark.attack("B80")
@pytest.mark.parametrize("said", FOREIGN)
def test_b80_an_endpoint_of_any_other_origin_is_refused(said: str):
    with pytest.raises(ConnectionLost) as caught:
        endpoint_of(URL, said)
    assert caught.value.code == "TT5032"


def test_a_user_in_the_url_goes_to_the_endpoint_of_the_same_host_and_stands_in_no_error():
    assert endpoint_of("https://me:word@srv.test/sse", "/m") == "https://me:word@srv.test/m"
    with pytest.raises(ConnectionLost) as caught:
        endpoint_of("https://me:word@srv.test/sse", "//evil.test/m")
    assert "word" not in str(caught.value)


@pytest.mark.attack("B80")
@pytest.mark.parametrize("way", ["headers", "auth"])
@pytest.mark.parametrize("form", ["http://{}/m", "//{}/m", "http://x@{}/m"])
def test_b80_no_token_goes_to_an_endpoint_elsewhere(form: str, way: str):
    """One server names another as its endpoint. The other server receives no request."""

    async def main() -> tuple[str, list[Heard], list[Heard]]:
        async with asyncio.timeout(LIMIT), foreign(Old()) as evil:
            place = evil.url.removeprefix("http://").removesuffix("/mcp")
            async with foreign(Old(form.format(place))) as server:
                given: Any = {"headers": {"Authorization": "Bearer t"}} if way == "headers" else {"auth": Token()}
                with pytest.raises(TransportError) as caught:
                    async with Client(server.url, **given):
                        pytest.fail("it is open")
                return caught.value.code, server.heard, evil.heard

    code, near, far = asyncio.run(main())
    assert (code, far) == ("TT5032", [])
    assert near[-1].headers["authorization"] == "Bearer t"


class Token:
    """Credentials with the same token for every server."""

    def for_server(self, url: str) -> Token:
        return self

    async def headers(self, method: str) -> dict[str, str]:
        return {"authorization": "Bearer t"}

    def ready(self) -> dict[str, str]:
        return {"authorization": "Bearer t"}

    async def challenged(self, refusal: Refusal) -> bool:
        return False


@pytest.mark.attack("B80")
def test_b80_twin_a_token_goes_to_the_stream_and_to_the_endpoint_of_its_server():
    _, server = run(Old(), auth=Token())
    assert {request.headers.get("authorization") for request in server.heard} == {"Bearer t"}
    assert {request.path for request in server.heard} == {"/mcp", "/messages"}


SECOND = [
    *("messages/x", "/messages;x", "/messages%20", "/%6dessages"),
    "/messages?other", "/messages/", "/Messages", "/other", "messages2", "./other",
    "../messages2", "//evil.test/m",
    "http://evil.test/m", "https://evil.test/m", "http://127.0.0.1:1/m", "javascript:x", "file:///etc/passwd",
    "data:,x", "", " ", "?x", "#",
    "/messages\x00", "http://u@evil.test/m",
]  # fmt: skip


@pytest.mark.attack("B81")
@pytest.mark.parametrize("second", SECOND)
def test_b81_a_second_endpoint_ends_the_connection(second: str):
    class Moving(Old):
        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.method == "tools/call":
                await reply.body(202)
                assert self.stream is not None
                await self.stream.named("endpoint", second)
            else:
                await super().posted(request, reply)

    lost: list[Exception] = []
    with pytest.raises(ConnectionLost) as caught:
        run(Moving(), on_lost=lost.append)
    assert caught.value.code == "TT5032"
    assert lost == [caught.value]


@pytest.mark.attack("B81")
def test_b81_twin_the_same_endpoint_again_changes_nothing():
    class Repeating(Old):
        async def posted(self, request: Heard, reply: Reply) -> None:
            assert self.stream is not None
            await self.stream.named("endpoint", self.endpoint)
            await super().posted(request, reply)

    assert run(Repeating())[0] == "done"


# -- a stream that never names its endpoint ----------------------------------------------------------------------------

WITHOUT_EVENT = {
    "nothing": b"",
    "a comment": b": endpoint\n\n",
    "an endpoint in comments": b":event: endpoint\n:data: /messages\n\n" * 200,
    "empty lines": b"\n" * 10_000,
    "line ends of three kinds": b"\r\n\r\n\n\r\r" * 1_000,
    "an endpoint without its end": b"event: endpoint\ndata: /messages\n",
    "an endpoint cut in its URL": b"event: endpoint\ndata: /mess",
    "unknown fields": b"endpoint: /messages\nurl: /messages\n\n" * 200,
    "a field with a space before it": b" event: endpoint\n data: /messages\n\n" * 200,
    "a wait that is no number": b"retry: soon\n\n" * 200,
    "fields in capitals": b"EVENT: endpoint\nDATA: /messages\n\n" * 200,
    "UTF-16": "event: endpoint\ndata: /messages\n\n".encode("utf-16-le") * 200,
    "zero bytes": b"\0" * 10_000,
}
"""Bytes that make no event, and after which the stream stays open."""

OTHER_EVENTS = {
    "messages": b'data: {"jsonrpc":"2.0","method":"ping"}\n\n',
    "an answer that nobody asked for": b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
    "an endpoint without the name of its event": b"data: /messages\n\n",
    "a message named an endpoint in its text": b"event: message\ndata: endpoint /messages\n\n",
    "a name in capitals": b"event: Endpoint\ndata: /messages\n\n",
    "a name with a space behind it": b"event: endpoint \ndata: /messages\n\n",
    "a name with a tab before it": b"event: \tendpoint\ndata: /messages\n\n",
    "a longer name": b"event: endpoints\ndata: /messages\n\n",
    "a name with a zero": b"event: endpoint\0\ndata: /messages\n\n",
    "a name of look-alike letters": "event: \u0435ndpoint\ndata: /messages\n\n".encode(),
    "a name that is replaced": b"event: endpoint\nevent: message\ndata: /messages\n\n",
    "two names": b"event: endpoint,message\ndata: /messages\n\n",
    "ids": b"id: 1\n\n",
    "times to wait": b"retry: 1\n\n",
    "empty messages": b"data\n\n",
}

ENDED = {
    "an empty stream": b"",
    "one comment": b": bye\n\n",
    "an endpoint in its last line": b"event: endpoint\ndata: /messages",
    "messages alone": b'data: {"jsonrpc":"2.0","method":"ping"}\n\n' * 3,
}


class Saying(Old):
    """A server whose stream has ``text`` in the place of the event that names the endpoint."""

    def __init__(self, text: bytes, *, ends: bool = False) -> None:
        super().__init__()
        self.text, self.ends = text, ends

    async def begin(self, reply: Reply) -> None:
        reply.writer.write(self.text)
        await reply.writer.drain()
        if self.ends:
            self.over.set()


def not_opened(text: bytes, *, ends: bool = False) -> str:
    """The code of the error of a client that cannot be opened; it posts nothing, to no endpoint."""
    error, heard = refused(Saying(text, ends=ends), transport="sse")
    assert [request.verb for request in heard] == ["GET"]
    return error.code


@pytest.mark.attack("B82")
@pytest.mark.parametrize("text", WITHOUT_EVENT.values(), ids=WITHOUT_EVENT)
def test_b82_a_stream_without_events_is_given_up_in_time(text: bytes):
    class Silent(Saying):
        async def begin(self, reply: Reply) -> None:
            await super().begin(reply)
            for _ in range(20):  # turns in which the client reads it
                await asyncio.sleep(0)
            skip(LIMIT / 2)

    error, heard = refused(Silent(text), transport="sse")
    assert error.code == "TT5033"
    assert [request.verb for request in heard] == ["GET"]


@pytest.mark.attack("B82")
@pytest.mark.parametrize("event", OTHER_EVENTS.values(), ids=OTHER_EVENTS)
def test_b82_a_stream_of_other_events_is_given_up_after_a_hundred(event: bytes, monkeypatch: pytest.MonkeyPatch):
    def patient(place: HttpTarget) -> TransportLink:
        return sse_client.SseLink(place, seconds=2 * LIMIT)

    monkeypatch.setattr("tooltrue.client.client.SseLink", patient)
    assert not_opened(event * 101) == "TT5033"


@pytest.mark.attack("B82")
@pytest.mark.parametrize("text", ENDED.values(), ids=ENDED)
def test_b82_a_stream_that_ends_before_its_endpoint_is_an_error_at_once(text: bytes):
    assert not_opened(text, ends=True) == "TT5034"


@pytest.mark.twin("B82")
@pytest.mark.parametrize("event", OTHER_EVENTS.values(), ids=OTHER_EVENTS)
def test_b82_twin_events_before_the_endpoint_are_skipped(event: bytes):
    assert run(Saying(event * 100 + b"event: endpoint\ndata: /messages\n\n"), transport="sse")[0] == "done"


SPELLINGS = {
    "as they are": b"event: endpoint\ndata: /messages\n\n",
    "without spaces": b"event:endpoint\ndata:/messages\n\n",
    "line ends of two characters": b"event: endpoint\r\ndata: /messages\r\n\r\n",
    "line ends of a typewriter": b"event: endpoint\rdata: /messages\r\r: nothing\n\n",
    "the URL first": b"data: /messages\nevent: endpoint\n\n",
    "with an id": b"id: 1\nevent: endpoint\nretry: 5\ndata: /messages\n\n",
    "after comments": b": hello\n\n" * 1_000 + b"event: endpoint\ndata: /messages\n\n",
}


@pytest.mark.twin("B82")
@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_b82_twin_an_endpoint_is_read_in_each_spelling_of_an_event(text: bytes):
    assert run(Saying(text), transport="sse")[0] == "done"


# -- events that are too large -----------------------------------------------------------------------------------------

SMALL = 100_000
"""The limit of the size of an event in these tests."""


def answer_of(size: int, **more: Any) -> str:
    """An answer to the request ``<id>`` with a text of this size."""
    content = [{"type": "text", "text": "x" * size}]
    return json.dumps({"jsonrpc": "2.0", "id": "<id>", "result": {"content": content}} | more)


def lines(text: str, size: int) -> str:
    """The text of an event in many fields ``data``."""
    return "\n".join(f"data: {text[at : at + size]}" for at in range(0, len(text), size))


TOO_LARGE = {
    "an answer": f"data: {answer_of(2 * SMALL)}\n\n",
    "an answer of many times the limit": f"data: {answer_of(50 * SMALL)}\n\n",
    "a line that does not end": f"data: {answer_of(2 * SMALL)}",
    "lines that do not end the event": lines(answer_of(2 * SMALL), 100) + "\n",
    "many small lines": "data: [\n" + "data:\n" * SMALL + "data: ]\n\n",
    "many lines without a value": "data\n" * SMALL + "\n",
    "line ends of two characters": lines(answer_of(2 * SMALL), 100).replace("\n", "\r\n") + "\r\n\r\n",
    "line ends of a typewriter": lines(answer_of(2 * SMALL), 100).replace("\n", "\r") + "\r\r",
    "letters of four bytes": "data: " + "\U0001f600" * (SMALL // 3) + "\n\n",
    "letters of three bytes, one a line": "data: \u20ac\n" * (SMALL // 8) + "\n",
    "zero bytes": "data: " + "\0" * (2 * SMALL) + "\n\n",
    "a name of an event": "event: " + "e" * (2 * SMALL) + "\ndata: {}\n\n",
    "names of events that replace each other": "event: message\n" * SMALL + "data: {}\n\n",
    "an id": "id: " + "7" * (2 * SMALL) + "\n\n",
    "ids that replace each other": "id: 7\n" * SMALL + "\n",
    "a time to wait": "retry: " + "7" * (2 * SMALL) + "\n\n",
    "a field that does not exist": "other: " + "x" * (2 * SMALL) + "\n\n",
    "a name of a field": "x" * (2 * SMALL) + ": y\n\n",
    "unknown fields beside a message": "x: y\n" * SMALL + "data: {}\n\n",
    "a comment without an end": ": " + "x" * (2 * SMALL),
    "a notification": f"data: {answer_of(2 * SMALL, id=None, method='notifications/message')}\n\n",
    "a request": f"data: {answer_of(2 * SMALL, method='ping')}\n\n",
    "an endpoint": "event: endpoint\ndata: /" + "m" * (2 * SMALL) + "\n\n",
    "an answer after small ones": 'data: {"jsonrpc":"2.0","method":"a"}\n\n' * 9 + f"data: {answer_of(2 * SMALL)}\n\n",
    "spaces around a small message": "data: {" + " " * (2 * SMALL) + "}\n\n",
}


class Large(Old):
    """A server that answers a call with ``text`` on its stream, ``<id>`` being the id of the call, in ``parts``."""

    def __init__(self, text: str, parts: int = 1) -> None:
        super().__init__()
        self.text, self.parts = text, parts

    async def posted(self, request: Heard, reply: Reply) -> None:
        if request.method != "tools/call":
            await super().posted(request, reply)
            return
        await reply.body(202)
        assert self.stream is not None
        text = self.text.replace('"<id>"', json.dumps(request.said["id"])).encode()
        size = -(-len(text) // self.parts)
        for at in range(0, len(text), size):
            self.stream.writer.write(text[at : at + size])
            await self.stream.writer.drain()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_client, "_MAX_EVENT", SMALL)


@pytest.mark.attack("B83")
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", TOO_LARGE.values(), ids=TOO_LARGE)
def test_b83_an_event_that_is_too_large_ends_the_connection(text: str):
    lost: list[Exception] = []
    with pytest.raises(ConnectionLost) as caught:
        run(Large(text, parts=7), on_lost=lost.append)
    assert caught.value.code == "TT5006"
    assert lost == [caught.value]


@pytest.mark.attack("B83")
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", [TOO_LARGE["a line that does not end"], TOO_LARGE["many small lines"]])
def test_b83_an_event_that_is_too_large_before_the_endpoint_ends_the_connection(text: str):
    assert not_opened(text.encode()) == "TT5006"


WITHIN = {
    "an answer": f"data: {answer_of(SMALL - 1_000)}\n\n",
    "an answer in many lines": f"data: {json.dumps(json.loads(answer_of(9)), indent=1)}\n\n".replace("\n ", "\ndata: ")
    .replace("\n}", "\ndata: }"),
    "comments of many times the limit": ": nothing\n" * SMALL + f"data: {answer_of(9)}\n\n",
    "small events of many times the limit": 'data: {"jsonrpc":"2.0","method":"a"}\n\n' * 9_000
    + f"data: {answer_of(9)}\n\n",
    "events of half the limit": f"data: {json.dumps({'jsonrpc': '2.0', 'method': 'x' * (SMALL // 2)})}\n\n" * 9
    + f"data: {answer_of(9)}\n\n",
}  # fmt: skip


@pytest.mark.twin("B83")
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", WITHIN.values(), ids=WITHIN)
def test_b83_twin_events_within_the_limit_are_read(text: str):
    assert set(run(Large(text, parts=7))[0]) == {"x"}


ENCODED: dict[str, tuple[dict[str, str], Callable[[bytes], bytes]]] = {
    "gzip": ({"content_encoding": "gzip"}, gzip.compress),
    "deflate": ({"content_encoding": "deflate"}, zlib.compress),
    "twice": ({"content_encoding": "gzip, gzip"}, lambda text: gzip.compress(gzip.compress(text))),
    "in capitals": ({"content_encoding": "GZIP"}, gzip.compress),
    "after a step that does nothing": ({"content_encoding": "identity, gzip"}, gzip.compress),
}


@pytest.mark.attack("B83")
@pytest.mark.parametrize("how", ENCODED)
def test_b83_a_stream_that_unpacks_is_not_unpacked(how: str):
    """A chunk of such a stream may unpack to a thousand times its size, before an event of it can be measured."""
    headers, pack = ENCODED[how]
    error, heard = refused(Packed(headers, pack), transport="sse")
    assert (error.code, "compressed" in str(error)) == ("TT5006", True)
    assert [request.verb for request in heard] == ["GET"]


class Packed(Old):
    """A server whose stream has these headers, and its first event in this encoding."""

    def __init__(self, headers: dict[str, str], pack: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self.headers, self.pack = {"content_type": "text/event-stream"} | headers, pack

    async def __call__(self, request: Heard, reply: Reply) -> None:
        if request.verb != "GET":
            await super().__call__(request, reply)
            return
        reply.is_stream, self.stream = True, reply
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in self.headers.items())
        reply.writer.write(
            f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + self.pack(b"event: endpoint\ndata: /messages\n\n")
        )
        await reply.writer.drain()
        await self.over.wait()


CHARSETS = ["zlib", "bz2", "hex", "base64", "quopri", "uu", "rot13", "idna", "punycode", "unicode_escape", "utf-7", "utf-16", "no-such"]  # fmt: skip  # noqa: E501


@pytest.mark.attack("B83")
@pytest.mark.parametrize("name", CHARSETS)
def test_b83_no_codec_that_a_server_names_reads_its_stream(name: str):
    """A codec like ``zlib`` unpacks, and yields bytes, which would end the reader without a word to its callers."""
    plain = Packed({"content_type": f"text/event-stream; charset={name}"}, bytes)
    assert run(plain, transport="sse")[0] == "done"


@pytest.mark.twin("B83")
@pytest.mark.parametrize("headers", [{}, {"content_encoding": "identity"}, {"content_encoding": ""}])
def test_b83_twin_a_stream_that_is_not_compressed_is_read(headers: dict[str, str]):
    assert run(Packed(headers, bytes), transport="sse")[0] == "done"


# -- its life ----------------------------------------------------------------------------------------------------------


def test_a_stream_that_ends_fails_the_calls_in_flight_and_reports_the_loss():
    class Ending(Old):
        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.method == "tools/call":
                await reply.body(202)
                self.over.set()
            else:
                await super().posted(request, reply)

    lost: list[Exception] = []
    with pytest.raises(ConnectionLost) as caught:
        run(Ending(), on_lost=lost.append)
    assert caught.value.code == "TT5034"
    assert lost == [caught.value]


@pytest.mark.parametrize("status", [400, 404, 500, 302])
def test_a_post_that_is_refused_fails_its_request_and_no_other(status: int):
    class Refusing(Old):
        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.said.get("params", {}).get("name") == "bad":
                await reply.body(status)
            else:
                await super().posted(request, reply)

    async def act(client: Client) -> str:
        with pytest.raises(TransportError, match=f"HTTP status {status}"):
            await client.call_tool("bad")
        return await call(client)

    assert run(Refusing(), act)[0] == "done"


def test_a_call_that_is_given_up_is_cancelled_by_a_notification():
    class Silent(Old):
        called = asyncio.Event()
        cancelled: asyncio.Queue[Any] = asyncio.Queue()

        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.method == "tools/call":
                await reply.body(202)
                self.called.set()
            elif request.method == "notifications/cancelled":
                await reply.body(202)
                self.cancelled.put_nowait(request.said["params"]["requestId"])
            else:
                await super().posted(request, reply)

    old = Silent()

    async def act(client: Client) -> Any:
        asked = asyncio.create_task(call(client))
        await old.called.wait()
        asked.cancel()
        return await old.cancelled.get()

    id, server = run(old, act)
    assert id == next(request.said["id"] for request in server.heard if request.method == "tools/call")


def test_a_client_that_is_closed_reads_no_stream_any_more():
    async def main() -> None:
        async with asyncio.timeout(LIMIT), foreign(Old()) as server:
            before = asyncio.all_tasks()
            async with Client(server.url) as client:
                assert await call(client) == "done"
                assert asyncio.all_tasks() - before - server.serving
            assert not asyncio.all_tasks() - before - server.serving

    asyncio.run(main())


@pytest.mark.parametrize("method", ["ping", "elicitation/create", "roots/list"])
def test_a_request_of_the_server_is_answered_over_the_stream(method: str):
    class Asking(Old):
        answer: Any = None

        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.method == "tools/call":
                await reply.body(202)
                self.call = request.said["id"]
                form = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
                await self.say({"id": "q", "method": method, "params": form if "/create" in method else {}})
            elif request.said.get("id") == "q":
                await reply.body(202)
                self.answer = request.said
                await self.say({"id": self.call, "result": DONE})
            else:
                await super().posted(request, reply)

    def elicit(question: Elicitation) -> bool:
        return True

    old = Asking()
    assert run(old, elicit=elicit, roots=["/tmp"])[0] == "done"
    assert "result" in old.answer


def test_changes_are_heard_over_it(mounts: Mounts):
    async def main(url: str) -> list[str]:
        changed = asyncio.Event()
        async with asyncio.timeout(LIMIT), Client(url, on_tools_changed=changed.set) as client:
            await client.call_tool("grow", name="new")
            await changed.wait()
            return [tool.name for tool in await client.list_tools()]

    with mounts.mounted(servers.make("changing").http_app(sse=True)) as path:
        names = asyncio.run(main(f"http://127.0.0.1:{mounts.port}{path.replace('mcp', 'sse')}"))
    assert "new" in names
