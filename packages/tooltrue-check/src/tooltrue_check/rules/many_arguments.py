"""More arguments than one action needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_MANY: Final = 10
_TOO_MANY: Final = 20
_ALSO_REQUIRED: Final = 8


def problems(tool: Subject) -> Iterator[Problem]:
    count, required = len(tool.arguments), sum(one.required for one in tool.arguments)
    if count > _MANY or required > _ALSO_REQUIRED:
        level = Level.WARNING if count > _TOO_MANY else None
        yield Problem(("inputSchema", "properties"), {"count": count, "required": required, "limit": _MANY}, level)
