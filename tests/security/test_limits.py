"""Limits on resources that one caller could exhaust, and the normal callers that must not reach them."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tooltrue import Client, Context, Rate, Server
from tooltrue.client.client import Result
from tooltrue.errors import StateError
from tooltrue.protocol.types import TextContent
from tooltrue.protocol.versions import ALL
from tooltrue.state.facts import Bucket, MemoryFacts
from tooltrue.testing.state import LIMIT

SLOWLY = 0.001


def text(result: Result) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def add(a: int = 1, b: int = 2) -> int:
    return a + b


def adder(**settings: Any) -> Server:
    server = Server("t", version="1", **settings)
    server.add_tool(add, name="add", effect="read")
    return server


# -- B26: a rate evaded --------------------------------------------------------------------------------------------


def granted(server: Server, sessions: int, calls: int) -> int:
    """How many calls ran, of a client that begins anew again and again, each time in another revision."""

    async def main() -> int:
        ran = 0
        for _, revision in zip(range(sessions), itertools.cycle(ALL), strict=False):
            async with Client(server, revision=revision) as client:
                ran += sum([not (await client.call_tool("add")).is_error for _ in range(calls)])
        return ran

    return asyncio.run(main())


@pytest.mark.requirement("CALL-16")
def test_b26_new_sessions_and_other_revisions_have_no_calls_of_their_own():
    assert granted(adder(rate=Rate(SLOWLY, 10)), sessions=6, calls=5) == 10


def test_b26_another_spelling_of_the_name_is_no_other_tool():
    async def main() -> list[str]:
        async with Client(adder(rate=Rate(SLOWLY, 1))) as client:
            await client.call_tool("add")
            said = [text(await client.call_tool("add"))]
            for name in ("Add", "add ", "ADD"):
                with pytest.raises(Exception, match="TT1010"):
                    await client.call_tool(name)
            return said

    [said] = asyncio.run(main())
    assert "[TT2100]" in said


def test_b26_many_workers_have_one_limit():
    async def main() -> int:
        facts, ran = MemoryFacts(), 0
        for server in (adder(rate=Rate(SLOWLY, 10), facts=facts) for _ in range(4)):
            async with Client(server) as client:
                ran += sum([not (await client.call_tool("add")).is_error for _ in range(5)])
        return ran

    assert asyncio.run(main()) == 10


def test_b26_twin_an_agent_that_works_through_a_list_is_never_refused():
    assert granted(adder(), sessions=5, calls=200) == 1_000


def test_b26_twin_lists_and_pings_cost_nothing():
    async def main() -> Result:
        async with Client(adder(rate=Rate(SLOWLY, 1))) as client:
            for _ in range(50):
                await client.list_tools()
                await client.ping()
            return await client.call_tool("add")

    assert not asyncio.run(main()).is_error


# -- B36: a tool that never returns ---------------------------------------------------------------------------------


def test_b36_stuck_tools_take_neither_the_server_nor_another_tool():
    gate = threading.Event()
    server = Server("t", version="1", threads=8)

    @server.tool(effect="read")
    def stuck() -> None:
        gate.wait()

    @server.tool(effect="read")
    def quick() -> str:
        return "quick"

    async def main() -> str:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            calls = [asyncio.ensure_future(client.call_tool("stuck")) for _ in range(60)]
            for _ in range(20):
                await client.ping()
            said = text(await client.call_tool("quick"))
            assert not any(call.done() for call in calls)
            gate.set()
            await asyncio.gather(*calls)
            return said

    try:
        said = asyncio.run(main())
    finally:
        gate.set()
    assert said == "quick"


# -- B37 and B55: floods ----------------------------------------------------------------------------------------------


async def flood(context: Context, progress: int = 0) -> str:
    """Tells of its progress without end."""
    for number in range(1, progress + 1):
        context.progress(number, progress * 2)
    return "done"


@pytest.mark.filterwarnings("ignore")
async def chatter(context: Context, messages: int = 0) -> str:
    for number in range(messages):
        context.log("error", number)
    return "done"


def told(tool: str, meta: dict[str, Any], **arguments: int) -> list[dict[str, Any]]:
    """All that a client is sent for one call, the answer last."""

    async def main() -> list[dict[str, Any]]:
        server = Server("t", version="1")
        server.add_tool(flood, effect="read")
        server.add_tool(chatter, effect="read")
        sent: list[dict[str, Any]] = []
        answered = asyncio.Event()

        def write(frame: bytes) -> None:
            sent.append(json.loads(frame))
            if "id" in sent[-1]:
                answered.set()

        session = server.connect(write)
        facts = {
            "io.modelcontextprotocol/protocolVersion": ALL[0],
            "io.modelcontextprotocol/clientCapabilities": {},
            **meta,
        }
        params = {"name": tool, "arguments": arguments, "_meta": facts}
        session.feed(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode())
        async with asyncio.timeout(LIMIT):
            await answered.wait()
        await session.close()
        return sent

    return asyncio.run(main())


def test_b37_of_a_flood_of_progress_few_are_told():
    sent = told("flood", {"progressToken": "p"}, progress=100_000)
    assert len(sent) < 2_000
    assert sent[-1]["result"]["content"][0]["text"] == "done"


def test_b37_twin_progress_at_a_human_pace_is_told_whole():
    sent = told("flood", {"progressToken": "p"}, progress=10)
    assert [message["params"]["progress"] for message in sent[:-1]] == [*range(1, 11)]


def test_b55_of_a_flood_of_messages_few_are_sent_and_that_is_said():
    sent = told("chatter", {"io.modelcontextprotocol/logLevel": "error"}, messages=100_000)
    assert len(sent) < 2_000
    assert any("TT2015" in str(message["params"]["data"]) for message in sent[:-1])


def test_b55_twin_a_handful_of_messages_is_sent_whole():
    sent = told("chatter", {"io.modelcontextprotocol/logLevel": "error"}, messages=20)
    assert [message["params"]["data"] for message in sent[:-1]] == [*range(20)]


# -- B57: a part of the guard that fails -------------------------------------------------------------------------------


class Down(MemoryFacts):
    """A store that cannot be reached."""

    async def get(self, key: str) -> bytes | None:
        raise StateError.of("TT7005", path="facts")


class DownLater(Down):
    """A store that answers the first question."""

    async def get(self, key: str) -> bytes | None:
        return None

    def taker(self, buckets: Sequence[Bucket]) -> Callable[[], float]:
        def take() -> float:
            raise StateError.of("TT7005", path="facts")

        return take


@pytest.mark.parametrize("facts", [Down, DownLater])
def test_b57_no_tool_is_called_while_limits_cannot_be_checked(facts: type[MemoryFacts]):
    async def main() -> Result:
        async with Client(adder(facts=facts())) as client:
            return await client.call_tool("add")

    assert asyncio.run(main()).is_error


def test_b57_twin_a_store_that_answers_lets_calls_through():
    async def main() -> Result:
        async with Client(adder(facts=MemoryFacts())) as client:
            return await client.call_tool("add")

    assert asyncio.run(main()).structured == 3
