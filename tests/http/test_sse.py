"""HTTP+SSE (2024-11-05), where it was asked for."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Answer, Endpoint, Headers, Stream, in_session, soon
from tooltrue import Client, Context, Server
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.http import HttpEndpoint
from tooltrue.server.server import ProtocolServer
from tooltrue.server.sse import SseEndpoint
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import AllowedHosts, HttpApp


def by_name(carrier: Carrier) -> Principal | None:
    """Authenticates the caller by the plain name in the Authorization header."""
    name = (carrier.headers or {}).get("authorization")
    return None if name is None else Principal(name)


class Session:
    """An old client."""

    def __init__(self, base: Endpoint, stream: Stream, posts: str, headers: Headers) -> None:
        self.stream = stream
        self.posts = posts
        self._endpoint = Endpoint(base.port, base.path.replace("mcp", posts))
        self._headers = headers

    async def post(self, message: Any, headers: Headers | None = None) -> Answer:
        return await self._endpoint.post(message, self._headers if headers is None else headers)

    async def ask(self, method: str, id: int = 1, /, **params: Any) -> Any:
        answer = await self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        assert (answer.status, answer.body) == (202, b"")
        return await self.stream.message()


@contextlib.asynccontextmanager
async def session(endpoint: Endpoint, headers: Headers = ()) -> AsyncIterator[Session]:
    async with Endpoint(endpoint.port, endpoint.path.replace("mcp", "sse")).open("GET", headers=headers) as stream:
        assert stream.status == 200
        event = await stream.event()
        assert event["event"] == "endpoint"
        made = Session(endpoint, stream, event["data"], headers)
        client = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        assert (await made.ask("initialize", 0, **client))["result"]["protocolVersion"] == "2024-11-05"
        yield made


def test_it_is_not_there_unless_it_was_asked_for(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[int]:
        paths = [endpoint.path.replace("mcp", path) for path in ("sse", "messages")]
        return [(await Endpoint(endpoint.port, path).ask("GET")).status for path in paths]

    with mounts.mounted(servers.make("shop").http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [404, 404]


@pytest.mark.requirement("LHTTP-35", "LHTTP-36")
def test_a_call_is_posted_and_answered_on_the_stream_beside_the_new_endpoint(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[Any, ...]:
        async with session(endpoint) as old:
            answer = await old.ask("tools/call", 7, name="greet", arguments={})
            return old.stream.status, old.stream.headers["content-type"], answer, await endpoint.modern("tools/list")

    with mounts.mounted(servers.make("shop").http_app(sse=True)) as path:
        status, kind, answer, modern = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (status, kind, modern.status) == (200, "text/event-stream", 200)
    result = {"content": [{"type": "text", "text": "Hello, world!"}], "isError": False}
    assert answer == {"jsonrpc": "2.0", "id": 7, "result": result}


def test_a_batch_and_an_invalid_message_are_answered_on_the_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        async with session(endpoint) as old:
            assert (await old.post([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])).status == 202
            batch = await old.stream.message()
            assert (await old.post(7)).status == 202
            return [batch, (await old.stream.message())["error"]["code"]]

    with mounts.mounted(servers.make("empty").http_app(sse=True)) as path:
        got = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert got == [[{"jsonrpc": "2.0", "id": 1, "result": {}}], -32600]


def test_changes_and_progress_come_by_the_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[str]:
        async with session(endpoint) as old:
            await old.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
            first = await old.ask("tools/call", 1, name="grow", arguments={"name": "new"})
            second = await old.stream.message()
            return sorted(message.get("method", "answer") for message in (first, second))

    with mounts.mounted(servers.make("changing").http_app(sse=True)) as path:
        got = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert got == ["answer", "notifications/tools/list_changed"]


@pytest.mark.parametrize("sse", [True, False], ids=["HTTP+SSE", "Streamable HTTP"])
def test_a_client_that_says_ahead_that_it_is_ready_hears_of_changes(mounts: Mounts, sse: bool) -> None:
    client = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    grow = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "grow", "arguments": {"name": "n"}}}

    async def old(endpoint: Endpoint) -> list[Any]:
        at = Endpoint(endpoint.port, endpoint.path.replace("mcp", "sse"))
        async with at.open("GET") as stream:
            posts = Endpoint(endpoint.port, endpoint.path.replace("mcp", (await stream.event())["data"]))
            for message in (initialize, ready, grow):  # no message waits for an answer on the stream
                assert (await posts.post(message)).status == 202
            return [await stream.message() for _ in range(3)]

    async def new(endpoint: Endpoint) -> list[Any]:
        opened, _ = await asyncio.gather(endpoint.post(initialize), endpoint.post(ready))
        named = in_session(opened.headers["mcp-session-id"])
        async with endpoint.open("GET", headers=(*JSON, *named)) as stream:
            grown = await endpoint.post(grow, named)
            return [opened.json, grown.json, await stream.message()]

    with mounts.mounted(servers.make("changing").http_app(sse=True)) as path:
        said = asyncio.run((old if sse else new)(Endpoint(mounts.port, path)))
    assert said[0]["result"]["protocolVersion"] == "2024-11-05"
    assert sorted(message.get("method", "answer") for message in said[1:]) == [
        "answer",
        "notifications/tools/list_changed",
    ]


def test_two_sessions_have_addresses_that_cannot_be_guessed(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[str, str]:
        async with session(endpoint) as one, session(endpoint) as other:
            return one.posts, other.posts

    with mounts.mounted(servers.make("empty").http_app(sse=True)) as path:
        one, other = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert one.startswith("messages?session=")
    assert one != other
    assert len(one) == len("messages?session=") + 32


@pytest.mark.parametrize(
    "query", ["", "?", "?session=", "?session=x", "?session=x&session=y", "?other={}", "?session={}x"]
)
def test_a_session_that_there_is_not_is_404(mounts: Mounts, query: str) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        async with session(endpoint) as old:
            id = old.posts.partition("=")[2]
            posts = Endpoint(endpoint.port, endpoint.path.replace("mcp", "messages") + query.replace("{}", id))
            return await posts.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    with mounts.mounted(servers.make("empty").http_app(sse=True)) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (answer.status, "[TT1019]" in answer.json["error"]["message"]) == (404, True)


def test_a_session_belongs_to_the_principal_that_opened_its_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        ada, eve = [("Authorization", "ada")], [("Authorization", "eve")]
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who"}}
        async with session(endpoint, ada) as old:
            stolen = [(await old.post(message, headers)).status for headers in (eve, ())]
            assert (await old.post(message)).status == 202
            return [*stolen, (await old.stream.message())["result"]["content"][0]["text"]]

    server = Server("private", authenticate=by_name)

    @server.tool
    async def who(context: Context) -> str:
        """Who calls."""
        return context.principal.id

    with mounts.mounted(server.http_app(sse=True)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [404, 401, "ada"]


def test_a_message_has_the_scopes_of_its_own_post_and_not_those_of_the_stream(mounts: Mounts) -> None:
    def by_scopes(carrier: Carrier) -> Principal | None:
        scopes = (carrier.headers or {}).get("authorization")
        return None if scopes is None else Principal("ada", scopes=frozenset(scopes.split()))

    server, wiped = Server("private", authenticate=by_scopes, confirm=Confirm.never()), list[str]()

    @server.tool(requires=["write"])
    async def wipe(context: Context) -> None:
        """Needs a scope."""
        async with Client(others) as client:  # somebody else's conversation, held meanwhile
            wiped.append((await client.call_tool("who")).value)

    others = Server("others")

    @others.tool
    async def who(context: Context) -> str:
        """Who calls."""
        return context.principal.id

    async def scenario(endpoint: Endpoint) -> list[bool]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wipe"}}
        async with session(endpoint, [("Authorization", "read write")]) as old:
            answers: list[Any] = []
            for scopes in ("read", "read write"):
                assert (await old.post(message, [("Authorization", scopes)])).status == 202
                answers.append(await old.stream.message())
            return ["error" in answer for answer in answers]

    with mounts.mounted(server.http_app(sse=True)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [True, False]
    assert wiped == ["local"]


def test_one_principal_cannot_take_all_sessions_of_the_server(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, str]:
        ada, eve = [("Authorization", "ada")], [("Authorization", "eve")]
        async with session(endpoint, eve):
            refused = await Endpoint(endpoint.port, endpoint.path.replace("mcp", "sse")).ask("GET", headers=eve)
            async with session(endpoint, ada):
                return refused.status, refused.json["error"]["message"][-8:]

    with mounts.mounted(app(Server("private", authenticate=by_name), of_one=1)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == (503, "[TT1054]")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "sse", [("Host", "evil.example")], 403),
        ("GET", "sse", [("Origin", "http://evil.example")], 403),
        ("POST", "messages", [*JSON, ("Host", "evil.example")], 403),
        ("POST", "messages", [*JSON, ("Origin", "http://evil.example")], 403),
        ("GET", "sse", [("Authorization", None)], 401),
        ("POST", "messages", [*JSON, ("Authorization", None)], 401),
        ("POST", "messages", [("Content-Type", "text/plain")], 415),
        ("POST", "sse", JSON, 405),
        ("GET", "messages", (), 405),
        ("DELETE", "sse", (), 405),
        ("GET", "sse/messages", (), 404),
    ],
)
def test_both_paths_are_guarded_like_the_endpoint(
    mounts: Mounts, method: str, path: str, headers: Headers, status: int
) -> None:
    named = {name for name, _ in headers}
    headers = [*headers, *([] if "Authorization" in named else [("Authorization", "ada")])]
    with mounts.mounted(Server("private", authenticate=by_name).http_app(sse=True)) as mounted:
        endpoint = Endpoint(mounts.port, mounted.replace("mcp", path))
        assert asyncio.run(endpoint.ask(method, b"{}", headers)).status == status


def test_a_modern_request_does_not_come_this_way(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        async with session(endpoint) as old:
            return (await old.ask("tools/list", 1, _meta=ENVELOPE))["error"]["code"]

    with mounts.mounted(servers.make("empty").http_app(sse=True)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == -32020


def test_a_session_and_its_running_calls_end_with_its_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[str, int]:
        async with session(endpoint) as old:
            params = {"name": "wait", "_meta": {"progressToken": "p"}}
            await old.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            await old.stream.message()
        ended = await endpoint.modern("tools/call", {"name": "cancelled_yet"})
        return ended.json["result"]["content"][0]["text"], (await old.post({})).status

    with mounts.mounted(servers.make("slow").http_app(sse=True)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == ("cancelled", 404)


def app(server: Server, **limits: int) -> HttpApp:
    protocol: ProtocolServer = server._assembly.protocol  # pyright: ignore[reportPrivateUsage]
    doors = HttpEndpoint(protocol._handlers, server.authenticate)  # pyright: ignore[reportPrivateUsage]
    return HttpApp(doors, AllowedHosts(), sse=SseEndpoint(protocol, **limits))


def test_there_are_so_many_sessions_and_no_more(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, str, bool]:
        async with session(endpoint):
            refused = await Endpoint(endpoint.port, endpoint.path.replace("mcp", "sse")).ask("GET")
        return refused.status, refused.json["error"]["message"][-8:], await soon(again(endpoint))

    async def again(endpoint: Endpoint) -> bool:
        while True:
            with contextlib.suppress(AssertionError):
                async with session(endpoint):
                    return True

    with mounts.mounted(app(servers.make("empty"), limit=1)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == (503, "[TT1052]", True)


def test_a_client_that_does_not_read_loses_its_session(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        async with session(endpoint) as old:
            flood = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flood"}}
            while (status := (await old.post(flood)).status) == 202:
                pass
            return status

    server = Server("flood")

    @server.tool
    async def flood() -> str:
        """Much."""
        return "x" * 1_000_000

    with mounts.mounted(server.http_app(sse=True)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == 404


def test_the_streams_end_when_the_server_does(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        async with session(endpoint) as old:
            await endpoint.modern("tools/call", {"name": "close"})
            return [await old.stream.event()]

    server = Server("ending")
    made = server.http_app(sse=True)

    async def close() -> None:
        made.closing()

    server.add_tool(close)
    with mounts.mounted(made) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [{}]


def test_a_broken_message_is_answered_on_the_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        async with session(endpoint) as old:
            posts = Endpoint(endpoint.port, endpoint.path.replace("mcp", old.posts))
            status = (await posts.ask("POST", b"junk", JSON)).status
            return [status, json.loads((await old.stream.event())["data"])["error"]["code"]]

    with mounts.mounted(servers.make("empty").http_app(sse=True)) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [202, -32700]
