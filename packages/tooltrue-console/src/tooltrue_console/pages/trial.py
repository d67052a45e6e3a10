"""*Try*: a form made from a tool's schema, which calls the tool through its guard as the person who fills it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from tooltrue.client.call_results import Result
from tooltrue.contract.digests import pin
from tooltrue.errors import ConfigurationError, ParseError, TooltrueError
from tooltrue.jsonrpc.messages import decode, is_object
from tooltrue.policy.audit.argument_masking import Masks, secret_names_in
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.types import ToolDefinition
from tooltrue_console.desk import Desk
from tooltrue_console.forms import (
    FormField,
    changed_entries,
    entries_of,
    form_entries,
    initial_value,
    read_form,
    validated,
)
from tooltrue_console.questions import answer_of, question_values
from tooltrue_console.results import shown_result
from tooltrue_console.sessions import ADMIN
from tooltrue_console.tried import Asked, ToolProgress, TryRound
from tooltrue_console.visits import Answer, Endpoint, EventStream, Html, PageVisit
from tooltrue_console.wording import (
    CONSOLE_FORM_INVALID,
    CONSOLE_JSON_INVALID,
    CONSOLE_TOOL_CHANGED,
)

__all__ = ["ENDPOINTS"]

Event = tuple[str, str | Html]


async def show_all(desk: Desk, visit: PageVisit) -> Answer:
    servers: list[Mapping[str, Any]] = []
    try:
        for name in desk.tried.names(visit.person):
            servers.append(await _listed(desk, visit, name))
    except ConfigurationError as error:
        return Html("try.html", {"servers": servers, "sentence": error.say(visit.language)}, title="try")
    return Html("try.html", {"servers": servers, "sentence": ""}, title="try")


async def _listed(desk: Desk, visit: PageVisit, name: str) -> Mapping[str, Any]:
    """The tools of a server, or why they cannot be listed."""
    try:
        tools, instructions = await desk.tried.listed(name, visit.person)
    except TooltrueError as error:
        return {"name": name, "tools": [], "instructions": "", "sentence": error.say(visit.language)}
    cards = [_card(name, tool) for tool in tools]
    return {"name": name, "tools": cards, "instructions": instructions[:5000], "sentence": ""}


def _card(server: str, tool: ToolDefinition) -> Mapping[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title or "",
        "description": (tool.description or "")[:2000],
        "path": _path(server, tool.name),
    }


def _path(server: str, tool: str) -> str:
    return f"/try/{quote(server, safe='')}/{quote(tool, safe='')}"


# --- the form ---------------------------------------------------------------------------------------------------------


async def show_form(desk: Desk, visit: PageVisit) -> Answer:
    tool = await _tool(desk, visit)
    arguments = visit.query.get("arguments")
    value = initial_value(tool.inputSchema) if arguments is None else _read_json(arguments)
    form = read_form(tool.inputSchema, entries_of(tool.inputSchema, value), visit.language)
    return Html("try_tool.html", _values(visit, tool, form), title="try", has_pictures=True)


async def submit(desk: Desk, visit: PageVisit) -> Answer:
    """Change the form by one of its buttons, or run the tool, if the form is filled in as its schema says."""
    tool = await _tool(desk, visit)
    if visit.form.get("pin") != pin(tool):
        raise ConfigurationError.of(CONSOLE_TOOL_CHANGED, tool=tool.name)
    match visit.form.get("act", ""):
        case "run":
            return _run(desk, visit, tool)
        case "answer":
            return _answer(desk, visit, tool)
        case act:
            entries = changed_entries(tool.inputSchema, form_entries(visit.form, ""), act)
            return Html("_try_form.html", _values(visit, tool, read_form(tool.inputSchema, entries, visit.language)))


async def _tool(desk: Desk, visit: PageVisit) -> ToolDefinition:
    return await desk.tried.tool(visit.parts["server"], visit.parts["tool"], visit.person)


def _values(visit: PageVisit, tool: ToolDefinition, form: FormField) -> Mapping[str, Any]:
    return {
        "tool": _card(visit.parts["server"], tool),
        "server": visit.parts["server"],
        "pin": pin(tool),
        "form": form,
        "prefix": "",
        "may_run": visit.person.may(ADMIN),
    }


def _read_json(text: str) -> Any:
    try:
        return decode(text.encode())
    except (ParseError, ValueError):
        raise ConfigurationError.of(CONSOLE_JSON_INVALID) from None


# --- a run ------------------------------------------------------------------------------------------------------------


def _run(desk: Desk, visit: PageVisit, tool: ToolDefinition) -> Answer:
    form = read_form(tool.inputSchema, form_entries(visit.form, ""), visit.language)
    if not validated(form, compile_schema(tool.inputSchema), visit.language) or not is_object(form.value):
        return Html("_try_form.html", _values(visit, tool, form))
    return EventStream(_rounds(desk, visit, tool, TryRound(tool.name, form.value), "run"))


def _answer(desk: Desk, visit: PageVisit, tool: ToolDefinition) -> Answer:
    """Go on with a call that asks: with the answers, if each is as its question says."""
    arguments, requests = _read_json(visit.form.get("arguments", "")), _read_json(visit.form.get("questions", ""))
    if not is_object(arguments) or not is_object(requests):
        raise ConfigurationError.of(CONSOLE_FORM_INVALID)
    open_round = Asked({key: one for key, one in requests.items() if is_object(one)}, visit.form.get("state") or None)
    questions = _questions(visit, open_round)
    answers = {question["key"]: answer_of(visit.form, visit.language, question) for question in questions}
    responses = {key: answer for key, answer in answers.items() if answer is not None}
    if len(responses) < len(answers):
        return Html("_try_asked.html", _asked_values(visit, tool, arguments, open_round, questions))
    round = TryRound(tool.name, arguments, responses, open_round.state)
    return EventStream(_rounds(desk, visit, tool, round, "answer"))


async def _rounds(
    desk: Desk, visit: PageVisit, tool: ToolDefinition, round: TryRound, act: str
) -> AsyncGenerator[Event]:
    """Run one round of a call, and record it."""
    server = visit.parts["server"]
    origin = {"address": visit.address, "agent": visit.agent, "how": visit.person.how}
    masks = Masks(desk.tried.server(server, visit.person).settings.audit.mask)
    display = masks.mask_named(dict(round.arguments), secret_names_in(tool.inputSchema))
    facts: dict[str, Any] = {"instance": server, "pin": pin(tool)}
    if round.responses is not None:
        facts["answers"] = masks.mask_named(dict(round.responses), ())
    recorded = desk.acts.recorded(act, tool.name, visit.person, origin, display, **facts)
    try:
        async with recorded, contextlib.aclosing(desk.tried.run(server, visit.person, round)) as reports:
            async for one in reports:
                yield _event(visit, tool, round, one)
    except TooltrueError as error:
        yield "outcome", Html("_try_failed.html", {"sentence": error.say(visit.language)})


def _event(visit: PageVisit, tool: ToolDefinition, round: TryRound, one: ToolProgress | Asked | Result[Any]) -> Event:
    match one:
        case ToolProgress():
            share = one.progress / one.total if one.total and 0 <= one.progress <= one.total else None
            values = {"share": share, "progress": f"{one.progress:g}", "message": (one.message or "")[:500]}
            return "progress", Html("_try_progress.html", values)
        case Asked():
            questions = _questions(visit, one)
            return "outcome", Html("_try_asked.html", _asked_values(visit, tool, round.arguments, one, questions))
        case _:
            address = (
                f"{_path(visit.parts['server'], tool.name)}?{urlencode({'arguments': json.dumps(round.arguments)})}"
            )
            has_secrets = (
                Masks().mask_named(dict(round.arguments), secret_names_in(tool.inputSchema)) != round.arguments
            )
            values = {
                "result": shown_result(one),
                "arguments": round.arguments,
                "address": "" if has_secrets or len(address) > 2000 else address,
            }
            return "outcome", Html("_try_result.html", values)


# --- questions --------------------------------------------------------------------------------------------------------


def _questions(visit: PageVisit, open_round: Asked) -> Sequence[Mapping[str, Any]]:
    return [
        question_values(visit.form, visit.language, key, one, place)
        for place, (key, one) in enumerate(open_round.requests.items())
    ]


def _asked_values(
    visit: PageVisit,
    tool: ToolDefinition,
    arguments: Mapping[str, Any],
    open_round: Asked,
    questions: Sequence[Mapping[str, Any]],
) -> Mapping[str, Any]:
    return {
        "tool": _card(visit.parts["server"], tool),
        "pin": pin(tool),
        "arguments_json": json.dumps(dict(arguments)),
        "questions_json": json.dumps(dict(open_round.requests)),
        "round_state": open_round.state or "",
        "questions": questions,
    }


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/try", show_all),
    Endpoint("GET", "/try/{server}/{tool}", show_form),
    Endpoint("POST", "/try/{server}/{tool}", submit, ADMIN),
)
