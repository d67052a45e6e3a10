"""``kill -9`` of a worker, again and again, in each state of a task, while other tasks run on both workers.

A state is brought about by a line of the ledger or an answer on the wire, and the kill follows after a random moment.
The table therefore has the state in which the kill found the task, by the lines that it left.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from task_faults.load import Load
from task_faults.tasks import Followed
from task_faults.workers import Fleet, Worker

__all__ = ["Killing"]

STATES = ("starting", "working", "waiting", "finishing")
MOMENT = 0.04
"""Seconds at most between the event and the kill: a checkpoint takes a few milliseconds."""
BESIDE = 2
"""Other tasks that begin with each kill."""


class Killing:
    """Kills on the workers of ``fleet``, counted by the state in which they found the task."""

    def __init__(self, fleet: Fleet, load: Load, random: Random) -> None:
        self._fleet = fleet
        self._load = load
        self._random = random
        self.kills = Counter[str]()

    async def run(self, kills: int) -> None:
        for number in range(kills):
            for _ in range(BESIDE):
                self._load.add()
            victim = self._fleet.workers[number % len(self._fleet.workers)]
            await self._kill(victim, STATES[number // 2 % len(STATES)])
            await self._fleet.start()

    async def _kill(self, victim: Worker, state: str) -> None:
        """Kill a worker while it runs a task that is in this state."""
        task = self._load.new(asks=state == "waiting")
        answer = task.begin(victim)
        if state != "starting":
            task.acknowledged(await answer)
            await self._until(state, task, victim)
        await asyncio.sleep(self._random.random() * MOMENT)
        await self._fleet.kill(victim)
        self.kills[self._state_at_end(task, victim, state)] += 1
        if task.id is None and answer.done() and answer.exception() is None:
            task.acknowledged(answer.result())
        self._load.follow(task)

    async def _until(self, state: str, task: Followed, victim: Worker) -> None:
        match state:
            case "working":
                step = f"s{self._random.randrange(task.plan.steps)}"
                await self._fleet.ledger.until(
                    lambda line: (line.task, line.verb, line.step) == (task.name, "ran", step)
                )
            case "waiting":
                await self._until_waiting(task, victim)
            case _:
                await self._fleet.ledger.until(lambda line: (line.task, line.verb) == (task.name, "returns"))

    async def _until_waiting(self, task: Followed, victim: Worker) -> None:
        """Half of these are answered at the last moment."""
        status = await task.until_waiting(victim)
        if self._random.random() < 0.5:
            victim.begin("tasks/update", taskId=task.id, inputResponses=task.responses(status))

    def _state_at_end(self, task: Followed, victim: Worker, state: str) -> str:
        """The state in which the kill found the task, by the lines that it has written."""
        self._fleet.ledger.take()
        match [line.verb for line in self._fleet.ledger.of(task.name) if line.pid == victim.pid]:
            case []:
                return "starting: nothing ran yet"
            case [*_, "returns"]:
                return "finishing: the function had returned"
            case [*_, "ran"]:
                return "working: a step ran, not confirmed"
            case _ if state == "waiting":
                return "waiting for an answer"
            case [*_, "confirmed"]:
                return "working: after a checkpoint"
            case _:
                return "working: before the first step ran"
