"""A definition that praises itself."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.findings import Problem
from tooltrue.check.runtime_checks import suspicions
from tooltrue.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    return suspicions(tool, "self_praise")
