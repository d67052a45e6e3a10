"""An output schema that clients cannot use."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import encode, is_object
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if "outputSchema" not in tool.definition:
        return
    schema = tool.definition["outputSchema"]
    if not is_object(schema):
        yield Problem(("outputSchema",), {"found": encode(schema).decode()[:40]})
    elif schema.get("type") != "object":
        kind = encode(schema["type"]).decode()[:40] if "type" in schema else "no type"
        yield Problem(("outputSchema", "type"), {"found": kind}, Level.HINT)
