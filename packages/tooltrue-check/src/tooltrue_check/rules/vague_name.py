"""A name that fits any tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_ROLES: Final = frozenset(word_list("roles"))
_ANYTHING: Final = _ROLES.union(word_list("anything"))


def problems(tool: Subject) -> Iterator[Problem]:
    words = tool.name_words
    if words and (words[-1] in _ROLES or _ANYTHING.issuperset(words)):
        yield Problem(("name",), {"name": tool.name, "word": words[-1]})
