"""The ledger is judged by rules that see each fault, and a few kills leave none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from task_faults.ledger import Line, opened_ledger
from task_faults.rows import ROWS, Setting
from task_faults.tasks import Followed, Plan, faults_of, ran_again
from task_faults.workers import Worker, fleet

HERE, OTHER = 1, 2
BEGINS = Line(HERE, "t", "begins")
RAN = Line(HERE, "t", "ran", "s0", "a")
CONFIRMED = Line(HERE, "t", "confirmed", "s0", "a")


def ended(status: str, *, retry: bool = False, **members: Any) -> Followed:
    return Followed("t", Plan("work", 1, -1, retry), "id", {"status": status, **members})


def completed(*values: str) -> Followed:
    return ended("completed", result={"structuredContent": list(values)})


def interrupted(*, retry: bool = False) -> Followed:
    return ended("failed", retry=retry, error={"message": "within the step 's0', which may have taken effect"})


@pytest.mark.parametrize(
    ("task", "lines"),
    [
        (completed("a"), [BEGINS, RAN, CONFIRMED]),
        (completed("a"), [BEGINS, RAN, Line(OTHER, "t", "begins"), Line(OTHER, "t", "confirmed", "s0", "a")]),
        (interrupted(), [BEGINS, RAN, Line(OTHER, "t", "begins")]),
    ],
)
def test_the_proper_ends_of_a_task_are_no_faults(task: Followed, lines: list[Line]) -> None:
    assert faults_of(task, lines, {HERE}) == []


@pytest.mark.parametrize(
    ("task", "lines", "fault"),
    [
        (completed("b"), [BEGINS, RAN, CONFIRMED], "t: the result is"),
        (completed("a"), [BEGINS, RAN, RAN, CONFIRMED], "t: s0 ran 2 times"),
        (completed("b"), [BEGINS, RAN, Line(HERE, "t", "confirmed", "s0", "b")], "t: s0 had the value b"),
        (interrupted(), [BEGINS, RAN, CONFIRMED, Line(OTHER, "t", "begins")], "t: s0 had a checkpoint"),
        (interrupted(), [Line(OTHER, "t", "begins"), RAN, BEGINS], "t: failed at s0, and the run before was not cut"),
        (interrupted(retry=True), [BEGINS, RAN, Line(OTHER, "t", "begins")], "t: s0 is declared to run again"),
        (ended("failed", error={"message": "no reason"}), [BEGINS], "t: failed: no reason"),
        (ended("cancelled"), [BEGINS], "t: ended as cancelled"),
        (ended("lost"), [BEGINS], "t: ended as lost"),
    ],
)
def test_each_fault_of_a_task_is_seen(task: Followed, lines: list[Line], fault: str) -> None:
    assert [one[: len(fault)] for one in faults_of(task, lines, {HERE})] == [fault]


def test_a_step_that_runs_after_its_checkpoint_is_seen() -> None:
    assert ran_again([RAN, CONFIRMED, Line(OTHER, "t", "confirmed", "s0", "a")]) == []
    assert ran_again([RAN, CONFIRMED, RAN]) == ["t: s0 ran again after its checkpoint"]


@pytest.mark.process
@pytest.mark.needs("signals")
def test_a_later_version_leaves_tasks_of_a_tool_that_it_lacks_to_the_earlier_one_while_that_lives(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        url, log = f"sqlite://{tmp_path}/tasks.db", tmp_path / "workers.log"
        with opened_ledger() as ledger:
            async with fleet(url, tmp_path, log, ledger, Random(1), versions=(1, 2)) as workers:
                [earlier] = [worker for worker in workers.workers if await has_tool(worker, "work_of_version_1")]
                [later] = [worker for worker in workers.workers if worker is not earlier]
                answered, left = (Followed(name, Plan("work_of_version_1", 1, 0, retry=False)) for name in ("a", "b"))
                for task in (answered, left):
                    task.acknowledged(await task.begin(earlier))
                responses = answered.responses(await answered.until_waiting(earlier))
                await left.until_waiting(earlier)
                assert (await later.ask("tasks/get", taskId=answered.id))["status"] == "working"
                await later.ask("tasks/update", taskId=answered.id, inputResponses=responses)  # which begins the round
                while (end := await earlier.ask("tasks/get", taskId=answered.id))["status"] == "working":
                    assert (await later.ask("tasks/get", taskId=answered.id))["status"] == "working"
                    await asyncio.sleep(0.05)  # a client polls
                assert end["status"] == "completed"
                assert [line.pid for line in ledger.of("a") if line.verb == "returns"] == [earlier.pid]
                await workers.kill(earlier)
                while (end := await later.ask("tasks/get", taskId=left.id))["status"] == "working":  # noqa: ASYNC110 - a client polls
                    await asyncio.sleep(0.05)
                assert end["status"] == "failed"
                assert "TT5605" in str(end["error"])

    asyncio.run(scenario())


async def has_tool(worker: Worker, name: str) -> bool:
    return name in [tool["name"] for tool in (await worker.ask("tools/list"))["tools"]]


@pytest.mark.process
@pytest.mark.needs("signals")
def test_killed_workers_leave_no_fault(tmp_path: Path) -> None:
    setting = Setting(f"sqlite://{tmp_path}/tasks.db", tmp_path, tmp_path / "workers.log", seed=1, kills=5, waiting=0)
    figures, faults = asyncio.run(ROWS[0].measure(setting))
    assert faults == []
    assert [figure for figure in figures if not figure.held] == []
