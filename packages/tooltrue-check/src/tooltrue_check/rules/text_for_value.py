"""Booleans and numbers as strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tooltrue.jsonrpc.messages import is_array
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_TRUTH: Final = (
    frozenset({"true", "false"}),
    frozenset({"yes", "no"}),
    frozenset({"on", "off"}),
    frozenset({"是", "否"}),
)
_DIGITS: Final = re.compile(r"\^(?:\[0-9\]|\\d)(?:\+|\*|\{\d+(?:,\d*)?\})\$")
_COUNTS: Final = frozenset({"limit", "offset", "count", "数量", "个数"})


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.parameters:
        if one.kinds == _TEXT and (better_type := _better_type(one)):
            kind, level = better_type
            yield Problem(one.path, {"name": one.name, "kind": kind}, level)


_TEXT: Final = frozenset({"string"})


def _better_type(one: ToolParameter) -> tuple[str, Level | None] | None:
    options, pattern = one.schema.get("enum"), one.schema.get("pattern")
    if is_array(options):
        values = frozenset(value.casefold() for value in options if isinstance(value, str))
        return ("boolean", Level.WARNING) if values in _TRUTH else None
    if isinstance(pattern, str):
        return ("integer", None) if "minLength" not in one.schema and _DIGITS.fullmatch(pattern) else None
    is_count = one.name_words[-1:] and one.name_words[-1] in _COUNTS
    return ("number", None) if is_count and "format" not in one.schema else None
