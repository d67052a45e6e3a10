"""*Rules*: the operator's file as it holds, the rule that decides about a call, and a replay against a changed file.

The decisions are those of the very rules that guard a server. A replay reads the newest records of a log, at most
:data:`MAX_REPLAYED`, on a thread of its own. No tool is called, and no file is written.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tooltrue.errors import ConfigurationError, ParseError, TooltrueError, fact_of
from tooltrue.jsonrpc.messages import decode, is_object
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.policy.explain import Explanation, explain, in_words, why
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.validate import check_arguments
from tooltrue.policy.rules.rule import Allow, Rule, Rules, RuleStep, Subject
from tooltrue.policy.rules.simulate import Happened, Reconsidered, ReplayCounts, happened, replay
from tooltrue.protocol import types as wire
from tooltrue.protocol.schema import Schema, compile_schema
from tooltrue.server.service import SILENT
from tooltrue.state.urls import open_log
from tooltrue.tools.vocabulary import EFFECTS, Effect, Principal, RequestContext, Tool
from tooltrue_console.desk import Desk
from tooltrue_console.operator_file import OperatorFile, guard_of, operator_file, rules_of, without_passwords
from tooltrue_console.pages.calls import read_record
from tooltrue_console.phrases import phrase
from tooltrue_console.sessions import ADMIN
from tooltrue_console.visits import Answer, Endpoint, Html, PageVisit
from tooltrue_console.wording import CONSOLE_ARGUMENTS_INVALID, CONSOLE_RECORD_NOT_DECIDED

__all__ = ["ENDPOINTS", "MAX_REPLAYED"]

MAX_REPLAYED: Final = 10_000
_REPLAYED: Final = (100, 1_000, MAX_REPLAYED)
_LINKED: Final = 3
_KINDS: Final = {"tool": "kind_tool", "resource": "kind_resource", "prompt": "kind_prompt"}
"""The kinds of subjects, with their phrases."""
_ANY: Final[Schema] = compile_schema({"type": "object"})
_EFFECTS: Final[Mapping[str, Effect]] = {effect: effect for effect in EFFECTS}


async def show(desk: Desk, visit: PageVisit) -> Answer:
    file, sentences = _file(desk, visit)
    query = {
        name: visit.query.get(name, "") for name in ("tool", "kind", "effect", "server", "who", "scopes", "arguments")
    }
    values: dict[str, Any] = {
        "query": {**query, "who": query["who"] or "local"},
        "effects": EFFECTS,
        "kinds": {kind: phrase(name, visit.language) for kind, name in _KINDS.items()},
        "file": None if file is None else file.config.name,
        "has_changed": file is not None and file.has_changed,
        "rules": [] if file is None else [_rule(file.config, rule) for rule in _rules(file.config)],
        # The other tables may have secrets, such as the header that proves a proxy.
        "text": without_passwords(file.text) if file is not None and visit.person.may(ADMIN) else "",
        "has_text": visit.person.may(ADMIN),
        "logs": desk.logs.names(),
        "newest": await desk.logs.newest(),
        "numbers": _REPLAYED,
        "explanation": None,
    }
    if query["tool"]:
        try:
            values["explanation"] = await _explanation(desk, visit, file)
        except TooltrueError as error:
            sentences.append(error.say(visit.language))
    return Html("rules.html", {**values, "sentences": sentences}, title="rules")


def _file(desk: Desk, visit: PageVisit) -> tuple[OperatorFile | None, list[str]]:
    """The operator's file, and what is wrong with it: the page goes on without."""
    try:
        file = operator_file(desk.settings)
    except ConfigurationError as error:
        return None, [error.say(visit.language)]
    return file, [problem.say(visit.language) for problem in file.problems]


def _rules(config: OperatorConfig) -> Sequence[Rule]:
    return () if config.rules is None else config.rules.rules


