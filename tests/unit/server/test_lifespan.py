"""The lifespan of a server in memory: entered once, left with the last client, and its values by type."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from tooltrue import Client, Depends, Lifespan, Limits, LocalToolset, Server, prefixed
from tooltrue.errors import ConfigurationError, DefinitionError
from tooltrue.testing.state import LIMIT

events: list[str] = []


@pytest.fixture(autouse=True)
def nothing_yet() -> None:
    events.clear()


@dataclass
class Pool:
    name: str = "pool"


@dataclass
class Mailbox:
    name: str = "mailbox"


class Settings(TypedDict):
    city: str


def opening(value: Any, name: str = "it") -> Callable[[Server], contextlib.AbstractAsyncContextManager[Any]]:
    """A lifespan that yields ``value`` and says what it does."""

    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncGenerator[Any]:
        events.append(f"+{name} of {server.name}")
        try:
            yield value
        finally:
            events.append(f"-{name}")

    return lifespan


def tool_taking(type_: Any, mapped: Callable[[Any], Any] = str) -> Any:
    async def tool(value: Any) -> str:
        return str(mapped(value))

    tool.__annotations__ = {"value": Annotated[type_, Lifespan], "return": str}
    return tool


def run(scenario: Callable[[], Any]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT):
            return await scenario()

    return asyncio.run(main())


async def called(server: Server, tool: str = "tool", **arguments: Any) -> Any:
    async with Client(server) as client:
        return await client.call_tool(tool, arguments)


def test_a_lifespan_is_entered_for_the_first_client_and_left_with_the_last() -> None:
    pool = Pool()
    server = Server("shop", lifespan=opening(pool))
    server.add_tool(tool_taking(Pool, lambda value: value is pool))

    async def scenario() -> None:
        first, second = Client(server), Client(server)
        async with first:
            assert events == ["+it of shop"]
            await second.__aenter__()
            assert (await first.call_tool("tool")).value == "True"
        assert events == ["+it of shop"]
        assert (await second.call_tool("tool")).value == "True"
        await asyncio.create_task(second.__aexit__(None, None, None))
        assert events == ["+it of shop", "-it"]
        assert (await called(server)).value == "True"

    run(scenario)
    assert events == ["+it of shop", "-it"] * 2


def test_clients_that_connect_at_once_share_one_lifespan() -> None:
    server = Server("shop", lifespan=opening(Pool()))
    server.add_tool(tool_taking(Pool))

    async def scenario() -> Any:
        return await asyncio.gather(*(called(server) for _ in range(10)))

    assert [result.value for result in run(scenario)] == ["Pool(name='pool')"] * 10
    assert events == ["+it of shop", "-it"]


def test_a_task_group_and_a_timeout_in_a_lifespan_work_whoever_is_the_last() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
            waiting = group.create_task(asyncio.Event().wait())
            yield Pool()
            waiting.cancel()

    server = Server("shop", lifespan=lifespan)
    server.add_tool(tool_taking(Pool))

    async def scenario() -> None:
        client = Client(server)
        await asyncio.create_task(client.__aenter__())
        await asyncio.create_task(client.__aexit__(None, None, None))

    run(scenario)


def test_a_lifespan_is_entered_within_serving_and_not_again_for_a_client() -> None:
    server = Server("shop", lifespan=opening(Pool()), audit=False)
    server.add_tool(tool_taking(Pool))

    async def scenario() -> None:
        async with server.serving():
            await called(server)
            assert events == ["+it of shop"]

    run(scenario)
    assert events == ["+it of shop", "-it"]


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "type_", "given"),
    [
        (Pool(), Pool, "Pool(name='pool')"),
        (Pool(), Pool | Mailbox, "Pool(name='pool')"),
        ({"city": "Oslo"}, dict[str, str], "{'city': 'Oslo'}"),
        ({"city": "Oslo"}, Settings, "{'city': 'Oslo'}"),
        (Pool(), Any, "Pool(name='pool')"),
        ([1], list[int], "[1]"),
    ],
)
def test_a_value_is_found_by_its_type(value: Any, type_: Any, given: str) -> None:
    server = Server("shop", lifespan=opening(value))
    server.add_tool(tool_taking(type_))
    assert run(lambda: called(server)).value == given


def test_a_dependency_a_resource_and_a_prompt_take_a_value_too() -> None:
    server = Server("shop", lifespan=opening(Pool()))

    def name(pool: Any) -> str:
        return str(pool.name)

    name.__annotations__["pool"] = Annotated[Pool, Lifespan]

    def text(name: Any) -> str:
        return str(name)

    text.__annotations__ = {"name": Annotated[str, Depends(name)], "return": str}
    server.add_tool(text, name="tool")
    server.add_resource("shop://name", tool_taking(Pool, lambda pool: pool.name))
    server.add_prompt(text, name="prompt")

    async def scenario() -> Any:
        async with Client(server) as client:
            page: Any = (await client.read_resource("shop://name"))[0]
            prompt = await client.get_prompt("prompt")
            return [(await client.call_tool("tool")).value, page.text, prompt.messages[0].content.text]

    assert run(scenario) == ["pool", "pool", "pool"]


def test_several_lifespans_are_entered_in_order_and_left_in_the_opposite_order() -> None:
    server = Server("shop", lifespan=[opening(Pool(), "a"), opening(None, "b"), opening(Mailbox(), "c")])
    server.add_tool(tool_taking(Mailbox))
    assert run(lambda: called(server)).value == "Mailbox(name='mailbox')"
    assert events == ["+a of shop", "+b of shop", "+c of shop", "-c", "-b", "-a"]


def test_a_value_is_not_visible_and_cannot_be_set() -> None:
    server = Server("shop", lifespan=opening(Pool()))
    server.add_tool(tool_taking(Pool))

    async def scenario() -> Any:
        async with Client(server) as client:
            [tool] = await client.list_tools()
            return tool.inputSchema["properties"], await client.call_tool("tool", value="root")

    properties, forged = run(scenario)
    assert properties == {}
    assert forged.is_error
    assert "unknown property" in forged.text


def test_a_value_of_a_type_that_is_not_yielded_is_refused_at_the_start() -> None:
    server = Server("shop", lifespan=opening(Pool()))
    server.add_tool(tool_taking(Mailbox), name="read")
    with pytest.raises(DefinitionError, match=r"the tool read takes a Mailbox.*yields Pool") as caught:
        run(lambda: called(server))
    assert caught.value.code == "TT3426"
    assert events == ["+it of shop", "-it"]


def test_two_values_of_a_type_are_refused_at_the_start() -> None:
    server = Server("shop", lifespan=[opening(Pool("a")), opening(Pool("b"))])
    server.add_tool(tool_taking(Pool))
    with pytest.raises(DefinitionError) as caught:
        run(lambda: called(server))
    assert caught.value.code == "TT3427"


def test_a_type_that_the_lifespan_declares_not_to_yield_is_refused_at_registration() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        yield Pool()

    server = Server("shop", lifespan=lifespan)
    server.add_tool(tool_taking(Pool), name="fits")
    with pytest.raises(DefinitionError, match="yields Pool") as caught:
        server.add_tool(tool_taking(Mailbox), name="differs")
    assert caught.value.code == "TT3426"
    assert "test_lifespan.py" in str(caught.value)


def test_a_tool_that_is_added_while_the_server_runs_gets_its_value_or_is_refused() -> None:
    server = Server("shop", lifespan=opening(Pool()))
    server.add_tool(tool_taking(Pool), name="first")

    async def scenario() -> Any:
        async with Client(server) as client:
            server.add_tool(tool_taking(Pool), name="second")
            with pytest.raises(DefinitionError):
                server.add_tool(tool_taking(Mailbox), name="third")
            return (await client.call_tool("second")).value

    assert run(scenario) == "Pool(name='pool')"


def test_a_tool_that_takes_a_value_needs_a_lifespan() -> None:
    server = Server("shop")
    server.add_tool(tool_taking(Pool), name="read")
    with pytest.raises(ConfigurationError, match="the tool read takes a Pool") as caught:
        run(lambda: called(server))
    assert caught.value.code == "TT4527"


def test_a_call_outside_of_the_lifespan_fails(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("shop", lifespan=opening(Pool()))
    server.add_tool(tool_taking(Pool))

    class Bare:
        connect = server.connect

    async def scenario() -> Any:
        async with Client(Bare()) as client:
            return await client.call_tool("tool")

    assert run(scenario).is_error
    [error] = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert isinstance(error, DefinitionError)
    assert error.code == "TT3428"


# --- servers within servers -------------------------------------------------------------------------------------------


def test_a_toolset_of_no_server_takes_the_values_of_the_server_that_serves_it() -> None:
    tools = LocalToolset()
    tools.add(tool_taking(Pool))
    server = Server("shop", toolsets=[prefixed(tools, "db")], lifespan=opening(Pool()))
    assert run(lambda: called(server, "db_tool")).value == "Pool(name='pool')"


@pytest.mark.parametrize("part", ["tools", "provider"])
def test_the_lifespan_of_a_server_whose_tools_another_serves_is_entered_after_its_own(part: str) -> None:
    inner = Server("inner", lifespan=opening(Pool("inner"), "inner"))
    inner.add_tool(tool_taking(Pool))
    outer = Server("outer", toolsets=[prefixed(getattr(inner, part), "in")], lifespan=opening(Pool("outer"), "outer"))
    outer.add_tool(tool_taking(Pool))

    async def scenario() -> Any:
        async with Client(outer) as client:
            return [(await client.call_tool(name)).value for name in ("tool", "in_tool")]

    assert run(scenario) == ["Pool(name='outer')", "Pool(name='inner')"]
    assert events == ["+outer of outer", "+inner of inner", "-inner", "-outer"]


def test_other_settings_of_a_server_share_its_lifespan() -> None:
    server = Server("shop", lifespan=opening(Pool()))
    server.add_tool(tool_taking(Pool))
    assert run(lambda: called(server.with_guard(secrets="keep"))).value == "Pool(name='pool')"


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_start_that_fails_names_the_line_and_leaves_what_was_entered(caplog: pytest.LogCaptureFixture) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        raise ValueError("no database")
        yield Pool()

    server = Server("shop", lifespan=[opening(Pool(), "first"), lifespan])
    with pytest.raises(ConfigurationError, match=r"ValueError: no database.*test_lifespan\.py, line") as caught:
        run(lambda: called(server))
    assert caught.value.code == "TT4522"
    assert events == ["+first of shop", "-first"]
    assert "The lifespan of shop failed." in caplog.text


def test_a_program_that_exits_in_its_lifespan_cannot_start() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        raise SystemExit(7)
        yield Pool()

    with pytest.raises(ConfigurationError, match="SystemExit: 7"):
        run(lambda: called(Server("shop", lifespan=lifespan)))


def test_a_start_that_fails_within_the_standard_library_names_the_authors_line() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncGenerator[str]:
        yield os.environ["TOOLTRUE_NO_SUCH_VARIABLE"]

    async def main() -> None:
        async with Client(Server("t", lifespan=lifespan)):
            raise AssertionError

    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(main())
    assert caught.value.code == "TT4522"
    assert 'yield os.environ["TOOLTRUE_NO_SUCH_VARIABLE"]' in str(caught.value)


def test_a_failure_while_leaving_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        yield Pool()
        raise ValueError("already closed")

    server = Server("shop", lifespan=lifespan)
    server.add_tool(tool_taking(Pool))
    assert run(lambda: called(server)).value == "Pool(name='pool')"
    assert "TT4524" in caplog.text


def test_a_lifespan_that_is_not_left_in_time_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        yield Pool()
        await asyncio.Event().wait()

    server = Server("shop", lifespan=[opening(Pool(), "first"), lifespan], limits=Limits(lifespan_seconds=0.05))

    async def scenario() -> None:
        async with Client(server):
            pass

    run(scenario)
    assert "TT4525" in caplog.text
    assert events == ["+first of shop", "-first"], "the others are left nevertheless"


def test_a_lifespan_that_ends_early_is_reported_and_its_values_are_gone(caplog: pytest.LogCaptureFixture) -> None:
    may_fail, has_ended = asyncio.Event(), asyncio.Event()

    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        async def fail() -> None:
            await may_fail.wait()
            raise ValueError("lost")

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                yield Pool()
        finally:
            has_ended.set()

    server = Server("shop", lifespan=lifespan)
    server.add_tool(tool_taking(Pool))

    async def scenario() -> Any:
        async with Client(server) as client:
            may_fail.set()
            await has_ended.wait()
            return await client.call_tool("tool")

    assert run(scenario).is_error
    assert "TT4526" in caplog.text


def test_a_start_that_is_cancelled_is_stopped() -> None:
    is_starting = asyncio.Event()

    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        try:
            is_starting.set()
            await asyncio.Event().wait()
            yield Pool()
        finally:
            events.append("stopped")

    server = Server("shop", lifespan=lifespan)

    async def scenario() -> None:
        connecting = asyncio.ensure_future(Client(server).__aenter__())
        await is_starting.wait()
        connecting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await connecting
        assert events == ["stopped"]

    run(scenario)


async def coroutine(server: Server) -> Pool:
    return Pool()


@contextlib.contextmanager
def plain(server: Server) -> Any:
    yield Pool()


@contextlib.asynccontextmanager
async def without_server() -> AsyncIterator[Pool]:
    yield Pool()


@pytest.mark.parametrize("lifespan", [coroutine, plain, without_server, "lifespan", [7]])
def test_what_is_no_lifespan_is_refused(lifespan: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Server("shop", lifespan=lifespan)
    assert caught.value.code == "TT4523"


def test_a_bare_generator_function_is_a_lifespan_too() -> None:
    async def lifespan(server: Server) -> AsyncIterator[Pool]:
        yield Pool(server.name)

    server = Server("shop", lifespan=lifespan)
    server.add_tool(tool_taking(Pool))
    assert run(lambda: called(server)).value == "Pool(name='shop')"
