"""A default that its own schema refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import encode
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.schema_values import fits
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for node in tool.having.get("default", ()):
        value = node.schema["default"]
        if not fits(tool, node, value):
            # Libraries write `null` for a missing default, and callers hardly ever send it.
            level = Level.WARNING if value is None else None
            yield Problem((*node.path, "default"), {"value": encode(value).decode()[:80]}, level)
