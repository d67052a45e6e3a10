"""Time limits of requests: each ends at its own time, which does not pass while all of them are paused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine

import pytest

from support.wire.scripted import SkippingLoop
from tooltrue.jsonrpc.deadlines import Deadlines, RequestDeadline


class Clocked:
    """Time limits with names. Notes each that is over as ``NAME at SECONDS``, with ``in total`` for ``total``."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.deadlines = Deadlines()

    def limit(self, name: str, seconds: float, total: float = math.inf) -> RequestDeadline:
        noted = self.noted

        class Limit(RequestDeadline):
            def late(self, is_total: bool) -> None:
                now = asyncio.get_running_loop().time()
                noted.append(f"{name} at {now:g}{' in total' if is_total else ''}")

        limit = Limit(seconds, total)
        self.deadlines.start(limit)
        return limit


def run(main: Callable[[Clocked], Coroutine[None, None, None]]) -> list[str]:
    """The notes, in the order of time."""
    clocked = Clocked()
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main(clocked))
    return clocked.noted


def test_each_limit_ends_at_its_own_time():
    async def main(clocked: Clocked) -> None:
        clocked.limit("a", 3)
        await asyncio.sleep(1)
        clocked.limit("b", 3)
        clocked.limit("c", 1)
        clocked.deadlines.end(clocked.limit("ended", 3))
        clocked.limit("d", 9, 0.5)
        await asyncio.sleep(20)

    assert run(main) == ["d at 1.5 in total", "c at 2", "a at 3", "b at 4"]


def test_a_sign_of_life_restarts_one_limit_and_not_that_of_the_whole():
    async def main(clocked: Clocked) -> None:
        alive = clocked.limit("alive", 3, 6)
        clocked.limit("silent", 3, 6)
        for _ in range(2):
            await asyncio.sleep(2)
            alive.begin_anew()
        await asyncio.sleep(20)

    assert run(main) == ["silent at 3", "alive at 6 in total"]


@pytest.mark.parametrize(
    ("total", "late"), [(math.inf, ["a at 13", "b at 14"]), (2.5, ["a at 12.5 in total", "b at 13.5 in total"])]
)
def test_paused_time_does_not_count(total: float, late: list[str]):
    async def main(clocked: Clocked) -> None:
        clocked.limit("a", 3, total)
        await asyncio.sleep(1)
        with clocked.deadlines.paused():
            await asyncio.sleep(4)
            with clocked.deadlines.paused():
                await asyncio.sleep(4)
            clocked.limit("b", 3, total)
            clocked.deadlines.end(clocked.limit("ended", 3, total))
            await asyncio.sleep(2)
        await asyncio.sleep(20)

    assert run(main) == late
