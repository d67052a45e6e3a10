"""Answers of a server about a task, as outcomes of a call of its tool: for callers that follow it themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from tooltrue.client.call_results import Result
from tooltrue.client.task_status import TaskStatus
from tooltrue.errors import TaskFailed
from tooltrue.host.upstream_calls import TaskAnswer
from tooltrue.host.wording import REMOTE_TOOL_REFUSED
from tooltrue.jsonrpc.messages import is_object
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.types import InputRequiredResult, TaskCreated, ToolOutcome
from tooltrue.tools.vocabulary import RemoteTask

__all__ = ["created_task", "outcome_of"]

_POLL_MS: Final = 1_000
_MOST_WORDS: Final = 1_000
_MOST_MESSAGE: Final = 10_000
"""A layer cuts it further, once secrets are masked."""
_LEAST_POLL_MS: Final = 100
_MOST_MS: Final = 1 << 53
"""Numbers above it are not exact in every client."""


def created_task(status: TaskStatus) -> TaskCreated:
    """Return the status of a task with the id of its server. Its words are cleaned and cut; those of a task that asks
    or has ended are left out, since its questions and its outcome say more."""
    ttl = None if status.ttl is None else min(round(status.ttl * 1_000), _MOST_MS)
    interval = _POLL_MS if status.interval is None else round(status.interval * 1_000)
    has_words = status.message is not None and status.state in ("working", "cancelled")
    return TaskCreated(
        str(status.id),
        status.state,
        _timestamp(status.created),
        _timestamp(status.updated),
        ttl,
        min(max(interval, _LEAST_POLL_MS), _MOST_MS),
        cleaned(str(status.message), {})[:_MOST_MESSAGE] if has_words else None,
    )


def outcome_of(
    answer: TaskAnswer, task: RemoteTask, server: str, tool: str, result_of: Callable[[Result], ToolOutcome]
) -> ToolOutcome:
    """Return the result of a completed task, the questions of one that asks, and otherwise its status, which ``task``
    gets in any case. Raises ``TaskFailed``."""
    status = answer.status
    task.status = created = created_task(status)
    if answer.result is not None:
        return result_of(answer.result)
    if status.state == "input_required":
        return InputRequiredResult(dict(status.questions))
    if status.state == "failed" and is_object(error := status.raw["error"]):
        words = f"{cleaned(str(error.get('message')), {})[:_MOST_WORDS]} ({error.get('code')})"
        failure = TaskFailed.of(REMOTE_TOOL_REFUSED, server=server, tool=tool, said=words)
        failure.number = int(error["code"])
        raise failure
    return created


def _timestamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
