"""Enum values that the type of the same schema refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import encode, is_array
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.schema_values import is_of
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for node in tool.having.get("enum", ()):
        options, kinds = node.schema["enum"], node.schema.get("type")
        for index, value in enumerate(options if is_array(options) and kinds is not None else ()):
            if not is_of(value, kinds):
                facts = {"value": encode(value).decode()[:80], "kind": encode(kinds).decode()[:80]}
                # Authors add `null` by habit, from a dialect in which it made a value optional.
                yield Problem((*node.path, "enum", index), facts, Level.WARNING if value is None else None)
