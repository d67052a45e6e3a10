"""A reference that leads back to itself without descending into the value."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.check.checking import Problem
from toolwright.check.judged import refusals
from toolwright.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    return refusals(tool, "circular_reference")
