"""A schema that accepts undeclared arguments."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    additional = tool.input.get("additionalProperties")
    if tool.input and additional in (None, True, {}) and "unevaluatedProperties" not in tool.input:
        yield Problem(("inputSchema", "additionalProperties"), {"count": len(tool.arguments)})
