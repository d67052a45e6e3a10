"""A name that not every client can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.runtime_checks import suspicions
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_LONGEST: Final = 128


def problems(tool: Subject) -> Iterator[Problem]:
    if not tool.name or len(tool.name) > _LONGEST:
        yield Problem(("name",), {"length": len(tool.name), "limit": _LONGEST}, Level.ERROR)
    else:
        yield from suspicions(tool, "tool_name")
