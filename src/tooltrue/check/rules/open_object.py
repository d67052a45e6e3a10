"""A schema that accepts undeclared arguments."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.findings import Problem
from tooltrue.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    additional = tool.input.get("additionalProperties")
    if tool.input and additional in (None, True, {}) and "unevaluatedProperties" not in tool.input:
        yield Problem(("inputSchema", "additionalProperties"), {"count": len(tool.arguments)})
