"""A parameter whose description only repeats its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.tools.search.words import stem
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_LONGEST: Final = 60
"""Characters; longer texts hardly ever only repeat a name."""
_FILLING: Final = frozenset(word_list("filling_of_parameters"))
_IDS: Final = frozenset(("id", "ids", "编号"))
_VALUE_KEYWORDS: Final = frozenset(("enum", "const", "format", "pattern", "examples", "properties"))
"""A schema with one of these shows which values to give."""


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        if one.text and _VALUE_KEYWORDS.isdisjoint(one.schema) and _says_only_its_name(one):
            facts = {"name": one.name, "text": one.text.raw.strip()}
            yield Problem((*one.path, "description"), facts, None if _leaves_questions(one) else Level.HINT)


def _leaves_questions(one: ToolParameter) -> bool:
    """Whether the parameter needs a text: a number has a unit or a limit, an id has a source; a city is a city."""
    return not _IDS.isdisjoint(one.name_words) or not one.kinds.isdisjoint(("integer", "number", "object", "array"))


def _says_only_its_name(one: ToolParameter) -> bool:
    if len(one.text.raw) > _LONGEST:
        return False
    stems = {stem(word) for word in one.name_words}
    return all(word in _FILLING or stem(word) in stems for word in one.text.words)
