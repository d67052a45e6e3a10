"""A name without an action."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.verbs import BASE_VERBS, VERBS
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_BEGINNINGS = tuple(sorted(verb for verb in BASE_VERBS if len(verb) > 2))


def problems(tool: Subject) -> Iterator[Problem]:
    words = tool.name_words
    if not words or not VERBS.isdisjoint(words):
        return
    # The words of ``listprompts`` cannot be separated.
    if not words[0].startswith(_BEGINNINGS):
        yield Problem(("name",), {"name": tool.name})
