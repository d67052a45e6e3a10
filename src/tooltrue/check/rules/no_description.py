"""A tool without a description."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.findings import Problem
from tooltrue.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not tool.text:
        yield Problem(("description",), {"name": tool.name})
