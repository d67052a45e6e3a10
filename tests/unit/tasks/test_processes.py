"""Tasks of processes that are killed, stopped and started again, on one database."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import support.task_worker
from support.task_worker import LEASE, Scripted
from tooltrue.tasks.dbos_engine import DbosEngine
from tooltrue.testing.state import LIMIT

pytestmark = [pytest.mark.process, pytest.mark.needs("signals")]


class Worker:
    """A process with an engine, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said: list[list[str]] = []

    async def until(self, *words: str) -> None:
        """Wait until it says this."""
        assert self._process.stdout is not None
        async with asyncio.timeout(LIMIT):
            while list(words) not in self.said:
                line = await self._process.stdout.readline()
                assert line, "the worker ended"
                self.said.append(json.loads(line))

    async def tell(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(words)}\n".encode())
        await self._process.stdin.drain()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def worker(name: str, url: str) -> AsyncGenerator[Worker]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        str(Path(support.task_worker.__file__)),
        name,
        url,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        started = Worker(process)
        await started.until("ready")
        yield started
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@asynccontextmanager
async def survivor(url: str, said: list[list[str]]) -> AsyncGenerator[DbosEngine]:
    """An engine of this process, whose steps do not wait."""
    script = Scripted("survivor", said.append)
    script.go.set()
    engine = DbosEngine(url, lease=LEASE)
    await engine.open(script)
    try:
        yield engine
    finally:
        await engine.close()


async def outcome(engine: DbosEngine, task: str) -> Any:
    assert await engine.ended(task, LIMIT)
    state = await engine.look_up(task)
    assert state is not None
    return state.outcome


def test_a_killed_process_loses_no_task_and_no_checkpoint(url: str) -> None:
    async def scenario() -> None:
        said = list[list[str]]()
        async with worker("victim", url) as victim:
            await victim.tell("start", "again", "one two*? three")
            await victim.until("makes", "two")
            await victim.tell("start", "once", "four five* six")
            await victim.until("makes", "five")
            await victim.tell("start", "asks", "ask:a seven")
            await victim.until("started", "asks")
            await victim.kill()
        async with survivor(url, said) as engine:
            assert await outcome(engine, "again") == "one-by-victim two-by-survivor three-by-survivor"
            assert await outcome(engine, "once") == "interrupted: five"
            assert await engine.ended("asks", LIMIT)
            await engine.answer("asks", {"a": "1"})
            assert await outcome(engine, "asks") == "asked a=1 seven-by-survivor"
        assert sorted(said) == [["makes", "seven"], ["makes", "three"], ["makes", "two"]]

    asyncio.run(scenario())


def test_a_stopped_process_that_wakes_up_again_stores_nothing(url: str) -> None:
    async def scenario() -> None:
        said = list[list[str]]()
        async with worker("sleeper", url) as sleeper, worker("other", url) as other:
            await other.tell("go")
            await sleeper.tell("start", "t", "one*? two")
            await sleeper.until("makes", "one")
            sleeper.signal(signal.SIGSTOP)
            async with survivor(url, said) as engine:
                final = await outcome(engine, "t")
                assert final in ("one-by-survivor two-by-survivor", "one-by-other two-by-other")
                await sleeper.tell("go")  # so that its step ends as it wakes up
                sleeper.signal(signal.SIGCONT)
                await sleeper.until("cancelled", "t")
                assert await outcome(engine, "t") == final
                await sleeper.tell("start", "awake", "three")
                await sleeper.until("started", "awake")
                assert await outcome(engine, "awake") == "three-by-sleeper"
                await other.tell("start", "flush", "four")
                await other.until("makes", "four")
        assert ["makes", "two"] not in sleeper.said
        assert (said + other.said).count(["makes", "one"]) == 1
        assert (said + other.said).count(["makes", "two"]) == 1

    asyncio.run(scenario())


def test_a_task_is_cancelled_in_the_process_that_runs_it(url: str) -> None:
    async def scenario() -> None:
        async with worker("runner", url) as runner, survivor(url, []) as engine:
            await runner.tell("start", "t", "one*")
            await runner.until("makes", "one")
            await engine.cancel("t")
            await runner.until("cancelled", "t")
            state = await engine.look_up("t")
            assert state is not None
            assert state.status == "cancelled"

    asyncio.run(scenario())


def test_an_answer_to_another_process_lets_the_task_go_on(url: str) -> None:
    async def scenario() -> None:
        said = list[list[str]]()
        async with worker("asker", url) as asker, survivor(url, said) as engine:
            await asker.tell("start", "t", "ask:a one")
            await asker.until("started", "t")
            assert await engine.ended("t", LIMIT)
            await engine.answer("t", {"a": "1"})
            assert await outcome(engine, "t") == "asked a=1 one-by-survivor"

    asyncio.run(scenario())


def test_the_engine_prints_nothing_and_heeds_no_settings_of_dbos_in_the_environment(url: str) -> None:
    async def scenario() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(support.task_worker.__file__)),
            "quiet",
            url,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "DBOS__CLOUD": "true", "DBOS__VMID": "other", "DBOS__CONDUCTOR_KEY": "key"},
        )
        commands = b'["start", "t", "one"]\n["start", "bad", "fail"]\n'
        async with asyncio.timeout(LIMIT):
            printed, complained = await process.communicate(commands)
        lines = [json.loads(line) for line in printed.splitlines()]
        assert [line for line in lines if line[0] in ("ready", "started", "closed")] == [
            ["ready"],
            ["started", "t"],
            ["started", "bad"],
            ["closed"],
        ]
        assert b"dbos" not in complained.lower().replace(b"dbos_engine", b"")

    asyncio.run(scenario())
