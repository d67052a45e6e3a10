"""``tooltrue tasks``: the tasks of a server, looked up, cancelled and answered by its operator.

The command opens the database of the tasks, with the keys of the server, and runs none of them. An approval needs a
terminal: a program that runs commands for a model cannot approve its own calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import click

from tooltrue._internal.platform.users import operating_system_user
from tooltrue.cli.call_verb import read_pairs
from tooltrue.cli.language import current_language
from tooltrue.cli.output import as_json, show_rows
from tooltrue.cli.printing import is_somebody_here, tell, tell_json
from tooltrue.cli.terminal_prompts import answer_question
from tooltrue.cli.usage import Verbs, misuse
from tooltrue.cli.wording import (
    COMMAND_ARGUMENT_UNREADABLE,
    TASK_DATABASE_REQUIRED,
    TASK_ID_AMBIGUOUS,
    TASK_ID_UNKNOWN,
    TASK_QUESTION_CHOICE,
    TASK_QUESTION_NOT_ANSWERABLE,
    TASK_STATE_MISFIT,
)
from tooltrue.client.answers import Answers, Elicit, Elicitation, Reply
from tooltrue.errors import ConfigurationError, RpcError, fact_of
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.policy.consent.argument_display import display_arguments, display_json, display_text
from tooltrue.policy.consent.question import approval_field
from tooltrue.protocol.input_requests import ELICIT, InputRequest
from tooltrue.server.task_stores import TaskStore, task_files, task_store
from tooltrue.state.places import sqlite_url, tasks_file
from tooltrue.tasks.engine import DamagedTask, TaskInspector
from tooltrue.tasks.inspection import STATUSES, InspectedTask
from tooltrue.tasks.wording import TASK_KEYS_WRONG
from tooltrue.wording import Worded, names_or_none

__all__ = ["command"]

T = TypeVar("T")

_SHORT = 8
"""Characters of an id in the list, as in the audit log."""
_CLIPPED = 2_000


@click.group("tasks", cls=Verbs, short_help="Look at the tasks of a server, and settle them.")
@click.option("--server", metavar="NAME", help="The server of this name. Default: the only one with tasks.")
@click.option(
    "--store",
    metavar="URL",
    envvar="TOOLTRUE_TASKS",
    help="The database of the tasks. Default: $TOOLTRUE_TASKS, or the file of the server.",
)
@click.option(
    "--sealing-key-file",
    "key_file",
    metavar="FILE",
    help="The keys of the server. Default: $TOOLTRUE_SEALING_KEY, or the file beside the database.",
)
@click.pass_context
def command(context: click.Context, server: str | None, store: str | None, key_file: str | None) -> None:
    """List, show, cancel and answer the tasks of a server, whether it runs or not."""
    context.obj = partial(_store, server, store, key_file)  # so that the help of each command needs no database


@command.command("list", short_help="List the tasks.")
@click.option("--state", type=click.Choice(STATUSES), help="Tasks in this state only.")
@click.option("--caller", metavar="ID", help="Tasks of this caller only.")
@click.option("--tool", metavar="NAME", help="Tasks of this tool only.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many to list.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_(
    new_store: Callable[[], TaskStore],
    state: str | None,
    caller: str | None,
    tool: str | None,
    limit: int,
    is_json: bool,
) -> None:
    """List the tasks that the server has not removed yet, the newest first."""
    store = new_store()

    async def look(inspector: TaskInspector) -> tuple[list[InspectedTask], list[DamagedTask]]:
        tasks, damaged = list[InspectedTask](), list[DamagedTask]()
        async for stored in inspector.newest():
            if isinstance(task := store.opened_or_damaged(stored, current_language()), DamagedTask):
                damaged.append(task)
            elif state in (None, task.status) and tool in (None, task.tool) and caller in (None, task.caller):
                tasks.append(task)
                if len(tasks) == limit:
                    break
        return sorted(tasks, key=lambda task: -task.created), damaged  # times of SQLite are whole seconds

    tasks, damaged = _at(store, look)
    if not tasks and (wrong := next((one.error for one in damaged if one.error.code == TASK_KEYS_WRONG), None)):
        raise wrong  # not one of them can be opened: the keys are others
    if is_json:
        tell_json([*map(_brief, tasks), *map(_brief_damaged, damaged)])
    elif not tasks and not damaged:
        tell("There is no such task." if state or caller or tool else "There are no tasks.")
    else:
        now = time.time()
        head = ("task", "view", "tool", "caller", "state", "age", "message")
        rows = [head, *(_row(task, now) for task in tasks), *map(_row_damaged, damaged)]
        show_rows(rows if any(task.view for task in tasks) else [(id, *row) for id, _, *row in rows])


@command.command("show", short_help="Show a task.")
@click.argument("task")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def show(new_store: Callable[[], TaskStore], task: str, is_json: bool) -> None:
    """Show TASK, the beginning of an id: its call with secrets masked, what it asks, and its result."""
    store = new_store()
    entry = _at(store, partial(_found, store, task))
    tell_json(_whole(entry)) if is_json else tell("\n\n".join(_parts(entry)))


@command.command("cancel", short_help="Cancel a task.")
@click.argument("task")
@click.pass_obj
def cancel(new_store: Callable[[], TaskStore], task: str) -> None:
    """Cancel TASK, the beginning of an id. The process that runs it ends it within a few seconds."""
    store = new_store()

    async def end(inspector: TaskInspector) -> InspectedTask:
        entry = await _found(store, task, inspector)
        if entry.status not in ("working", "input_required"):
            raise ConfigurationError.of(TASK_STATE_MISFIT, task=entry.id[:_SHORT], state=entry.status, verb="cancel")
        async with inspector.noting(entry.id, store.note(entry, "cancel", operating_system_user())):
            await inspector.cancel(entry.id)
        return await _found(store, entry.id, inspector)

    entry = _at(store, end)
    tell(f"{entry.id[:_SHORT]} is {entry.status}.")


@command.command("answer", short_help="Answer a question of a task.")
@click.argument("task")
@click.argument("fields", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--question", metavar="KEY", help="This question only.")
@click.option("--decline", is_flag=True, help="Decline to answer.")
@click.pass_obj
def answer(
    new_store: Callable[[], TaskStore], task: str, fields: tuple[str, ...], question: str | None, decline: bool
) -> None:
    """Answer what TASK, the beginning of an id, asks: by the fields of its form, or at this terminal.

    A value is text if the form expects text, and JSON otherwise; KEY:=VALUE is always JSON.
    """
    if decline and fields:
        raise misuse("--decline takes no KEY=VALUE.")
    store = new_store()

    async def settle(inspector: TaskInspector) -> tuple[InspectedTask, int]:
        entry = await _found(store, task, inspector)
        questions = _chosen(entry, question, is_one=bool(fields) or decline)
        replies = {key: await _replied(key, one, entry.tool, fields, decline) for key, one in questions.items()}
        sealed = {key: store.hide(entry, encode(reply)) for key, reply in replies.items()}
        async with inspector.noting(entry.id, store.note(entry, "answer", operating_system_user(), tuple(sealed))):
            await inspector.answer(entry.id, sealed)
        return entry, len(entry.questions) - len(sealed)

    entry, rest = _at(store, settle)
    tell(f"{entry.id[:_SHORT]} is answered; {f'{rest} more to answer' if rest else 'it goes on in its server'}.")


# --- the database -----------------------------------------------------------------------------------------------------


def _store(server: str | None, url: str | None, key_file: str | None) -> TaskStore:
    return task_store(url or _url(server), server, key_file)


def _url(server: str | None) -> str:
    """The URL of the default database of a server, or of the only one."""
    if server is not None:
        return sqlite_url(tasks_file(server))
    match task_files():
        case [one]:
            return sqlite_url(one)
        case _:
            raise ConfigurationError.of(TASK_DATABASE_REQUIRED, known=_names())


def _names() -> str | Worded:
    return names_or_none([path.stem for path in task_files()])


def _at(store: TaskStore, use: Callable[[TaskInspector], Awaitable[T]]) -> T:
    async def run() -> T:
        async with store.attached() as inspector:
            return await use(inspector)

    return asyncio.run(run())


async def _found(store: TaskStore, prefix: str, inspector: TaskInspector) -> InspectedTask:
    is_id = 0 < len(prefix) <= 32 and set(prefix) <= set("0123456789abcdef")
    match await inspector.starting(prefix) if is_id else ():
        case [task]:
            return store.opened(task, current_language())
        case []:
            raise ConfigurationError.of(TASK_ID_UNKNOWN, task=repr(prefix[:64]))
        case _:
            raise ConfigurationError.of(TASK_ID_AMBIGUOUS, task=repr(prefix))


# --- answers ----------------------------------------------------------------------------------------------------------


def _chosen(task: InspectedTask, key: str | None, *, is_one: bool) -> Mapping[str, InputRequest]:
    """The questions to answer. ``ConfigurationError`` if there is none, or if it has to be named."""
    questions = task.questions
    if not questions:
        raise ConfigurationError.of(TASK_STATE_MISFIT, task=task.id[:_SHORT], state=task.status, verb="answer")
    if key is not None and key in questions:
        return {key: questions[key]}
    if key is not None or (is_one and len(questions) > 1):
        raise ConfigurationError.of(TASK_QUESTION_CHOICE, task=task.id[:_SHORT], keys=", ".join(questions))
    return questions


async def _replied(key: str, question: InputRequest, tool: str, fields: tuple[str, ...], decline: bool) -> Json:
    """The reply to a question, as a client gives it. ``ConfigurationError`` if it cannot be given so."""
    answers = Answers(_elicit(key, question, tool, fields, decline), None, None)
    try:
        return await answers.to(question)
    except RpcError as error:  # the form or the page that the reply does not fit
        raise ConfigurationError.of(COMMAND_ARGUMENT_UNREADABLE, what=key, problem=fact_of(error)) from None


def _elicit(key: str, question: InputRequest, tool: str, fields: tuple[str, ...], decline: bool) -> Elicit:
    if question.get("method") == ELICIT:
        if decline:
            return lambda _: False
        if fields and (schema := _form(question)) is not None:
            return partial(_by_fields, fields, schema)
        if not fields and is_somebody_here():
            return partial(answer_question, server=tool)
    raise ConfigurationError.of(TASK_QUESTION_NOT_ANSWERABLE, key=key)


def _form(question: InputRequest) -> Mapping[str, Any] | None:
    """The schema of a form that is no approval; ``None`` for any other question."""
    params = question.get("params")
    schema = params.get("requestedSchema") if is_object(params) and params.get("mode") != "url" else None
    if not is_object(schema) or approval_field(schema.get("properties") or {}) is not None:
        return None
    return schema


def _by_fields(fields: tuple[str, ...], schema: Mapping[str, Any], question: Elicitation) -> Reply:
    return read_pairs(fields, schema)


# --- output -----------------------------------------------------------------------------------------------------------


def _row(task: InspectedTask, now: float) -> tuple[str, ...]:
    age = _age(now - task.created)
    return task.id[:_SHORT], task.view, task.tool, task.caller, task.status, age, task.message[:60]


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _row_damaged(task: DamagedTask) -> tuple[str, ...]:
    return task.id[:_SHORT], "", "", "", "damaged", "", _damage(task)


def _damage(task: DamagedTask) -> str:
    return f"{task.error.code}: {task.error.say(current_language())}"


def _brief(task: InspectedTask) -> dict[str, Json]:
    names = ("id", "view", "tool", "caller", "client", "status", "message", "created", "updated", "expires", "rounds")
    progress = task.progress
    shown = None if progress is None else {"progress": progress.progress, "total": progress.total}
    return {**{name: getattr(task, name) for name in names}, "progress": shown}


def _brief_damaged(task: DamagedTask) -> dict[str, Json]:
    return {"id": task.id, "status": "damaged", "message": _damage(task)}


def _whole(task: InspectedTask) -> Any:
    details = {"questions": task.questions, "result": task.result, "error": task.error}
    return as_json({**_brief(task), "arguments": _masked(task), **details})


def _masked(task: InspectedTask) -> Any:
    """The arguments as an audit record has them."""
    return Masks().mask_named(dict(task.arguments), task.secret)


def _parts(task: InspectedTask) -> Iterator[str]:
    head = {
        "task": task.id,
        "state": task.status,
        "view": task.view,
        "tool": task.tool,
        "caller": f"{task.caller} ({task.client})" if task.client else task.caller,
        "begun": _time(task.created),
        "changed": _time(task.updated),
        "expires": "" if task.expires is None else _time(task.expires),
        "rounds": str(task.rounds),
        "progress": task.message if task.progress is not None else "",
    }
    yield "\n".join(f"{name:<9}{display_text(text)}" for name, text in head.items() if text)
    yield f"arguments, secrets masked:\n{display_arguments(_masked(task))}"
    for key, question in task.questions.items():
        yield f"question {display_text(key)}:\n{_question_text(question)}"
    if task.result is not None:
        name = "error of the tool" if task.result.get("isError") else "result"
        yield f"{name}:\n{_clipped(_result_text(task.result))}"
    elif task.message and not task.questions and task.progress is None:
        yield f"error:\n{_clipped(task.message)}"


def _question_text(question: InputRequest) -> str:
    params = question.get("params")
    if not is_object(params) or question.get("method") != ELICIT:
        return display_text(str(question.get("method")))
    schema, url = params.get("requestedSchema"), params.get("url")
    fields = schema.get("properties") if is_object(schema) else None
    lines = [_clipped(str(params.get("message", "")))]
    lines += [display_text(url)] if isinstance(url, str) else []
    lines += (
        [f"  {display_json(name)}: {display_json(field)}" for name, field in fields.items()]
        if is_object(fields)
        else []
    )
    return "\n".join(lines)


def _result_text(result: Mapping[str, Json]) -> str:
    content = result.get("content")
    blocks = [block for block in content if is_object(block)] if is_array(content) else []
    texts = (block.get("text", f"[{block.get('type')}]") for block in blocks)
    return "\n".join(map(str, texts))


def _clipped(text: str) -> str:
    rest = len(text) - _CLIPPED
    return display_text(text) if rest <= 0 else f"{display_text(text[:_CLIPPED])}\n… and {rest} more characters"
