"""A name with letters that some providers refuse."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not tool.name.isascii():
        yield Problem(("name",), {"name": tool.name})
