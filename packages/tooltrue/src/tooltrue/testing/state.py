"""The contracts that every store of facts and every log must fulfil, as checks for authors of new ones.

::

    def test_my_facts() -> None:
        clock = StoppedClock()
        asyncio.run(check_facts(lambda: MyFacts(clock=clock), clock.elapse))

Each check opens stores of its own with ``make``, which must return a new and empty one each time, and raises
AssertionError where the contract is broken. For a store whose clock cannot be injected, ``elapse`` is
``asyncio.sleep``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tooltrue.state.facts import Events, Facts, Rates, Values
from tooltrue.state.log import ORIGIN, Log, Mark
from tooltrue.state.verify import VerifyReport, verify

__all__ = ["LIMIT", "StoppedClock", "check_facts", "check_log"]

LIMIT = 60.0
"""The limit, in seconds, for the arrival of an event."""

MakeFacts = Callable[[], AbstractAsyncContextManager[Facts]]
MakeLog = Callable[[], AbstractAsyncContextManager[Log]]
Elapse = Callable[[float], Awaitable[object]]


class StoppedClock:
    """A clock that advances only when told to."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    async def elapse(self, seconds: float) -> None:
        self.now += seconds


async def check_facts(make: MakeFacts, elapse: Elapse) -> None:
    """Check the whole contract of ``Facts``. ``elapse`` advances the store's clock by some seconds."""
    for check in (
        _values_are_kept,
        _a_value_is_put_once,
        _a_value_is_removed_once,
        _a_value_is_replaced_by_who_has_read_it,
        _keys_are_told_apart,
        _takes_that_make_no_sense_are_refused,
        _a_limit_holds_among_many,
        _events_reach_their_channel,
        _a_failing_listener_stops_nobody,
        _an_ended_listener_hears_nothing,
        _events_before_the_subscription_are_not_heard,
    ):
        async with make() as facts:
            await check(facts)
    for timed_check in (_values_expire, _an_expired_key_is_free, _a_rate_regains):
        async with make() as facts:
            await timed_check(facts, elapse)


async def check_log(make: MakeLog) -> None:
    """Check the whole contract of ``Log``."""
    for check in (
        _an_empty_log_is_whole,
        _records_are_numbered,
        _pages_follow_each_other,
        _notes_are_read_back_in_order,
        _a_record_is_kept_as_it_was,
        _what_is_not_json_is_refused,
        _appends_at_once_are_one_chain,
        _a_kept_mark_is_found_again,
    ):
        async with make() as log:
            await check(log)


async def _values_are_kept(facts: Values) -> None:
    assert await facts.get("a") is None
    await facts.put("a", b"1", 60)
    assert await facts.get("a") == b"1"
    await facts.put("a", b"\x00\xff", 60)
    assert await facts.get("a") == b"\x00\xff"
    await facts.put("empty", b"", 60)
    assert await facts.get("empty") == b""


async def _a_value_is_put_once(facts: Values) -> None:
    successes = await asyncio.gather(*(facts.put_if_absent("a", b"%d" % n, 60) for n in range(20)))
    assert sum(successes) == 1
    assert await facts.get("a") == b"%d" % successes.index(True)
    await facts.put("empty", b"", 60)
    assert not await facts.put_if_absent("empty", b"2", 60), "an empty value is a value"


async def _a_value_is_removed_once(facts: Values) -> None:
    await facts.put("a", b"1", 60)
    values = await asyncio.gather(*(facts.remove("a") for _ in range(20)))
    assert (values.count(b"1"), values.count(None)) == (1, 19)
    assert await facts.get("a") is None
    assert await facts.put_if_absent("a", b"2", 60)


async def _a_value_is_replaced_by_who_has_read_it(facts: Values) -> None:
    assert not await facts.replace("a", b"", b"1", 60), "nothing is no value"
    assert await facts.get("a") is None
    await facts.put("a", b"0", 60)
    successes = await asyncio.gather(*(facts.replace("a", b"0", b"to %d" % n, 60) for n in range(20)))
    assert sum(successes) == 1
    assert await facts.get("a") == b"to %d" % successes.index(True)


async def _keys_are_told_apart(facts: Facts) -> None:
    for number, key in enumerate(KEYS):
        await facts.put(key, b"%d" % number, 60)
    assert [await facts.get(key) for key in KEYS] == [b"%d" % number for number in range(len(KEYS))]
    assert await facts.take("a", per_second=0.01, burst=1) == 0.0, "a rate's key is not a value's"
    assert await facts.take("A", per_second=0.01, burst=1) == 0.0
    assert await facts.get("a") == b"1"


