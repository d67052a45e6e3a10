"""Two tools that a model would confuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tooltrue_check.findings import Problem
from tooltrue_check.similar_tools import Pair, confusable
from tooltrue_check.subject import Shelf, Subject

__all__ = ["problems"]

_MAX_NAMED = 3


def problems(tool: Subject) -> Iterator[Problem]:
    pairs = tool.shelf.once(_pairs).get(id(tool), [])
    if pairs:
        others = [pair.other(tool) for pair in pairs]
        named = [one.name if one.server == tool.server else f"{one.server}/{one.name}" for one in others]
        facts = {"name": tool.name, "others": ", ".join(named[:_MAX_NAMED]), "count": len(named)}
        yield Problem(("description",), facts)


def _pairs(shelf: Shelf) -> Mapping[int, list[Pair]]:
    """The pairs of each tool. Tools with the same text are left to another rule."""
    by_tool: dict[int, list[Pair]] = {}
    for pair in confusable(shelf.subjects):
        if not pair.has_one_text:
            by_tool.setdefault(id(pair.first), []).append(pair)
            by_tool.setdefault(id(pair.second), []).append(pair)
    return by_tool
