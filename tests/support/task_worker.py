"""Tasks that follow a script, and a process that runs them: ``python task_worker.py NAME URL``.

The record of a task is its script. A word is a step of that name; ``*`` behind it: the step waits for ``go``, ``?``: it
is declared to run again. ``ask:a,b`` asks for these keys, in the first round alone, and ``fail`` raises an error.

The process prints what happens as lines of JSON, and takes lines of JSON: ``["start", TASK, RECORD]``, ``["go"]``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from tooltrue.tasks.dbos_engine import DbosEngine
from tooltrue.tasks.engine import RoundAsks, RoundEnd, RoundOutcome, StepInterrupted, TaskRound

__all__ = ["LEASE", "Scripted"]

LEASE = 2.0


class Scripted:
    """Runs the rounds of tasks, and says what happens: ``["makes", STEP]``, ``["cancelled", TASK]``."""

    def __init__(self, name: str, say: Callable[[list[str]], None]) -> None:
        self._name = name
        self._say = say
        self.go = asyncio.Event()

    async def __call__(self, round: TaskRound) -> RoundEnd:
        try:
            return await self._run(round)
        except StepInterrupted as error:
            return RoundOutcome(f"interrupted: {error.key}")
        except asyncio.CancelledError:
            self._say(["cancelled", round.task])
            raise

    async def _run(self, round: TaskRound) -> RoundEnd:
        answers = [f"{key}={round.responses[key]}" for key in sorted(round.responses)]
        made = [round.memory, *answers] if round.memory else []
        for word in round.record.split():
            if word == "fail":
                raise ValueError(word)
            verb, _, keys = word.partition(":")
            if verb == "ask":
                if round.number == 0:
                    return RoundAsks(tuple(keys.split(",")), f"questions about {keys}", "asked")
                continue
            made.append(await self._step(round, word))
        return RoundOutcome(" ".join(made))

    async def _step(self, round: TaskRound, word: str) -> str:
        key = word.rstrip("*?")

        async def make() -> str:
            self._say(["makes", key])
            if "*" in word:
                await self.go.wait()
            return f"{key}-by-{self._name}"

        return await round.checkpoints.once(key, make, retry="?" in word)


def _print(words: list[str]) -> None:
    print(json.dumps(words), flush=True)


async def main(name: str, url: str) -> None:
    engine, script = DbosEngine(url, lease=LEASE), Scripted(name, _print)
    await engine.open(script)
    _print(["ready"])
    while line := await asyncio.to_thread(sys.stdin.readline):
        command: list[Any] = json.loads(line)
        match command:
            case ["start", task, record]:
                await engine.start(task, record, owner="owner", expires=None)
                _print(["started", task])
            case ["go"]:
                script.go.set()
            case _:
                raise ValueError(command)
    await engine.close()
    _print(["closed"])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
