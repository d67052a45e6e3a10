"""Two tools of one server with one name."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    same = [one for one in tool.shelf.by_name.get(tool.name, ()) if one.server == tool.server]
    if len(same) > 1 and tool.name:
        yield Problem(("name",), {"name": tool.name, "count": len(same)})
