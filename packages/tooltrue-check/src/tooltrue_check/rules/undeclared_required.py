"""A required property that is declared nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue_check.findings import Problem
from tooltrue_check.plain import Node
from tooltrue_check.subject import Subject

__all__ = ["problems"]

# A schema in one of these keywords applies together with the one around it, which may declare the property.
_PARTIAL: Final = frozenset(
    {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_ELSEWHERE: Final = _PARTIAL | {"$ref", "$dynamicRef", "patternProperties", "unevaluatedProperties"}


def problems(tool: Subject) -> Iterator[Problem]:
    for node in tool.having.get("required", ()):
        required, declared = node.schema["required"], node.schema.get("properties", {})
        if not is_array(required) or not is_object(declared) or _is_partial(node):
            continue
        for index, name in enumerate(required):
            if isinstance(name, str) and name not in declared:
                yield Problem((*node.path, "required", index), {"name": name})


def _is_partial(node: Node) -> bool:
    inside = any(step in _PARTIAL for step in node.path[-2:])
    return inside or not _ELSEWHERE.isdisjoint(node.schema) or is_object(node.schema.get("additionalProperties"))
