"""A placeholder in place of a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.check.checking import Problem
from tooltrue.check.lists import listed
from tooltrue.check.subject import Subject, Text

__all__ = ["problems"]

_WHOLE: Final = frozenset(listed("unwritten"))
_MARKS: Final = listed("marks")
_TO_BE_DESCRIBED: Final = listed("to_be_described")
_TO_BE_DONE: Final = listed("to_be_done")
_SHORT: Final = max(map(len, _WHOLE)) + 4


def problems(tool: Subject) -> Iterator[Problem]:
    if found := _placeholder(tool.text):
        yield Problem(("description",), {"word": found})
    for one in tool.described:
        if found := _placeholder(one.text):
            yield Problem((*one.path, "description"), {"word": found})


def _placeholder(text: Text) -> str | None:
    if len(text.raw) < _SHORT and (whole := text.plain.strip()) in _WHOLE:
        return whole
    for phrase in (*_TO_BE_DONE, *_TO_BE_DESCRIBED) if "description" in text.plain else _TO_BE_DONE:
        if phrase in text.plain:
            return phrase
    return next((mark for mark in _MARKS if mark in text.raw), None)
