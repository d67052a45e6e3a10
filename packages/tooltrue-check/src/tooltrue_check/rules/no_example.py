"""A nested argument that the model has to build without an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue.jsonrpc.messages import Json
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_MANY: Final = 6
"""Properties within one argument."""


def problems(tool: Subject) -> Iterator[Problem]:
    if len(tool.parameters) - len(tool.arguments) < 2 or _shows(tool.input):
        return
    for one in tool.arguments:
        within = [inner for inner in tool.parameters if inner.depth > 1 and inner.path[: len(one.path)] == one.path]
        is_complex = len(within) >= _MANY or any(inner.depth > 2 for inner in within)
        if is_complex and not _shows(one.schema) and not _any_shows(within):
            yield Problem(one.path, {"name": one.name, "properties": len(within)})


def _any_shows(within: list[ToolParameter]) -> bool:
    return any(_shows(inner.schema) and "properties" in inner.schema for inner in within)


def _shows(schema: Mapping[str, Json]) -> bool:
    return "examples" in schema or "example" in schema or bool(schema.get("default"))
