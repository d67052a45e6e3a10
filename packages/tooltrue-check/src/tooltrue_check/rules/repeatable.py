"""A tool that creates something, and does not declare the effect of a second call with the same arguments."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.effect_verbs import CREATES, verb
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not isinstance(tool.annotations.get("idempotentHint"), bool):
        word = verb(tool)
        if word in CREATES:
            yield Problem(("annotations", "idempotentHint"), {"name": tool.name, "word": word})
