"""Worker threads: bounded, in the caller's context, and without blocking others."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tooltrue.testing.state import LIMIT
from tooltrue.tools.threads import HELD, Lane, SlotHold, ThreadPool


def run(test: Callable[[], Any]) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT):
            await test()

    asyncio.run(main())


def test_a_function_runs_on_a_daemon_thread_of_ours():
    async def test() -> None:
        thread = await ThreadPool().run(threading.current_thread)
        assert thread is not threading.main_thread()
        assert thread.daemon

    run(test)


def test_a_thread_that_is_free_is_used_again():
    async def test() -> None:
        pool = ThreadPool()
        assert len({await pool.run(threading.get_ident) for _ in range(20)}) <= 2

    run(test)


def test_a_thread_pool_never_exceeds_its_size_and_each_queued_call_gets_a_turn():
    async def test() -> None:
        pool, gate, lock = ThreadPool(2), threading.Event(), threading.Lock()
        running, most, two = 0, 0, threading.Semaphore(0)

        def work() -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            two.release()
            assert gate.wait(LIMIT)
            with lock:
                running -= 1
            return threading.get_ident()

        futures = [pool.run(work) for _ in range(6)]
        for _ in range(2):
            assert await asyncio.to_thread(two.acquire, timeout=LIMIT)
        gate.set()
        assert len(set(await asyncio.gather(*futures))) == 2
        assert most == 2

    run(test)


def test_the_callers_context_variables_are_seen():
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def test() -> None:
        variable.set("seen")
        assert await ThreadPool().run(variable.get) == "seen"

    run(test)


def raises(error: BaseException) -> Callable[[], Any]:
    def function() -> Any:
        raise error

    return function


def test_an_exception_is_the_callers():
    async def test() -> None:
        with pytest.raises(ValueError, match="mine"):
            await ThreadPool().run(raises(ValueError("mine")))

    run(test)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration(1)])
def test_an_exception_that_would_end_the_loop_becomes_an_error_of_the_tool(error: BaseException):
    async def test() -> None:
        with pytest.raises(RuntimeError, match=type(error).__name__):
            await ThreadPool().run(raises(error))

    run(test)


def test_a_cancelled_call_does_not_harm_the_next_call_of_a_thread_pool():
    async def test() -> None:
        pool, gate = ThreadPool(1), threading.Event()
        abandoned = pool.run(lambda: gate.wait(LIMIT))
        abandoned.cancel()
        after = pool.run(lambda: "next")
        gate.set()
        assert await after == "next"

    run(test)


def test_a_call_that_was_given_up_before_its_turn_never_begins():
    async def test() -> None:
        pool, gate, begun = ThreadPool(1), threading.Event(), threading.Event()
        busy = pool.run(lambda: gate.wait(LIMIT))
        waiting = pool.run(begun.set)
        waiting.cancel()
        await asyncio.sleep(0)
        gate.set()
        await busy
        await pool.run(lambda: None)
        assert not begun.is_set()

    run(test)


def test_a_loop_that_ends_before_its_threads_is_not_disturbed():
    gate, done = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(LIMIT)
        done.set()

    async def main() -> None:
        ThreadPool().run(work)

    asyncio.run(main())
    gate.set()
    assert done.wait(LIMIT)


def test_a_lane_has_its_share_of_the_threads_and_another_is_never_without():
    async def test() -> None:
        pool, gate, count = ThreadPool(2), threading.Event(), threading.Semaphore(0)

        def stuck() -> None:
            count.release()
            assert gate.wait(LIMIT)

        slow = [lane.run(stuck) for lane in (pool.lane("a"), pool.lane("b")) for _ in range(3)]
        for _ in range(2):
            assert await asyncio.to_thread(count.acquire, timeout=LIMIT)
        other = pool.lane("c")
        assert await asyncio.gather(*(other.run(lambda: "quick") for _ in range(5))) == ["quick"] * 5
        assert not count.acquire(blocking=False)
        gate.set()
        await asyncio.gather(*slow)

    run(test)


@pytest.mark.parametrize("silent", [False, True])
def test_a_lane_counts_the_threads_of_abandoned_calls(silent: bool, caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        pool, gate, begun = ThreadPool(2), threading.Event(), threading.Event()
        lane = pool.lane("a", silent=silent)

        def stuck() -> None:
            begun.set()
            assert gate.wait(LIMIT)

        future = lane.run(stuck)
        assert await asyncio.to_thread(begun.wait, LIMIT)
        future.cancel()
        await asyncio.sleep(0)
        assert lane.abandoned == 1
        gate.set()
        await lane.run(lambda: None)
        assert lane.abandoned == 0
        assert len(caplog.messages) == (0 if silent else 2)

    run(test)


def test_where_no_thread_can_be_started_the_call_fails_and_the_next_one_finds_its_place():
    given_back: list[int] = []

    async def call(lane: Lane) -> int:
        held = SlotHold(lambda: given_back.append(1))
        token = HELD.set(held)
        try:
            return await lane.run(lambda: 1)
        finally:
            HELD.reset(token)
            held.let_go()

    async def test() -> None:
        lane = ThreadPool(4).lane("plain")
        threading.stack_size(1 << 48)  # no machine has room for it
        try:
            for _ in range(3):
                with pytest.raises(RuntimeError, match="thread"):
                    await call(lane)
        finally:
            threading.stack_size(0)
        assert await asyncio.gather(call(lane), call(lane), call(lane)) == [1, 1, 1]
        assert sum(given_back) == 6

    run(test)


def test_the_threads_of_a_pool_end_with_it():
    async def test() -> list[threading.Thread]:
        pool, gate = ThreadPool(4), threading.Barrier(4)

        def thread() -> threading.Thread:
            gate.wait(LIMIT)
            return threading.current_thread()

        threads = await asyncio.gather(*(pool.lane(name).run(thread) for name in "abcd"))
        assert len(set(threads)) == 4
        assert all(one.is_alive() for one in threads)
        return threads

    threads = asyncio.run(asyncio.wait_for(test(), LIMIT))
    ends = time.monotonic() + LIMIT
    for one in threads:
        while one.is_alive() and time.monotonic() < ends:
            gc.collect()  # again: a thread lets go of the pool a moment after it has reported its result
            one.join(0.01)
        assert not one.is_alive()
