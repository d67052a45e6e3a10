"""A description that does not state the limits of the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_LIMITS: Final = cue("limits")


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.text.language and tool.text and not _LIMITS.match_in(tool.summary):
        yield Problem(("description",))
