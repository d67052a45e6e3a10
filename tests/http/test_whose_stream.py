"""Which of several open streams a message comes on: its own, and no other."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Endpoint, Stream, in_session, modern
from tooltrue import Context, Server

LEVEL = "io.modelcontextprotocol/logLevel"
SUBSCRIBED = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}


class Town:
    """Tools that tell of themselves and wait; one that changes the list and lets them go on; one that ends it all."""

    def __init__(self) -> None:
        self.server = Server("town", version="1")
        self.app = self.server.http_app()
        self.server.add_tool(self.tell)
        self.server.add_tool(self.change)
        self.server.add_tool(self.end)
        self._may_go_on = asyncio.Event()

    async def tell(self, who: str, context: Context) -> str:
        """Tell who speaks, by progress and by log."""
        context.progress(1, message=who)
        context.log("info", who)
        await self._may_go_on.wait()
        return who

    async def change(self) -> None:
        """Take a tool away."""
        self.server.remove_tool("tell")
        self._may_go_on.set()

    async def end(self) -> None:
        """End the server."""
        self.app.closing()


def told(body: bytes) -> list[tuple[str, Any]]:
    """The messages of a stream: the method (or ``answer``) of each, and its distinguishing value."""
    lines = [line.removeprefix("data:").strip() for line in body.decode().splitlines() if line.startswith("data:")]
    return [_said(json.loads(line)) for line in lines if line]


def _said(message: Any) -> tuple[str, Any]:
    params = message.get("params", {})
    match message.get("method", "answer"):
        case "notifications/progress":
            return "progress", (params["progressToken"], params["message"])
        case "notifications/message":
            return "log", params["data"]
        case "answer":
            return "answer", message["id"]
        case method:
            return method.removeprefix("notifications/"), params


def call(who: str, id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "tell", "arguments": {"who": who}}}


async def begun(endpoint: Endpoint, message: Any, headers: Any, streams: AsyncExitStack) -> Stream:
    """The stream of a POST, once it has begun."""
    return await streams.enter_async_context(
        endpoint.open("POST", json.dumps(message).encode(), (*JSON, *headers)),
    )


@pytest.mark.requirement("HTTP-15", "HTTP-17", "LOG-03", "SUB-01")
def test_a_modern_call_tells_on_its_own_stream_and_a_subscription_of_changes_only(mounts: Mounts) -> None:
    async def asked(endpoint: Endpoint, who: str, id: int, streams: AsyncExitStack) -> Stream:
        meta = {**ENVELOPE, LEVEL: "debug", "progressToken": who}
        message, headers = modern("tools/call", {"name": "tell", "arguments": {"who": who}, "_meta": meta})
        return await begun(endpoint, {**message, "id": id}, headers, streams)

    async def scenario(endpoint: Endpoint) -> list[Any]:
        async with AsyncExitStack() as streams:
            wanted = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            subscription = await begun(endpoint, *wanted, streams)
            ada = await asked(endpoint, "ada", 2, streams)
            bob = await asked(endpoint, "bob", 3, streams)
            await endpoint.modern("tools/call", {"name": "change"})
            calls = [await ada.body(), await bob.body()]
            await endpoint.modern("tools/call", {"name": "end"})
            return [told(body) for body in (*calls, await subscription.body())]

    town = Town()
    with mounts.mounted(town.app) as path:
        ada, bob, subscription = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert ada == [("progress", ("ada", "ada")), ("log", "ada"), ("answer", 2)]
    assert bob == [("progress", ("bob", "bob")), ("log", "bob"), ("answer", 3)]
    assert subscription == [
        ("subscriptions/acknowledged", {"notifications": {"toolsListChanged": True}, **SUBSCRIBED}),
        ("tools/list_changed", SUBSCRIBED),
        ("answer", 1),
    ]


@pytest.mark.requirement("LHTTP-08", "LHTTP-10", "LHTTP-15", "LHTTP-16")
def test_a_legacy_call_tells_on_its_own_stream_and_the_session_of_changes_only(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        session = in_session(await endpoint.initialize())

        async def asked(who: str, id: int) -> Stream:
            message = call(who, id)
            message["params"]["_meta"] = {"progressToken": who}
            return await begun(endpoint, message, session, streams)

        async with AsyncExitStack() as streams:
            get = endpoint.open("GET", headers=(("Accept", "text/event-stream"), *session))
            listening = await streams.enter_async_context(get)
            ada, bob = await asked("ada", 2), await asked("bob", 3)
            await endpoint.modern("tools/call", {"name": "change"})
            calls = [await ada.body(), await bob.body()]
            await endpoint.modern("tools/call", {"name": "end"})
            return [told(body) for body in (*calls, await listening.body())]

    town = Town()
    with mounts.mounted(town.app) as path:
        ada, bob, listening = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert ada == [("progress", ("ada", "ada")), ("log", "ada"), ("answer", 2)]
    assert bob == [("progress", ("bob", "bob")), ("log", "bob"), ("answer", 3)]
    assert listening == [("tools/list_changed", {})]
