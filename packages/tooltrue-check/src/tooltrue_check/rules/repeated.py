"""A value twice in a list of unique values."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.contract.digests import canonical
from tooltrue.jsonrpc.messages import Json, is_array
from tooltrue_check.findings import Fix, Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for keyword in ("required", "enum", "type"):
        for node in tool.having.get(keyword, ()):
            items = node.schema[keyword]
            if is_array(items) and len(once := _once(items)) < len(items):
                path = (*node.path, keyword)
                yield Problem(path, {"keyword": keyword}, fix=Fix(path, once))


def _once(values: list[Json]) -> list[Json]:
    if all(isinstance(value, str) for value in values):
        return list(dict.fromkeys(values))
    once: dict[bytes, Json] = {}
    for value in values:
        once.setdefault(canonical(value), value)
    return list(once.values())
