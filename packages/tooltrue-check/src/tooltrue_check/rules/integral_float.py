"""A whole number written as a fraction."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Fix, Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for keyword in ("default", "minimum", "maximum", "const"):
        for node in tool.having.get(keyword, ()):
            value = node.schema[keyword]
            if isinstance(value, float) and node.schema.get("type") == "integer" and value.is_integer():
                path = (*node.path, keyword)
                yield Problem(path, {"value": value, "whole": int(value)}, fix=Fix(path, int(value)))
