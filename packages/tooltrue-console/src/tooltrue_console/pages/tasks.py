"""*Tasks*: the calls that servers of this user run as tasks, the answer to a question of one, and its end.

The databases are opened with the keys of their servers, and no task runs here. An act is bound to the state or the
questions of the task that were shown, is a record of the console, and a note for the audit log of the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tooltrue.contract.digests import digest
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.policy.consent.question import approval_field
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.server.task_stores import TaskStore, task_files, task_store
from tooltrue.state.places import sqlite_url
from tooltrue.tasks.engine import DamagedTask, TaskInspector
from tooltrue.tasks.inspection import InspectedTask
from tooltrue_console.desk import Desk
from tooltrue_console.questions import answer_of, question_values
from tooltrue_console.sessions import ADMIN, APPROVE
from tooltrue_console.visits import Answer, Endpoint, Html, OtherPage, PageVisit
from tooltrue_console.wording import (
    CONSOLE_OWN_CALL,
    CONSOLE_QUESTION_CHANGED,
    CONSOLE_QUESTION_UNREADABLE,
    CONSOLE_TASK_CHANGED,
    CONSOLE_TASK_UNKNOWN,
)

__all__ = ["ENDPOINTS"]

_MOST: Final = 50
"""Tasks of one server on the page."""
_OPEN: Final = ("working", "input_required")


async def show_all(desk: Desk, visit: PageVisit) -> Answer:
    """The newest tasks of each server, or why its database cannot be read."""
    servers: list[Mapping[str, Any]] = []
    for file in task_files():
        try:
            rows = await _rows(task_store(sqlite_url(file)), visit.language)
        except (ConfigurationError, StateError) as error:
            servers.append({"name": file.stem, "rows": [], "sentence": error.say(visit.language)})
        else:
            servers.append({"name": file.stem, "rows": rows, "sentence": ""})
    return Html("tasks.html", {"servers": servers, "most": _MOST}, title="tasks")


async def _rows(store: TaskStore, language: str) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    async with store.attached() as inspector:
        async for stored in inspector.newest():
            if isinstance(task := store.opened_or_damaged(stored, language), DamagedTask):
                rows.append({"id": task.id, "status": "damaged", "message": task.error.say(language)})
            else:
                rows.append({**_brief(task), "id": task.id})
            if len(rows) == _MOST:
                break
    return rows


def _brief(task: InspectedTask) -> Mapping[str, Any]:
    return {
        "tool": task.tool,
        "caller": task.caller,
        "status": task.status,
        "message": task.message[:500],
        "created": _time(task.created),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


# --- one task ---------------------------------------------------------------------------------------------------------


async def show_one(desk: Desk, visit: PageVisit) -> Answer:
    store = _store(visit)
    async with store.attached() as inspector:
        task = await _found(store, visit, inspector)
    result = task.result
    values = {
        **_brief(task),
        "server": visit.parts["server"],
        "view": task.view,
        "id": task.id,
        "client": task.client,
        "updated": _time(task.updated),
        "expires": "" if task.expires is None else _time(task.expires),
        "rounds": task.rounds,
        "arguments": Masks().mask_named(dict(task.arguments), task.secret),
        "questions": _questions(task, visit),
        "asked": _asked(task),
        "may_answer": visit.person.may(APPROVE),
        "result": None if result is None else _texts(result),
        "may_cancel": task.status in _OPEN and visit.person.may(ADMIN),
    }
    return Html("task.html", values, title="tasks")


def _store(visit: PageVisit) -> TaskStore:
    file = next((file for file in task_files() if file.stem == visit.parts["server"]), None)
    if file is None:
        raise _unknown(visit)
    return task_store(sqlite_url(file))


async def _found(store: TaskStore, visit: PageVisit, inspector: TaskInspector) -> InspectedTask:
    id = visit.parts["task"]
    is_id = len(id) == 32 and set(id) <= set("0123456789abcdef")
    match await inspector.starting(id) if is_id else ():
        case [stored]:
            return store.opened(stored, visit.language)
        case _:
            raise _unknown(visit)


def _unknown(visit: PageVisit) -> ConfigurationError:
    return ConfigurationError.of(CONSOLE_TASK_UNKNOWN, server=visit.parts["server"][:80], task=visit.parts["task"][:32])


def _questions(task: InspectedTask, visit: PageVisit) -> list[Mapping[str, Any]]:
    """The open questions, each as a form, or as a text alone if a person cannot answer it here."""
    return [_question(key, request, place, visit) for place, (key, request) in enumerate(task.questions.items())]


def _question(key: str, request: InputRequest, place: int, visit: PageVisit) -> Mapping[str, Any]:
    try:
        return question_values(visit.form, visit.language, key, request, place)
    except ConfigurationError as error:
        params = request.get("params")
        message = str(params.get("message", "") if is_object(params) else request.get("method"))[:5000]
        return {"key": key, "message": message, "sentence": error.say(visit.language)}


def _asked(task: InspectedTask) -> str:
    """The digest of the open questions, which binds an answer to what was shown."""
    return digest(dict(task.questions))


def _texts(result: Mapping[str, Json]) -> str:
    content = result.get("content")
    blocks = [block for block in content if is_object(block)] if is_array(content) else []
    return "\n".join(str(block.get("text", f"[{block.get('type')}]")) for block in blocks)[:20_000]


async def cancel(desk: Desk, visit: PageVisit) -> Answer:
    """Cancel a task that is as the page has shown it."""
    store, server = _store(visit), visit.parts["server"]
    async with store.attached() as inspector:
        task = await _found(store, visit, inspector)
        if task.status not in _OPEN or visit.form.get("status") != task.status:
            raise ConfigurationError.of(CONSOLE_TASK_CHANGED, task=task.id[:8], state=task.status)
        origin = {"address": visit.address, "agent": visit.agent, "how": visit.person.how}
        display = {"task": task.id, "status": task.status, "caller": task.caller}
        async with (
            desk.acts.recorded("cancel task", task.tool, visit.person, origin, display, instance=server),
            inspector.noting(task.id, store.note(task, "cancel", visit.person.id)),
        ):
            await inspector.cancel(task.id)
    return OtherPage(f"/tasks/{server}/{task.id}")


async def answer(desk: Desk, visit: PageVisit) -> Answer:
    """Answer one of the questions that the page has shown."""
    store, server = _store(visit), visit.parts["server"]
    async with store.attached() as inspector:
        task = await _found(store, visit, inspector)
        question = next((one for one in _questions(task, visit) if one["key"] == visit.form.get("question")), None)
        if question is None or visit.form.get("asked") != _asked(task):
            raise ConfigurationError.of(CONSOLE_QUESTION_CHANGED, task=task.id[:8])
        if "sentence" in question:
            raise ConfigurationError.of(CONSOLE_QUESTION_UNREADABLE)
        is_own = visit.person.id == task.caller and not desk.settings.approves_own
        if is_own and _is_approval(question["schema"]):
            raise ConfigurationError.of(CONSOLE_OWN_CALL, who=visit.person.id)
        if (reply := answer_of(visit.form, visit.language, question)) is None:
            return Html("_task_question.html", {**_bound_values(task, visit), "question": question})
        origin = {"address": visit.address, "agent": visit.agent, "how": visit.person.how}
        display = {"task": task.id, "caller": task.caller, "question": dict(task.questions[question["key"]])}
        async with (
            desk.acts.recorded(
                "answer task",
                task.tool,
                visit.person,
                origin,
                display,
                instance=server,
                answers={question["key"]: Masks().mask_named(reply, ())},
            ),
            inspector.noting(task.id, store.note(task, "answer", visit.person.id, (question["key"],))),
        ):
            await inspector.answer(task.id, {question["key"]: store.hide(task, encode(reply))})
    return OtherPage(f"/tasks/{server}/{task.id}")


def _is_approval(schema: object) -> bool:
    fields = schema.get("properties") if is_object(schema) else None
    return is_object(fields) and approval_field(fields) is not None


def _bound_values(task: InspectedTask, visit: PageVisit) -> Mapping[str, Any]:
    return {"server": visit.parts["server"], "id": task.id, "asked": _asked(task), "may_answer": True}


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/tasks", show_all),
    Endpoint("GET", "/tasks/{server}/{task}", show_one),
    Endpoint("POST", "/tasks/{server}/{task}/answer", answer, APPROVE),
    Endpoint("POST", "/tasks/{server}/{task}/cancel", cancel, ADMIN),
)
