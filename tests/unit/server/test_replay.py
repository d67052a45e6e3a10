"""Resumable streams: stored events, their bounds, and failures of the store."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from support.redis_server import redis_url
from tooltrue.errors import InvalidRequest, StateError
from tooltrue.server.replay import Recording, ReplayLimits, ResumableStreams
from tooltrue.state.facts import MemoryFacts
from tooltrue.state.urls import open_facts
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_server import Stream


class Wire:
    """A stream, and the events that were sent by it."""

    def __init__(self) -> None:
        self.sent = b""
        self.read = asyncio.Event()
        self.read.set()
        self.stream = Stream(self._send)
        self._more = asyncio.Event()

    async def _send(self, event: Any) -> None:
        await self.read.wait()
        self.sent += event.get("body", b"")
        self._more.set()

    async def until(self, word: bytes) -> None:
        while word not in self.sent:
            self._more.clear()
            await self._more.wait()

    async def events(self) -> list[bytes]:
        await self.stream.finish(None)
        return [event for event in self.sent.split(b"\n\n") if event and not event.startswith(b":")]


class Brittle(MemoryFacts):
    """Facts that fail from the ``after``th value on."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        self._left -= 1
        if self._left < 0:
            raise StateError.of("TT7005", path="x")
        await super().put(key, value, seconds)


class Counting(MemoryFacts):
    """Facts that tell how many values have been put."""

    def __init__(self) -> None:
        super().__init__()
        self._put = 0
        self._more = asyncio.Event()

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await super().put(key, value, seconds)
        self._put += 1
        self._more.set()

    async def until(self, number: int) -> None:
        while self._put < number:
            self._more.clear()
            await self._more.wait()


