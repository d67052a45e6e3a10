"""A parameter named like a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_MATHEMATICS: Final = frozenset("abcdgijkmnprtxyzw")
"""Letters that everybody reads as the names of numbers."""

_ABBREVIATIONS: Final = frozenset(word_list("abbreviations"))


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.arguments:
        if _is_unreadable(one):
            # A single letter is readable to readers of the formula.
            is_clear = one.text or len(one.name) == 1
            yield Problem(one.path, {"name": one.name}, Level.HINT if is_clear else None)


def _is_unreadable(one: ToolParameter) -> bool:
    name = one.name.casefold()
    if len(name) != 1:
        return name in _ABBREVIATIONS
    is_number = not one.kinds.isdisjoint(("integer", "number", "array"))
    return name.isascii() and name.isalpha() and not (is_number and name in _MATHEMATICS)
