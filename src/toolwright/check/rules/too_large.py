"""A schema, or a definition, too large to be judged."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.check.checking import Problem
from toolwright.check.judged import refusals, suspicions
from toolwright.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    yield from suspicions(tool, "too_large")
    yield from refusals(tool, "too_large")
