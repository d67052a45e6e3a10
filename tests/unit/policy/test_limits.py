"""Timeouts: an answer within the limit, regardless of the tool's behaviour."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tooltrue import Context
from tooltrue.errors import ToolTimeout
from tooltrue.policy.layers.limits import timeout
from tooltrue.server.service import SILENT
from tooltrue.testing.state import LIMIT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import resolve_call
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)
SHORT = 0.02


async def call(function: Callable[..., Any], limit: float = SHORT, **settings: Any) -> Any:
    tools = LocalToolset()
    tools.add(function, name="tool", **settings)
    looked_up, _ = await resolve_call(tools, ToolCall("tool", {}, CONTEXT))
    async with asyncio.timeout(LIMIT):
        return await timeout(limit)(tools).call_tool(looked_up)


def late(function: Callable[..., Any], **settings: Any) -> str:
    with pytest.raises(ToolTimeout) as caught:
        asyncio.run(call(function, **settings))
    return caught.value.code


def test_b36_an_async_tool_is_stopped():
    ended: list[str] = []

    async def forever() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return ""

    assert late(forever) == "TT2002"
    assert ended == ["cancelled"]


def test_b36_a_plain_tool_is_answered_on_time_and_told_apart():
    gate = threading.Event()

    def stuck() -> str:
        gate.wait(LIMIT)
        return ""

    try:
        assert late(stuck) == "TT2003"
    finally:
        gate.set()


def test_b36_an_answer_that_comes_after_the_cancellation_is_late():
    async def swallow() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"
        return ""

    assert late(swallow) == "TT2002"


def test_b36_a_tool_that_makes_another_error_of_its_cancellation_is_late():
    async def disguise() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("disguised") from None
        return ""

    assert late(disguise) == "TT2002"


def test_b36_a_tool_that_goes_on_after_its_cancellation_is_late_when_it_ends():
    cancelled = asyncio.Event()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
        return "all the same"

    assert late(stubborn) == "TT2002"
    assert cancelled.is_set()


@pytest.mark.requirement("CANC-13")
def test_a_tool_has_a_limit_of_its_own():
    async def forever() -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(ToolTimeout) as caught:
        asyncio.run(call(forever, LIMIT, seconds=SHORT))
    assert caught.value.facts["seconds"] == SHORT


@pytest.mark.requirement("CANC-14")
def test_progress_buys_no_time():
    class Ticker:
        async def forever(self, context: Context) -> str:
            for progress in itertools.count(1):
                context.progress(progress)
                await asyncio.sleep(0)
            return ""

    assert late(Ticker().forever) == "TT2002"


def test_a_quick_tool_leaves_no_timer_behind():
    async def main() -> None:
        async def quick() -> str:
            return "x"

        await call(quick, LIMIT)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(main())


def test_a_cancellation_from_outside_is_nobodys_timeout():
    async def forever() -> str:
        await asyncio.Event().wait()
        return ""

    async def main() -> None:
        asked = asyncio.ensure_future(call(forever, LIMIT))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        assert asked.cancelled()

    asyncio.run(main())


def test_a_timeout_is_undone_so_that_the_task_goes_on():
    async def main() -> None:
        async def forever() -> str:
            await asyncio.Event().wait()
            return ""

        with pytest.raises(ToolTimeout):
            await call(forever)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    asyncio.run(main())
