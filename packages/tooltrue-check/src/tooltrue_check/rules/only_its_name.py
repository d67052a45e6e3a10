"""A description that only repeats the name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.tools.search.words import stem
from tooltrue_check.findings import Problem
from tooltrue_check.language import words
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_LONGEST: Final = 12
"""Longer descriptions hardly ever only repeat a name."""

_FILLING: Final = frozenset(word_list("filling"))
_GETTING: Final = frozenset(map(stem, word_list("getting")))


def problems(tool: Subject) -> Iterator[Problem]:
    text_words = tool.text.words
    if (
        text_words
        and len(text_words) <= _LONGEST
        and {stem(word) for word in text_words if word not in _FILLING} <= _name_stems(tool)
    ):
        yield Problem(("description",), {"name": tool.name, "text": tool.text.raw.strip()})


def _name_stems(tool: Subject) -> set[str]:
    """The words in the names of the tool and its server. All verbs of getting count as one."""
    stems = {stem(word) for word in (*tool.name_words, *words(tool.server))}
    return stems if stems.isdisjoint(_GETTING) else stems | _GETTING
