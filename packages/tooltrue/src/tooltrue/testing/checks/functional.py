"""Functional: the server behaves as its definitions say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator

from tooltrue.client.wording import SERVER_QUESTION_NOT_SUPPORTED
from tooltrue.errors import ConnectionLost, MissingCapability, RequestTimeout, RpcError, TransportError, fact_of
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.name_rules import is_name
from tooltrue.protocol.types import UNSET
from tooltrue.testing.checks.bench import Bench, CallOutcome, ToolUnderTest, few
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.wording import (
    FINDING_CALL_CLOSED_CONNECTION,
    FINDING_CALL_PROTOCOL_ERROR,
    FINDING_CALL_TIMEOUT,
    FINDING_DEFINITION_INVALID,
    FINDING_DESCRIPTION_MISSING,
    FINDING_DUPLICATE_TOOL_NAME,
    FINDING_EXAMPLE_VIOLATES_SCHEMA,
    FINDING_IDEMPOTENT_CALL_CHANGED_STATE,
    FINDING_IDEMPOTENT_RESULTS_DIFFER,
    FINDING_RESULT_VIOLATES_SCHEMA,
    FINDING_SCHEMA_UNUSABLE,
    FINDING_STRUCTURED_CONTENT_MISSING,
    FINDING_STRUCTURED_CONTENT_WITHOUT_TEXT,
    FINDING_TEXT_STRUCTURE_MISMATCH,
    FINDING_TOOL_FAILED,
    FINDING_TOOL_LIST_UNSTABLE,
    FINDING_TOOL_NAME_NOT_PORTABLE,
    REASON_TYPE_NOT_OBJECT,
    SKIPPED_ALL_CALLS_FAILED,
    SKIPPED_EXAMPLE_FAILED,
    SKIPPED_NO_IDEMPOTENT_TOOL,
    SKIPPED_NO_VALUE_FOR_SCHEMA,
    SKIPPED_TOOL_ASKS_USER,
)
from tooltrue.wording import Worded

__all__ = [
    "contract_violations",
    "covered",
    "definitions",
    "examples",
    "idempotence",
    "listing",
    "output_schema",
    "text_and_structure",
    "valid_calls",
]

_MOST_PAGES = 1_000


async def definitions(bench: Bench) -> AsyncIterator[Finding]:
    """Each tool has a name that every host accepts, a description and valid schemas; no name occurs twice."""
    raw = await _raw_tools(bench)
    usable = {subject.name for subject in bench.subjects}
    names = Counter(str(tool.get("name")) if is_object(tool) else "?" for tool in raw)
    problems = [failed(FINDING_DEFINITION_INVALID, name) for name in names if name not in usable]
    problems += [failed(FINDING_DUPLICATE_TOOL_NAME, name, count=count) for name, count in names.items() if count > 1]
    for subject in bench.subjects:
        problems += _definition(subject)
    for problem in problems:
        yield problem
    if not problems:
        yield passed(tools=len(raw))


def _definition(subject: ToolUnderTest) -> Iterator[Finding]:
    if not is_name(subject.name):
        yield failed(FINDING_TOOL_NAME_NOT_PORTABLE, subject.name)
    if not (subject.tool.description or "").strip():
        yield failed(FINDING_DESCRIPTION_MISSING, subject.name)
    if subject.problem:
        yield failed(FINDING_SCHEMA_UNUSABLE, subject.name, problem=subject.problem)
    elif subject.tool.inputSchema.get("type") != "object":
        yield failed(FINDING_SCHEMA_UNUSABLE, subject.name, problem=Worded(REASON_TYPE_NOT_OBJECT, {}))


async def _raw_tools(bench: Bench) -> list[Json]:
    """The tools as they are listed: a client leaves out invalid ones."""
    tools: list[Json] = []
    cursor: Json = None
    async with bench.line() as line:
        for _ in range(_MOST_PAGES):
            answer = await line.answer(line.ask("tools/list", {} if cursor is None else {"cursor": cursor}))
            result = (answer or {}).get("result")
            page = result.get("tools") if is_object(result) else None
            tools += page if is_array(page) else []
            cursor = result.get("nextCursor") if is_object(result) else None
            if not isinstance(cursor, str):
                break
    return tools


async def listing(bench: Bench) -> AsyncIterator[Finding]:
    """The pages end, and the list is the same twice."""
    first, second = [[tool.name for tool in await bench.client.list_tools()] for _ in range(2)]
    yield passed(tools=len(first)) if first == second else failed(FINDING_TOOL_LIST_UNSTABLE)


async def covered(bench: Bench) -> AsyncIterator[Finding]:
    """Never fails: reports the rules without a value, and the tools that are not called at all."""
    for subject in bench.subjects:
        missing = [f"{lack.rule} ({lack.path})" for lack in subject.samples.missing]
        if subject.excuse is not None:
            yield subject.excuse
        elif missing:
            more = f" +{len(missing) - 5}" if len(missing) > 5 else ""
            yield not_run(SKIPPED_NO_VALUE_FOR_SCHEMA, subject.name, rules=", ".join(missing[:5]) + more)
        else:
            yield passed(subject.name, valid=len(subject.valid), invalid=len(subject.samples.invalid))


async def examples(bench: Bench) -> AsyncIterator[Finding]:
    """Examples in a schema match it, and succeed. One that does not succeed counts as not run: the data it refers to
    may be missing."""
    for subject in bench.subjects:
        if subject.samples.bad_examples:
            yield failed(FINDING_EXAMPLE_VIOLATES_SCHEMA, subject.name, example=short(subject.samples.bad_examples[0]))
    for subject in list(bench.callable()):
        example_arguments = [sample.value for sample in subject.samples.valid if sample.origin == "example"]
        answers = [await bench.call(subject, arguments) for arguments in example_arguments]
        wrong = [answer for answer in answers if not answer.succeeded]
        if wrong:
            yield not_run(
                SKIPPED_EXAMPLE_FAILED,
                subject.name,
                example=short(wrong[0].arguments),
                words=short(_answer_text(wrong[0])),
            )
        elif example_arguments:
            yield passed(subject.name, examples=len(example_arguments))


async def valid_calls(bench: Bench) -> AsyncIterator[Finding]:
    """Each call that the schema allows is answered; with an error for the model at worst."""
    for subject in list(bench.callable()):
        problems: list[Finding] = []
        for arguments in subject.valid:
            answer = await bench.call(subject, arguments)
            subject.answers.append(answer)
            problems += contract_violations(subject, answer, bench.plan.seconds)
            if subject.is_out or (subject.is_slow and sum(one.seconds for one in subject.answers) > bench.plan.seconds):
                break
        for problem in few(problems):
            yield problem
        errors = sum(not answer.succeeded for answer in subject.answers)
        if not problems and errors == len(subject.answers):
            yield not_run(
                SKIPPED_ALL_CALLS_FAILED, subject.name, count=errors, words=short(_answer_text(subject.answers[0]))
            )
        elif not problems:
            yield passed(subject.name, calls=len(subject.answers), errors=errors)


# Messages of this library have these codes when a tool crashed (TT2004), or broke its own contract (TT2005).
_FAULT = re.compile(r"\[TT200[45]\]")


def _is_question(error: Exception | None) -> bool:
    """Whether a call failed because its tool asked a user."""
    is_refused = isinstance(error, TransportError) and error.code == SERVER_QUESTION_NOT_SUPPORTED
    return is_refused or isinstance(error, MissingCapability)


def contract_violations(subject: ToolUnderTest, answer: CallOutcome, seconds: float) -> Iterator[Finding]:
    """Problems of an answer that are wrong for any call. Marks a tool that hangs, or that asks a user, since no user
    is there."""
    arguments = short(answer.arguments)
    match answer.error:
        case RequestTimeout():
            subject.hangs = True
            yield failed(FINDING_CALL_TIMEOUT, subject.name, arguments=arguments, seconds=seconds)
        case error if _is_question(error):
            subject.excuse = not_run(SKIPPED_TOOL_ASKS_USER, subject.name)
            yield subject.excuse
        case ConnectionLost():
            yield failed(
                FINDING_CALL_CLOSED_CONNECTION,
                subject.name,
                arguments=arguments,
                problem=fact_of(answer.error, is_clause=False),
            )
        case RpcError() | TransportError():
            yield failed(
                FINDING_CALL_PROTOCOL_ERROR, subject.name, arguments=arguments, problem=short(str(answer.error))
            )
        case None:
            if _FAULT.search(answer.words):
                yield failed(FINDING_TOOL_FAILED, subject.name, arguments=arguments, words=short(answer.words))


async def output_schema(bench: Bench) -> AsyncIterator[Finding]:
    """The results of a tool match the schema that it publishes for them."""
    for subject in bench.callable():
        results = [answer.result for answer in subject.answers if answer.result is not None and answer.succeeded]
        if subject.output is None or not results:
            continue
        problems: list[Finding] = []
        for result in results:
            if result.structured is UNSET:
                problems.append(failed(FINDING_STRUCTURED_CONTENT_MISSING, subject.name))
            elif not subject.output.accepts(result.structured):
                problem = subject.output.problems(result.structured, 1)[0]
                problems.append(failed(FINDING_RESULT_VIOLATES_SCHEMA, subject.name, problem=problem))
        for problem in few(problems, 1):
            yield problem
        if not problems:
            yield passed(subject.name, results=len(results))


async def text_and_structure(bench: Bench) -> AsyncIterator[Finding]:
    """A structured result says the same as its text, for clients that read only text (server/tools "Structured
    Content")."""
    for subject in bench.callable():
        results = [answer.result for answer in subject.answers if answer.result is not None and answer.succeeded]
        structured = [result for result in results if result.structured is not UNSET]
        silent = [result for result in structured if not result.content]
        apart = [result for result in structured if not _agrees(result.text, result.structured)]
        if silent:
            yield failed(FINDING_STRUCTURED_CONTENT_WITHOUT_TEXT, subject.name)
        elif apart:
            yield failed(
                FINDING_TEXT_STRUCTURE_MISMATCH,
                subject.name,
                text=short(apart[0].text),
                structured=short(apart[0].structured),
            )
        elif structured:
            yield passed(subject.name, results=len(structured))


def _agrees(text: str, structured: Json) -> bool:
    try:
        content = json.loads(text)
    except ValueError:
        return True  # a tool may choose words of its own
    return type(content) is not type(structured) or content == structured


async def idempotence(bench: Bench) -> AsyncIterator[Finding]:
    """If a tool declares that repeating a call has no further effect, the second answer equals the first, and the
    answers of the read-only tools stay the same."""
    stated = [s for s in bench.callable() if s.tool.annotations is not None and s.tool.annotations.idempotentHint]
    for subject in stated:
        arguments = subject.good or {}
        first = await bench.call(subject, arguments)
        before = await bench.picture()
        second = await bench.call(subject, arguments)
        after = await bench.picture()
        changed = sorted(name for name in before if after.get(name) != before[name])
        if first.content != second.content:
            yield failed(
                FINDING_IDEMPOTENT_RESULTS_DIFFER,
                subject.name,
                first=short(first.content),
                second=short(second.content),
            )
        elif changed:
            yield failed(FINDING_IDEMPOTENT_CALL_CHANGED_STATE, subject.name, readers=", ".join(changed))
        else:
            yield passed(subject.name)
    if not stated:
        yield not_run(SKIPPED_NO_IDEMPOTENT_TOOL)


def _answer_text(answer: CallOutcome) -> str:
    return answer.words or str(answer.error)


def short(value: Json, most: int = 120) -> str:
    """A value on one line, cut, without control characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    clean = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return clean if len(clean) <= most else clean[: most - 1] + "…"
