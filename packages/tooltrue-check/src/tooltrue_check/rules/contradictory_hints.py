"""Hints that cannot both hold."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.is_read_only and tool.annotations.get("destructiveHint") is True:
        yield Problem(("annotations", "destructiveHint"), {"name": tool.name})
