"""The ledger is judged by rules that see each fault, and a few kills leave none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from task_faults.ledger import Line
from task_faults.rows import ROWS, Setting
from task_faults.tasks import Followed, Plan, faults_of, ran_again

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
def test_killed_workers_leave_no_fault(tmp_path: Path) -> None:
    setting = Setting(f"sqlite://{tmp_path}/tasks.db", tmp_path, tmp_path / "workers.log", seed=1, kills=5, waiting=0)
    figures, faults = asyncio.run(ROWS[0].measure(setting))
    assert faults == []
    assert [figure for figure in figures if not figure.held] == []
