"""A tool that is itself a client: of a server over HTTP, over stdio and in memory, on the event loop of its server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from support.serving import SERVER
from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint
from tooltrue import ApiKeys, Client, Server
from tooltrue.server.keys import Key, new_key
from tooltrue.testing.state import LIMIT

WORKERS = ["on the event loop", "in a thread"]


def adder() -> Server:
    """The server that is called from within a tool."""
    made = Server("adder", version="1")

    @made.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return made


def delegating(target: Any, worker: str, **settings: Any) -> Server:
    """A server whose tool has another server add."""
    made = Server("delegating", version="1", **settings)

    async def delegated() -> str:
        async with Client(target, timeout=LIMIT) as client:
            sums = [(await client.call_tool("add", a=1, b=number)).value for number in (2, 3)]
        return f"{sums} on {type(asyncio.get_running_loop()).__module__.partition('.')[0]}"

    async def on_the_event_loop() -> str:
        return await delegated()

    def in_a_thread() -> str:
        return asyncio.run(delegated())

    made.add_tool(on_the_event_loop if worker == WORKERS[0] else in_a_thread, name="delegate")
    return made


def call(mounts: Mounts, made: Server, **headers: str) -> Any:
    """The result of the tool: a stateless request on the wire, and its answer."""
    with mounts.mounted(made.http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("tools/call", {"name": "delegate"}, **headers))
    assert answer.status == 200
    return answer.json["result"]


def expected(worker: str) -> list[dict[str, str]]:
    """The loop of the server is uvloop's, where it is installed; the one of the thread is asyncio's."""
    return [{"type": "text", "text": f"[3, 4] on {'uvloop' if worker == WORKERS[0] else 'asyncio'}"}]


@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("is_authenticated", [False, True])
def test_a_tool_calls_a_server_over_http(mounts: Mounts, worker: str, is_authenticated: bool) -> None:
    key, digest = new_key("ada")
    ways = {"authenticate": ApiKeys({"ada": Key(digest)})} if is_authenticated else {}
    headers = {"authorization": f"Bearer {key}"} if is_authenticated else {}
    with mounts.mounted(adder().http_app()) as path:
        made = delegating(f"http://127.0.0.1:{mounts.port}{path}", worker, **ways)
        assert call(mounts, made, **headers)["content"] == expected(worker)


@pytest.mark.process
@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("target", [adder, lambda: [sys.executable, str(SERVER)]], ids=["in memory", "over stdio"])
def test_a_tool_calls_a_server_without_http(mounts: Mounts, worker: str, target: Callable[[], Any]) -> None:
    assert call(mounts, delegating(target(), worker))["content"] == expected(worker)
