"""Two parameters of a tool with one description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue.jsonrpc.messages import Json
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_SHORTEST: Final = 12
"""Shorter texts do not count as copies of each other."""


def problems(tool: Subject) -> Iterator[Problem]:
    by_text: dict[str, ToolParameter] = {}
    for one in tool.arguments:
        if len(one.text.raw) < _SHORTEST:
            continue
        first = by_text.setdefault(one.text.plain.strip(), one)
        if first is not one and _beside_words(first) == _beside_words(one):
            yield Problem((*one.path, "description"), {"name": one.name, "other": first.name})


def _beside_words(one: ToolParameter) -> Mapping[str, Json]:
    """The schema of a parameter without its texts."""
    return {keyword: value for keyword, value in one.schema.items() if keyword not in ("description", "title")}
