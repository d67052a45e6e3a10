"""Pending questions: the contents of outgoing requests, the stored state, and the timeout."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.clock import skip
from tooltrue import Context, Form, Sampling, Server
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import Implementation, InputRequiredResult
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer, ServerSession
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.testing.state import LIMIT
from tooltrue.tools.local import LocalToolset
from tooltrue.transport.carrier import Carrier

MEMORY = Carrier("memory")
CAN_ALL = {"elicitation": {}, "sampling": {}}
SURE = Form("Sure?")


class Channel:
    """A client's end, spoken raw."""

    def __init__(self, connect: Callable[[Callable[[bytes], None]], ServerSession]) -> None:
        self._said: asyncio.Queue[Any] = asyncio.Queue()
        self.session = connect(lambda frame: self._said.put_nowait(json.loads(frame)))

    def send(self, **message: Any) -> None:
        self.session.feed(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def hear(self) -> Any:
        async with asyncio.timeout(LIMIT):
            return await self._said.get()

    async def modern(self, name: str, **more: Any) -> Any:
        """The response to a modern call."""
        meta = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: CAN_ALL}
        self.send(id=1, method="tools/call", params={"name": name, "_meta": meta, **more})
        return await self.hear()

    async def legacy(self) -> None:
        client = {"name": "t", "version": "0"}
        params = {"protocolVersion": versions.NEWEST_LEGACY, "capabilities": CAN_ALL, "clientInfo": client}
        self.send(id=0, method="initialize", params=params)
        await self.hear()
        self.send(method="notifications/initialized")

    def call(self, name: str, id: int = 1) -> None:
        self.send(id=id, method="tools/call", params={"name": name})


def talk(connect: Callable[..., ServerSession], test: Callable[[Channel], Awaitable[None]]) -> None:
    async def main() -> None:
        channel = Channel(connect)
        await test(channel)
        await channel.session.close()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


async def ask(context: Context) -> str:
    """Ask."""
    return context.ask(SURE, key="sure").action


def text(answer: Any) -> str:
    return answer["result"]["content"][0]["text"]


# -- outgoing contents -------------------------------------------------------------------------------------------------

SECRET = {"type": "object", "properties": {"password": {"type": "string"}}}


