"""Tasks that run beside a fault, and the verdict about all of them in the end."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from task_faults.tasks import Followed, Plan, faults_of, ran_again
from task_faults.workers import Failure, Fleet, Gone

__all__ = ["Load", "Verdict"]

CANCELLED = 0.1
"""The part of the tasks that are cancelled."""
ASKING = 0.3
"""The part that ask a question."""


@dataclass(frozen=True)
class Verdict:
    """The fate of tasks. ``resumed`` are those whose function was run by several processes, ``again`` the steps that
    ran after their checkpoint."""

    tasks: int
    unacknowledged: int
    ends: Counter[str]
    steps: int
    resumed: int
    again: Sequence[str]
    lost: Sequence[str]
    faults: Sequence[str]
    errors: int


class Load:
    """Tasks on the workers of ``fleet``, each followed to its end within the context."""

    def __init__(self, fleet: Fleet, random: Random) -> None:
        self._fleet = fleet
        self._random = random
        self._names = itertools.count()
        self._following = asyncio.TaskGroup()
        self.tasks: list[Followed] = []

    async def __aenter__(self) -> Load:
        await self._following.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._following.__aexit__(*error)  # pyright: ignore[reportArgumentType]

    def new(self, *, asks: bool) -> Followed:
        """A task that has not begun."""
        random, steps = self._random, self._random.randint(2, 5)
        plan = Plan(
            random.choice(("work", "plain_work")),
            steps,
            random.randrange(steps) if asks else -1,
            random.random() < 0.5,
        )
        task = Followed(f"t{next(self._names)}", plan)
        self.tasks.append(task)
        return task

    def add(self) -> None:
        """Begin another task within a second."""
        self._following.create_task(self._run(self.new(asks=self._random.random() < ASKING)))

    def follow(self, task: Followed) -> None:
        """Follow a task whose begin was acknowledged."""
        if task.id is not None:
            self._following.create_task(task.follow(self._fleet))

    async def _run(self, task: Followed) -> None:
        await asyncio.sleep(self._random.random())
        if (worker := self._fleet.any()) is None:
            return
        try:
            task.acknowledged(await task.begin(worker))
        except Gone:
            return
        self.follow(task)
        if task.id is not None and self._random.random() < CANCELLED:
            await self._cancel(task)

    async def _cancel(self, task: Followed) -> None:
        await asyncio.sleep(self._random.random())
        if (worker := self._fleet.any()) is not None:
            task.is_cancelled = True
            try:
                await worker.ask("tasks/cancel", taskId=task.id)
            except (Gone, Failure, TimeoutError):
                return

    async def judge(self, cut: Collection[int]) -> Verdict:
        """Compare the ends with what every worker tells, and with the ledger. ``cut`` are the processes that lost
        rounds."""
        acknowledged = [task for task in self.tasks if task.id is not None]
        for task in acknowledged:
            await task.compare(self._fleet.workers)
        ledger = self._fleet.ledger
        ledger.take()
        faults = [fault for task in self.tasks for fault in faults_of(task, ledger.of(task.name), cut)]
        faults += [f"the process {pid} ended by itself" for pid in sorted(self._fleet.died)]
        begun = [{line.pid for line in ledger.of(task.name) if line.verb == "begins"} for task in self.tasks]
        return Verdict(
            len(acknowledged),
            len(self.tasks) - len(acknowledged),
            Counter("none" if task.end is None else task.end["status"] for task in acknowledged),
            len({(line.task, line.step) for line in ledger.lines if line.verb == "confirmed"}),
            sum(len(processes) > 1 for processes in begun),
            ran_again(ledger.lines),
            [task.name for task in acknowledged if task.is_lost()],
            faults,
            sum(task.unanswered for task in self.tasks),
        )
