"""A client of HTTP+SSE (2024-11-05), and its behaviour with faulty and hostile servers."""

from __future__ import annotations

import asyncio
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
from tooltrue.transport.carrier import ClientLink, Refusal
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


@pytest.mark.attack("B82")
@pytest.mark.parametrize("says", ["nothing", "comments", "messages"])
def test_b82_a_stream_that_names_no_endpoint_is_given_up(says: str, monkeypatch: pytest.MonkeyPatch):
    class Late(Old):
        async def begin(self, reply: Reply) -> None:
            for _ in range(1 if says == "nothing" else 200):
                await (reply.event({"method": "ping"}) if says == "messages" else reply.comment())
            if says != "messages":
                skip(LIMIT / 2)

    def soon(place: Any) -> ClientLink:
        return sse_client.SseLink(place, seconds=LIMIT * 2 if says == "messages" else LIMIT / 2)

    monkeypatch.setattr("tooltrue.client.client.SseLink", soon)
    error, heard = refused(Late(), transport="sse")
    assert error.code == "TT5033"
    assert [request.verb for request in heard] == ["GET"]


@pytest.mark.attack("B82")
def test_b82_twin_events_before_the_endpoint_are_skipped():
    class Chatty(Old):
        async def begin(self, reply: Reply) -> None:
            await reply.comment()
            await reply.event({"id": 1, "result": {}})
            await super().begin(reply)

    assert run(Chatty())[0] == "done"


@pytest.mark.attack("B83")
@pytest.mark.parametrize("size", [1, 4])
def test_b83_an_event_that_is_too_large_ends_the_connection(size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse_client, "_MAX_EVENT", 100_000)

    class Giant(Old):
        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.method != "tools/call":
                await super().posted(request, reply)
                return
            await reply.body(202)
            content = [{"type": "text", "text": "x" * (size * 120_000)}]
            await self.say({"id": request.said["id"], "result": {"content": content}})

    with pytest.raises(ConnectionLost) as caught:
        run(Giant())
    assert caught.value.code == "TT5006"


@pytest.mark.attack("B83")
def test_b83_twin_an_event_within_the_limit_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse_client, "_MAX_EVENT", 100_000)

    class Large(Old):
        async def posted(self, request: Heard, reply: Reply) -> None:
            if request.method != "tools/call":
                await super().posted(request, reply)
                return
            await reply.body(202)
            content = [{"type": "text", "text": "x" * 90_000}]
            await self.say({"id": request.said["id"], "result": {"content": content}})

    assert len(run(Large())[0]) == 90_000


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
