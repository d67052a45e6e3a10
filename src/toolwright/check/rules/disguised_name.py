"""A name that looks like another one."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.check.checking import Problem
from toolwright.check.judged import suspicions
from toolwright.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    return suspicions(tool, "disguised_name")
