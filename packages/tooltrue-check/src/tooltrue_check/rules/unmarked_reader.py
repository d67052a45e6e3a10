"""A tool that reads, without a read-only hint."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.effect_verbs import READS, verb
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not isinstance(tool.annotations.get("readOnlyHint"), bool):
        word = verb(tool)
        if word in READS:
            yield Problem(("annotations", "readOnlyHint"), {"name": tool.name, "word": word})
