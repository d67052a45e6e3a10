"""A description of a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_SHORT: Final = {"zh": 12}
_SHORT_OTHERWISE: Final = 40


def problems(tool: Subject) -> Iterator[Problem]:
    length = len(tool.text.raw.strip())
    if 0 < length < _SHORT.get(tool.text.language, _SHORT_OTHERWISE):
        yield Problem(("description",), {"length": length})
