"""A field of the definition of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.schema_values import is_of
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_KINDS: Final = {
    "name": "string",
    "title": "string",
    "description": "string",
    "annotations": "object",
    "icons": "array",
    "_meta": "object",
}


def problems(tool: Subject) -> Iterator[Problem]:
    for name, kind in _KINDS.items():
        value = tool.definition.get(name)
        if value is None and name in tool.definition and name != "description":  # left to another rule
            yield Problem((name,), {"field": name, "kind": kind}, Level.WARNING)
        elif value is not None and not is_of(value, kind):
            yield Problem((name,), {"field": name, "kind": kind})
