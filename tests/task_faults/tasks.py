"""Tasks that are followed to their ends across workers, and what must be true of each in the end."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from task_faults.ledger import Line
from task_faults.workers import ANSWER, TERMINAL, Failure, Fleet, Gone, Worker

__all__ = ["Followed", "Plan", "faults_of", "ran_again"]

POLL_SECONDS = 0.2
WAIT_SECONDS = 240.0
"""How long the end of a task is waited for: it may be cut again and again, and each time the lease has to pass."""

_STEP = re.compile(r"'(s\d+)'")


@dataclass(frozen=True)
class Plan:
    """The arguments of a task. It asks before step ``asks``; never if that is negative."""

    tool: Literal["work", "plain_work", "work_of_version_1"]
    steps: int
    asks: int
    retry: bool


@dataclass
class Followed:
    """A task as its client knows it. ``id`` is ``None`` until the begin of it was acknowledged."""

    name: str
    plan: Plan
    id: str | None = None
    end: Mapping[str, Any] | None = None
    is_cancelled: bool = False
    problems: list[str] = field(default_factory=list)
    unanswered: int = 0
    """Requests that ended with an error."""

    def is_lost(self) -> bool:
        return self.end is None or self.end["status"] == "lost"

    def begin(self, worker: Worker) -> asyncio.Future[Any]:
        """Send the call, and return its answer to come."""
        plan = self.plan
        arguments = {"task": self.name, "steps": plan.steps, "asks": plan.asks, "retry": plan.retry}
        return worker.begin("tools/call", name=plan.tool, arguments=arguments)

    def acknowledged(self, answer: Mapping[str, Any]) -> None:
        """Take the answer to the call."""
        result = answer.get("result", {})
        if result.get("resultType") == "task":
            self.id = result["taskId"]
        elif "error" in answer or result.get("isError"):
            self.unanswered += 1
        else:
            self.problems.append(f"the call was answered with {answer}")

    async def until_waiting(self, worker: Worker) -> dict[str, Any]:
        """The status of the task once it asks."""
        while (status := await worker.ask("tasks/get", taskId=self.id))["status"] != "input_required":
            if status["status"] in TERMINAL:
                raise AssertionError(f"{self.name} ended: {status}")
            await asyncio.sleep(0.02)  # a client polls
        return status

    async def follow(self, fleet: Fleet) -> None:
        """Poll any worker, answer questions, and return at the end."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while self.end is None:
                    await self._step(fleet)
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            self.problems.append("did not end")

    async def _step(self, fleet: Fleet) -> None:
        if (worker := fleet.any()) is None:
            return
        try:
            status = await worker.ask("tasks/get", taskId=self.id)
            if status["status"] in TERMINAL:
                self.end = status
            elif status["status"] == "input_required":
                await worker.ask("tasks/update", taskId=self.id, inputResponses=self.responses(status))
        except Gone:
            return
        except (Failure, TimeoutError) as error:
            if isinstance(error, Failure) and error.code == -32602:
                self.problems.append(f"lost: {error}")
                self.end = {"status": "lost"}
            self.unanswered += 1

    def responses(self, status: Mapping[str, Any]) -> dict[str, Any]:
        """The answers to its questions."""
        return {key: {"action": "accept", "content": {"word": ANSWER}} for key in status["inputRequests"]}

    async def compare(self, workers: Collection[Worker]) -> None:
        """Compare the end of a task with what each worker tells of it."""
        for worker in workers:
            try:
                status = await worker.ask("tasks/get", taskId=self.id)
            except (Failure, Gone, TimeoutError) as error:
                status = {"status": repr(error)}
            if self.end is not None and _end(status) != _end(self.end):
                self.problems.append(f"ended as {_end(self.end)}, and then as {_end(status)}")


def _end(status: Mapping[str, Any]) -> tuple[Any, ...]:
    return status.get("status"), status.get("result"), status.get("error")


def ran_again(lines: Sequence[Line]) -> list[str]:
    """The steps that ran after they were confirmed: one text for each run."""
    confirmed, again = set[tuple[str, str]](), list[str]()
    for line in lines:
        if line.verb == "confirmed":
            confirmed.add((line.task, line.step))
        elif line.verb == "ran" and (line.task, line.step) in confirmed:
            again.append(f"{line.task}: {line.step} ran again after its checkpoint")
    return again


def faults_of(task: Followed, lines: Sequence[Line], cut: Collection[int]) -> list[str]:
    """The faults of a task that has ended, by its lines. ``cut`` are the processes that lost rounds."""
    faults = [*task.problems, *_runs_not_declared(task, lines), *_values_not_stored(lines)]
    if task.end is not None:
        faults += _wrong_end(task, task.end, lines, cut)
    return [f"{task.name}: {fault}" for fault in faults]


def _runs_not_declared(task: Followed, lines: Sequence[Line]) -> list[str]:
    """A step runs at most once unless it is declared to run again."""
    runs = Counter(line.step for line in lines if line.verb == "ran")
    return [f"{step} ran {times} times" for step, times in runs.items() if times > 1 and not task.plan.retry]


def _values_not_stored(lines: Sequence[Line]) -> list[str]:
    """A confirmed value is that of a run, and the same for ever."""
    ran = {(line.step, line.value) for line in lines if line.verb == "ran"}
    confirmed = {(line.step, line.value) for line in lines if line.verb == "confirmed"}
    steps = Counter(step for step, _ in confirmed)
    return [
        *(f"{step} had the value {value}, which no run gave" for step, value in confirmed - ran),
        *(f"{step} had {times} values" for step, times in steps.items() if times > 1),
    ]


def _wrong_end(task: Followed, end: Mapping[str, Any], lines: Sequence[Line], cut: Collection[int]) -> list[str]:
    match end["status"]:
        case "completed":
            values = {line.step: line.value for line in lines if line.verb == "confirmed"}
            expected = list(values.values())
            if task.plan.asks >= 0:
                expected.insert(task.plan.asks, ANSWER)
            result = end["result"].get("structuredContent")
            return [] if result == expected else [f"the result is {end['result']}, and not {expected}"]
        case "failed":
            return _wrong_failure(task, end["error"]["message"], lines, cut)
        case "cancelled" if task.is_cancelled:
            return []
        case state:
            return [f"ended as {state}"]


def _wrong_failure(task: Followed, message: str, lines: Sequence[Line], cut: Collection[int]) -> list[str]:
    """A task fails only if a step of it was cut that is not declared to run again, and that has no checkpoint."""
    if not (named := _STEP.search(message)):
        return [f"failed: {message}"]
    step = named.group(1)
    faults = list[str]()
    if task.plan.retry:
        faults.append(f"{step} is declared to run again, and the task failed")
    if any(line.verb == "confirmed" and line.step == step for line in lines):
        faults.append(f"{step} had a checkpoint, and the task failed")
    begun = [line.pid for line in lines if line.verb == "begins"]
    if len(begun) < 2 or begun[-2] not in cut:
        faults.append(f"failed at {step}, and the run before was not cut")
    return faults