KEYS = ("", "a", "A", "a:b", "a\x00b", "a ", "名", "名\u0301", "*", "%", "'; DROP TABLE facts; --")


async def _values_expire(facts: Values, elapse: Elapse) -> None:
    await facts.put("short", b"1", 1)
    await facts.put("long", b"2", 60)
    await elapse(1.1)
    assert await facts.get("short") is None
    assert await facts.remove("short") is None
    assert await facts.get("long") == b"2"


async def _an_expired_key_is_free(facts: Values, elapse: Elapse) -> None:
    await facts.put("a", b"1", 1)
    await facts.put("b", b"1", 1)
    await facts.put("b", b"2", 60)
    await elapse(1.1)
    assert await facts.put_if_absent("a", b"3", 60)
    assert await facts.get("a") == b"3"
    assert not await facts.put_if_absent("b", b"3", 60), "the last put says when a value ends"


async def _takes_that_make_no_sense_are_refused(facts: Rates) -> None:
    for per_second, burst, cost in ((0.0, 1, 1), (-1.0, 1, 1), (1.0, 0, 1), (1.0, 2, 3), (1.0, 1, 0), (1.0, 1, -1)):
        try:
            await facts.take("a", per_second=per_second, burst=burst, cost=cost)
        except ValueError:
            continue
        raise AssertionError(f"take was asked for {cost} of {burst} at {per_second} a second and answered")


async def _a_limit_holds_among_many(facts: Rates) -> None:
    waits = await asyncio.gather(*(facts.take("a", per_second=0.001, burst=40) for _ in range(90)))
    assert waits.count(0.0) == 40
    assert await facts.take("b", per_second=0.001, burst=40, cost=40) == 0.0, "another key has its own"
    assert await facts.take("b", per_second=0.001, burst=40) > 0.0


async def _a_rate_regains(facts: Rates, elapse: Elapse) -> None:
    # One every ten seconds: the delay between two lines on a busy machine refills no token.
    for _ in range(3):
        assert await facts.take("a", per_second=0.1, burst=3) == 0.0
    wait = await facts.take("a", per_second=0.1, burst=3)
    assert 0.0 < wait < 10.1
    longer = await facts.take("a", per_second=0.1, burst=3, cost=2)
    assert wait < longer < 20.1, "a refused take takes nothing"
    await elapse(wait)
    assert await facts.take("a", per_second=0.1, burst=3) == 0.0, "the wait that was named is enough"
    await elapse(60)
    assert await facts.take("a", per_second=0.1, burst=3, cost=3) == 0.0
    assert await facts.take("a", per_second=0.1, burst=3) > 0.0, "an idle key regains the burst and no more"


