"""A name that a tool of another server also has."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    others = [one.server for one in tool.shelf.by_name.get(tool.name, ()) if one.server != tool.server]
    if others and tool.name:
        yield Problem(("name",), {"name": tool.name, "servers": ", ".join(dict.fromkeys(others))})
