"""A name that leaves little room for the prefix added by hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_LONG: Final = 40
"""``mcp__`` and a label take the rest of the 64 characters that several providers allow."""


def problems(tool: Subject) -> Iterator[Problem]:
    if (length := len(tool.name)) > _LONG:
        yield Problem(("name",), {"name": tool.name, "length": length, "limit": _LONG})
