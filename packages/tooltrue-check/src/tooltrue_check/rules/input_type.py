"""Arguments that are not declared as an object."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import encode, is_object
from tooltrue_check.findings import Fix, Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    schema = tool.definition.get("inputSchema")
    if not is_object(schema):
        fix = Fix(("inputSchema",), {"type": "object"}) if schema is None else None
        yield Problem(
            ("inputSchema",), {"found": "nothing" if schema is None else encode(schema).decode()[:40]}, fix=fix
        )
    elif schema.get("type") != "object":
        kind = encode(schema["type"]).decode()[:40] if "type" in schema else "no type"
        # Arguments are always an object, whatever the schema says: the fix refuses no call that was accepted before.
        fix = Fix(("inputSchema", "type"), "object") if "type" not in schema else None
        yield Problem(("inputSchema", "type"), {"found": kind}, fix=fix)
