"""A tool that claims not to be destructive, although its name says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.effect_verbs import DESTROYS, is_harmless, verb
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.annotations.get("destructiveHint") is False and not tool.is_read_only:
        word = verb(tool)
        if word in DESTROYS and not is_harmless(tool):
            yield Problem(("annotations", "destructiveHint"), {"name": tool.name, "word": word})
