"""A tool that claims to be read-only, although its name says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.card import Level
from tooltrue.check.findings import Problem
from tooltrue.check.lexicon.effect_verbs import CREATES, DESTROYS, SENDS, is_harmless, verb
from tooltrue.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not tool.is_read_only:
        return
    word = verb(tool)
    if word in DESTROYS | SENDS | CREATES and not is_harmless(tool):
        level = None if word in DESTROYS else Level.WARNING
        yield Problem(("annotations", "readOnlyHint"), {"name": tool.name, "word": word}, level)
