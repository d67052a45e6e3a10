"""Texts of parameters in the description of the tool."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.section is None:
        return
    section = tool.section[0].casefold()
    entries = [one for one in tool.arguments if one.name.casefold() in section]
    bare = [one.name for one in entries if not one.text]
    if entries:
        facts = {"parameters": ", ".join(bare or [one.name for one in entries])}
        yield Problem(("description",), facts, None if bare else Level.HINT)
