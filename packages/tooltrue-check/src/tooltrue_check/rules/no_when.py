"""A description that does not say when to use the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_WHEN: Final = cue("when")


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.text.language and tool.text and not _WHEN.match_in(tool.summary):
        yield Problem(("description",))