def _rule(config: OperatorConfig, rule: Rule) -> Mapping[str, Any]:
    names = {**rule.named, "server": rule.server, "view": rule.view, "principal": rule.principal}
    conditions = {key: ", ".join(globs.patterns) for key, globs in names.items() if globs is not None}
    if rule.effect is not None:
        conditions["effect"] = ", ".join(sorted(rule.effect))
    if rule.scopes:
        conditions["scopes"] = ", ".join(sorted(rule.scopes))
    if rule.arguments is not None:
        conditions["arguments"] = json.dumps(rule.arguments.definition, ensure_ascii=False)
    place = config.place(("rules", rule.number))
    return {"name": rule.name, "place": place, "then": rule.then, "conditions": conditions, "reason": rule.reason}


# --- the rule that decides --------------------------------------------------------------------------------------------


async def _explanation(desk: Desk, visit: PageVisit, file: OperatorFile | None) -> Mapping[str, Any]:
    """The decision about the call that the form describes."""
    query = visit.query
    config = None if file is None else file.in_force()
    server = query.get("server", "")
    subject = await _subject(desk, query)
    arguments = _arguments(query.get("arguments", "")) if isinstance(subject, Tool) else None
    if isinstance(subject, Tool) and arguments is not None:
        arguments = check_arguments(subject, arguments)
    principal = Principal(query.get("who") or "local", frozenset(query.get("scopes", "").split()))
    context = RequestContext(principal, SILENT)
    guard = guard_of(desk.settings, config, server)
    return _explanation_values(guard, subject, context, arguments, config, visit.language)


async def _subject(desk: Desk, query: Mapping[str, str]) -> Subject:
    """The tool, the resource, the template of resources, or the prompt that the form names."""
    name = query["tool"]
    match query.get("kind", ""):
        case "resource" if "{" in name:
            return wire.ResourceTemplate(name, name)
        case "resource":
            return wire.ResourceDefinition(name, name)
        case "prompt":
            return wire.Prompt(name)
        case _:
            return await _tool(desk, name, query.get("effect", ""), query.get("server", ""))


async def _tool(desk: Desk, name: str, effect: str, server: str) -> Tool:
    """The tool of the server beside, by its present or an old name; otherwise one of this name and effect."""
    if desk.settings.server is not None:
        tools = (await desk.settings.server.inventory()).tools
        for tool in sorted(tools, key=lambda one: one.name != name):  # a current name takes precedence
            if name in tool.names:
                return tool
    definition = wire.ToolDefinition(name=name, inputSchema={"type": "object"})
    return Tool(definition, _EFFECTS.get(effect, "write"), _ANY, server=server)


