"""Rate limits per caller and tool, per caller, and in total; across workers; and the errors for callers."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.confirming import Attic, Post, posting, said, state
from tooltrue import Context, Form, Rate, RateLimits
from tooltrue.errors import ConfigurationError, StateError, ToolError, UnknownEntry
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.abuse_events import AbuseEvent, AbuseEvents
from tooltrue.policy.layers.rate import Leases, rate
from tooltrue.server.service import SILENT
from tooltrue.state.facts import Bucket, MemoryFacts
from tooltrue.state.sqlite import SqliteFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.rounds import Memory, Rounds
from tooltrue.tools.toolset import Provider, resolve_call
from tooltrue.tools.vocabulary import Principal, PromptGet, RequestContext, ToolCall


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def context(who: str = "ann", rounds: Rounds | None = None) -> RequestContext:
    return RequestContext(Principal(who), SILENT, rounds=rounds)


async def work() -> str:
    return "done"


def tools(*names: str, **settings: Any) -> LocalToolset:
    made = LocalToolset()
    for name in names:
        made.add(work, name=name, **settings)
    return made


def limited(
    inner: Provider, limits: RateLimits, clock: Callable[[], float], signals: AbuseEvents | None = None
) -> Provider:
    return rate(limits, MemoryFacts(clock), signals or AbuseEvents())(inner)


async def granted(provider: Provider, name: str, who: str, calls: int) -> int:
    """How many of so many calls ran."""
    count = 0
    for _ in range(calls):
        call, _ = await resolve_call(provider, ToolCall(name, {}, context(who)))
        with contextlib.suppress(ToolError):
            await provider.call_tool(call)
            count += 1
    return count


WIDE = Rate(1_000, 1_000)


def test_a_caller_has_a_burst_of_each_tool_and_then_its_pace():
    async def main() -> None:
        clock = Clock()
        provider = limited(tools("a", "b"), RateLimits(Rate(2, 3), WIDE, WIDE), clock)
        assert await granted(provider, "a", "ann", 5) == 3
        assert await granted(provider, "b", "ann", 5) == 3
        assert await granted(provider, "a", "bob", 5) == 3
        clock.now += 1.0
        assert await granted(provider, "a", "ann", 5) == 2

    asyncio.run(main())


def test_all_tools_of_a_caller_share_one_limit_and_all_callers_another():
    async def main() -> None:
        provider = limited(tools("a", "b"), RateLimits(WIDE, Rate(1, 4), Rate(1, 6)), Clock())
        assert await granted(provider, "a", "ann", 3) == 3
        assert await granted(provider, "b", "ann", 3) == 1
        assert await granted(provider, "a", "bob", 3) == 2

    asyncio.run(main())


def test_a_call_refused_for_its_principal_takes_no_token_from_the_shared_bucket():
    async def main() -> None:
        provider = limited(tools("a"), RateLimits(Rate(1, 2), WIDE, Rate(1, 5)), Clock())
        assert await granted(provider, "a", "ann", 100) == 2
        assert await granted(provider, "a", "bob", 100) == 2

    asyncio.run(main())


def test_a_tool_has_a_rate_of_its_own():
    async def main() -> None:
        provider = limited(tools("a", rate=Rate(1, 2)), RateLimits(WIDE, WIDE, WIDE), Clock())
        assert await granted(provider, "a", "ann", 5) == 2

    asyncio.run(main())


def test_the_model_is_told_when_to_come_back():
    async def main() -> None:
        signs: list[AbuseEvent] = []
        signals = AbuseEvents()
        signals.listen(signs.append)
        provider = limited(tools("a"), RateLimits(Rate(0.1, 1), WIDE, WIDE), Clock(), signals)
        await provider.call_tool(ToolCall("a", {}, context()))
        with pytest.raises(ToolError, match="Wait 11 s"):
            await provider.call_tool(ToolCall("a", {}, context()))
        assert [(sign.kind, sign.principal.id, sign.subject) for sign in signs] == [("rate", "ann", "a")]

    asyncio.run(main())


def test_a_later_round_of_a_call_is_the_same_call():
    async def main() -> None:
        provider = limited(tools("a"), RateLimits(Rate(0.1, 1), WIDE, WIDE), Clock())
        await provider.call_tool(ToolCall("a", {}, context(rounds=Rounds(None))))
        for number in range(1, 5):
            await provider.call_tool(ToolCall("a", {}, context(rounds=Rounds(Memory(number)))))

    asyncio.run(main())


def test_a_state_that_is_sent_again_is_a_call_again():
    async def main() -> None:
        provider = limited(tools("a"), RateLimits(Rate(0.1, 2), WIDE, WIDE), Clock())

        def later(name: str) -> RequestContext:
            return context(rounds=Rounds(Memory(1), state=name))

        for name in ("one", "two", "one", "two"):
            await provider.call_tool(ToolCall("a", {}, later(name)))
        await provider.call_tool(ToolCall("a", {}, later("three")))
        with pytest.raises(ToolError, match="called too often"):
            await provider.call_tool(ToolCall("a", {}, later("one")))
        for _ in range(3):
            with pytest.raises(UnknownEntry):
                await provider.get_prompt(PromptGet("none", {}, later("four")))
        with pytest.raises(ToolError, match="called too often"):
            await provider.get_prompt(PromptGet("none", {}, later("four")))

    asyncio.run(main())


@dataclass
class Sure:
    sure: bool = True


async def _look(box: str, context: Context) -> str:
    """Look into a box."""
    return "seen" if context.ask(Form("Sure?", Sure)) else "not seen"


def test_an_answer_that_is_sent_five_times_does_not_run_five_times_for_nothing():
    attic = Attic(Guard(server="attic", rate=RateLimits(Rate(0.001, 3), WIDE, WIDE)))
    attic.tools.remove("burn")
    attic.tools.add(_look, name="burn", effect="read")

    async def scenario(post: Post) -> list[str]:
        asked = state(await post("a"))
        answers = {"question-1": {"action": "accept", "content": {"sure": True}}}
        return [said(await post("a", requestState=asked, inputResponses=answers)) for _ in range(5)]

    assert asyncio.run(posting(attic, scenario)) == ["seen"] * 3 + ["TT2100"] * 2


def test_where_the_store_is_down_no_later_round_runs():
    class Down(MemoryFacts):
        async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
            raise StateError.of("TT7005", path="x")

    async def main() -> None:
        provider = rate(RateLimits(), Down(), AbuseEvents())(tools("a"))
        with pytest.raises(ToolError) as refused:
            await provider.call_tool(ToolCall("a", {}, context(rounds=Rounds(Memory(1), state="one"))))
        assert refused.value.code == "TT2101"

    asyncio.run(main())


@pytest.mark.requirement("ADJ-15")
def test_prompts_resources_and_completions_are_limited_too():
    async def main() -> None:
        provider = limited(tools(), RateLimits(Rate(0.1, 1), WIDE, WIDE), Clock())
        get = PromptGet("none", {}, context())
        with pytest.raises(UnknownEntry):
            await provider.get_prompt(get)
        with pytest.raises(ToolError, match="prompts/get was called too often"):
            await provider.get_prompt(get)

    asyncio.run(main())


def test_two_servers_on_one_file_share_a_limit(tmp_path: Path):
    async def main() -> None:
        async with SqliteFacts(tmp_path / "facts") as one, SqliteFacts(tmp_path / "facts") as other:
            limits = RateLimits(Rate(0.01, 10), WIDE, WIDE)
            providers = [rate(limits, facts, AbuseEvents())(tools("a")) for facts in (one, other)]
            counts = await asyncio.gather(*(granted(provider, "a", "ann", 10) for provider in providers))
            assert sum(counts) == 10

    asyncio.run(main())


class Broken(MemoryFacts):
    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        raise StateError.of("TT7005", path="x")


def test_b57_where_the_store_is_down_nothing_is_called():
    async def main() -> None:
        with pytest.raises(ToolError) as caught:
            await Leases(Broken()).take((Bucket("k", 1, 1),))
        assert caught.value.code == "TT2101"

    asyncio.run(main())


@given(
    burst=st.integers(1, 400),
    per_second=st.sampled_from([0.5, 3, 50, 1_000]),
    steps=st.lists(st.tuples(st.integers(0, 1), st.floats(0, 2)), max_size=300),
)
def test_workers_with_leases_never_grant_more_than_the_limit(
    burst: int, per_second: float, steps: list[tuple[int, float]]
):
    """The oracle: no time span has more grants than the burst and the refill in that span."""

    async def main() -> None:
        clock = Clock()
        facts = MemoryFacts(clock)
        workers = [Leases(facts, clock), Leases(facts, clock)]
        bucket = Bucket("k", per_second, burst)
        times: list[float] = []
        for worker, pause in steps:
            clock.now += pause if pause > 1.9 else 0.0
            for _ in range(7):
                if not await workers[worker].take((bucket,)):
                    times.append(clock.now)
        for first in range(0, len(times), 13):
            for last in range(first, len(times), 17):
                allowed = burst + max(1, burst // 50) * 2 + (times[last] - times[first]) * per_second
                assert last - first + 1 <= allowed + 1

    asyncio.run(main())


class Counted(MemoryFacts):
    """A store that answers after a moment, as a remote one does, and counts requests and grants."""

    asked = granted = 0

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        await asyncio.sleep(0)
        self.asked += 1
        wait = await super().take(key, per_second=per_second, burst=burst, cost=cost)
        self.granted += 0 if wait else cost
        return wait


@pytest.mark.parametrize(
    ("workers", "at_once", "bucket"),
    [(2, 1, Bucket("k", 50, 1_000)), (4, 4, Bucket("k", 50, 1_000)), (4, 32, Bucket("k", 2_000, 40_000))],
)
def test_load_at_half_of_the_limit_is_never_refused_at_any_worker(workers: int, at_once: int, bucket: Bucket):
    async def main() -> None:
        clock, chance = Clock(), random.Random(1)
        facts = Counted(clock)
        leases = [Leases(facts, clock) for _ in range(workers)]
        for _ in range(round(60 * bucket.per_second / 2 / at_once)):
            clock.now += chance.expovariate(bucket.per_second / 2 / at_once)
            waits = await asyncio.gather(*(chance.choice(leases).take((bucket,)) for _ in range(at_once)))
            assert not any(waits)

    asyncio.run(main())


def test_of_calls_at_the_same_time_one_asks_the_store():
    async def main() -> None:
        clock = Clock()
        facts = Counted(clock)
        leases = Leases(facts, clock)
        for _ in range(3):
            assert not any(await asyncio.gather(*(leases.take((Bucket("k", 50, 1_000),)) for _ in range(20))))
        assert facts.asked <= 5
        assert facts.granted <= 80
        drained = Bucket("other", 0.001, 100)
        await asyncio.gather(*(leases.take((drained,)) for _ in range(200)))
        facts.asked = 0
        assert all(await asyncio.gather(*(leases.take((drained,)) for _ in range(200))))
        assert facts.asked <= 2

    asyncio.run(main())


def test_one_failed_store_request_informs_all_waiting_callers():
    class Down(Broken):
        asked = 0

        async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
            self.asked += 1
            await asyncio.sleep(0)
            return await super().take(key, per_second=per_second, burst=burst, cost=cost)

    async def main() -> None:
        facts = Down()
        leases = Leases(facts)
        said = await asyncio.gather(
            *(leases.take((Bucket("k", 50, 1_000),)) for _ in range(50)), return_exceptions=True
        )
        assert {error.code for error in said if isinstance(error, ToolError)} == {"TT2101"}
        assert (len(said), facts.asked) == (50, 1)

    asyncio.run(main())


def test_a_caller_that_cancels_during_a_store_request_blocks_no_other_caller():
    async def main() -> None:
        clock = Clock()
        leases = Leases(Counted(clock), clock)
        first, second = (asyncio.create_task(leases.take((Bucket("k", 50, 1_000),))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == 0.0

    asyncio.run(main())


@given(
    burst=st.integers(1, 400),
    steps=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 40), st.sampled_from([0.0, 0.1, 1.5])), max_size=40),
)
def test_calls_at_the_same_time_are_never_granted_more_than_the_limit(burst: int, steps: list[tuple[int, int, float]]):
    async def main() -> None:
        clock = Clock()
        facts = Counted(clock)
        workers = [Leases(facts, clock), Leases(facts, clock)]
        times: list[float] = []
        for worker, calls, pause in steps:
            clock.now += pause
            waits = await asyncio.gather(*(workers[worker].take((Bucket("k", 50, burst),)) for _ in range(calls)))
            times += [clock.now] * waits.count(0.0)
        for first in range(0, len(times), 13):
            for last in range(first, len(times), 17):
                assert last - first + 1 <= burst + max(1, burst // 50) * 2 + (times[last] - times[first]) * 50 + 1

    asyncio.run(main())


@given(
    bursts=st.lists(st.sampled_from([1, 60, 200, 1_000]), min_size=1, max_size=3),
    pauses=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.04, 0.1, 2.0]), max_size=200),
)
def test_a_prepared_taker_takes_as_the_method_does_and_at_once_where_it_can(bursts: list[int], pauses: list[float]):
    async def main() -> None:
        clock = Clock()
        buckets = tuple(Bucket(str(number), 20, burst) for number, burst in enumerate(bursts))
        prepared, plain = Counted(clock), Counted(clock)
        take, leases = Leases(prepared, clock).taker(buckets), Leases(plain, clock)
        for pause in pauses:
            clock.now += pause
            asked, taken = prepared.asked, take()
            wait = taken if isinstance(taken, int | float) else await taken
            assert wait == await leases.take(buckets)
            assert (prepared.asked, prepared.granted) == (plain.asked, plain.granted)
            if prepared.asked == asked and not wait:
                assert taken == 0.0  # no coroutine for tokens that are here

    asyncio.run(main())


@given(calls=st.integers(20, 400))
def test_a_busy_caller_reaches_the_store_seldom(calls: int):
    async def main() -> None:
        clock = Clock()
        facts = Counted(clock)
        leases = Leases(facts, clock)
        for _ in range(calls):
            assert not await leases.take((Bucket("k", 50, 1_000),))
        assert facts.asked <= 6 + calls // 20

    asyncio.run(main())


@pytest.mark.parametrize("burst", [3, 200])
def test_a_call_that_another_limit_refuses_takes_nothing_of_its_tool(burst: int):
    async def main() -> None:
        clock = Clock()
        facts = MemoryFacts(clock)
        leases = Leases(facts, clock)
        tool, caller = Bucket("tool", 0.001, burst), Bucket("caller", 0.001, 1)
        assert [bool(await leases.take((tool, caller))) for _ in range(400)] == [False] + [True] * 399
        alone = [not await leases.take((tool,)) for _ in range(400)]
        assert sum(alone) == burst - 1

    asyncio.run(main())


def test_a_full_bucket_that_is_found_is_not_dropped_by_the_next_key():
    async def main() -> None:
        clock = Clock()
        facts = MemoryFacts(clock)
        server = Bucket("server", 1, 2)
        facts.taker((server,))()
        for number in range(64):  # as many as are kept without a look at the oldest, which is the server's
            facts.taker((Bucket(f"caller{number}", 1, 1),))()
        clock.now += 10
        waits = [facts.taker((server, Bucket(f"other{number}", 1, 1)))() for number in range(3)]
        assert [wait > 0 for wait in waits] == [False, False, True]

    asyncio.run(main())


@given(takes=st.lists(st.tuples(st.booleans(), st.floats(0, 0.3)), max_size=100))
def test_to_take_at_once_and_to_take_one_by_one_are_the_same(takes: list[tuple[bool, float]]):
    async def main() -> None:
        clock = Clock()
        ours, theirs = MemoryFacts(clock), MemoryFacts(clock)
        bucket = Bucket("k", 5, 3)
        for at_once, pause in takes:
            clock.now += pause
            expected = await theirs.take("k", per_second=5, burst=3)
            got = ours.taker((bucket,))() if at_once else await ours.take("k", per_second=5, burst=3)
            assert got == expected

    asyncio.run(main())


@pytest.mark.parametrize("wrong", [Rate(0, 5), Rate(5, 0), Rate(float("inf"), 5), Rate(1, 1.5)])  # pyright: ignore[reportArgumentType]
def test_a_limit_that_is_none_fails_at_start(wrong: Rate):
    with pytest.raises(ConfigurationError):
        RateLimits(tool=wrong)
    with pytest.raises(ConfigurationError):
        RateLimits.of(wrong)


def test_keys_do_not_pile_up():
    async def main() -> None:
        clock = Clock()
        facts = MemoryFacts(clock)
        provider = rate(RateLimits(), facts, AbuseEvents())(tools("a"))
        for number in range(3_000):
            clock.now += 1.0
            await granted(provider, "a", f"caller{number}", 1)
        assert len(facts) < 100

    asyncio.run(main())
