"""Two tools of one server whose names differ only in an ending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tooltrue_check.findings import Problem
from tooltrue_check.similar_tools import names_alike
from tooltrue_check.subject import Shelf, Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    others = tool.shelf.once(_others).get(id(tool), [])
    if others:
        yield Problem(("name",), {"name": tool.name, "others": ", ".join(one.name for one in others)})


def _others(shelf: Shelf) -> Mapping[int, list[Subject]]:
    others: dict[int, list[Subject]] = {}
    for one, two in names_alike(shelf.subjects):
        others.setdefault(id(one), []).append(two)
        others.setdefault(id(two), []).append(one)
    return others
