"""Disconnected clients: a disconnection takes effect only once the server notices it, however long that takes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Endpoint, Headers, in_session, modern
from tooltrue import Context, Server

LEAVES = ("X-Leaves", "yes")


class Hall:
    """An application with two tools: one waits for the bell, one rings it after the disconnection is handled."""

    def __init__(self) -> None:
        server = Server("hall", version="1")
        server.add_tool(self.wait)
        server.add_tool(self.ring)
        self._app = server.http_app()
        self.serving = self._app.serving
        self._gone, self._rung, self._over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._end = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            if (b"x-leaves", b"yes") in scope["headers"]:
                self._gone.set()

    async def wait(self, context: Context) -> str:
        """Wait for the bell."""
        context.progress(1)
        try:
            await self._rung.wait()
            self._end = "heard the bell"
        except asyncio.CancelledError:
            self._end = "was cancelled"
            raise
        finally:
            self._over.set()
        return self._end

    async def ring(self) -> str:
        """Ring the bell, and tell how the wait ended."""
        await self._gone.wait()
        self._rung.set()
        await self._over.wait()
        return self._end


async def leave(endpoint: Endpoint, message: Any, headers: Headers) -> None:
    """Ask, and go as soon as the answer has begun."""
    async with endpoint.open("POST", json.dumps(message).encode(), (*JSON, *headers, LEAVES)) as stream:
        await stream.message()


@pytest.mark.requirement("CANC-02", "HTTP-20", "HTTP-21")
def test_a_modern_client_that_has_gone_has_cancelled(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Any:
        await leave(endpoint, *modern("tools/call", {"name": "wait", "_meta": {**ENVELOPE, "progressToken": "p"}}))
        return (await endpoint.modern("tools/call", {"name": "ring"})).json["result"]["content"][0]["text"]

    with mounts.mounted(Hall()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == "was cancelled"


def test_a_second_request_with_an_id_in_use_takes_nothing_from_the_first(mounts: Mounts) -> None:
    """Of a session: the second is refused, and a cancellation means the first."""

    async def scenario(endpoint: Endpoint) -> tuple[list[Any], str]:
        session, other = in_session(await endpoint.initialize()), in_session(await endpoint.initialize())
        waiting: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}
        waiting["params"]["_meta"] = {"progressToken": "p"}
        listing = {**waiting, "method": "tools/list", "params": {}}
        async with endpoint.open("POST", json.dumps(waiting).encode(), (*JSON, LEAVES, *session)) as stream:
            await stream.message()
            answers = [
                (await endpoint.post(listing, session)).json,
                (await endpoint.post({**listing, "id": "1"}, session)).json,
                (await endpoint.post(listing, other)).json,
            ]
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            assert (await endpoint.post(cancelled, session)).status == 202
            assert await stream.event() == {}
        answers.append((await endpoint.post(listing, session)).json)
        ring = await endpoint.modern("tools/call", {"name": "ring"})
        return answers, ring.json["result"]["content"][0]["text"]

    with mounts.mounted(Hall()) as path:
        (refused, *answered), how = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (refused["id"], refused["error"]["code"]) == (1, -32600)
    assert "TT1009" in refused["error"]["message"]
    assert [answer["id"] for answer in answered if "result" in answer] == ["1", 1, 1]
    assert how == "was cancelled"


@pytest.mark.requirement("LHTTP-11")
def test_a_legacy_client_that_has_gone_has_not_cancelled(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Any:
        session = in_session(await endpoint.initialize())
        params = {"name": "wait", "_meta": {"progressToken": "p"}}
        await leave(endpoint, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, session)
        return (await endpoint.modern("tools/call", {"name": "ring"})).json["result"]["content"][0]["text"]

    with mounts.mounted(Hall()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == "heard the bell"
