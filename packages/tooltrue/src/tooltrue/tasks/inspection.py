"""A task as its operator sees it: what the engine has stored, opened with the keys of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.types import Value, replaced
from tooltrue.tasks.engine import StoredTask, TaskState
from tooltrue.tasks.progress import Progress
from tooltrue.tasks.records import TaskRecord, TaskSeals
from tooltrue.tasks.shared_engine import parted
from tooltrue.tasks.wording import TASK_WITHOUT_OUTCOME
from tooltrue.wording import sentence

__all__ = ["STATUSES", "InspectedTask", "inspected"]

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]

STATUSES: tuple[Status, ...] = ("working", "input_required", "completed", "failed", "cancelled")


class InspectedTask(Value, frozen=True):
    """``view`` is that of a gateway, and empty without views. Times are seconds since 1970. ``questions`` are those
    without an answer. ``message`` is the newest report of progress, the first question, or the text of an error.
    ``secret`` are the names of the arguments that the schema declares secret.
    """

    id: str
    tool: str
    caller: str
    client: str
    status: Status
    message: str
    created: float
    updated: float
    expires: float | None
    rounds: int
    arguments: Mapping[str, Any]
    questions: Mapping[str, InputRequest]
    result: Mapping[str, Json] | None
    error: Mapping[str, Json] | None
    progress: Progress | None
    secret: Sequence[str]
    view: str = ""


def inspected(task: StoredTask, seals_of: Callable[[str], TaskSeals], language: str = "en") -> InspectedTask | None:
    """Open a task with the seals of its view; ``None`` if it was sealed with other keys."""
    view, sealed = parted(task.state.record)
    task = replaced(task, state=replaced(task.state, record=sealed))
    state, opened = task.state, _opened(task, seals_of(view))
    if opened is None:
        return None
    record, questions, name, value, progress = opened
    result = value if name == "result" else None
    error = value if name in ("error", "notice") else None
    return InspectedTask(
        task.id,
        record.tool,
        record.principal[0],
        record.principal[2],
        _status(state, error),
        _message(state, questions, result, error, progress, language),
        record.created,
        max(state.updated, record.created),
        task.expires,
        task.rounds,
        record.arguments,
        questions,
        result,
        error,
        progress,
        record.secret,
        view,
    )


def _opened(
    task: StoredTask, seals: TaskSeals
) -> tuple[TaskRecord, dict[str, InputRequest], str, dict[str, Json], Progress | None] | None:
    """The record, the open questions, the name and value of the outcome (empty without one), and the progress."""
    state = task.state
    texts = (state.record, state.questions, state.outcome, state.report)
    record, questions, outcome, report = (seals.reveal(task.id, text) if text else b"" for text in texts)
    if record is None or questions is None or outcome is None or report is None:
        return None
    asked: dict[str, InputRequest] = decode(questions) if questions else {}
    name, _, value = outcome.partition(b":")
    return (
        TaskRecord.decoded(record),
        {key: asked[key] for key in asked if key in state.open_keys},
        name.decode(),
        decode(value) if value else {},
        Progress.decoded(report) if report else None,
    )


def _status(state: TaskState, error: object) -> Status:
    match state.status:
        case "asks":
            return "input_required"
        case "ended":
            return "completed" if error is None else "failed"
        case status:
            return status


def _message(
    state: TaskState,
    questions: Mapping[str, InputRequest],
    result: Mapping[str, Json] | None,
    error: Mapping[str, Json] | None,
    progress: Progress | None,
    language: str,
) -> str:
    if progress is not None:
        return f"{progress.share} {progress.message}".rstrip()
    if state.status == "failed":
        return sentence(TASK_WITHOUT_OUTCOME, language, {})
    for question in questions.values():
        params = question.get("params")
        return str(params.get("message") or question["method"]) if is_object(params) else str(question["method"])
    if error is not None:
        return str(error.get("message", ""))
    content = None if result is None or not result.get("isError") else result.get("content")
    texts = (block.get("text") for block in content if is_object(block)) if is_array(content) else ()
    return next((text for text in texts if isinstance(text, str)), "")
