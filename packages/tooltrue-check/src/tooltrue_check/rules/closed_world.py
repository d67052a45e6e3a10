"""A tool that declares a closed world, although its name says that it reaches out."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.effect_verbs import CONNECTS
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.annotations.get("openWorldHint") is False:
        word = next((word for word in tool.name_words if word in CONNECTS), None)
        if word is not None:
            yield Problem(("annotations", "openWorldHint"), {"name": tool.name, "word": word})
