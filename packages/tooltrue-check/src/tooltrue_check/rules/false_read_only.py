"""A tool that claims to be read-only, although its name says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.effect_verbs import CREATES, DESTROYS, SENDS, is_harmless, verb
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not tool.is_read_only:
        return
    word = verb(tool)
    if word in DESTROYS | SENDS | CREATES and not is_harmless(tool):
        level = None if word in DESTROYS else Level.WARNING
        yield Problem(("annotations", "readOnlyHint"), {"name": tool.name, "word": word}, level)