class _RecordingListener:
    """A listener that can be awaited."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self._more = asyncio.Event()

    def __call__(self, payload: bytes) -> None:
        asyncio.get_running_loop()  # raises when called off the event loop
        self.payloads.append(payload)
        self._more.set()

    async def until(self, last: bytes) -> list[bytes]:
        """All payloads so far, once ``last`` has arrived."""
        async with asyncio.timeout(LIMIT):
            while last not in self.payloads:
                self._more.clear()
                await self._more.wait()
        return self.payloads


async def _events_reach_their_channel(facts: Events) -> None:
    first, second, other = _RecordingListener(), _RecordingListener(), _RecordingListener()
    await facts.subscribe("a", first)
    await facts.subscribe("a", second)
    await facts.subscribe("b", other)
    for number in range(50):
        await facts.publish("a", b"%d" % number)
    await facts.publish("b", b"")
    await facts.publish("a", b"end")
    expected = [b"%d" % number for number in range(50)] + [b"end"]
    assert await first.until(b"end") == expected
    assert await second.until(b"end") == expected
    assert await other.until(b"") == [b""]


async def _a_failing_listener_stops_nobody(facts: Events) -> None:
    listener = _RecordingListener()
    await facts.subscribe("a", _failing)
    await facts.subscribe("a", listener)
    await facts.publish("a", b"1")
    await facts.publish("a", b"2")
    assert await listener.until(b"2") == [b"1", b"2"]


def _failing(payload: bytes) -> None:
    raise RuntimeError("this listener always fails; its traceback belongs in the log")


async def _an_ended_listener_hears_nothing(facts: Events) -> None:
    former, listener = _RecordingListener(), _RecordingListener()
    end = await facts.subscribe("a", former)
    await facts.subscribe("a", listener)
    await facts.publish("a", b"1")
    await listener.until(b"1")
    end()
    end()
    await facts.publish("a", b"2")
    await listener.until(b"2")
    assert former.payloads == [b"1"]


async def _events_before_the_subscription_are_not_heard(facts: Events) -> None:
    await facts.publish("a", b"0")
    first, second = _RecordingListener(), _RecordingListener()
    await facts.subscribe("a", first)
    await facts.publish("a", b"1")
    await first.until(b"1")
    end = await facts.subscribe("a", second)
    await facts.publish("a", b"2")
    assert await first.until(b"2") == [b"1", b"2"]
    assert await second.until(b"2") == [b"2"]
    end()


async def _an_empty_log_is_whole(log: Log) -> None:
    assert await log.read() == ()
    assert await log.head() == ORIGIN
    assert await verify(log) == VerifyReport(0, ORIGIN, ())


async def _records_are_numbered(log: Log) -> None:
    assert [await log.append({"n": n}) for n in range(3)] == [1, 2, 3]
    entries = await log.read()
    assert [(entry.position, entry.record) for entry in entries] == [(1, {"n": 0}), (2, {"n": 1}), (3, {"n": 2})]
    assert len({entry.writer for entry in entries}) == 1
    assert await log.head() == entries[-1].mark
    assert await verify(log) == VerifyReport(3, entries[-1].mark, ())


async def _pages_follow_each_other(log: Log) -> None:
    for n in range(5):
        await log.append({"n": n})
    assert [entry.position for entry in await log.read(limit=2)] == [1, 2]
    assert [entry.position for entry in await log.read(2, limit=2)] == [3, 4]
    assert [entry.position for entry in await log.read(4, limit=2)] == [5]
    assert await log.read(5) == ()
    assert await log.read(99) == ()


async def _notes_are_read_back_in_order(log: Log) -> None:
    log.note({"n": 1})
    log.note({"n": 2})
    assert await log.append({"n": 3}) == 3
    log.note({"n": 4})
    assert [entry.record["n"] for entry in await log.read()] == [1, 2, 3, 4]
    assert (await verify(log)).faults == ()


async def _a_record_is_kept_as_it_was(log: Log) -> None:
    record: dict[str, Any] = {"z": 1, "a": [1.5, None, True, {"名": "a\n\u2028\ud800\x00'"}], "big": 2**70}
    log.note(record)
    expected = {**record, "a": [*record["a"]]}
    record["a"].append("later")
    record["z"] = 2
    (entry,) = await log.read()
    assert entry.record == expected, "a record is taken when it is handed over"
    assert "\n" not in entry.text


async def _what_is_not_json_is_refused(log: Log) -> None:
    for value in (object(), float("nan"), float("inf"), b"bytes", {1, 2}):
        for write in (log.append, _noting(log)):
            try:
                await write({"value": value})
            except (TypeError, ValueError):
                continue
            raise AssertionError(f"{value!r} is not JSON and was written")
    assert await log.read() == ()


def _noting(log: Log) -> Callable[[dict[str, Any]], Awaitable[None]]:
    async def note(record: dict[str, Any]) -> None:
        log.note(record)

    return note


async def _appends_at_once_are_one_chain(log: Log) -> None:
    positions = await asyncio.gather(*(log.append({"n": n}) for n in range(50)))
    assert sorted(positions) == list(range(1, 51))
    report = await verify(log)
    assert (report.entries, report.faults) == (50, ())
    assert {entry.position: entry.record["n"] for entry in await log.read()} == dict(
        zip(positions, range(50), strict=True)
    )


async def _a_kept_mark_is_found_again(log: Log) -> None:
    for n in range(3):
        await log.append({"n": n})
    mark = await log.head()
    await log.append({"n": 3})
    assert (await verify(log, head=mark)).faults == ()
    assert (await verify(log, since=mark)).entries == 1
    assert (await verify(log, since=mark, head=mark)).faults == ()
    ahead = Mark(9, mark.hash)
    assert [fault.kind for fault in (await verify(log, head=ahead)).faults] == ["cut"]
    other = Mark(mark.position, "f" * 64)
    assert [fault.kind for fault in (await verify(log, head=other)).faults] == ["rewritten"]
    assert [fault.kind for fault in (await verify(log, since=other)).faults] == ["unlinked"]
