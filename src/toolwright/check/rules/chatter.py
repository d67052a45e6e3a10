"""A description that chats with its reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolwright.check.checking import Problem
from toolwright.check.cues import cue
from toolwright.check.subject import Subject

__all__ = ["problems"]

_CHATTER: Final = cue("chatter")


def problems(tool: Subject) -> Iterator[Problem]:
    if found := _CHATTER.found(tool.text):
        yield Problem(("description",), {"word": found})
