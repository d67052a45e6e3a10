"""A placeholder in place of a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject, ToolText

__all__ = ["problems"]

_WHOLE: Final = frozenset(word_list("unwritten"))
_MARKS: Final = word_list("marks")
_TO_BE_DESCRIBED: Final = word_list("to_be_described")
_TO_BE_DONE: Final = word_list("to_be_done")
_SHORT: Final = max(map(len, _WHOLE)) + 4


def problems(tool: Subject) -> Iterator[Problem]:
    if word := _placeholder(tool.text):
        yield Problem(("description",), {"word": word})
    for one in tool.described:
        if word := _placeholder(one.text):
            yield Problem((*one.path, "description"), {"word": word})


def _placeholder(text: ToolText) -> str | None:
    if len(text.raw) < _SHORT and (whole := text.plain.strip()) in _WHOLE:
        return whole
    for phrase in (*_TO_BE_DONE, *_TO_BE_DESCRIBED) if "description" in text.plain else _TO_BE_DONE:
        if phrase in text.plain:
            return phrase
    return next((mark for mark in _MARKS if mark in text.raw), None)