def _arguments(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        value = decode(text.encode())
    except (ParseError, UnicodeEncodeError) as error:
        problem = fact_of(error) if isinstance(error, ParseError) else "UTF-8"
        raise ConfigurationError.of(CONSOLE_ARGUMENTS_INVALID, problem=problem) from None
    if not is_object(value):
        raise ConfigurationError.of(CONSOLE_ARGUMENTS_INVALID, problem=json.dumps(value, ensure_ascii=False)[:40])
    return value


def _explanation_values(
    guard: Guard,
    subject: Subject,
    context: RequestContext,
    arguments: Mapping[str, Any] | None,
    config: OperatorConfig | None,
    language: str,
) -> Mapping[str, Any]:
    explanation = explain(guard, subject, context, arguments)
    verdict, called = explanation.verdict, arguments if explanation.called else None
    return {
        "verdict": in_words(verdict, language),
        "reason": getattr(verdict, "reason", ""),
        "is_by_no_rule": not verdict.rule and not isinstance(verdict, Allow),
        "steps": _steps(explanation, guard, subject, context, called, config, language),
    }


def _steps(
    explanation: Explanation,
    guard: Guard,
    subject: Subject,
    context: RequestContext,
    arguments: Mapping[str, Any] | None,
    config: OperatorConfig | None,
    language: str,
) -> list[Mapping[str, str]]:
    def row(step: RuleStep) -> Mapping[str, str]:
        return {
            "place": "" if config is None else config.place(("rules", step.rule.number)),
            "rule": step.rule.name,
            "then": step.rule.then,
            "why": why(step, guard, subject, context, arguments, language),
            "matches": "ok" if not step.stop else "",
        }

    return [row(step) for step in explanation.steps]


# --- one record, with the rules of today ------------------------------------------------------------------------------


async def show_record(desk: Desk, visit: PageVisit) -> Answer:
    """The decision of today's rules about one record."""
    name, position = visit.parts["log"], int(visit.parts["position"])
    record = record_of(await read_record(desk, name, position))
    one = happened(record)
    if one is None:
        raise ConfigurationError.of(CONSOLE_RECORD_NOT_DECIDED, name=name[:80], position=position)
    config = operator_file(desk.settings).in_force()
    rules = rules_of(config, name)
    (again,) = replay(rules, [record])
    values = {
        "log": name,
        "position": position,
        "subject": getattr(one.subject, "uri", one.subject.name),
        "who": one.principal.id,
        "was": one.was,
        "would": again.would,
        "would_text": phrase(f"verdict_{again.would}", visit.language),
        "rule": again.rule,
        "steps": _record_steps(rules, one, config, visit.language),
    }
    return Html("call_rules.html", values, title="calls")


def _record_steps(rules: Rules, one: Happened, config: OperatorConfig, language: str) -> list[Mapping[str, str]]:
    guard = Guard(rules=rules, local_scopes=rules.local_scopes)
    arguments = one.arguments if one.missing == frozenset() and isinstance(one.subject, Tool) else None
    context = RequestContext(one.principal, SILENT)
    steps = rules.trace(one.subject, one.principal, arguments)
    explanation = Explanation(Allow(), None, steps)
    return _steps(explanation, guard, one.subject, context, arguments, config, language)


# --- many records, with a changed file --------------------------------------------------------------------------------


async def simulate(desk: Desk, visit: PageVisit) -> Answer:
    """Replay the newest records against the text of the form. It is no act: nothing changes."""
    form = visit.form
    name = form.get("log", "")
    url = desk.logs.url(name)
    most = next((number for number in _REPLAYED if str(number) == form.get("last")), _REPLAYED[0])
    text = form.get("text", "").replace("\r\n", "\n")
    rules = await asyncio.to_thread(_read, operator_file(desk.settings).config.name, text, name)
    counts, positions = await desk.long_reads.run(_replayed, url, rules, most)
    rows = [
        {
            "was": was,
            "would": would,
            "would_text": phrase(f"verdict_{would}", visit.language),
            "subject": subject,
            "rule": rule,
            "times": times,
            "positions": positions[was, would, subject, rule],
            "changed": would not in (was, "undecidable"),
        }
        for (was, would, subject, rule), times in sorted(counts.rows.items(), key=lambda row: (_is_same(row[0]), row))
    ]
    return Html("_simulated.html", {"log": name, "rows": rows, "counts": counts})


def _read(file: str, text: str, server: str) -> Rules:
    """The rules in a text, which may have so many that it takes a while."""
    return rules_of(read_operator_config(file, text), server)


_Row = tuple[str, str, str, str]


def _is_same(row: tuple[str, ...]) -> bool:
    return row[0] == row[1]


def _replayed(url: str, rules: Rules, most: int) -> tuple[ReplayCounts, Mapping[_Row, list[int]]]:
    """The counts over the newest ``most`` records, and the first positions of each row."""

    async def run() -> tuple[ReplayCounts, Mapping[_Row, list[int]]]:
        counts, positions = ReplayCounts(), dict[_Row, list[int]]()
        async with open_log(url) as log:
            after, end = max(0, (await log.head()).position - most), (await log.head()).position
            while after < end and (page := await log.read(after, min(500, end - after))):
                for entry in page:
                    for one in replay(rules, [record_of(entry)]):
                        _note(one, entry.position, counts, positions)
                after = page[-1].position
        return counts, positions

    return asyncio.run(run())


def _note(one: Reconsidered, position: int, counts: ReplayCounts, positions: dict[_Row, list[int]]) -> None:
    linked = positions.setdefault(counts.add(one), [])
    if len(linked) < _LINKED:
        linked.append(position)


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/rules", show),
    Endpoint("POST", "/rules/simulate", simulate),
    Endpoint("GET", "/calls/{log}/{position:int}/rules", show_record),
)
