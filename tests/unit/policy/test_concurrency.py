"""Concurrency limits by tool, by caller and in total; queued calls, and calls that do not block each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.clock import skip
from tooltrue import Concurrency
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.policy.layers.abuse_events import AbuseEvent, AbuseEvents
from tooltrue.policy.layers.concurrency import concurrency
from tooltrue.policy.layers.limits import timeout
from tooltrue.server.service import SILENT
from tooltrue.testing.state import LIMIT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider, resolve_call
from tooltrue.tools.vocabulary import Principal, RequestContext, ToolCall


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT):
            await test()

    asyncio.run(main())


class Room:
    """Tools that end on a signal of the test, behind a concurrency limit; ``running`` lists the running calls."""

    def __init__(self, limits: Concurrency, *names: str, **settings: Any) -> None:
        self.tools = LocalToolset()
        self.signs: list[AbuseEvent] = []
        self.running: list[str] = []
        self.most = 0
        self.doors: dict[str, asyncio.Event] = {}
        for name in names:
            self.tools.add(self._tool(name), name=name, **settings)
        signals = AbuseEvents()
        signals.listen(self.signs.append)
        self.provider = concurrency(limits, signals)(self.tools)

    def _tool(self, name: str) -> Callable[[], Awaitable[str]]:
        self.doors[name] = asyncio.Event()

        async def tool() -> str:
            self.running.append(name)
            try:
                await self.doors[name].wait()
            finally:
                self.running.remove(name)
            return name

        return tool

    def call(self, name: str, who: str = "ann") -> asyncio.Task[Any]:
        return asyncio.ensure_future(called(self.provider, name, who))


async def called(provider: Provider, name: str, who: str = "ann") -> Any:
    call, _ = await resolve_call(provider, ToolCall(name, {}, RequestContext(Principal(who), SILENT)))
    return await provider.call_tool(call)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_no_more_of_a_tool_run_than_may_and_the_next_one_comes_in():
    async def test() -> None:
        room = Room(Concurrency(tool=2), "a", "b")
        calls = [room.call("a") for _ in range(4)]
        await settle()
        assert room.running == ["a", "a"]
        calls[0].cancel()
        await settle()
        assert room.running == ["a", "a"]
        room.doors["a"].set()
        await asyncio.gather(*calls[1:])

    run(test)


def test_a_queue_for_one_tool_does_not_block_calls_of_another():
    async def test() -> None:
        room = Room(Concurrency(tool=1, caller=3), "a", "b")
        slow = [room.call("a") for _ in range(3)]
        await settle()
        room.doors["b"].set()
        await room.call("b")
        room.doors["a"].set()
        await asyncio.gather(*slow)

    run(test)


def test_a_caller_that_fills_its_room_leaves_the_tools_to_others():
    async def test() -> None:
        room = Room(Concurrency(tool=2, caller=1), "a")
        mine = [room.call("a", "ann") for _ in range(2)]
        await settle()
        theirs = room.call("a", "bob")
        await settle()
        assert len(room.running) == 2
        room.doors["a"].set()
        await asyncio.gather(*mine, theirs)

    run(test)


def test_as_many_may_wait_as_may_run_and_the_rest_is_told_to_come_back():
    async def test() -> None:
        room = Room(Concurrency(tool=1, caller=2), "a")
        calls = [room.call("a") for _ in range(3)]
        await settle()
        with pytest.raises(ToolError, match="a is busy") as caught:
            await room.call("a")
        assert caught.value.code == "TT2102"
        assert [(sign.kind, sign.subject) for sign in room.signs] == [("busy", "a")]
        room.doors["a"].set()
        await asyncio.gather(*calls)

    run(test)


def test_a_call_that_waits_too_long_for_a_slot_is_refused_as_busy():
    async def test() -> None:
        room = Room(Concurrency(tool=1, seconds=0.01), "a")
        running = room.call("a")
        await settle()
        with pytest.raises(ToolError, match="busy"):
            await room.call("a")
        room.doors["a"].set()
        await running

    run(test)


def test_a_tool_says_how_many_of_it_run_at_once():
    async def test() -> None:
        room = Room(Concurrency(), "a", at_once=1)
        calls = [room.call("a") for _ in range(3)]
        await settle()
        assert room.running == ["a"]
        room.doors["a"].set()
        await asyncio.gather(*calls)

    run(test)


def test_a_thread_that_was_given_up_keeps_its_place_until_it_ends(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        began, gate, tools = threading.Event(), threading.Event(), LocalToolset()

        def wait() -> None:
            began.set()
            gate.wait(LIMIT)

        stuck = tools.add(wait, name="stuck", at_once=1, seconds=LIMIT / 2)
        assert not stuck.stoppable
        provider = concurrency(Concurrency(), AbuseEvents())(timeout(LIMIT)(tools))
        given_up = asyncio.ensure_future(called(provider, "stuck"))
        await asyncio.to_thread(began.wait, LIMIT)
        skip(LIMIT / 2)
        with pytest.raises(ToolError) as late:
            await given_up
        assert late.value.code == "TT2003"
        after = asyncio.ensure_future(called(provider, "stuck"))
        await settle()
        assert "TT4101" in caplog.messages[-1]
        gate.set()
        await after
        assert "TT4102" in caplog.messages[-1]

    run(test)


@given(
    limits=st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5)),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("call"), st.sampled_from("ab"), st.sampled_from(["ann", "bob"])),
            st.tuples(st.sampled_from(["cancel", "finish"]), st.integers(0, 30), st.just("")),
        ),
        max_size=40,
    ),
)
def test_no_slot_is_lost_or_granted_twice_under_any_sequence_of_calls_and_cancellations(
    limits: tuple[int, int, int], steps: list[tuple[str, Any, str]]
):
    async def test() -> None:
        tool, caller, server = limits
        running: list[tuple[str, str]] = []
        gates: dict[asyncio.Task[Any], asyncio.Event] = {}
        tools = LocalToolset()

        def add(name: str) -> None:
            async def work(context: RequestContext) -> None:
                entry = (name, context.principal.id)
                running.append(entry)
                assert sum(one == name for one, _ in running) <= tool
                assert sum(one == context.principal.id for _, one in running) <= caller
                assert len(running) <= server
                task = asyncio.current_task()
                assert task is not None
                try:
                    await gates[task].wait()
                finally:
                    running.remove(entry)

            work.__annotations__["context"] = RequestContext
            tools.add(work, name=name)

        add("a")
        add("b")
        provider = concurrency(Concurrency(tool, caller, server), AbuseEvents())(tools)
        tasks: list[asyncio.Task[Any]] = []
        for step, what, who in steps:
            if step == "call":
                task = asyncio.ensure_future(called(provider, what, who))
                gates[task] = asyncio.Event()
                tasks.append(task)
            elif tasks:
                task = tasks[what % len(tasks)]
                task.cancel() if step == "cancel" else gates[task].set()
            if what != 7:
                await settle()
        for gate in gates.values():
            gate.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, ToolError | asyncio.CancelledError) or hasattr(one, "content") for one in ended)
        assert running == []
        layer: Any = provider
        assert all(gate.idle and not gate.waiting for gate in [layer.server, *layer.tools.values()])
        assert all(gate.idle and not gate.waiting for gate in layer.callers.values())

    run(test)


@pytest.mark.parametrize("wrong", [{"tool": 0}, {"caller": -1}, {"server": 0}, {"seconds": 0}])
def test_a_limit_that_is_none_fails_at_start(wrong: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        Concurrency(**wrong)
