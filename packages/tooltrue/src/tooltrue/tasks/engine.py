"""The seam to a durable engine: the only thing of it that the rest of the source knows.

A task is a call whose *rounds* the engine drives. A round is one run of the tool's function from its start; it ends
with a question to the client, or with the outcome of the call. The engine stores how each round was begun, how it
ended, and the checkpoints in between; it begins a round again whose process has ended, and the next round once the
questions of the last one are answered. A task that waits for an answer is rows in its database, and nothing else.

All texts that the engine stores for us (``record``, ``memory``, responses, checkpoints, outcomes) are opaque to it:
they are sealed before they come here, and opened after they left.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias

from tooltrue.errors import TooltrueError
from tooltrue.protocol.types import Value

__all__ = [
    "Checkpoints",
    "DamagedTask",
    "RoundAsks",
    "RoundElsewhere",
    "RoundEnd",
    "RoundOutcome",
    "RunRound",
    "StepInterrupted",
    "StoredTask",
    "TaskEngine",
    "TaskInspector",
    "TaskRound",
    "TaskState",
    "note_ignored",
]


class StepInterrupted(BaseException):
    """The step ``key`` was begun by a process that has ended since, and has no checkpoint: it may have taken effect,
    and is not declared to run again. Not an ``Exception``, so that a function that catches those does not swallow it.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the step {key!r} may have run")
        self.key = key


class RoundElsewhere(Exception):
    """This process lacks the tool of the round, and another one that lives has it (:meth:`TaskEngine.is_elsewhere`)."""


class Checkpoints(Protocol):
    """The checkpoints of one round."""

    async def once(self, key: str, make: Callable[[], Awaitable[str]], *, retry: bool) -> str:
        """Return what ``make`` gave, stored before this returns; after a restart, the stored text without a call of
        ``make``. If ``make`` raises an exception, nothing is stored, and the exception comes through. Several may run
        side by side.

        Raises :class:`StepInterrupted` if an earlier process has begun this step without a checkpoint, unless
        ``retry``.
        """
        ...

    async def has(self, key: str) -> bool:
        """Return whether an earlier process has stored this step in the same round."""
        ...

    async def report(self, text: str) -> None:
        """Store the newest report of the round, in place of the one before: ``TaskState.report``."""
        ...


class TaskRound(Value, frozen=True):
    """One round to run. ``number`` is 0 for the first. ``memory`` is that of the round before, ``responses`` are the
    answers to its questions, by key."""

    task: str
    number: int
    record: str
    memory: str | None
    responses: Mapping[str, str]
    checkpoints: Checkpoints


class RoundAsks(Value, frozen=True):
    """A round that ended with questions: their keys, their text for the client, and the memory of the next round."""

    keys: tuple[str, ...]
    questions: str
    memory: str


class RoundOutcome(Value, frozen=True):
    """A round that ended with the outcome of the task."""

    outcome: str


RoundEnd: TypeAlias = RoundAsks | RoundOutcome

RunRound: TypeAlias = Callable[[TaskRound], Awaitable[RoundEnd]]
"""Runs a round, on the event loop that opened the engine. It is cancelled if the task is. ``RoundElsewhere`` leaves it
to another process. Any other exception is a defect: the task ends as ``failed`` without an outcome."""


class TaskState(Value, frozen=True):
    """A task as the engine knows it. Times are seconds since 1970.

    ``questions`` and ``open_keys`` belong to ``asks``, ``outcome`` to ``ended``, and the newest ``report`` of the round
    to ``working``. ``failed``: the task ended without an outcome.
    """

    status: Literal["working", "asks", "ended", "cancelled", "failed"]
    record: str
    began: float
    updated: float
    questions: str = ""
    open_keys: frozenset[str] = frozenset()
    outcome: str = ""
    report: str = ""


def _nothing(task: str) -> None: ...


async def note_ignored(task: str, note: str) -> None:
    """Take a note, and do nothing."""


class TaskEngine(Protocol):
    """Runs tasks durably. ``StateError`` where its database cannot be reached."""

    async def open(
        self,
        run: RunRound,
        changed: Callable[[str], None] = _nothing,
        noted: Callable[[str, str], Coroutine[Any, Any, None]] = note_ignored,
        tools: Collection[str] = (),
    ) -> None:
        """Begin to run the tasks of this process, and those that ended processes have left. ``tools`` are the names of
        the tools that this process has. ``changed`` is called on this loop with the id of a task after a change of its
        state in this process. ``noted`` gets the id of a task and the note of an operator about it
        (:meth:`TaskInspector.noting`), here or in another process; again if it raises ``StateError``."""
        ...

    async def close(self, seconds: float = 0.0) -> None:
        """End the rounds that run here; they begin again in the next process, or in another one. Steps that run have up
        to ``seconds`` to reach their checkpoint, and no other begins."""
        ...

    async def start(self, task: str, record: str, *, owner: str, expires: float | None) -> None:
        """Store a task and begin its first round. It is durable when this returns. ``owner`` is a digest of its
        caller, by which :meth:`has_room` counts. After ``expires`` it is ended and removed."""
        ...

    async def look_up(self, task: str) -> TaskState | None:
        """Return the state of a task, or ``None`` if there is none of this id."""
        ...

    async def answer(self, task: str, responses: Mapping[str, str]) -> None:
        """Store the answers to open questions; the first answer to a key counts, and other keys are ignored. The next
        round begins when all are answered. A task that asks nothing stays as it is."""
        ...

    async def cancel(self, task: str) -> None:
        """Cancel a task that has not ended: its round is cancelled, in whichever process it runs."""
        ...

    async def has_room(self, owner: str, limit: int) -> bool:
        """Return whether fewer than ``limit`` tasks of this owner have not ended."""
        ...

    async def of_owner(self, owner: str) -> Sequence[str]:
        """Return the tasks of this owner that are stored, the newest first."""
        ...

    async def is_elsewhere(self, tool: str) -> bool:
        """Return whether another process that lives has this tool."""
        ...

    async def ended(self, task: str, seconds: float) -> bool:
        """Wait up to ``seconds`` until the task asks or has ended, and return whether it has."""
        ...

    async def sweep(self) -> int:
        """Cancel and remove expired tasks, and return their number."""
        ...


class StoredTask(Value, frozen=True):
    """A task as its operator finds it: ``rounds`` is the number of those that have begun, and ``expires`` is in seconds
    since 1970."""

    id: str
    state: TaskState
    rounds: int
    expires: float | None


class DamagedTask(Value, frozen=True):
    """A task whose rows cannot be used."""

    id: str
    error: TooltrueError


class TaskInspector(Protocol):
    """The tasks of a server from outside of it, in a process that runs none. ``StateError`` as of an engine."""

    def newest(self) -> AsyncGenerator[StoredTask | DamagedTask]:
        """All tasks, the newest first. They are loaded as they are iterated over."""
        ...

    async def starting(self, prefix: str) -> Sequence[StoredTask]:
        """Return the tasks whose ids begin with ``prefix``, and at most two of them."""
        ...

    def noting(self, task: str, note: str) -> AbstractAsyncContextManager[None]:
        """Context in which an operator acts on a task. The note is stored before, and a process of the server gets it
        after the act, within a few seconds of running."""
        ...

    async def answer(self, task: str, responses: Mapping[str, str]) -> None:
        """As of an engine. A process of the server begins the next round."""
        ...

    async def cancel(self, task: str) -> None:
        """As of an engine. The process that runs the round ends it."""
        ...