@pytest.mark.requirement("ELIC-04", "ELIC-06", "ELIC-08", "MRTR-05")
@pytest.mark.parametrize(
    "outcome",
    [
        InputRequiredResult(),
        InputRequiredResult({"a": {"method": "tools/list"}}),
        InputRequiredResult({"a": {"method": "elicitation/create", "params": {"requestedSchema": {}}}}),
        InputRequiredResult(
            {"a": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": SECRET}}}
        ),
        InputRequiredResult({"a": SURE.request}, meta={"x y": 1}),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_modern", [True, False])
def test_an_invalid_input_request_of_a_handler_is_an_internal_error_without_details(
    outcome: InputRequiredResult, is_modern: bool, caplog: pytest.LogCaptureFixture
):
    server = Server("t", version="1")
    server.add_raw_tool("by_hand", {"type": "object"}, lambda arguments: outcome)

    async def test(channel: Channel) -> None:
        if not is_modern:
            await channel.legacy()
            channel.call("by_hand")
        error = (await channel.modern("by_hand") if is_modern else await channel.hear())["error"]
        assert error["code"] == -32603
        assert "TT1020" in error["message"]

    talk(server.connect, test)
    assert "internal error" in caplog.text


# -- stored state ------------------------------------------------------------------------------------------------------


class Untouched(MemoryFacts):
    """A store that rejects every write."""

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        raise AssertionError(key)

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        raise AssertionError(key)


@pytest.mark.requirement("MRTR-14", "ELIC-23")
def test_a_modern_question_leaves_no_state_at_the_server():
    server = Server("t", version="1", facts=Untouched())
    server.add_tool(ask)

    async def test(channel: Channel) -> None:
        for _ in range(3):
            asked = await channel.modern("ask")
            assert asked["result"]["inputRequests"] == {"sure": SURE.request}
            assert not channel.session.is_busy()

    talk(server.connect, test)


@pytest.mark.requirement("ELIC-16", "SAMP-16")
def test_an_answered_question_appears_neither_in_the_request_state_nor_in_the_log(caplog: pytest.LogCaptureFixture):
    server = Server("t", version="1")

    @server.tool
    async def confide(context: Context) -> str:
        """Ask twice."""
        context.ask(Sampling("What is it?", 5), key="thought")
        return context.ask(SURE, key="sure").action

    async def test(channel: Channel) -> None:
        first = await channel.modern("confide")
        thought = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hunter2"}}
        state = first["result"]["requestState"]
        second = await channel.modern("confide", requestState=state, inputResponses={"thought": thought})
        state = second["result"]["requestState"]
        raw = base64.urlsafe_b64decode(state + "=" * (-len(state) % 4))
        assert list(second["result"]["inputRequests"]) == ["sure"]
        assert b"hunter2" not in raw
        assert b"thought" not in raw

    with caplog.at_level("DEBUG"):
        talk(server.connect, test)
    assert "hunter2" not in caplog.text


# -- how long anybody waits --------------------------------------------------------------------------------------------


def served(**settings: Any) -> ServedProvider:
    tools = LocalToolset()
    tools.add(ask)
    return ServedProvider(Implementation("t", "1"), tools, Sealer((new_key(),)), MemoryFacts(), **settings)


@pytest.mark.requirement("CANC-11", "LHTTP-42")
def test_a_person_has_a_quarter_of_an_hour():
    assert served().question_seconds == 900


@pytest.mark.requirement("CANC-11", "CANC-12", "CANC-13", "ELIC-24")
def test_an_unanswered_question_is_cancelled_at_its_deadline_and_the_model_gets_an_error():
    server = ProtocolServer(served(question_seconds=0.0))

    async def test(channel: Channel) -> None:
        await channel.legacy()
        channel.call("ask")
        question = await channel.hear()
        assert question["method"] == "elicitation/create"
        taken_back = await channel.hear()
        assert (taken_back["method"], taken_back["params"]) == (
            "notifications/cancelled",
            {"requestId": question["id"]},
        )
        answer = await channel.hear()
        assert (answer["id"], answer["result"]["isError"]) == (1, True)
        assert "TT2012" in text(answer)
        channel.send(id=question["id"], result={"action": "accept"})  # after the timeout: the server ignores it

    talk(lambda write: server.connect(write, MEMORY), test)


@pytest.mark.requirement("CANC-12", "ELIC-24")
def test_a_question_of_a_call_that_is_cancelled_is_taken_back():
    server = ProtocolServer(served())

    async def test(channel: Channel) -> None:
        await channel.legacy()
        channel.call("ask")
        question = await channel.hear()
        channel.send(method="notifications/cancelled", params={"requestId": 1})
        assert (await channel.hear())["params"] == {"requestId": question["id"]}

    talk(lambda write: server.connect(write, MEMORY), test)


@pytest.mark.requirement("LHTTP-42")
def test_the_time_that_a_person_takes_is_not_the_tools():
    began = asyncio.Event()
    server = Server("t", version="1")
    server.add_tool(ask, seconds=30.0)

    @server.tool(seconds=30.0)
    async def wait() -> None:
        """Wait until the time is over."""
        began.set()
        await asyncio.Event().wait()

    async def test(channel: Channel) -> None:
        await channel.legacy()
        channel.call("ask")
        question = await channel.hear()
        channel.call("wait", id=2)
        await began.wait()
        skip(31.0)
        assert "TT2002" in text(await channel.hear())
        channel.send(id=question["id"], result={"action": "decline"})
        assert text(await channel.hear()) == "decline"

    talk(server.connect, test)
