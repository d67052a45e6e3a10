"""A schema, or a definition, too large to be judged."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.findings import Problem
from tooltrue.check.runtime_checks import refusals, suspicions
from tooltrue.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    yield from suspicions(tool, "too_large")
    yield from refusals(tool, "too_large")
