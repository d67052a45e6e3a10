"""A single argument that wraps all others."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import is_object
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if len(tool.arguments) == 1:
        (only,) = tool.arguments
        inner = only.schema.get("properties")
        if "object" in only.kinds and is_object(inner) and inner:
            yield Problem(only.path, {"name": only.name, "count": len(inner)})
