"""A parameter without a description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]


_VALUE_KEYWORDS: Final = frozenset(("enum", "const", "format", "examples"))
"""A schema with one of these shows which values to give."""


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.parameters:
        # The target of a reference may have the description.
        if not one.text and "$ref" not in one.schema and "allOf" not in one.schema:
            is_explained = one.depth > 1 or not _VALUE_KEYWORDS.isdisjoint(one.schema) or _is_told(one, tool)
            yield Problem(one.path, {"name": one.name}, Level.HINT if is_explained else None)


def _is_told(one: ToolParameter, tool: Subject) -> bool:
    """Whether the description of the tool mentions the parameter."""
    return one.name.casefold() in (tool.text.word_set if len(one.name_words) == 1 else tool.text.plain)
