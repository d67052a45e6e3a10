"""A description that is expensive in every conversation, or is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_LONG: Final = 1_024
_CUT: Final = 2_048


def problems(tool: Subject) -> Iterator[Problem]:
    length = len(tool.text.raw)
    if length > _LONG:
        yield Problem(("description",), {"length": length, "cut": _CUT}, None if length > _CUT else Level.HINT)
