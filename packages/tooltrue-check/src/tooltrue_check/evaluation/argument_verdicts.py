"""Comparison of given with expected arguments: an explicit default is equal to an omitted argument."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Literal, TypeAlias

from tooltrue.contract.digests import canonical
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue_check.evaluation.model_answers import ModelAnswer, ModelCall
from tooltrue_check.evaluation.question_file import EvaluationQuestion, ExpectedCall

__all__ = ["ArgumentVerdict", "Schemas", "fields", "is_as_expected", "reached", "says"]

Schemas: TypeAlias = Mapping[str, Mapping[str, Json]]
"""The input schema of each tool, by its name."""
ArgumentVerdict: TypeAlias = Literal["right", "different", "missing", "extra"]


def fields(expected: ExpectedCall, made: ModelCall, schemas: Schemas) -> dict[str, ArgumentVerdict]:
    """The verdict on each argument that was expected, or given. Empty if the arguments are not graded."""
    if expected.arguments is None:
        return {}
    actual = made.arguments if is_object(made.arguments) else {}
    defaults = _defaults(schemas.get(expected.tool, {}))
    expected_arguments, had = {**defaults, **expected.arguments}, {**defaults, **actual}
    return {name: _verdict(name, expected_arguments, had) for name in sorted(expected_arguments.keys() | had.keys())}


def _verdict(name: str, expected: Mapping[str, Json], had: Mapping[str, Json]) -> ArgumentVerdict:
    if name not in had:
        return "missing"
    if name not in expected:
        return "extra"
    return "right" if canonical(expected[name]) == canonical(had[name]) else "different"


def _defaults(schema: Mapping[str, Json]) -> dict[str, Json]:
    properties = schema.get("properties")
    inner = properties.items() if is_object(properties) else ()
    return {name: one["default"] for name, one in inner if is_object(one) and "default" in one}


def is_as_expected(expected: ExpectedCall, made: ModelCall, schemas: Schemas) -> bool:
    """Whether the tool is the expected one, and so are the arguments, if they are graded."""
    is_read = expected.arguments is None or is_object(made.arguments)
    return made.tool == expected.tool and is_read and set(fields(expected, made, schemas).values()) <= {"right"}


def reached(question: EvaluationQuestion, calls: tuple[ModelCall, ...], schemas: Schemas) -> int:
    """The number of calls, from the first, that were as expected."""
    for number, (expected, made) in enumerate(zip(question.calls, calls, strict=False)):
        if not is_as_expected(expected, made, schemas):
            return number
    return min(len(question.calls), len(calls))


def says(answer: ModelAnswer, words: str | None) -> bool:
    """Whether the final text contains ``words``, regardless of case and width."""
    return words is None or _folded(words) in _folded(answer.text)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
