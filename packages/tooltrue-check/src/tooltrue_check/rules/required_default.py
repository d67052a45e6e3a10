"""A default of a required argument."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.parameters:
        if one.required and "default" in one.schema:
            yield Problem((*one.path, "default"), {"name": one.name})
