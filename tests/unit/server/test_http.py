"""Two workers behind one endpoint, which share only keys and facts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tooltrue.jsonrpc.messages import RpcRequest
from tooltrue.jsonrpc.peer import MAX_RUNNING
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.concurrency import Concurrency
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.pipeline import standard
from tooltrue.protocol import versions
from tooltrue.protocol.types import Implementation
from tooltrue.server.http import SESSION_HEADER, HttpEndpoint
from tooltrue.server.identity import Authenticate
from tooltrue.server.legacy import LegacySession
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.testing.state import LIMIT
from tooltrue.tools.bounds import Rate
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import Stream

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


MODERN = {"mcp-protocol-version": "2026-07-28"}


# These tests are about the limit of running requests per caller; the other limits are wide.
WIDE = Guard(
    rate=RateLimits.of(Rate(1_000_000, 1_000_000)),
    concurrency=Concurrency(tool=MAX_RUNNING, caller=MAX_RUNNING, server=2 * MAX_RUNNING),
)


class Quiet:
    def notify(self, method: str, params: Any) -> None:
        raise AssertionError(f"nobody asked for {method}")


QUIET: Any = Quiet()


class Mute(Quiet):
    async def ask(self, method: str, params: Any, seconds: float) -> Any:
        raise AssertionError(f"nobody asks {method}")

    def detach(self) -> None: ...


async def admitted(doors: HttpEndpoint, headers: dict[str, str]) -> Any:
    return await doors.admit(Carrier("http", headers, "127.0.0.1"))


class Worker:
    """A worker with one tool that waits until it is cancelled."""

    def __init__(self, key: bytes, facts: MemoryFacts, authenticate: Authenticate | None = None) -> None:
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()
        tools = LocalToolset()
        tools.add(self.wait)
        provider = standard(tools, WIDE)
        self.served = ServedProvider(Implementation(name="t", version="1"), provider, Sealer([key]), facts)
        self.doors: HttpEndpoint = ProtocolServer(self.served).http(authenticate)

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
        return await self.doors.post(body, await admitted(self.doors, headers), QUIET)


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


def test_a_cancellation_from_another_session_does_not_reach_the_call():
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
def test_b30_a_principal_cannot_cancel_a_call_with_the_session_id_of_another(version: dict[str, str], status: int):
    async def main() -> None:
        one, other, session = await two_workers()
        call = asyncio.ensure_future(one.post(CALL, session))
        async with asyncio.timeout(LIMIT):
            await one.waiting.wait()
            stranger = HttpEndpoint(other.doors._handlers, lambda carrier: Principal("bob"))  # pyright: ignore[reportPrivateUsage]
            headers = {SESSION_HEADER: session, **version}
            body = json.dumps({"jsonrpc": "2.0", **CANCEL}).encode()
            assert (await stranger.post(body, await admitted(stranger, headers), QUIET)).status == status
            await one.post({"id": 2, "method": "ping"}, session)
            await one.post({"id": 3, "method": "ping"}, session)
            assert not one.cancelled.is_set()
            await one.post(CANCEL, session)
            await call

    asyncio.run(main())


# --- how much of it ---------------------------------------------------------------------------------------------------


def by_name(carrier: Carrier) -> Principal:
    return Principal((carrier.headers or {}).get("authorization", "nobody"))


class Member:
    """A session of somebody at a worker."""

    def __init__(self, worker: Worker, name: str) -> None:
        self._doors = worker.doors
        self._headers = {"authorization": name}

    async def begin(self) -> Member:
        reply = await self.post({"id": 0, "method": "initialize", "params": INITIALIZE})
        self._headers[SESSION_HEADER] = dict(reply.headers)[SESSION_HEADER]
        return self

    async def post(self, message: dict[str, Any]) -> Any:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return await self._doors.post(body, await admitted(self._doors, self._headers), QUIET)

    async def set_level(self, level: str) -> None:
        await self.post({"id": 1, "method": "logging/setLevel", "params": {"level": level}})

    async def get(self, begun: Callable[[], None] = lambda: None) -> Any:
        """Listen until cancelled, and leave."""

        async def send(event: Any) -> None:
            if event["type"] == "http.response.start":
                begun()

        stream = Stream(send)
        try:
            return await self._doors.listen(await admitted(self._doors, self._headers), stream)
        finally:
            stream.abandon()


def alone(test: Callable[[Worker, MemoryFacts], Coroutine[Any, Any, None]]) -> None:
    """With one worker."""

    async def main() -> None:
        facts = MemoryFacts()
        worker = Worker(new_key(), facts, by_name)
        await worker.doors.open()
        async with asyncio.timeout(LIMIT):
            await test(worker, facts)
        worker.doors.closing()

    asyncio.run(main())


def test_a_caller_has_so_many_calls_running_gone_or_not_and_others_are_served_all_the_same():
    async def test(worker: Worker, facts: MemoryFacts) -> None:
        ada, bob = await Member(worker, "ada").begin(), await Member(worker, "bob").begin()
        ping = {"id": "ping", "method": "ping"}
        calls = [asyncio.ensure_future(ada.post({**CALL, "id": id})) for id in range(MAX_RUNNING)]
        await worker.waiting.wait()
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert "TT1021" in json.loads((await ada.post(ping)).body)["error"]["message"]
        assert json.loads((await bob.post(ping)).body)["result"] == {}
        await ada.post({**CANCEL, "params": {"requestId": 7}})
        await worker.cancelled.wait()
        await bob.post(ping)
        assert json.loads((await ada.post(ping)).body)["result"] == {}

    alone(test)


def test_a_caller_has_so_many_streams_open_and_so_many_that_were_left_are_listened_to():
    async def test(worker: Worker, facts: MemoryFacts) -> None:
        ada, bob = await Member(worker, "ada").begin(), await Member(worker, "bob").begin()

        async def opened(member: Member, number: int) -> list[asyncio.Task[Any]]:
            begun = asyncio.Semaphore(0)
            streams = [asyncio.ensure_future(member.get(begun.release)) for _ in range(number)]
            for _ in streams:
                await begun.acquire()
            return streams

        streams = await opened(ada, 1_000)
        refused = await ada.get()
        assert (refused.status, "TT1054" in refused.body.decode()) == (503, True)
        streams += await opened(bob, 10)
        assert worker.served.hub.listening == 1_010
        for stream in streams:
            stream.cancel()
        await asyncio.wait(streams)
        assert len(worker.doors._alone) <= 1_000  # pyright: ignore[reportPrivateUsage]
        (again,) = await opened(ada, 1)
        again.cancel()

    alone(test)


def test_a_level_takes_room_where_it_is_not_the_default():
    async def test(worker: Worker, facts: MemoryFacts) -> None:
        ada = await Member(worker, "ada").begin()
        await ada.set_level("info")
        assert len(facts) == 0
        await ada.set_level("debug")
        await ada.set_level("warning")
        assert len(facts) == 2
        await ada.set_level("info")
        assert len(facts) == 1  # that there once was one

    alone(test)


def test_a_session_that_was_ended_while_its_level_was_set_stays_ended():
    async def test(worker: Worker, facts: MemoryFacts) -> None:
        legacy = worker.doors._handlers.legacy  # pyright: ignore[reportPrivateUsage]
        ada = Principal("ada")
        token = legacy.seal(LegacySession(versions.BY_NAME["2025-11-25"]), ada)
        session = await legacy.open(token, ada)
        assert session is not None
        await legacy.end(session)
        await legacy.answer(RpcRequest(1, "logging/setLevel", {"level": "debug"}), session, Mute(), ada)
        assert await legacy.open(token, ada) is None

    alone(test)
