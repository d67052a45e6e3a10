"""A tool that changes something, and does not mention other effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.lexicon.verbs import READS, WRITES
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_EFFECTS: Final = cue("effects")
_CHANGES: Final = WRITES - READS


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.is_read_only or not tool.text or not tool.text.language or not READS.isdisjoint(tool.name_words):
        return
    verb = next((word for word in (*tool.text.words[:1], *tool.name_words[:1]) if word in _CHANGES), None)
    if verb and not _EFFECTS.match_in(tool.summary):
        yield Problem(("description",), {"verb": verb})
