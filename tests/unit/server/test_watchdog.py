"""An async function that blocks the event loop is found; one that only takes long is not."""

from __future__ import annotations

import asyncio
import gc
import threading
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tooltrue import Client, Limits, Server
from tooltrue.server.watchdog import Watchdog
from tooltrue.testing.state import LIMIT

SECONDS = 3600.0
"""So long that the thread of the watchdog never looks by itself."""


class Looks:
    """A watchdog, and the looks that a test has it take from a thread of its own, at times that it says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.dog = Watchdog(SECONDS, lambda: self.now)

    def at(self, *times: float) -> None:
        """Blocks the thread that calls it meanwhile."""

        def look() -> None:
            for self.now in times:
                self.dog.check()

        thread = threading.Thread(target=look)
        thread.start()
        thread.join(LIMIT)

    def watch(self, server: Server, *questions: Callable[[Client], Awaitable[Any]]) -> None:
        async def main() -> None:
            async with asyncio.timeout(LIMIT), self.dog, Client(server) as client:
                for question in questions:
                    await question(client)

        asyncio.run(main())


def reports(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in caplog.messages if "TT4104" in message]


LATE = (0.0, SECONDS)


def test_a_tool_that_blocks_the_loop_is_named_with_the_authors_line(caplog: pytest.LogCaptureFixture) -> None:
    server, looks = Server("t"), Looks()

    @server.tool
    async def blocks() -> None:
        looks.at(*LATE)

    looks.watch(server, lambda client: client.call_tool("blocks"))
    [said] = reports(caplog)
    innermost = Looks.at.__code__
    # The loop waits in `start()` or, a line below, in `join()`: the thread may look during either.
    places = [f"test_watchdog.py, line {innermost.co_firstlineno + ahead}, in at (in threading.py" for ahead in (8, 9)]
    assert "the tool blocks" in said
    assert any(place in said for place in places)


def test_a_resource_that_blocks_the_loop_is_named_too(caplog: pytest.LogCaptureFixture) -> None:
    server, looks = Server("t"), Looks()

    @server.resource("docs://slow")
    async def slow() -> str:
        looks.at(*LATE)
        return ""

    looks.watch(server, lambda client: client.read_resource("docs://slow"))
    [said] = reports(caplog)
    assert "the resource docs://slow" in said


def test_it_is_reported_once_each_time(caplog: pytest.LogCaptureFixture) -> None:
    server, looks = Server("t"), Looks()

    @server.tool
    async def blocks(since: int) -> None:
        looks.at(since, since + SECONDS, since + 2 * SECONDS)

    looks.watch(
        server,
        lambda client: client.call_tool("blocks", since=0),
        lambda client: client.call_tool("blocks", since=100_000),
    )
    assert len(reports(caplog)) == 2


def test_a_call_that_ends_in_time_is_not_reported_by_the_watchdog(caplog: pytest.LogCaptureFixture) -> None:
    server, looks = Server("t"), Looks()

    @server.tool
    async def quick(since: float) -> None:
        looks.at(since, since + SECONDS - 1)

    looks.watch(
        server,
        lambda client: client.call_tool("quick", since=0.0),
        lambda client: client.call_tool("quick", since=10 * SECONDS),
    )
    assert reports(caplog) == []


def test_a_tool_that_awaits_blocks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    server, looks = Server("t"), Looks()

    @server.tool
    async def waits() -> None:
        looks.at(0.0)
        for turn in range(1, 5):
            await asyncio.sleep(0)  # the loop goes on, and answers
            looks.at(turn * SECONDS)

    looks.watch(server, lambda client: client.call_tool("waits"))
    assert reports(caplog) == []


def test_an_idle_loop_is_sent_nothing() -> None:
    looks = Looks()

    async def idle(client: Client) -> None:
        await asyncio.to_thread(looks.at, 0.0, SECONDS, 2 * SECONDS)
        assert looks.dog._beat is None  # pyright: ignore[reportPrivateUsage]

    looks.watch(Server("t"), idle)


def test_a_server_that_serves_is_watched_and_no_thread_is_left() -> None:
    server, seen = Server("t", limits=Limits(blocked_seconds=SECONDS)), [0, 0]

    def watchdogs() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "tooltrue-watchdog"}

    async def main() -> None:
        others = watchdogs()  # watchdogs of other servers in this process
        async with server.serving():
            seen[0] = len(watchdogs() - others)
        seen[1] = len(watchdogs() - others)

    asyncio.run(main())
    assert seen == [1, 0]


def test_a_blocking_tool_is_named_by_a_server_that_serves(caplog: pytest.LogCaptureFixture) -> None:
    server, heard = Server("t", limits=Limits(blocked_seconds=0.01)), threading.Event()
    caplog.handler.addFilter(lambda record: heard.set() is None if "TT4104" in record.getMessage() else True)

    @server.tool
    async def blocks() -> bool:
        return heard.wait(LIMIT)

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), server.serving(), Client(server) as client:
            return (await client.call_tool("blocks")).value

    assert asyncio.run(main())


def test_no_garbage_is_collected_while_the_stacks_are_read() -> None:
    """A finalizer that ran there could stop the process for ever, on CPython 3.11."""
    looks, within = Looks(), list[str]()

    def collecting(phase: str, _: dict[str, int]) -> None:
        within.extend(frame.name for frame in traceback.extract_stack() if frame.name == "_stacks")

    before = gc.get_threshold()
    gc.callbacks.append(collecting)
    gc.enable()  # `check`, which an earlier test may have run in this process, disables it
    try:
        gc.set_threshold(1, 1, 1)
        looks.watch(Server("t"), ping_often(looks))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collecting)
    assert within == []
    assert gc.isenabled()


def ping_often(looks: Looks) -> Callable[[Client], Awaitable[Any]]:
    async def ask(client: Client) -> None:
        for turn in range(20):
            looks.at(float(turn))

    return ask
