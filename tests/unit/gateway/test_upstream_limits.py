"""Limits on the operations at one server of a gateway: the circuit breaker, and slots with a fair queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue._internal.deadline import Deadline
from tooltrue.client.call_results import Result
from tooltrue.errors import (
    ConnectionLost,
    InvalidAnswer,
    RequestTimeout,
    RpcError,
    ToolError,
)
from tooltrue.gateway.circuit_breaker import CircuitBreaker
from tooltrue.gateway.fair_slots import FairSlots, NoSlot
from tooltrue.gateway.upstream_traffic import UpstreamLimits, UpstreamTraffic
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED, REQUEST_TIMEOUT


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(time: Time, failures: int = 3, pause: float = 10.0) -> CircuitBreaker:
    breaker = CircuitBreaker("up", failures, pause, time)
    for _ in range(failures):
        assert not breaker.admit()
        breaker.failed(is_trial=False)
    return breaker


def refused(breaker: CircuitBreaker) -> int:
    """The seconds that a refusal names."""
    with pytest.raises(ToolError) as error:
        breaker.admit()
    return error.value.facts["seconds"]


# --- the breaker -----------------------------------------------------------------------------------------------------


def test_a_breaker_opens_after_failures_in_a_row_and_names_the_time_to_try_again() -> None:
    time = Time()
    breaker = opened(time)
    assert breaker.is_open
    assert refused(breaker) == 10
    time.now = 8.5
    assert refused(breaker) == 2


def test_an_answer_between_two_failures_starts_the_count_again() -> None:
    breaker = CircuitBreaker("up", 2, 10.0, Time())
    for _ in range(5):
        breaker.failed(is_trial=False)
        breaker.answered()
    assert not breaker.is_open


def test_one_trial_is_sent_after_the_pause_and_its_answer_closes_the_breaker() -> None:
    time = Time()
    breaker = opened(time)
    time.now = 10.0
    assert breaker.admit()
    assert refused(breaker) == 1  # while the trial runs
    breaker.answered()
    assert not breaker.is_open
    assert not breaker.admit()


def test_each_trial_that_fails_doubles_the_pause_up_to_five_minutes() -> None:
    time, pauses = Time(), list[int]()
    breaker = opened(time)
    for _ in range(7):
        pauses.append(refused(breaker))
        time.now += pauses[-1]
        assert breaker.admit()
        breaker.failed(is_trial=True)
    assert pauses == [10, 20, 40, 80, 160, 300, 300]


def test_a_trial_that_its_caller_gives_up_leaves_the_next_one_its_turn() -> None:
    time = Time()
    breaker = opened(time)
    time.now = 10.0
    assert breaker.admit()
    breaker.given_up(is_trial=True)
    assert breaker.admit()


def test_operations_that_began_before_it_opened_do_not_prolong_the_pause() -> None:
    time = Time()
    breaker = opened(time)
    time.now = 5.0
    breaker.failed(is_trial=False)
    assert refused(breaker) == 5


# --- slots -----------------------------------------------------------------------------------------------------------


async def in_turn(slots: FairSlots, callers: list[str]) -> list[str]:
    """The order in which waiting callers get the one slot."""
    served = list[str]()

    async def wait(caller: str) -> None:
        await slots.wait(caller)
        served.append(caller)
        slots.free()

    assert slots.try_take()
    waiting = [asyncio.ensure_future(wait(caller)) for caller in callers]
    await asyncio.sleep(0)
    slots.free()
    await asyncio.gather(*waiting)
    return served


def test_callers_take_turns() -> None:
    assert asyncio.run(in_turn(FairSlots(1, 9, 60.0), [*"aaaab"])) == [*"abaaa"]


@given(callers=st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_no_caller_waits_for_more_than_one_operation_of_each_other_for_each_of_its_own(callers: list[str]) -> None:
    served = asyncio.run(in_turn(FairSlots(1, 12, 60.0), callers))
    assert sorted(served) == sorted(callers)
    for caller in set(callers):
        for other in set(callers) - {caller}:
            before = served[: served.index(caller)]
            assert before.count(other) <= 1


def test_a_queue_that_is_full_refuses_its_caller_and_no_other() -> None:
    async def run() -> None:
        slots = FairSlots(1, 2, 60.0)
        assert slots.try_take()
        waiting = [asyncio.ensure_future(slots.wait(caller)) for caller in "aab"]
        await asyncio.sleep(0)
        with pytest.raises(NoSlot):
            await slots.wait("a")
        assert slots.waiting == 3
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (slots.running, slots.waiting) == (1, 0)

    asyncio.run(run())


def test_an_operation_waits_no_longer_than_its_time() -> None:
    async def run() -> None:
        slots = FairSlots(1, 2, 0.001)
        assert slots.try_take()
        with pytest.raises(NoSlot):
            await slots.wait("a")
        assert (slots.running, slots.waiting) == (1, 0)
        slots.free()
        assert slots.try_take()

    asyncio.run(run())


def test_a_slot_is_not_lost_with_a_caller_that_gives_up_as_it_gets_it() -> None:
    async def run() -> None:
        slots = FairSlots(1, 2, 60.0)
        assert slots.try_take()
        waiting = asyncio.ensure_future(slots.wait("a"))
        await asyncio.sleep(0)
        slots.free()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert slots.running == 0

    asyncio.run(run())


# --- both, with the counts --------------------------------------------------------------------------------------------


LIMITS = UpstreamLimits(at_once=1, waiting=1, waiting_seconds=60.0, failures=2, pause_seconds=10.0)


def send(traffic: UpstreamTraffic, end: Any, caller: str = "ada", *, is_common: bool = True) -> Any:
    async def work() -> Any:
        if isinstance(end, BaseException):
            raise end
        return end

    return traffic.run(caller, work, is_common=is_common)


async def in_time(work: Awaitable[Any]) -> None:
    """Run the work within a time limit that is over soon."""
    deadline = Deadline(0.001)
    with pytest.raises(asyncio.CancelledError):
        await work
    assert deadline.end_late()


ENDS: dict[str, tuple[Any, bool]] = {
    "ok": (Result((), None, False, {}), False),
    "lost": (ConnectionLost.of(CONNECTION_CLOSED), True),
    "timeout": (RequestTimeout.of(REQUEST_TIMEOUT, method="tools/call", seconds=1), True),
    "error": (RpcError.received(-32000, "no"), False),
    "cancelled": (asyncio.CancelledError(), False),
    "refused": (ToolError("too many"), False),
}


def sent(*, is_common: bool, use: Callable[[UpstreamTraffic], Awaitable[None]]) -> UpstreamTraffic:
    traffic = UpstreamTraffic("up", LIMITS, Time())
    asyncio.run(_of(use(traffic)))
    return traffic


async def _of(awaitable: Awaitable[None]) -> None:
    await awaitable


@pytest.mark.parametrize("name", ENDS)
def test_only_operations_without_an_answer_open_the_breaker(name: str) -> None:
    end, opens = ENDS[name]

    async def use(traffic: UpstreamTraffic) -> None:
        for _ in range(5):
            await asyncio.gather(send(traffic, end), return_exceptions=True)

    traffic = sent(is_common=True, use=use)
    assert bool(traffic.open_breakers) == opens
    assert traffic.series.outcomes == ({name: 2, "refused": 3} if opens else {name: 5})
    assert traffic.slots.running == 0


def test_an_unusable_answer_is_an_answer() -> None:
    async def use(traffic: UpstreamTraffic) -> None:
        for _ in range(5):
            await asyncio.gather(send(traffic, InvalidAnswer("odd")), return_exceptions=True)

    assert not sent(is_common=True, use=use).open_breakers


def test_a_cancellation_by_a_time_limit_is_no_answer() -> None:
    async def use(traffic: UpstreamTraffic) -> None:
        for _ in range(2):
            await in_time(traffic.run("ada", asyncio.Event().wait, is_common=True))
        with pytest.raises(ToolError):
            await send(traffic, True)

    assert sent(is_common=True, use=use).series.outcomes == {"timeout": 2, "refused": 1}


def test_an_operation_that_ends_in_the_queue_says_nothing_of_the_server() -> None:
    async def use(traffic: UpstreamTraffic) -> None:
        assert traffic.slots.try_take()
        for _ in range(2):
            await in_time(send(traffic, True))
        waiting = asyncio.ensure_future(send(traffic, True))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        traffic.slots.free()

    traffic = sent(is_common=True, use=use)
    assert traffic.series.outcomes == {"timeout": 2, "cancelled": 1}
    assert not traffic.open_breakers


@pytest.mark.parametrize("is_common", [True, False])
def test_the_breaker_of_a_caller_with_a_connection_of_its_own_is_that_of_no_other(is_common: bool) -> None:
    async def use(traffic: UpstreamTraffic) -> None:
        for _ in range(2):
            await asyncio.gather(send(traffic, ENDS["lost"][0], "ada", is_common=is_common), return_exceptions=True)
        (end,) = await asyncio.gather(send(traffic, ENDS["ok"][0], "bob", is_common=is_common), return_exceptions=True)
        assert isinstance(end, ToolError) == is_common

    sent(is_common=is_common, use=use)
