"""A tool that destroys or sends, without a hint on it."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.card import Level
from tooltrue_check.findings import Fix, Problem
from tooltrue_check.lexicon.effect_verbs import DESTROYS, SENDS, is_harmless, verb
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    annotations = tool.annotations
    if isinstance(annotations.get("destructiveHint"), bool) or annotations.get("readOnlyHint") is True:
        return
    word = verb(tool)
    if word in DESTROYS and not is_harmless(tool):
        # These are the protocol's defaults for missing hints, so writing them out takes no promise back.
        fix = Fix(("annotations",), {**annotations, "readOnlyHint": False, "destructiveHint": True})
        yield Problem(("annotations", "destructiveHint"), {"name": tool.name, "word": word}, fix=fix)
    elif word in SENDS and not is_harmless(tool):
        yield Problem(("annotations", "destructiveHint"), {"name": tool.name, "word": word}, Level.HINT)
