"""A description that hedges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.check.findings import Problem
from tooltrue.check.lexicon.cues import cue
from tooltrue.check.subject import Subject

__all__ = ["problems"]

_HEDGES: Final = cue("hedge")


def problems(tool: Subject) -> Iterator[Problem]:
    if phrase := _HEDGES.match_in(tool.text):
        yield Problem(("description",), {"word": phrase})
