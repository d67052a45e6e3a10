"""The contract of ``Facts`` on each store, and the additional guarantees of single stores."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tooltrue.errors import StateError
from tooltrue.state.facts import Callback, Facts, MemoryFacts, admit
from tooltrue.state.prefixed import PrefixedFacts
from tooltrue.state.sqlite import SqliteFacts
from tooltrue.testing.state import LIMIT, StoppedClock, check_facts

SECOND = 1_000_000_000


def test_memory_keeps_the_contract() -> None:
    clock = StoppedClock()
    asyncio.run(check_facts(lambda: MemoryFacts(clock), clock.elapse))


def test_sqlite_keeps_the_contract(tmp_path: Path) -> None:
    clock = StoppedClock()
    paths = (tmp_path / f"{number}.db" for number in range(100))
    asyncio.run(check_facts(lambda: SqliteFacts(next(paths), clock=clock), clock.elapse))


def test_a_part_keeps_the_contract() -> None:
    clock = StoppedClock()

    @asynccontextmanager
    async def part() -> AsyncGenerator[Facts]:
        async with MemoryFacts(clock) as whole:
            yield PrefixedFacts(whole, "part:")

    asyncio.run(check_facts(part, clock.elapse))


def test_two_parts_of_one_store_have_nothing_in_common() -> None:
    async def scenario() -> list[object]:
        whole = MemoryFacts()
        one, other = PrefixedFacts(whole, "one:"), PrefixedFacts(whole, "other:")
        events: list[bytes] = []
        await other.subscribe("a", events.append)
        await one.put("a", b"1", 60)
        await one.take("a", per_second=0.01, burst=1)
        await one.publish("a", b"1")
        await asyncio.sleep(0)
        return [
            await other.get("a"),
            await other.remove("a"),
            await other.replace("a", b"1", b"2", 60),
            await other.put_if_absent("a", b"3", 60),
            await other.take("a", per_second=0.01, burst=1),
            events,
            await one.get("a"),
        ]

    assert asyncio.run(scenario()) == [None, None, False, True, 0.0, [], b"1"]


def test_two_stores_on_one_file_keep_the_contract(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "f.db") as first, SqliteFacts(tmp_path / "f.db") as second:
            await first.put("a", b"1", 60)
            assert await second.get("a") == b"1"
            assert await second.remove("a") == b"1"
            assert await first.get("a") is None

    asyncio.run(scenario())


def test_the_dead_do_not_pile_up_in_memory() -> None:
    async def scenario() -> None:
        clock = StoppedClock()
        facts = MemoryFacts(clock)
        await facts.put("lives", b"", 1e9)
        for number in range(5_000):
            await facts.put(f"v{number}", b"", 1)
            await facts.take(f"r{number}", per_second=1, burst=1)
            clock.now += 0.01
        # 100 keys of each kind live at a time.
        assert len(facts) < 500
        assert await facts.get("lives") == b""

    asyncio.run(scenario())


def test_the_dead_do_not_pile_up_on_disk(tmp_path: Path) -> None:
    async def scenario() -> tuple[int, int]:
        clock = StoppedClock()
        async with SqliteFacts(tmp_path / "f.db", clock=clock) as facts:
            before = await _fill(facts, tmp_path / "f.db")
            clock.now += 100
            await facts.take("one", per_second=1, burst=1)
            return before, _rows(tmp_path / "f.db")

    assert asyncio.run(scenario()) == (150, 1)


async def _fill(facts: Facts, path: Path) -> int:
    for number in range(50):
        await facts.put(f"{number}", b"", 1)
        await facts.take(f"{number}", per_second=1, burst=1)
        await facts.publish("c", b"")
    return _rows(path)


def _rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return sum(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("facts", "rates", "events"))


def test_a_fact_survives_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            await facts.put("a", b"1", 60)
            assert await facts.take("a", per_second=0.001, burst=1) == 0.0
        async with facts:
            assert await facts.get("a") == b"1"
            assert await facts.take("a", per_second=0.001, burst=1) > 0.0

    asyncio.run(scenario())


def test_one_bad_key_fails_alone(tmp_path: Path) -> None:
    async def scenario() -> tuple[object, object, object]:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            return await asyncio.gather(
                facts.take("good", per_second=1, burst=1),
                facts.take("\ud800", per_second=1, burst=1),
                facts.put_if_absent("good", b"", 60),
                return_exceptions=True,
            )

    first, bad, last = asyncio.run(scenario())
    assert (first, last) == (0.0, True)
    assert isinstance(bad, UnicodeEncodeError)


def test_a_cancelled_caller_leaves_the_store_usable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            caller = asyncio.ensure_future(facts.put("a", b"1", 60))
            await asyncio.sleep(0)  # one step: the job is queued
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            assert await facts.get("a") == b"1"

    asyncio.run(scenario())


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            pass
        with pytest.raises(StateError) as caught:
            await facts.get("a")
        assert caught.value.code == "TT7005"

    asyncio.run(scenario())


def test_a_store_without_subscriptions_does_not_poll(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            alone = asyncio.all_tasks()
            ends = [await facts.subscribe("a", print) for _ in range(2)]
            (poller,) = asyncio.all_tasks() - alone
            ends[0]()
            ends[1]()
            await asyncio.wait((poller,), timeout=LIMIT)
            assert asyncio.all_tasks() == alone

    asyncio.run(scenario())


def test_closing_a_store_ends_the_poller_of_its_open_subscriptions(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            await facts.subscribe("a", print)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("listeners", [0, 1])
def test_a_subscription_started_while_the_store_closes_raises_and_leaves_no_poller(
    tmp_path: Path, listeners: int
) -> None:
    async def scenario() -> int:
        async with SqliteFacts(tmp_path / "f.db") as facts:
            for _ in range(listeners):
                await facts.subscribe("a", print)
            late = asyncio.create_task(facts.subscribe("a", print))
            await asyncio.sleep(0)  # it has asked the store
        with pytest.raises(StateError) as caught:
            await late
        assert caught.value.code == "TT7005"
        return len(asyncio.all_tasks())

    assert asyncio.run(scenario()) == 1


def test_many_events_at_once_all_arrive(tmp_path: Path) -> None:
    async def scenario() -> None:
        heard: list[bytes] = []
        full = asyncio.Event()

        def listen(payload: bytes) -> None:
            heard.append(payload)
            if len(heard) == 600:
                full.set()

        async with SqliteFacts(tmp_path / "f.db", poll=60) as facts:
            await facts.subscribe("a", listen)
            await asyncio.gather(*(facts.publish("a", b"%d" % number) for number in range(600)))
            async with asyncio.timeout(LIMIT):
                await full.wait()
        assert heard == [b"%d" % number for number in range(600)]

    asyncio.run(scenario())


def test_a_burst_is_granted_to_the_last_one_and_then_no_more() -> None:
    for per_second in (0.001, 0.3, 7, 1_000, 99_999.9):
        now = arrival = 1_790_000_000 * SECOND + 123_456_789
        for _ in range(1_000):
            arrival, wait = admit(arrival, now, per_second=per_second, burst=1_000, cost=1)
            assert wait == 0
        assert admit(arrival, now, per_second=per_second, burst=1_000, cost=1)[1] > 0


def test_a_clock_that_is_set_back_does_not_extend_a_wait_of_the_rate_limit() -> None:
    now = 1_000 * SECOND
    arrival, _ = admit(now, now, per_second=1, burst=5, cost=5)
    earlier = now - 900 * SECOND
    assert admit(arrival, earlier, per_second=1, burst=5, cost=1)[1] == SECOND


class _NeverForgets(MemoryFacts):
    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await super().put(key, value, 1e9)


class _Generous(MemoryFacts):
    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        return await super().take(key, per_second=per_second, burst=burst + 1, cost=cost)


class _KeepsTheRemoved(MemoryFacts):
    async def remove(self, key: str) -> bytes | None:
        return await self.get(key)


class _NeverEnds(MemoryFacts):
    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        await super().subscribe(channel, callback)
        return lambda: None


@pytest.mark.parametrize("broken", [_NeverForgets, _Generous, _KeepsTheRemoved, _NeverEnds])
def test_the_check_finds_a_broken_store(broken: type[MemoryFacts]) -> None:
    clock = StoppedClock()
    with pytest.raises(AssertionError):
        asyncio.run(check_facts(lambda: broken(clock), clock.elapse))
