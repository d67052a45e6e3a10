"""Deadlines: each expires at its own time, in any order, regardless of work that ends earlier, on any loop."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tooltrue._internal import deadline
from tooltrue._internal.deadline import Deadline
from tooltrue.testing.state import LIMIT


async def outlasts(seconds: float, work: float) -> bool:
    """Whether work of so many seconds is ended by its deadline, which never comes early."""
    loop = asyncio.get_running_loop()
    begun, limit = loop.time(), Deadline(seconds)
    try:
        await asyncio.sleep(work)
    except asyncio.CancelledError:
        assert limit.was_the_reason()
        assert loop.time() - begun >= seconds - 0.001
        return True
    finally:
        limit.end()
    return False


@given(st.lists(st.tuples(st.sampled_from([0.001, 0.004, 0.02]), st.sampled_from([0.0, 0.002, LIMIT])), max_size=8))
def test_each_deadline_cancels_only_the_work_that_exceeds_it(calls: list[tuple[float, float]]):
    async def main() -> None:
        async with asyncio.timeout(LIMIT):
            ended = await asyncio.gather(*(outlasts(seconds, work) for seconds, work in calls))
        for (_, work), is_ended in zip(calls, ended, strict=True):
            assert is_ended or work < LIMIT

    asyncio.run(main())


async def waits() -> None:
    """Work with a deadline, which the test itself ends."""
    limit = Deadline(LIMIT)
    try:
        await asyncio.Event().wait()
    finally:
        limit.end()


def test_a_finished_deadline_is_removed_while_longer_ones_are_pending():
    async def main() -> None:
        long = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        for _ in range(1_000):
            await outlasts(LIMIT, 0)
        [line] = [line for line in deadline._lines.values() if line.loop is asyncio.get_running_loop()]  # pyright: ignore[reportPrivateUsage]
        assert len(line.waiting) == 1
        long.cancel()
        await asyncio.wait([long])
        assert len(line.waiting) == 0

    asyncio.run(main())


def test_lines_of_many_lengths_do_not_pile_up():
    async def main() -> None:
        for number in range(500):
            Deadline(LIMIT + number).end()
        assert len(deadline._lines) <= 64  # pyright: ignore[reportPrivateUsage]

    asyncio.run(main())
