"""Deeply nested arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_DEEPEST: Final = 3


def problems(tool: Subject) -> Iterator[Problem]:
    deepest = max(tool.parameters, key=lambda one: one.depth, default=None)
    if deepest is not None and deepest.depth > _DEEPEST:
        yield Problem(deepest.path, {"name": deepest.name, "depth": deepest.depth, "limit": _DEEPEST})
