"""Two workers behind one endpoint, which share keys and facts and nothing else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from toolwright.policy.pipeline import Limits, standard
from toolwright.protocol.types import Implementation
from toolwright.server.http import SESSION_HEADER, HttpDoors
from toolwright.server.sealing import Sealer, new_key
from toolwright.server.served import Served
from toolwright.server.server import ProtocolServer
from toolwright.state.facts import MemoryFacts
from toolwright.testing.state import LIMIT
from toolwright.tools.local import LocalToolset
from toolwright.tools.toolset import Principal
from toolwright.transport.carrier import Carrier

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


MODERN = {"mcp-protocol-version": "2026-07-28"}


class Quiet:
    def notify(self, method: str, params: Any) -> None:
        raise AssertionError(f"nobody asked for {method}")


def admitted(doors: HttpDoors, headers: dict[str, str]) -> Any:
    return doors.admit(Carrier("http", headers, "127.0.0.1"))


class Worker:
    """A worker with one tool that waits until it is cancelled."""

    def __init__(self, key: bytes, facts: MemoryFacts) -> None:
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()
        tools = LocalToolset()
        tools.add(self.wait)
        provider = standard(tools, limits=Limits())
        served = Served(Implementation(name="t", version="1"), provider, Sealer([key]), facts)
        self.doors: HttpDoors = ProtocolServer(served).http()

    async def wait(self) -> str:
        """Wait."""
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return ""

    async def post(self, message: dict[str, Any], session: str | None = None) -> Any:
        headers = {} if session is None else {SESSION_HEADER: session, "mcp-protocol-version": "2025-11-25"}
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return await self.doors.post(body, admitted(self.doors, headers), Quiet())


async def two_workers() -> tuple[Worker, Worker, str]:
    key, facts = new_key(), MemoryFacts()
    one, other = Worker(key, facts), Worker(key, facts)
    await one.doors.open()
    await other.doors.open()
    reply = await one.post({"id": 0, "method": "initialize", "params": INITIALIZE})
    return one, other, dict(reply.headers)[SESSION_HEADER]


CALL = {"id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
CANCEL = {"method": "notifications/cancelled", "params": {"requestId": 1}}


def test_a_cancellation_reaches_the_worker_that_runs_the_call():
    async def main() -> None:
        one, other, session = await two_workers()
        call = asyncio.ensure_future(one.post(CALL, session))
        async with asyncio.timeout(LIMIT):
            await one.waiting.wait()
            assert (await other.post(CANCEL, session)).status == 202
            assert (await call).status == 202
        assert one.cancelled.is_set()

    asyncio.run(main())


def test_a_cancellation_of_another_session_reaches_nobody():
    async def main() -> None:
        one, other, session = await two_workers()
        reply = await other.post({"id": 0, "method": "initialize", "params": INITIALIZE})
        another = dict(reply.headers)[SESSION_HEADER]
        call = asyncio.ensure_future(one.post(CALL, session))
        async with asyncio.timeout(LIMIT):
            await one.waiting.wait()
            await other.post(CANCEL, another)
            await other.post({"id": 2, "method": "ping"}, session)
            assert not one.cancelled.is_set()
            await other.post(CANCEL, session)
            await call

    asyncio.run(main())


@pytest.mark.parametrize(("version", "status"), [({}, 404), (MODERN, 202)])
def test_b30_nobody_cancels_with_the_session_of_another(version: dict[str, str], status: int):
    async def main() -> None:
        one, other, session = await two_workers()
        call = asyncio.ensure_future(one.post(CALL, session))
        async with asyncio.timeout(LIMIT):
            await one.waiting.wait()
            stranger = HttpDoors(other.doors._doors, lambda carrier: Principal("bob"))  # pyright: ignore
            headers = {SESSION_HEADER: session, **version}
            body = json.dumps({"jsonrpc": "2.0", **CANCEL}).encode()
            assert (await stranger.post(body, admitted(stranger, headers), Quiet())).status == status
            await one.post({"id": 2, "method": "ping"}, session)
            await one.post({"id": 3, "method": "ping"}, session)
            assert not one.cancelled.is_set()
            await one.post(CANCEL, session)
            await call

    asyncio.run(main())
