"""A name with two actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.verbs import BASE_VERBS, VERBS
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_AND: Final = frozenset(("and", "then", "并", "和", "及", "然后", "并且", "以及"))
_ONE_ACTION: Final = frozenset(
    {("drag", "drop"), ("copy", "paste"), ("search", "replace"), ("find", "replace"), ("cut", "paste")}
)
"""Pairs that are one action to a user."""


def problems(tool: Subject) -> Iterator[Problem]:
    if _AND.isdisjoint(tool.name_words):
        return
    words = tool.name_words
    for at, word in enumerate(words):
        if word in _AND and 0 < at < len(words) - 1:
            first = next((one for one in words[:at] if one in BASE_VERBS or (not one.isascii() and one in VERBS)), None)
            second = words[at + 1]
            if first and second in VERBS and (first, second) not in _ONE_ACTION:
                yield Problem(("name",), {"name": tool.name, "first": first, "second": second})
                return
