"""A list of anything, an object of anything, a value of any type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue.jsonrpc.messages import Json
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_SAYS_MORE: Final = frozenset({"enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"})
_ITEMS: Final = frozenset({"items", "prefixItems", "contains", "unevaluatedItems"})
_MEMBERS: Final = frozenset({"properties", "patternProperties", "propertyNames", "dependentSchemas"})


def problems(tool: Subject) -> Iterator[Problem]:
    if tool.refusals:
        # An invalid schema is fixed first: one pasted a level too deep has keywords that look like properties.
        return
    for one in tool.parameters:
        schema = one.schema
        if not _SAYS_MORE.isdisjoint(schema):
            continue
        if "type" not in schema:
            yield Problem(one.path, {"name": one.name, "what": "type"}, Level.WARNING)
        elif "array" in one.kinds and _ITEMS.isdisjoint(schema):
            yield Problem(one.path, {"name": one.name, "what": "items"}, Level.WARNING)
        elif "object" in one.kinds and _is_free(schema):
            yield Problem(one.path, {"name": one.name, "what": "properties"})


def _is_free(schema: Mapping[str, Json]) -> bool:
    """Whether neither names nor values of an object are known; an object with a schema for them is a map."""
    return _MEMBERS.isdisjoint(schema) and schema.get("additionalProperties") in (None, True, {})
