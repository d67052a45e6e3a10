"""One engine for the tasks of several servers: the views of a gateway, which is one process with one database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any

from tooltrue.errors import StateError
from tooltrue.protocol.types import replaced
from tooltrue.tasks.engine import RoundEnd, RunRound, TaskEngine, TaskRound, TaskState, note_ignored
from tooltrue.tasks.wording import TASKS_NOT_RUNNING

__all__ = ["SharedEngine", "name_of", "parted", "rounds_of"]


class SharedEngine:
    """The part of ``engine`` that the server ``name`` has: its own tasks, and no others. ``name`` has no colon. The
    owner of the engine opens and closes it."""

    def __init__(self, engine: TaskEngine, name: str) -> None:
        self._engine = engine
        self._name = name

    async def open(
        self,
        run: RunRound,
        changed: Callable[[str], None] = lambda task: None,
        noted: Callable[[str, str], Coroutine[Any, Any, None]] = note_ignored,
        tools: Collection[str] = (),
    ) -> None:
        """Do nothing: the whole engine is opened elsewhere."""

    async def close(self, seconds: float = 0.0) -> None:
        """Do nothing, likewise."""

    async def start(self, task: str, record: str, *, owner: str, expires: float | None) -> None:
        await self._engine.start(task, f"{self._name}:{record}", owner=self._owner(owner), expires=expires)

    async def look_up(self, task: str) -> TaskState | None:
        state = await self._engine.look_up(task)
        if state is None:
            return None
        name, record = parted(state.record)
        return replaced(state, record=record) if name == self._name else None

    async def answer(self, task: str, responses: Mapping[str, str]) -> None:
        await self._engine.answer(task, responses)

    async def cancel(self, task: str) -> None:
        await self._engine.cancel(task)

    async def has_room(self, owner: str, limit: int) -> bool:
        return await self._engine.has_room(self._owner(owner), limit)

    async def of_owner(self, owner: str) -> Sequence[str]:
        return await self._engine.of_owner(self._owner(owner))

    async def is_elsewhere(self, tool: str) -> bool:
        return await self._engine.is_elsewhere(tool)

    async def ended(self, task: str, seconds: float) -> bool:
        return await self._engine.ended(task, seconds)

    async def sweep(self) -> int:
        return await self._engine.sweep()

    def _owner(self, owner: str) -> str:
        """A caller of this server, which counts by itself."""
        return hashlib.sha256(f"{self._name}:{owner}".encode()).hexdigest()[:32]


def rounds_of(runs: Mapping[str, RunRound]) -> RunRound:
    """Return what runs a round for the server, by its name, that has begun the task."""

    async def run(round: TaskRound) -> RoundEnd:
        name, record = parted(round.record)
        if name not in runs:  # no process of this gateway has it by now, and each would hand it back
            raise StateError.of(TASKS_NOT_RUNNING)
        return await runs[name](replaced(round, record=record))

    return run


def name_of(record: str) -> str:
    """Return the name of the server that has begun the task of this record."""
    return parted(record)[0]


def parted(record: str) -> tuple[str, str]:
    """Return the name of the server that has begun the task, and its own record; no name where the engine is not
    shared. A sealed text has no colon."""
    name, _, record = record.rpartition(":")
    return name, record
