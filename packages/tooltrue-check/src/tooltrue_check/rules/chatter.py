"""A description that chats with its reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_CHATTER: Final = cue("chatter")


def problems(tool: Subject) -> Iterator[Problem]:
    if phrase := _CHATTER.match_in(tool.text):
        yield Problem(("description",), {"word": phrase})
