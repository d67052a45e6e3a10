"""Functional: a read-only tool answers the same call alike, has no effect, and its arguments make a difference."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Final

from tooltrue.contract.names import words
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema import Schema, compile_schema
from tooltrue.protocol.types import UNSET
from tooltrue.testing.checks.bench import Bench, CallOutcome, ToolUnderTest
from tooltrue.testing.checks.functional import short
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.valid_values import kinds_of, text_of
from tooltrue.testing.wording import (
    FINDING_LIMIT_IGNORED,
    FINDING_READ_CALL_CHANGED_STATE,
    FINDING_READ_RESULTS_DIFFER,
    SKIPPED_ARGUMENT_WITHOUT_EFFECT,
    SKIPPED_NO_CALLABLE_TOOL,
    SKIPPED_NO_LIMIT_ARGUMENT,
    SKIPPED_NO_STABLE_READER,
)

__all__ = ["heeds", "limits", "reads_only", "repeatable"]

_CALLS: Final = 3
_WITNESSES: Final = 20


def _readers(bench: Bench) -> list[ToolUnderTest]:
    return [subject for subject in bench.callable() if subject.reads and not subject.is_slow]


def _succeeded(subject: ToolUnderTest) -> list[dict[str, Json]]:
    """A few arguments that have been answered without an error, those with the longest answers first."""
    answers = sorted((one for one in subject.answers if one.succeeded), key=lambda one: -len(text_of(one.content)))
    return [one.arguments for one in answers[:_CALLS]]


async def repeatable(bench: Bench) -> AsyncIterator[Finding]:
    """The same call is answered alike when repeated at once. Tools that tell the time or a random number are named in
    the plan."""
    subjects = [subject for subject in _readers(bench) if subject.name not in bench.plan.varies]
    for subject in subjects:
        calls = 0
        for arguments in _succeeded(subject):
            first, *others = [await bench.call(subject, arguments) for _ in range(_CALLS)]
            calls += _CALLS
            other = next((one for one in others if one.succeeded and one.content != first.content), None)
            if first.succeeded and other is not None:
                facts = {"first": short(first.content), "second": short(other.content), "name": subject.name}
                yield failed(FINDING_READ_RESULTS_DIFFER, subject.name, arguments=short(arguments), **facts)
                break
        else:
            yield passed(subject.name, calls=calls)
    if not subjects:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)


async def reads_only(bench: Bench) -> AsyncIterator[Finding]:
    """A call of a read-only tool does not change the answers of the others."""
    subjects = _readers(bench)
    witnesses = [one for one in subjects if await bench.is_stable(one)][:_WITNESSES]
    for subject in subjects:
        others = [one for one in witnesses if one is not subject]
        changed = [
            name for arguments in _succeeded(subject) for name in await _changed(bench, subject, arguments, others)
        ]
        if changed:
            bench.distrust(changed)
            yield failed(FINDING_READ_CALL_CHANGED_STATE, subject.name, readers=", ".join(sorted({*changed})))
        elif others:
            yield passed(subject.name, readers=len(others))
        else:
            yield not_run(SKIPPED_NO_STABLE_READER, subject.name)
    if not subjects:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)


async def _changed(
    bench: Bench, subject: ToolUnderTest, arguments: dict[str, Json], others: list[ToolUnderTest]
) -> list[str]:
    """The tools whose answers differ after a call. An effect of another reader must not be attributed to this one: a
    suspicion is confirmed only if two calls of the witness alone are answered alike."""
    before = {one.name: await _answer_content(bench, one) for one in others}
    await bench.call(subject, arguments)
    suspected = [one for one in others if await _answer_content(bench, one) != before[one.name]]
    names: list[str] = []
    for one in suspected:
        alone = [await _answer_content(bench, one) for _ in range(2)]
        await bench.call(subject, arguments)
        if alone[0] == alone[1] != await _answer_content(bench, one):
            names.append(one.name)
    return names


async def _answer_content(bench: Bench, subject: ToolUnderTest) -> Json:
    return (await bench.call(subject, subject.good or {})).content


# -- limits ------------------------------------------------------------------------------------------------------------

_LIMITING: Final = frozenset({"limit", "max", "maximum", "most", "count", "top", "first", "size", "number", "n", "k"})
_SMALL: Final = (1, 2, 3)
_LARGE: Final = (1_000, 100, 50, 20, 10)
_FRAME: Final = 3
"""Lines that a text may have besides the items that it lists: a heading, a total, an empty one."""


async def limits(bench: Bench) -> AsyncIterator[Finding]:
    """A small limit shortens a long answer."""
    has_tries = False
    for subject in _readers(bench):
        for name in _limiting(subject):
            finding = await _limited(bench, subject, name)
            has_tries = has_tries or finding is not None
            if finding is not None:
                yield finding
    if not has_tries:
        yield not_run(SKIPPED_NO_LIMIT_ARGUMENT)


def _limiting(subject: ToolUnderTest) -> Iterator[str]:
    """The arguments whose names and types suggest that they limit the number of items returned."""
    for name, schema in _properties(subject).items():
        if "integer" in kinds_of(schema) and not _LIMITING.isdisjoint(words(name).split()):
            yield name


def _properties(subject: ToolUnderTest) -> Mapping[str, dict[str, Json]]:
    properties = subject.tool.inputSchema.get("properties")
    return {name: one for name, one in properties.items() if is_object(one)} if is_object(properties) else {}


async def _limited(bench: Bench, subject: ToolUnderTest, name: str) -> Finding | None:
    """Compare the answers for a small and a large limit; ``None`` if the schema does not allow two."""
    schema = compile_schema(subject.tool.inputSchema)
    for base in _succeeded(subject):
        small, large = (_accepted(schema, base, name, values) for values in (_SMALL, _LARGE))
        if small is None or large is None:
            return None
        few, many = [await bench.call(subject, arguments) for arguments in (small, large)]
        if not few.succeeded or not many.succeeded:
            continue
        if few.content == many.content and (size := _length(few, small[name])) > small[name]:
            return failed(FINDING_LIMIT_IGNORED, subject.name, argument=name, limit=small[name], count=size)
    return passed(subject.name, limits=1)


def _accepted(schema: Schema, base: dict[str, Json], name: str, values: tuple[int, ...]) -> dict[str, Json] | None:
    changed = ({**base, name: value} for value in values)
    return next((arguments for arguments in changed if schema.accepts(arguments)), None)


def _length(answer: CallOutcome, limit: int) -> int:
    """The number of items in an answer: those of its longest list, or its blocks, or lines if far beyond the limit."""
    if answer.result is None:
        return 0
    text, structured = answer.result.text, answer.result.structured
    value = structured if structured is not UNSET else _parsed(text)
    if value is not None:
        return _longest(value)
    lines = sum(bool(line.strip()) for line in text.splitlines()) - _FRAME
    return max(len(answer.result.content), lines if lines > limit + _FRAME else 0)


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _longest(value: Json) -> int:
    """The length of a list, or of the longest one among the members of an object."""
    lists = [value, *value.values()] if is_object(value) else [value]
    return max((len(one) for one in lists if is_array(one)), default=0)


# -- other arguments ---------------------------------------------------------------------------------------------------


async def heeds(bench: Bench) -> AsyncIterator[Finding]:
    """Each argument makes a difference with the tested values. One that does not is no proof, but a place to look."""
    subjects = _readers(bench)
    for subject in subjects:
        names = [name for name in _properties(subject) if await _is_ignored(bench, subject, name)]
        yield (
            not_run(SKIPPED_ARGUMENT_WITHOUT_EFFECT, subject.name, names=", ".join(names))
            if names
            else passed(subject.name)
        )
    if not subjects:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)


async def _is_ignored(bench: Bench, subject: ToolUnderTest, name: str) -> bool:
    """Whether at least two other values were answered, all like the first."""
    base = next(iter(_succeeded(subject)), None)
    if base is None:
        return False
    values = {text_of(one[name]): one[name] for one in subject.valid if name in one and one[name] != base.get(name)}
    first = await bench.call(subject, base)
    others = [await bench.call(subject, {**base, name: value}) for value in [*values.values()][:_CALLS]]
    successes = [one for one in others if one.succeeded]
    return len(successes) > 1 and all(one.content == first.content for one in successes)
