"""A tool that makes something new, and does not say what a second call with the same arguments does."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.check.checking import Problem
from toolwright.check.effects import CREATES, verb
from toolwright.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not isinstance(tool.annotations.get("idempotentHint"), bool):
        word = verb(tool)
        if word in CREATES:
            yield Problem(("annotations", "idempotentHint"), {"name": tool.name, "word": word})
