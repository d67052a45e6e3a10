"""A description that only repeats the name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.check.checking import Problem
from tooltrue.check.language import stem, words
from tooltrue.check.lists import listed
from tooltrue.check.subject import Subject

__all__ = ["problems"]

_LONGEST: Final = 12
"""Longer descriptions hardly ever only repeat a name."""

_FILLING: Final = frozenset(listed("filling"))
_GETTING: Final = frozenset(map(stem, listed("getting")))


def problems(tool: Subject) -> Iterator[Problem]:
    said = tool.text.words
    if said and len(said) <= _LONGEST and {stem(word) for word in said if word not in _FILLING} <= _known(tool):
        yield Problem(("description",), {"name": tool.name, "text": tool.text.raw.strip()})


def _known(tool: Subject) -> set[str]:
    """The words in the names of the tool and its server. All verbs of getting count as one."""
    known = {stem(word) for word in (*tool.name_words, *words(tool.server))}
    return known if known.isdisjoint(_GETTING) else known | _GETTING
