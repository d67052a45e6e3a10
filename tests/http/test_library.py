"""Resources over HTTP: every worker knows the subscriptions of a session, and the changes of resources."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import JSON, Endpoint, Headers, Stream, in_session, modern
from tooltrue import Server
from tooltrue.state.facts import MemoryFacts
from tooltrue.transport.http_server import HttpApp

KEY = b"0123456789abcdef"


def listening(session: str) -> Headers:
    return (("Accept", "text/event-stream"), *in_session(session))


def updated(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


def changed(kind: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed", "params": {}}


async def messages(stream: Stream, count: int) -> list[Any]:
    return [await stream.message() for _ in range(count)]


def update(uri: str) -> dict[str, Any]:
    return {"name": "update", "arguments": {"uri": uri}}


def worker(facts: MemoryFacts) -> HttpApp:
    """One of several workers that share keys and facts."""
    server = Server("worker", keys=[KEY], facts=facts)
    for name in "ab":
        server.add_resource(f"test://{name}", lambda: "", name=name, blocking=False)

    @server.tool
    async def update(uri: str) -> None:
        """Tell of a change."""
        server.resource_updated(uri)

    return server.http_app()


def test_a_session_is_told_of_the_resources_that_it_has_subscribed_to(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        session, other = await endpoint.initialize(), await endpoint.initialize()
        await endpoint.legacy(session, "resources/subscribe", {"uri": "test://a"})
        await endpoint.legacy(other, "resources/subscribe", {"uri": "test://b"})
        async with endpoint.open("GET", headers=listening(session)) as stream:
            await stream.event()  # it is open
            # A later subscription counts as well.
            assert (await endpoint.legacy(session, "resources/subscribe", {"uri": "test://c"})).json["result"] == {}
            for uri in ("test://a", "test://b", "test://c"):
                await endpoint.legacy(session, "tools/call", update(uri))
            told = await messages(stream, 2)
            await endpoint.legacy(session, "resources/unsubscribe", {"uri": "test://a"})
            await endpoint.legacy(session, "tools/call", update("test://a"))
            await endpoint.legacy(session, "tools/call", {"name": "add", "arguments": {"name": "d"}})
            return [*told, *await messages(stream, 2)]

    with mounts.mounted(servers.make("shelves").http_app()) as path:
        told = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert told == [updated("test://a"), updated("test://c"), changed("prompts"), changed("resources")]


def test_without_a_session_nothing_can_be_subscribed_to(mounts: Mounts) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "test://a"}}
    with mounts.mounted(servers.make("shelves").http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).post(message))
    assert answer.code == -32602
    assert "[TT1019]" in answer.json["error"]["message"]


def test_a_change_at_one_worker_is_told_by_the_other_and_once(mounts: Mounts) -> None:
    async def scenario(here: Endpoint, there: Endpoint) -> list[Any]:
        for endpoint in (here, there):
            await endpoint.ask("GET")  # the first request starts it
        session = await here.initialize()
        for uri in ("test://a", "test://b"):
            await here.legacy(session, "resources/subscribe", {"uri": uri})
        params = {"notifications": {"resourceSubscriptions": ["test://a", "test://b"]}}
        message, headers = modern("subscriptions/listen", params)
        async with (
            there.open("GET", headers=listening(session)) as stream,
            there.open("POST", json.dumps(message).encode(), (*JSON, *headers)) as subscription,
        ):
            await stream.event()
            await subscription.message()
            for endpoint, uri in ((here, "test://a"), (there, "test://a"), (here, "test://b")):
                await endpoint.legacy(session, "tools/call", update(uri))
            told = [await messages(one, 3) for one in (stream, subscription)]
        return [[message["params"]["uri"] for message in messages] for messages in told]

    facts = MemoryFacts()
    with mounts.mounted(worker(facts)) as one, mounts.mounted(worker(facts)) as other:
        told = asyncio.run(scenario(Endpoint(mounts.port, one), Endpoint(mounts.port, other)))
    assert told == [["test://a", "test://a", "test://b"]] * 2


def test_a_subscription_acknowledges_its_notifications_and_receives_no_others(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["test://a", "x"]}
        message, headers = modern("subscriptions/listen", {"notifications": wanted})
        async with endpoint.open("POST", json.dumps(message).encode(), (*JSON, *headers)) as stream:
            acknowledged = await stream.message()
            await endpoint.modern("tools/call", {"name": "add", "arguments": {"name": "d"}})
            [changed] = await messages(stream, 1)
            return [acknowledged["params"]["notifications"], changed["method"]]

    with mounts.mounted(servers.make("shelves").http_app()) as path:
        got = asyncio.run(scenario(Endpoint(mounts.port, path)))
    honoured = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["test://a"]}
    assert got == [honoured, "notifications/prompts/list_changed"]