class Slow(MemoryFacts):
    """A store that blocks writes of values that start with ``slowly`` until the test releases them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.begun = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        if value.startswith(b"slowly"):
            self.begun.set()
            await self.may_go_on.wait()
        await super().put(key, value, seconds)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT):
            await scenario()

    asyncio.run(main())


async def said(replay: ResumableStreams, *frames: bytes, token: str = "t") -> tuple[Recording, list[bytes]]:
    """A stream that has said this, and its events."""
    wire = Wire()
    recording = replay.record(token, wire.stream, polled=True, request=1)
    for frame in frames:
        recording.send(frame)
    await recording.close()
    return recording, await wire.events()


def name_of(events: list[bytes]) -> str:
    return events[0].split(b"\n")[0].removeprefix(b"id: ").removesuffix(b".0").decode()


async def read(replay: ResumableStreams, id: str) -> list[bytes]:
    wire = Wire()
    await replay.resume("t", id, wire.stream)
    return await wire.events()


@pytest.mark.parametrize("bounds", [ReplayLimits(events=2), ReplayLimits(bytes=1_700 + 2 * (500 + 3))])
def test_when_too_much_was_said_a_part_of_it_is_not_sent_for_the_whole(bounds: ReplayLimits) -> None:
    async def scenario() -> None:
        replay = ResumableStreams(MemoryFacts(), bounds)
        _, events = await said(replay, b"one", b"two", b"end")
        name = name_of(events)
        assert len(events) == 4
        with pytest.raises(InvalidRequest, match="no longer stored"):
            await read(replay, f"{name}.0")
        assert await read(replay, f"{name}.1") == events[2:]

    run(scenario)


@pytest.mark.parametrize(
    ("streams", "frames"),
    [
        pytest.param(1_000, [b"x" * 40], id="many that said a word"),
        pytest.param(12, [b"x" * 40] * 300, id="few that said many words"),
        pytest.param(80, [b"x" * 10_000] * 3, id="long words"),
    ],
)
def test_stored_streams_use_memory_up_to_their_bound(streams: int, frames: list[bytes]) -> None:
    """Counted in the memory that Python has taken for it."""

    async def scenario() -> None:
        replay = ResumableStreams(MemoryFacts(), ReplayLimits(total=1_000_000))
        await said(replay, *frames)
        gc.collect()
        tracemalloc.start()
        try:
            for _ in range(streams):
                await said(replay, *(bytes(bytearray(frame)) for frame in frames))  # of each a copy of its own
            gc.collect()
            assert 600_000 < tracemalloc.get_traced_memory()[0] < 1_050_000
        finally:
            tracemalloc.stop()

    run(scenario)


def test_when_all_streams_are_too_large_the_one_that_ended_first_is_given_up() -> None:
    async def scenario() -> None:
        facts = MemoryFacts()
        replay = ResumableStreams(facts, ReplayLimits(total=2 * 3_200))
        _, first = await said(replay, b"x" * 1_000)
        _, second = await said(replay, b"y" * 1_000)
        assert await read(replay, f"{name_of(first)}.0") == first[1:]
        _, third = await said(replay, b"z" * 1_000)
        with pytest.raises(InvalidRequest, match="no longer stored"):
            await read(replay, f"{name_of(first)}.0")
        assert await read(replay, f"{name_of(second)}.0") == second[1:]
        assert await read(replay, f"{name_of(third)}.0") == third[1:]
        assert len(facts) == 4  # a head and an event each

    run(scenario)


def test_a_stream_that_is_given_up_while_it_runs_goes_on_without_ids() -> None:
    async def scenario() -> None:
        replay = ResumableStreams(MemoryFacts(), ReplayLimits(total=4_000))
        wire = Wire()
        running = replay.record("t", wire.stream, polled=True, request=1)
        running.send(b"one")
        await wire.until(b"one")
        await said(replay, b"x" * 1_200)
        running.send(b"end")
        await running.close()
        events = await wire.events()
        assert [b"id:" in event for event in events] == [True, True, False]
        assert events[-1] == b"event: message\ndata: end"

    run(scenario)


@pytest.mark.parametrize(("after", "ids"), [(0, [False, False]), (1, [True, False, False]), (2, [True, False, False])])
def test_when_the_facts_fail_a_stream_goes_on_and_cannot_be_resumed(after: int, ids: list[bool]) -> None:
    async def scenario() -> None:
        _, events = await said(ResumableStreams(Brittle(after)), b"one", b"end")
        assert [b"id:" in event for event in events] == ids
        assert [event.rpartition(b"data: ")[2] for event in events[-2:]] == [b"one", b"end"]

    run(scenario)


def test_a_client_that_could_not_resume_stays_connected() -> None:
    async def scenario() -> None:
        wire = Wire()
        recording = ResumableStreams(Brittle(0)).record("t", wire.stream, polled=True, request=1)
        recording.detach()
        recording.send(b"end")
        await recording.close()
        assert await wire.events() == [b"event: message\ndata: end"]

    run(scenario)


def test_a_recorded_stream_expires_and_frees_its_space() -> None:
    async def scenario() -> None:
        now = 0.0
        replay = ResumableStreams(MemoryFacts(lambda: now), ReplayLimits(total=5_000), clock=lambda: now)
        for _ in range(10):
            _, events = await said(replay, b"x" * 2_000)
            assert await read(replay, f"{name_of(events)}.0") == events[1:]
            now += 301.0

    run(scenario)


def test_a_stream_that_is_given_up_while_it_is_written_leaves_nothing_and_takes_no_room() -> None:
    async def scenario() -> None:
        now = 0.0
        facts = Slow(lambda: now)
        replay = ResumableStreams(facts, ReplayLimits(total=5_000), clock=lambda: now)
        given_up = replay.record("t", Wire().stream, polled=True, request=1)
        for frame in (b"one", b"slowly" * 200, b"end"):
            given_up.send(frame)
        await facts.begun.wait()
        _, events = await said(replay, b"x" * 2_400)
        facts.may_go_on.set()
        await given_up.close()
        assert await read(replay, f"{name_of(events)}.0") == events[1:]
        assert len(facts) == 2  # a head and an event
        now = 301.0
        _, events = await said(replay, b"y" * 2_400)
        assert await read(replay, f"{name_of(events)}.0") == events[1:]

    run(scenario)


def test_a_recording_waits_for_a_slow_reader_and_loses_no_events() -> None:
    async def scenario() -> None:
        wire, facts = Wire(), Counting()
        wire.read.clear()
        recording = ResumableStreams(facts).record("t", wire.stream, polled=True, request=1)
        for part in (range(900), range(900, 1_800)):  # more than a stream holds for its reader
            for number in part:
                recording.send(b"%d" % number)
            await facts.until(part.stop)
        wire.read.set()
        recording.send(b"end")
        await recording.close()
        events = await wire.events()
        assert [event.rpartition(b"data: ")[2] for event in events[1:]] == [*map(b"%d".__mod__, range(1_800)), b"end"]

    run(scenario)


class Looked(MemoryFacts):
    """A store that counts reads; a ``silent`` one publishes no notifications."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__()
        self._silent = silent
        self._looks = asyncio.Semaphore(0)

    async def get(self, key: str) -> bytes | None:
        self._looks.release()
        return await super().get(key)

    async def publish(self, channel: str, payload: bytes) -> None:
        if not self._silent:
            await super().publish(channel, payload)

    async def looks(self, number: int) -> None:
        for _ in range(number):
            await self._looks.acquire()


