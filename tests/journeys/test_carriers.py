"""One conversation, the same in memory, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.serving import SERVER, http, started
from support.wire import servers
from tooltrue import Client, RpcError
from tooltrue.cli.targets import Spec, load_server
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

PATIENCE = 3.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http() as (url, _):
        yield url


@pytest.fixture(params=["memory", "stdio", "http"])
def target(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        return load_server(Spec(str(SERVER)))
    return [sys.executable, "-W", "error", str(SERVER)] if request.param == "stdio" else request.getfixturevalue("url")


def session(target: Any, test: Callable[[Client], Any], **settings: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(target, **settings) as client:
            return await test(client)

    return asyncio.run(main())


def test_a_server_states_its_name_version_and_revisions(target: Any):
    async def test(client: Client) -> Any:
        return client.facts

    facts = session(target, test)
    assert (facts.name, facts.version, facts.instructions) == ("author", "1.2", "Add first.")
    assert facts.revision == versions.LATEST
    assert facts.supported == versions.ALL


def test_tools_are_listed_and_called(target: Any):
    async def test(client: Client) -> Any:
        names = [tool.name for tool in await client.list_tools()]
        assert names == sorted(names)
        return [(await client.call_tool("add", a=1)).value, (await client.call_tool("add", {"a": 1, "b": 5.0})).value]

    assert session(target, test) == [3, 6]


@pytest.mark.requirement("BASE-21")
def test_progress_comes_in_order_before_the_answer(target: Any):
    seen: list[Any] = []

    async def test(client: Client) -> Any:
        return await client.call_tool("count", to=3, progress=lambda *said: seen.append(said))

    assert session(target, test).value == "3 of 3"
    assert seen == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]


@pytest.mark.requirement("BASE-21", "CALL-08")
def test_failures_are_results_and_broken_protocol_is_an_error(target: Any):
    async def test(client: Client) -> None:
        refused, crashed = await client.call_tool("refuse"), await client.call_tool("crash")
        assert (refused.is_error, refused.text) == (True, "Try add instead.")
        assert crashed.is_error
        assert "hunter2" not in str(crashed.raw)
        assert (await client.call_tool("add", a="1")).is_error
        with pytest.raises(RpcError) as caught:
            await client.call_tool("none")
        assert caught.value.number == -32602
        await client.ping()

    session(target, test)


@pytest.mark.requirement("BASE-21", "STATE-02")
def test_b32_twin_each_answer_reaches_its_own_request(target: Any):
    async def test(client: Client) -> Any:
        calls = [client.call_tool("add", a=number, b=0) for number in range(30)]
        return [result.value for result in await asyncio.gather(*calls)]

    assert session(target, test) == list(range(30))


def test_a_tool_that_comes_or_goes_announces_itself(target: Any):
    changed = asyncio.Event()

    async def test(client: Client) -> None:
        async def heard() -> set[str]:
            async with asyncio.timeout(PATIENCE):
                await changed.wait()
            changed.clear()
            return {tool.name for tool in await client.list_tools()}

        await client.call_tool("grow", name="sprout")
        assert "sprout" in await heard()
        assert (await client.call_tool("sprout")).value == "grown"
        await client.call_tool("cut", name="sprout")
        assert "sprout" not in await heard()
        with pytest.raises(RpcError):
            await client.call_tool("sprout")

    try:
        session(target, test, on_tools_changed=changed.set)
    except TimeoutError:
        raise AssertionError("nobody told the client") from None
    finally:
        session(target, _without_sprout)


async def _without_sprout(client: Client) -> None:
    """The HTTP server is everybody's."""
    if "sprout" in {tool.name for tool in await client.list_tools()}:
        await client.call_tool("cut", name="sprout")


def test_a_client_on_stdio_that_says_ahead_that_it_is_ready_hears_of_changes():
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    messages = [
        {"id": 0, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": {"name": "grow", "arguments": {"name": "n"}}},
    ]
    with started([sys.executable, "-W", "error", servers.__file__, "changing"]) as process:
        process.raw(b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages))
        said = [process.read() for _ in range(3)]
    assert said[0]["result"]["protocolVersion"] == "2025-11-25"
    assert sorted(message.get("method", "answer") for message in said[1:]) == [
        "answer",
        "notifications/tools/list_changed",
    ]


def test_two_clients_are_served_at_once(target: Any):
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(target) as one, Client(target) as two:
            results = await asyncio.gather(one.call_tool("add", a=1), two.call_tool("add", a=2))
            return [result.value for result in results]

    assert asyncio.run(main()) == [3, 4]


def test_one_server_serves_one_loop_after_another():
    server = load_server(Spec(str(SERVER)))
    for _ in range(2):
        assert session(server, lambda client: client.call_tool("add", a=1)).value == 3
