"""The status of a task on the wire (2026-07-28, extension ``io.modelcontextprotocol/tasks``), validated strictly."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from tooltrue.client.call_results import converted
from tooltrue.client.wording import REASON_TASK_OF_OTHER_ID, REASON_TASK_TIME
from tooltrue.errors import InvalidAnswer
from tooltrue.jsonrpc.messages import Json
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.types import Value, field
from tooltrue.wording import Worded

__all__ = ["TaskStarted", "TaskStatus", "created_task", "task_status"]

_State: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class TaskStatus(Value, frozen=True):
    """The status of a task, as its server reports it. ``message`` is the server's text for people.

    ``questions`` are the requests for input that wait for an answer, by their keys. ``ttl`` is the time in seconds,
    from its creation, after which the server may forget the task (``None``: no limit), and ``interval`` the time until
    the next poll, if the server suggests one. ``raw`` has the members on the wire. ``id`` is ``None`` for a call that
    was answered without a task.
    """

    id: str | None
    state: Literal["working", "input_required", "completed", "failed", "cancelled"]
    created: datetime
    updated: datetime
    message: str | None = None
    ttl: float | None = None
    interval: float | None = None
    questions: Mapping[str, InputRequest] = field(default_factory=dict[str, InputRequest])
    raw: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def is_final(self) -> bool:
        """Whether the task has ended. Such a status never changes."""
        return self.state in ("completed", "failed", "cancelled")


class TaskStarted(Exception):
    """A server answers a call with a task, and the result will be that of the task."""

    def __init__(self, status: TaskStatus) -> None:
        super().__init__("the call runs as a task")
        self.status = status


_Milliseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Task(msgspec.Struct, frozen=True, kw_only=True):
    taskId: Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
    status: _State
    createdAt: str
    lastUpdatedAt: str
    ttlMs: _Milliseconds | None
    pollIntervalMs: _Milliseconds | msgspec.UnsetType = msgspec.UNSET
    statusMessage: str | msgspec.UnsetType = msgspec.UNSET


class _AskingTask(msgspec.Struct, frozen=True):
    inputRequests: dict[str, dict[str, Any]]


class _CompletedTask(msgspec.Struct, frozen=True):
    result: dict[str, Any]


class _TaskError(msgspec.Struct, frozen=True):
    code: int
    message: str


class _FailedTask(msgspec.Struct, frozen=True):
    error: _TaskError


_MORE: Mapping[str, type[msgspec.Struct]] = {
    "input_required": _AskingTask,
    "completed": _CompletedTask,
    "failed": _FailedTask,
}
"""The members that each state adds."""


def created_task(members: Mapping[str, Json], method: str) -> TaskStatus:
    """Return the status of a new task. Raises ``InvalidAnswer`` if the answer to ``method`` is none.

    It lacks what its state adds: ``tasks/get`` has that.
    """
    return _status(converted(members, _Task, method), members, {}, method)


def task_status(members: Mapping[str, Json], id: str, method: str) -> TaskStatus:
    """Return the status of the task ``id`` with what its state adds. Raises ``InvalidAnswer`` for an invalid one, or
    that of another task."""
    task: _Task = converted(members, _Task, method)
    if task.taskId != id:
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_TASK_OF_OTHER_ID, {}))
    shape = _MORE.get(task.status)
    more = None if shape is None else converted(members, shape, method)
    return _status(task, members, more.inputRequests if isinstance(more, _AskingTask) else {}, method)


def _status(task: _Task, members: Mapping[str, Json], questions: Mapping[str, InputRequest], method: str) -> TaskStatus:
    unset = msgspec.UNSET
    return TaskStatus(
        task.taskId,
        task.status,
        _time(task.createdAt, "createdAt", method),
        _time(task.lastUpdatedAt, "lastUpdatedAt", method),
        None if task.statusMessage is unset else task.statusMessage,
        None if task.ttlMs is None else task.ttlMs / 1_000,
        None if task.pollIntervalMs is unset else task.pollIntervalMs / 1_000,
        questions,
        members,
    )


def _time(text: str, member: str, method: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        problem = Worded(REASON_TASK_TIME, {"member": member})
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=problem) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