@pytest.mark.parametrize("silent", [False, True])
def test_a_stream_with_nothing_to_say_is_followed_unless_its_writer_does_not_hear_either(silent: bool) -> None:
    async def scenario() -> None:
        facts = Looked(silent=silent)
        replay = ResumableStreams(facts, look_seconds=0.05)
        first, second = Wire(), Wire()
        recording = replay.record("t", first.stream, polled=True)
        readers: list[bytes] = []
        recording.when_read = lambda word, reader: readers.append(word)
        recording.begin()
        await first.until(b"data")
        id = first.sent.split(b"\n")[0].removeprefix(b"id: ").decode()
        reading = asyncio.ensure_future(replay.resume("t", id, second.stream))
        if not silent:
            await facts.looks(5)
            recording.send(b"one")
            await second.until(b"one")
            second.stream.abandon()
        assert await reading is silent
        await asyncio.sleep(0)  # a published message is delivered in the next turn of the loop
        assert readers == ([] if silent else [b"taken", b"gone"])
        await recording.close()

    run(scenario)


def test_a_reader_of_a_long_stream_reports_to_its_writer_at_intervals() -> None:
    async def scenario() -> None:
        now = 0.0
        replay = ResumableStreams(MemoryFacts(), clock=lambda: now)
        first, second = Wire(), Wire()
        recording = replay.record("t", first.stream, polled=True)
        readers: list[bytes] = []
        recording.when_read = lambda word, reader: readers.append(word)
        recording.begin()
        await first.until(b"data")
        id = first.sent.split(b"\n")[0].removeprefix(b"id: ").decode()
        reading = asyncio.ensure_future(replay.resume("t", id, second.stream))
        recording.send(b"one")
        await second.until(b"one")
        assert readers == [b"taken"]
        now = 101.0
        recording.send(b"two")
        await second.until(b"two")
        assert readers == [b"taken", b"here"]
        await recording.close()
        assert await reading

    run(scenario)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def begun(replay: ResumableStreams, request: int | str = 7) -> tuple[Recording, str]:
    """A call that has said one word and goes on, and the id of its first event."""
    wire = Wire()
    recording = replay.record("t", wire.stream, polled=True, request=request)
    recording.send(b"one")
    await wire.until(b"one")
    return recording, wire.sent.split(b"\n")[0].removeprefix(b"id: ").decode()


@pytest.mark.parametrize("store", ["sqlite", "redis"])
@pytest.mark.parametrize("request_id", [7, "seven"])
def test_a_resumed_stream_of_a_dead_worker_ends_with_an_error(store: str, request_id: int | str, tmp_path: Path):
    async def scenario(url: str) -> None:
        clock = Clock()
        async with open_facts(url) as here:
            async with open_facts(url) as there:
                recording, id = await begun(ResumableStreams(there), request_id)
                await killed(recording)
            wire = Wire()
            reading = asyncio.ensure_future(
                ResumableStreams(here, clock=clock, look_seconds=0.01).resume("t", id, wire.stream)
            )
            await wire.until(b"one")
            clock.now = 9.9
            await asyncio.wait([reading], timeout=0.1)
            assert not reading.done()
            clock.now = 10.0
            assert await reading is False
            message = json.loads((await wire.events())[-1].rpartition(b"data: ")[2])
            assert (message["id"], message["error"]["code"]) == (request_id, -32603)
            assert "[TT1057]" in message["error"]["message"]

    with redis_url() if store == "redis" else contextlib.nullcontext(f"sqlite://{tmp_path}/state.db") as url:
        run(lambda: scenario(url))


async def killed(recording: Recording) -> None:
    """Kill the worker's task: it writes no more data and receives no more messages."""
    task = recording._task  # pyright: ignore[reportPrivateUsage]
    assert task is not None
    task.cancel()
    await asyncio.wait([task])


def test_a_resumed_silent_stream_stays_open_while_its_worker_is_alive():
    async def scenario() -> None:
        clock = Clock()
        facts = Looked(silent=False)
        replay = ResumableStreams(facts, clock=clock, look_seconds=0.01)
        recording, id = await begun(replay)
        wire = Wire()
        reading = asyncio.ensure_future(replay.resume("t", id, wire.stream))
        for _ in range(20):  # each look is answered before the next
            clock.now += 9.0
            await facts.looks(2)
        recording.send(b"answer")
        await recording.close()
        assert await reading is False
        events = await wire.events()
        assert [event.rpartition(b"data: ")[2] for event in events] == [b"one", b"answer"]

    run(scenario)


def test_a_resumed_stream_ends_with_an_error_when_its_worker_dies_later():
    async def scenario() -> None:
        clock = Clock()
        replay = ResumableStreams(MemoryFacts(), clock=clock, look_seconds=0.01)
        recording, id = await begun(replay)
        wire = Wire()
        reading = asyncio.ensure_future(replay.resume("t", id, wire.stream))
        recording.send(b"two")
        await wire.until(b"two")
        await killed(recording)
        while not reading.done():
            clock.now += 5.0
            await asyncio.wait([reading], timeout=0.05)
        assert b"[TT1057]" in (await wire.events())[-1]

    run(scenario)
