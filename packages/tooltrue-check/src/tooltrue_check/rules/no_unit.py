"""A duration, a size or an amount without a unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import Cue, cue
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_TIME: Final = cue("time")
_UNIT: Final = cue("unit")
_TIMES: Final = frozenset(word_list("times"))
_AMOUNTS: Final = frozenset(word_list("amounts"))


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.parameters:
        last = one.name_words[-1] if one.name_words else ""
        if last in _TIMES and _is_number(one) and _is_silent(_TIME, one, tool):
            yield Problem(one.path, {"name": one.name})
        elif last in _AMOUNTS and _is_number(one) and _is_silent(_UNIT, one, tool):
            yield Problem(one.path, {"name": one.name}, Level.HINT)


def _is_number(one: ToolParameter) -> bool:
    return not one.kinds.isdisjoint(("integer", "number")) and "string" not in one.kinds


def _is_silent(unit: Cue, one: ToolParameter, tool: Subject) -> bool:
    if not unit.words.isdisjoint(one.name_words) or not one.text.language or not tool.text.language:
        return False
    return unit.match_in(one.text) is None and unit.match_in(tool.text) is None
