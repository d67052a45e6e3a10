"""Several processes on one SQLite file."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tooltrue.state.log import Entry
from tooltrue.state.sqlite import SqliteFacts, SqliteLog
from tooltrue.state.verify import VerifyReport, verify
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

WORKER = Path(__file__).with_name("worker.py")


class Worker:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def say(self) -> Any:
        """The next JSON line of the process."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the worker died"
        return json.loads(line)

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(LIMIT)


@contextmanager
def started(role: str, path: Path, count: int = 1) -> Iterator[list[Worker]]:
    """``count`` processes with that role, all ready."""
    command = [sys.executable, "-W", "error", str(WORKER), role, str(path)]
    with ExitStack() as stack:
        workers: list[Worker] = []
        for _ in range(count):
            process = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            workers.append(Worker(process))
        for worker in workers:
            assert worker.say() == "ready"
        yield workers


def answers(role: str, path: Path, count: int) -> list[Any]:
    """The answers of ``count`` processes that start their work at the same time."""
    with started(role, path, count) as workers:
        for worker in workers:
            worker.go()
        return [worker.say() for worker in workers]


def test_a_limit_holds_exactly_over_processes(tmp_path: Path) -> None:
    assert sum(answers("taker", tmp_path / "facts.db", 3)) == 50


def test_one_of_many_processes_wins(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"

    async def prepare() -> None:
        async with SqliteFacts(path) as facts:
            for n in range(40):
                await facts.put(f"once{n}", b"1", 600)

    asyncio.run(prepare())
    won = answers("claimer", path, 3)
    assert (sum(w["put"] for w in won), sum(w["removed"] for w in won)) == (40, 40)


def test_an_event_reaches_the_other_process_and_its_answer_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"

    async def ask(worker: Worker) -> bytes:
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        async with SqliteFacts(path, poll=0.01) as facts:
            await facts.subscribe("answer", answered.set_result)
            await facts.publish("question", b"you")
            worker.go()
            return await asyncio.wait_for(answered, LIMIT)

    with started("echo", path) as (worker,):
        assert asyncio.run(ask(worker)) == b"heard you"
        assert worker.say() == "done"


def test_several_writers_make_one_chain_and_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    durable = answers("writer", path, 3)
    entries, report = asyncio.run(_all_of(path))
    assert (report.entries, report.faults) == (300, ())
    by_writer: dict[str, list[int]] = {}
    for entry in entries:
        by_writer.setdefault(entry.writer, []).append(entry.record["n"])
    assert list(by_writer.values()) == [list(range(100))] * 3
    positions = [position for positions in durable for position in positions]
    assert all(entries[position - 1].record["n"] % 10 == 0 for position in positions)
    assert len(set(positions)) == 30


def test_an_appended_record_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with started("victim", path) as (worker,):
        worker.kill()
    entries, report = asyncio.run(_all_of(path))
    assert [entry.record for entry in entries] == [{"n": 1}, {"n": 2}]
    assert report.faults == ()


@pytest.mark.needs("limits")
def test_a_full_disk_refuses_and_leaves_the_log_whole(tmp_path: Path) -> None:
    (said,) = answers("poor", tmp_path / "log.db", 1)
    assert said["written"] > 0
    assert said == {"written": said["written"], "entries": said["written"] + 1, "faults": 0, "lost": 1}


async def _all_of(path: Path) -> tuple[tuple[Entry, ...], VerifyReport]:
    async with SqliteLog(path) as log:
        return await log.read(limit=1_000), await verify(log)
