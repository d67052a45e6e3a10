"""A description that hedges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_HEDGES: Final = cue("hedge")


def problems(tool: Subject) -> Iterator[Problem]:
    if phrase := _HEDGES.match_in(tool.text):
        yield Problem(("description",), {"word": phrase})
