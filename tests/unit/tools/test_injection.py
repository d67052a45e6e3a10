"""Dependencies around a call: opened in order, closed in the opposite order however the call ends, on which thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Annotated, Any

import pytest

from tooltrue import Client, Context, Depends, Form, Limits, Server, TextResource, ToolError
from tooltrue.testing.state import LIMIT

events: list[str] = []


@pytest.fixture(autouse=True)
def nothing_yet() -> None:
    events.clear()


def called(server: Server, tool: str = "tool", **settings: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server, **settings) as client:
            return await client.call_tool(tool)

    return asyncio.run(main())


def first() -> Generator[str]:
    events.append("+first")
    try:
        yield "first"
    except BaseException as error:
        events.append(f"!{type(error).__name__}")
        raise
    finally:
        events.append("-first")


async def second(first: Annotated[str, Depends(first)]) -> AsyncGenerator[str]:
    events.append("+second")
    try:
        yield f"{first}, second"
    finally:
        events.append("-second")


@contextlib.asynccontextmanager
async def third() -> AsyncGenerator[str]:
    events.append("+third")
    try:
        yield "third"
    finally:
        events.append("-third")


Both = Annotated[str, Depends(second)]
Third = Annotated[str, Depends(third)]
OPENED = ["+first", "+second", "+third"]
CLOSED = ["-third", "-second", "-first"]


def plain_tool(body: Callable[[], Any]) -> Callable[..., Any]:
    def tool(both: Both, third: Third) -> str:
        events.append("tool")
        return str(body() or f"{both}, {third}")

    return tool


def async_tool(body: Callable[[], Any]) -> Callable[..., Any]:
    async def tool(both: Both, third: Third) -> str:
        events.append("tool")
        return str(body() or f"{both}, {third}")

    return tool


TOOLS = pytest.mark.parametrize("make", [plain_tool, async_tool])
BLOCKING = pytest.mark.parametrize("blocking", [True, False])


def server_of(tool: Callable[..., Any], **settings: Any) -> Server:
    server = Server("t")
    server.add_tool(tool, name="tool", **settings)
    return server


@TOOLS
@BLOCKING
def test_dependencies_are_open_during_the_call_and_closed_in_the_opposite_order(make: Any, blocking: bool) -> None:
    result = called(server_of(make(lambda: None), blocking=blocking))
    assert result.value == "first, second, third"
    opened, closed = events[: events.index("tool")], events[events.index("tool") + 1 :]
    assert sorted(opened) == OPENED
    assert opened.index("+first") < opened.index("+second")
    assert [event[1:] for event in closed] == [event[1:] for event in reversed(opened)]


@TOOLS
@BLOCKING
def test_dependencies_are_closed_with_the_error_of_a_call_that_fails(make: Any, blocking: bool) -> None:
    def fail() -> None:
        raise ToolError("Try again.")

    result = called(server_of(make(fail), blocking=blocking))
    assert result.text == "Try again."
    opened = [event[1:] for event in events if event[0] == "+"]
    assert [event[1:] for event in events if event[0] == "-"] == opened[::-1]
    assert "!ToolError" in events


@TOOLS
@BLOCKING
def test_what_was_opened_is_closed_if_a_later_dependency_fails(make: Any, blocking: bool) -> None:
    def refuses(both: Both) -> str:
        raise ToolError("No.")

    tool = make(lambda: None)
    tool.__annotations__ |= {"third": Annotated[str, Depends(refuses)]}
    assert called(server_of(tool, blocking=blocking)).text == "No."
    assert events == ["+first", "+second", "-second", "!ToolError", "-first"]


def test_an_error_while_closing_is_logged_and_the_result_stands(caplog: pytest.LogCaptureFixture) -> None:
    def breaks() -> Generator[str]:
        yield "value"
        raise ValueError("hunter2")

    def tool(broken: Any, both: Any) -> str:
        return "done"

    tool.__annotations__ = {"broken": Annotated[str, Depends(breaks)], "both": Both, "return": str}
    result = called(server_of(tool))
    assert result.value == "done"
    assert "hunter2" not in str(result)
    [record] = [record for record in caplog.records if "TT4520" in record.getMessage()]
    assert record.exc_info is not None
    assert events[-1] == "-first", "the others are closed"


def test_a_dependency_can_neither_answer_for_an_error_nor_replace_it(caplog: pytest.LogCaptureFixture) -> None:
    @contextlib.contextmanager
    def swallows() -> Generator[str]:
        with contextlib.suppress(ToolError):
            yield "value"

    def replaces() -> Generator[str]:
        try:
            yield "value"
        except ToolError:
            raise ValueError("hunter2") from None

    def tool(one: Any, other: Any) -> str:
        raise ToolError("Try again.")

    tool.__annotations__ = {
        "one": Annotated[str, Depends(swallows)],
        "other": Annotated[str, Depends(replaces)],
        "return": str,
    }
    assert called(server_of(tool)).text == "Try again."
    assert "TT4520" in caplog.text


def test_a_transaction_is_rolled_back_by_the_error_of_the_tool() -> None:
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("create table notes (text)")

    def transaction() -> Generator[sqlite3.Connection]:
        with database:
            yield database

    def tool(notes: Any, fails: bool = True) -> int:
        notes.execute("insert into notes values ('milk')")
        if fails:
            raise ToolError("No.")
        return 1

    tool.__annotations__ |= {"notes": Annotated[sqlite3.Connection, Depends(transaction)]}
    server = server_of(tool)

    async def main() -> None:
        async with Client(server) as client:
            assert (await client.call_tool("tool")).is_error
            assert database.execute("select count(*) from notes").fetchone() == (0,)
            assert (await client.call_tool("tool", fails=False)).value == 1

    asyncio.run(main())
    assert database.execute("select count(*) from notes").fetchone() == (1,)
    database.close()


# --- threads ----------------------------------------------------------------------------------------------------------


def thread_of(name: str) -> None:
    events.append(f"{name} {'loop' if threading.current_thread() is threading.main_thread() else 'thread'}")


def test_a_plain_tool_and_its_plain_dependencies_share_one_thread_until_the_last_is_closed() -> None:
    def connection() -> Generator[sqlite3.Connection]:
        connection = sqlite3.connect(":memory:")  # refuses any other thread
        connection.execute("create table rows (n)")
        yield connection
        connection.close()

    async def number(rows: Any) -> int:
        await asyncio.sleep(0)
        return 7

    number.__annotations__["rows"] = Annotated[sqlite3.Connection, Depends(connection)]

    def cursor(rows: Any, number: Any) -> Generator[sqlite3.Cursor]:
        cursor = rows.execute("insert into rows values (?)", (number,))
        yield cursor
        cursor.close()

    Rows = Annotated[sqlite3.Connection, Depends(connection)]
    cursor.__annotations__ = {"rows": Rows, "number": Annotated[int, Depends(number)]}

    def tool(cursor: Any, rows: Any) -> int:
        return int(rows.execute("select n from rows").fetchone()[0])

    tool.__annotations__ = {"cursor": Annotated[sqlite3.Cursor, Depends(cursor)], "rows": Rows, "return": int}
    assert called(server_of(tool)).value == 7


def test_a_plain_dependency_of_an_async_tool_is_opened_and_closed_on_a_thread() -> None:
    def dependency() -> Generator[int]:
        thread_of("open")
        yield 1
        thread_of("close")

    async def tool(number: Any) -> int:
        thread_of("tool")
        return int(number)

    tool.__annotations__ = {"number": Annotated[int, Depends(dependency)], "return": int}
    assert called(server_of(tool)).value == 1
    assert events == ["open thread", "tool loop", "close thread"]


def test_async_dependencies_of_a_plain_tool_run_on_the_event_loop() -> None:
    async def before() -> AsyncGenerator[int]:
        thread_of("before")
        yield 1
        thread_of("after")

    def tool(number: Any) -> int:
        thread_of("tool")
        return int(number)

    tool.__annotations__ = {"number": Annotated[int, Depends(before)], "return": int}
    assert called(server_of(tool)).value == 1
    assert events == ["before loop", "tool thread", "after loop"]


# --- once per call ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("use_cache", "count"), [(True, 1), (False, 3)])
def test_a_dependency_is_made_once_per_call_unless_it_says_otherwise(use_cache: bool, count: int) -> None:
    def base() -> str:
        events.append("base")
        return "base"

    Base = Annotated[str, Depends(base, use_cache=use_cache)]

    def left(base: Any) -> str:
        return str(base)

    def right(base: Any) -> str:
        return str(base)

    left.__annotations__["base"] = right.__annotations__["base"] = Base

    def tool(left: Any, right: Any, base: Any) -> str:
        return f"{left} {right} {base}"

    tool.__annotations__ = {
        "left": Annotated[str, Depends(left)],
        "right": Annotated[str, Depends(right)],
        "base": Base,
        "return": str,
    }
    server = server_of(tool)
    for calls in (1, 2):
        assert called(server).value == "base base base"
        assert len(events) == count * calls


# --- the end of a call before its time --------------------------------------------------------------------------------


def test_an_async_tool_that_is_timed_out_closes_its_dependencies() -> None:
    async def tool(both: Any, third: Any) -> str:
        await asyncio.Event().wait()
        return ""

    tool.__annotations__ = {"both": Both, "third": Third, "return": str}
    result = called(server_of(tool, seconds=0.5))
    assert result.is_error
    assert events == [*OPENED, "-third", "-second", "!CancelledError", "-first"]


def test_a_hanging_dependency_does_not_keep_a_timed_out_call(caplog: pytest.LogCaptureFixture) -> None:
    async def hangs() -> AsyncGenerator[str]:
        try:
            yield "value"
        finally:
            await asyncio.Event().wait()

    async def tool(both: Any, hangs: Any) -> str:
        await asyncio.Event().wait()
        return ""

    tool.__annotations__ = {"both": Both, "hangs": Annotated[str, Depends(hangs)], "return": str}
    assert called(server_of(tool, seconds=0.5)).is_error
    assert "TT4521" in caplog.text
    assert "-first" in events


def test_a_plain_tool_that_is_abandoned_keeps_its_dependencies_until_it_ends() -> None:
    may_end, is_closed = threading.Event(), asyncio.Event()

    async def later() -> AsyncGenerator[str]:
        try:
            yield "later"
        finally:
            events.append("-later")
            is_closed.set()

    def tool(later: Any, first: Any) -> str:
        may_end.wait(LIMIT)
        events.append("tool ended")
        return ""

    tool.__annotations__ = {
        "later": Annotated[str, Depends(later)],
        "first": Annotated[str, Depends(first)],
        "return": str,
    }
    server = server_of(tool, seconds=0.05)

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            assert (await client.call_tool("tool")).is_error
            assert events == ["+first"], "answered in time, with everything still open"
            may_end.set()
            await is_closed.wait()

    asyncio.run(main())
    assert events == ["+first", "tool ended", "-first", "-later"]


def test_a_plain_dependency_that_opens_too_late_is_closed_again() -> None:
    may_open, is_closed = threading.Event(), threading.Event()

    def slow() -> Generator[str]:
        may_open.wait(LIMIT)
        try:
            yield "slow"
        finally:
            is_closed.set()

    async def tool(slow: Any) -> str:
        raise AssertionError(slow)

    tool.__annotations__ = {"slow": Annotated[str, Depends(slow)], "return": str}
    assert called(server_of(tool, seconds=0.05)).is_error
    may_open.set()
    assert is_closed.wait(LIMIT)


def test_a_call_that_its_client_cancels_closes_its_dependencies() -> None:
    is_running, is_closed = asyncio.Event(), asyncio.Event()

    async def closes() -> AsyncGenerator[str]:
        try:
            yield "value"
        finally:
            is_closed.set()

    async def tool(closes: Any) -> str:
        is_running.set()
        await asyncio.Event().wait()
        return ""

    tool.__annotations__ = {"closes": Annotated[str, Depends(closes)], "return": str}
    server = server_of(tool)

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            call = asyncio.ensure_future(client.call_tool("tool"))
            await is_running.wait()
            call.cancel()
            await is_closed.wait()

    asyncio.run(main())


# --- questions, resources, prompts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_dependency_is_opened_and_closed_in_each_round_of_a_call_that_asks(revision: str) -> None:
    def tool(first: Any, context: Context) -> str:
        return f"{first} {context.ask(Form('Sure?'), key='sure').action}"

    tool.__annotations__ |= {"first": Annotated[str, Depends(first)]}
    result = called(server_of(tool), elicit=lambda question: True, revision=revision)
    assert result.value == "first accept"
    assert events == ["+first", "!InputRequired", "-first", "+first", "-first"]


@BLOCKING
def test_resources_and_prompts_close_their_dependencies(blocking: bool) -> None:
    def text(both: Any, third: Any) -> str:
        return f"{both}, {third}"

    text.__annotations__ = {"both": Both, "third": Third, "return": str}
    server = Server("t")
    server.add_resource("docs://page", text, blocking=blocking)
    server.add_prompt(text, name="prompt", blocking=blocking)

    async def main() -> None:
        async with Client(server) as client:
            [page] = await client.read_resource("docs://page")
            assert isinstance(page, TextResource)
            assert page.text == "first, second, third"
            assert sorted(events[3:]) == sorted(CLOSED)
            prompt = await client.get_prompt("prompt")
            assert prompt.messages[0].content.text == "first, second, third"
            assert sorted(events[9:]) == sorted(CLOSED)

    asyncio.run(main())


def test_many_calls_at_once_close_all_they_open() -> None:
    opened: list[int] = []

    def count(context: Context) -> Generator[int]:
        opened.append(1)
        yield len(opened)
        opened.pop()

    async def counted(count: Any) -> AsyncGenerator[int]:
        opened.append(1)
        yield count
        opened.pop()

    counted.__annotations__["count"] = Annotated[int, Depends(count)]

    def plain(number: Any) -> int:
        return int(number > 0)

    async def later(number: Any) -> int:
        return int(number > 0)

    plain.__annotations__ = later.__annotations__ = {"number": Annotated[int, Depends(counted)], "return": int}
    server = Server("t", limits=Limits(seconds=LIMIT))
    server.add_tool(plain)
    server.add_tool(later)

    async def main() -> list[Any]:
        async with Client(server) as client:
            calls: list[Awaitable[Any]] = [client.call_tool(name) for name in ("plain", "later") * 20]
            return [result.value for result in await asyncio.gather(*calls)]

    logging.getLogger("asyncio").setLevel("ERROR")
    assert asyncio.run(main()) == [1] * 40
    assert opened == []
