"""``kill -9`` of a worker, again and again, in each state of a task, while other tasks run on both workers.

A state is brought about by a line of the ledger or an answer on the wire, and the kill follows after a random moment.
The table therefore has the state in which the kill found the task, by the lines that it left.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from task_faults.ledger import Ledger
from task_faults.tasks import Followed, Plan, faults_of, ran_again
from task_faults.workers import Failure, Fleet, Gone, Worker

__all__ = ["STATES", "Killed", "killed"]

STATES = ("starting", "working", "waiting", "finishing")
MOMENT = 0.04
"""Seconds at most between the event and the kill: a checkpoint takes a few milliseconds."""
BESIDE = 2
"""Other tasks that begin with each kill."""
CANCELLED = 0.1
"""The part of the others that are cancelled."""


@dataclass
class Killed:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    tasks: int = 0
    unacknowledged: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    resumed: int = 0
    """Tasks whose function was run again by another process."""
    again: Sequence[str] = ()
    lost: Sequence[str] = ()
    faults: Sequence[str] = ()
    errors: int = 0
    seconds: float = 0.0


class Killing:
    """One run on the workers of ``fleet``."""

    def __init__(self, fleet: Fleet, random: Random) -> None:
        self._fleet = fleet
        self._random = random
        self._names = itertools.count()
        self._following = asyncio.TaskGroup()
        self.tasks: list[Followed] = []
        self.kills = Counter[str]()

    async def run(self, kills: int) -> None:
        async with self._following:
            for number in range(kills):
                for _ in range(BESIDE):
                    self._following.create_task(self._beside())
                victim = self._fleet.workers[number % len(self._fleet.workers)]
                await self._kill(victim, STATES[number // 2 % len(STATES)])
                await self._fleet.start()

    def _new(self, *, asks: bool) -> Followed:
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

    async def _beside(self) -> None:
        """Another task, from its begin to its end."""
        task = self._new(asks=self._random.random() < 0.3)
        await asyncio.sleep(self._random.random())
        if (worker := self._fleet.any()) is None:
            return
        try:
            task.acknowledged(await task.begin(worker))
        except Gone:
            return
        if task.id is not None:
            if self._random.random() < CANCELLED:
                self._following.create_task(self._cancel(task))
            await task.follow(self._fleet)

    async def _cancel(self, task: Followed) -> None:
        await asyncio.sleep(self._random.random())
        if (worker := self._fleet.any()) is not None:
            task.is_cancelled = True
            try:
                await worker.ask("tasks/cancel", taskId=task.id)
            except (Gone, Failure, TimeoutError):
                return

    async def _kill(self, victim: Worker, state: str) -> None:
        """Kill a worker while it runs a task that is in this state."""
        task = self._new(asks=state == "waiting")
        answer = task.begin(victim)
        if state != "starting":
            task.acknowledged(await answer)
            await getattr(self, f"_until_{state}")(task, victim)
        await asyncio.sleep(self._random.random() * MOMENT)
        await self._fleet.kill(victim)
        self.kills[self._found(task, victim, state)] += 1
        if task.id is None and answer.done() and answer.exception() is None:
            task.acknowledged(answer.result())
        task.is_held = False
        if task.id is not None:
            self._following.create_task(task.follow(self._fleet))

    async def _until_working(self, task: Followed, victim: Worker) -> None:
        step = f"s{self._random.randrange(task.plan.steps)}"
        await self._fleet.ledger.until(lambda line: line.task == task.name and line.verb == "ran" and line.step == step)

    async def _until_waiting(self, task: Followed, victim: Worker) -> None:
        """Half of these are answered at the last moment."""
        task.is_held = True
        while (status := await victim.ask("tasks/get", taskId=task.id))["status"] != "input_required":  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # a client polls
        if self._random.random() < 0.5:
            victim.begin("tasks/update", taskId=task.id, inputResponses=task.responses(status))

    async def _until_finishing(self, task: Followed, victim: Worker) -> None:
        await self._fleet.ledger.until(lambda line: line.task == task.name and line.verb == "returns")

    def _found(self, task: Followed, victim: Worker, state: str) -> str:
        """The state in which the kill found the task, by the lines that it has written."""
        self._fleet.ledger.take()
        lines = [line for line in self._fleet.ledger.of(task.name) if line.pid == victim.pid]
        match lines:
            case []:
                return "starting: nothing ran yet"
            case [*_, last] if last.verb == "returns":
                return "finishing: the function had returned"
            case [*_, last] if last.verb == "ran":
                return "working: a step ran, not confirmed"
            case _ if state == "waiting":
                return "waiting for an answer"
            case [*_, last] if last.verb == "confirmed":
                return "working: after a checkpoint"
            case _:
                return "working: before the first step ran"


async def killed(fleet: Fleet, ledger: Ledger, random: Random, kills: int) -> Killed:
    """Kill workers so many times, wait for the ends of all tasks, and judge them."""
    begun, killing = time.monotonic(), Killing(fleet, random)
    await killing.run(kills)
    acknowledged = [task for task in killing.tasks if task.id is not None]
    for task in acknowledged:
        await task.compare(fleet.workers)
    ledger.take()
    return judged(killing.tasks, ledger, fleet, killing.kills, time.monotonic() - begun)


def judged(tasks: Sequence[Followed], ledger: Ledger, fleet: Fleet, kills: Counter[str], seconds: float) -> Killed:
    acknowledged = [task for task in tasks if task.id is not None]
    faults = [fault for task in tasks for fault in faults_of(task, ledger.of(task.name), fleet.killed)]
    faults += [f"the process {pid} ended by itself" for pid in sorted(fleet.died)]
    return Killed(
        kills,
        len(acknowledged),
        len(tasks) - len(acknowledged),
        Counter("none" if task.end is None else task.end["status"] for task in acknowledged),
        len({(line.task, line.step) for line in ledger.lines if line.verb == "confirmed"}),
        sum(len({line.pid for line in ledger.of(task.name) if line.verb == "begins"}) > 1 for task in tasks),
        ran_again(ledger.lines),
        [f"{task.name}: {task.problems}" for task in acknowledged if task.end is None or task.end["status"] == "lost"],
        faults,
        sum(task.unanswered for task in acknowledged),
        seconds,
    )
