"""A description that does not state the result, without an output schema that would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_RESULT: Final = cue("result")


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.output is None and tool.text.language and tool.text and not _RESULT.match_in(tool.text):
        yield Problem(("description",))
