"""Security: refused calls have no effect, hostile texts do no harm, and errors leak no internals."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from tooltrue.errors import ConnectionLost, InvalidParams
from tooltrue.jsonrpc.messages import Json, encode_request, is_array, is_object
from tooltrue.testing.checks.bench import Bench, CallOutcome, ToolUnderTest, few
from tooltrue.testing.checks.functional import contract_violations, short
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.valid_values import Path
from tooltrue.testing.wording import (
    FINDING_DEEP_NESTING_UNANSWERED,
    FINDING_ERROR_DISCLOSES_INTERNALS,
    FINDING_ERROR_ECHOES_LONG_TEXT,
    FINDING_HOSTILE_TEXT_EXECUTED,
    FINDING_HOSTILE_TEXT_UNESCAPED,
    FINDING_INVALID_ARGUMENTS_ACCEPTED,
    FINDING_NON_OBJECT_ARGUMENTS_ACCEPTED,
    FINDING_REFUSED_CALLS_CHANGED_STATE,
    FINDING_UNKNOWN_TOOL_WRONG_ERROR,
    FINDING_UNRESPONSIVE_AFTER_DEEP_NESTING,
    SKIPPED_NO_CALLABLE_TOOL,
    SKIPPED_NO_TEXT_ARGUMENT,
    SKIPPED_SCHEMA_ALLOWS_EVERYTHING,
)

__all__ = ["arguments_no_object", "deep_nesting", "hostile_texts", "invalid_calls", "leaks", "unknown_tool"]


async def invalid_calls(bench: Bench) -> AsyncIterator[Finding]:
    """Arguments that break the schema are refused, and have no effect on the answers of the read-only tools."""
    subjects = list(bench.callable())
    before = await bench.picture()
    for subject in subjects:
        problems: list[Finding] = []
        samples = [sample for sample in subject.samples.invalid if is_object(sample.value)][: 5 * bench.plan.calls]
        for sample in samples:
            answer = await bench.call(subject, sample.value)
            if answer.succeeded:
                problems.append(
                    failed(
                        FINDING_INVALID_ARGUMENTS_ACCEPTED,
                        subject.name,
                        rule=sample.rule,
                        path=sample.path,
                        arguments=short(sample.value),
                    )
                )
            elif not answer.refused:
                problems += contract_violations(subject, answer, bench.plan.seconds)
            if subject.is_out:
                break
        for problem in few(problems):
            yield problem
        if not problems:
            yield (
                passed(subject.name, refused=len(samples))
                if samples
                else not_run(SKIPPED_SCHEMA_ALLOWS_EVERYTHING, subject.name)
            )
    after = await bench.picture()
    changed = [name for name in before if name in after and before[name] != after[name]]
    if changed:
        yield failed(FINDING_REFUSED_CALLS_CHANGED_STATE, readers=", ".join(sorted(changed)))


_NO_OBJECTS: tuple[Json, ...] = ([], "text", 7, True)


async def arguments_no_object(bench: Bench) -> AsyncIterator[Finding]:
    """Arguments are an object (server/tools "Calling Tools")."""
    subject = next(bench.callable(), None)
    if subject is None:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)
        return
    async with bench.line() as line:
        wrong = 0
        for arguments in _NO_OBJECTS:
            answer = await line.answer(line.ask("tools/call", {"name": subject.name, "arguments": arguments}))
            if answer is None or not _is_refusal(answer):
                wrong += 1
                yield failed(
                    FINDING_NON_OBJECT_ARGUMENTS_ACCEPTED,
                    subject.name,
                    arguments=short(arguments),
                    answer=short(answer),
                )
    if not wrong:
        yield passed()


def _is_refusal(answer: Mapping[str, Json]) -> bool:
    result, error = answer.get("result"), answer.get("error")
    if is_object(result):
        return result.get("isError") is True
    return is_object(error) and error.get("code") in (-32602, -32600)


async def unknown_tool(bench: Bench) -> AsyncIterator[Finding]:
    """An unknown tool is an error of the protocol, -32602 (server/tools "Error Handling")."""
    async with bench.line() as line:
        answer = await line.answer(line.ask("tools/call", {"name": "no_such_tool", "arguments": {}}))
    error = (answer or {}).get("error")
    code = error.get("code") if is_object(error) else None
    if is_object(error):
        bench.hear("no_such_tool", str(error.get("message")), "no_such_tool")
    yield passed() if code == InvalidParams.number else failed(FINDING_UNKNOWN_TOOL_WRONG_ERROR, answer=short(answer))


# description → the text that is sent
HOSTILE: Mapping[str, str] = {
    "path upwards": "../../../../../../../../etc/passwd",
    "absolute path": "/etc/passwd",
    "file URL": "file:///etc/passwd",
    "shell": "x; id; $(id) `id` | id",
    "SQL": "x' OR '1'='1'; --",
    "template": "{0.__class__.__mro__} {{7*7}} ${7*7} %s%n",
    "terminal": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "direction": "\u202egpj.exe\u2066",
    "zero": "a\x00b",
    "lines": "a\r\nContent-Length: 0\r\n\r\n",
    "long": "x" * 1_000_000,
}
_OBEYED = re.compile(r"root:[^:\n]*:0:0:|uid=\d+\(")
_RAW = re.compile("[\x00\x07\x1b\u202e\u2066]")
_LONGEST_ERROR = 100_000


async def hostile_texts(bench: Bench) -> AsyncIterator[Finding]:
    """Texts with a meaning for a shell, a path, a terminal: answered, not obeyed, not repeated raw in an error."""
    for subject in list(bench.callable()):
        problems: list[Finding] = []
        count = 0
        for what, arguments in _hostile(subject):
            answer = await bench.call(subject, arguments)
            count += 1
            problems += _harm(subject, what, answer, bench.plan.seconds)
            if subject.is_out:
                break
        for problem in few(problems):
            yield problem
        if not problems:
            yield passed(subject.name, texts=count) if count else not_run(SKIPPED_NO_TEXT_ARGUMENT, subject.name)


def _hostile(subject: ToolUnderTest) -> Iterator[tuple[str, dict[str, Json]]]:
    fullest = max(subject.valid, key=_count_of_texts, default=None)
    if fullest is None:
        return
    places = list(_text_places(fullest))[:3]
    for what, text in HOSTILE.items():
        for place in places:
            yield what, _replaced(fullest, place, text)


def _count_of_texts(value: Json) -> int:
    return len(list(_text_places(value)))


def _text_places(value: Json, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, str):
        yield path
    for step, inner in value.items() if is_object(value) else enumerate(value) if is_array(value) else ():
        yield from _text_places(inner, (*path, step))


def _replaced(value: Json, path: Path, text: str) -> Json:
    if not path:
        return text
    copied: Any = dict(value) if is_object(value) else list(value)
    copied[path[0]] = _replaced(copied[path[0]], path[1:], text)
    return copied


def _harm(subject: ToolUnderTest, what: str, answer: CallOutcome, seconds: float) -> Iterator[Finding]:
    yield from contract_violations(subject, answer, seconds)
    text = answer.result.text if answer.result is not None else answer.words
    if match := _OBEYED.search(text):
        yield failed(FINDING_HOSTILE_TEXT_EXECUTED, subject.name, what=what, found=match[0])
    if _RAW.search(answer.words):
        yield failed(FINDING_HOSTILE_TEXT_UNESCAPED, subject.name, what=what)
    if len(answer.words) > _LONGEST_ERROR:
        yield failed(FINDING_ERROR_ECHOES_LONG_TEXT, subject.name, what=what, size=len(answer.words))


_DEPTHS = (90, 10_000)


async def deep_nesting(bench: Bench) -> AsyncIterator[Finding]:
    """Excessively nested arguments are refused, and the server stays alive."""
    subject = next(bench.callable(), None)
    if subject is None:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)
        return
    for depth in _DEPTHS:
        async with bench.line() as line:
            mark = "nested"
            plain = encode_request(7, "tools/call", line.params({"name": subject.name, "arguments": {"deep": mark}}))
            line.send(plain.replace(b'"nested"', b"[" * depth + b"]" * depth))
            try:
                answer = await line.reply(bench.plan.seconds)
                lives = await line.lives()
            except ConnectionLost:
                answer, lives = None, False
        if not lives:
            yield failed(FINDING_UNRESPONSIVE_AFTER_DEEP_NESTING, depth=depth)
        elif answer is None:
            yield failed(FINDING_DEEP_NESTING_UNANSWERED, depth=depth)
        else:
            yield passed(depth=depth)


async def leaks(bench: Bench) -> AsyncIterator[Finding]:
    """The errors of the whole run leak no internals."""
    for (tool, what), excerpt in bench.leaks.items():
        yield failed(FINDING_ERROR_DISCLOSES_INTERNALS, tool, what=what, excerpt=short(excerpt, 80))
    if not bench.leaks:
        yield passed(errors=bench.errors)
