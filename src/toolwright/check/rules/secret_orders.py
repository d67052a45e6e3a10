"""A definition that asks for secrets, or sends them somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.check.checking import Problem
from toolwright.check.judged import suspicions
from toolwright.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    return suspicions(tool, "secret_orders")
