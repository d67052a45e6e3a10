"""Time limits of requests: each ends at its own time, which does not pass while all of them are paused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine

import pytest

from support.wire.scripted import SkippingLoop
from tooltrue.jsonrpc.deadlines import Deadlines


def run(main: Callable[[Deadlines, Callable[[str], Callable[[bool], None]]], Coroutine[None, None, None]]) -> list[str]:
    """What ``main`` notes, in the order of time: ``NAME at SECONDS``, with ``in total`` for the limit of the whole."""
    noted: list[str] = []

    def note(name: str) -> Callable[[bool], None]:
        def late(is_total: bool) -> None:
            seconds = asyncio.get_running_loop().time()
            noted.append(f"{name} at {seconds:g}{' in total' if is_total else ''}")

        return late

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main(Deadlines(), note))
    return noted


def test_each_limit_ends_at_its_own_time():
    async def main(deadlines: Deadlines, note: Callable[[str], Callable[[bool], None]]) -> None:
        deadlines.limit(3, note("a"))
        await asyncio.sleep(1)
        deadlines.limit(3, note("b"))
        deadlines.limit(1, note("c"))
        deadlines.limit(3, note("ended")).end()
        deadlines.limit(9, note("d"), 0.5)
        await asyncio.sleep(20)

    assert run(main) == ["d at 1.5 in total", "c at 2", "a at 3", "b at 4"]


def test_a_sign_of_life_restarts_one_limit_and_not_that_of_the_whole():
    async def main(deadlines: Deadlines, note: Callable[[str], Callable[[bool], None]]) -> None:
        alive = deadlines.limit(3, note("alive"), 6)
        deadlines.limit(3, note("silent"), 6)
        for _ in range(2):
            await asyncio.sleep(2)
            alive.begin_anew()
        await asyncio.sleep(20)

    assert run(main) == ["silent at 3", "alive at 6 in total"]


@pytest.mark.parametrize(
    ("total", "late"), [(math.inf, ["a at 13", "b at 14"]), (2.5, ["a at 12.5 in total", "b at 13.5 in total"])]
)
def test_paused_time_does_not_count(total: float, late: list[str]):
    async def main(deadlines: Deadlines, note: Callable[[str], Callable[[bool], None]]) -> None:
        deadlines.limit(3, note("a"), total)
        await asyncio.sleep(1)
        with deadlines.paused():
            await asyncio.sleep(4)
            with deadlines.paused():
                await asyncio.sleep(4)
            deadlines.limit(3, note("b"), total)
            deadlines.limit(3, note("ended"), total).end()
            await asyncio.sleep(2)
        await asyncio.sleep(20)

    assert run(main) == late
