"""A schema, or a definition, too large to be judged."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.runtime_checks import refusals, suspicions
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    yield from suspicions(tool, "too_large")
    yield from refusals(tool, "too_large")
