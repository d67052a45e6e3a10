"""A tool without machine-readable hints on its effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def problems(tool: Subject) -> Iterator[Problem]:
    if not any(isinstance(tool.annotations.get(hint), bool) for hint in _HINTS):
        yield Problem(("annotations",), {"name": tool.name})
