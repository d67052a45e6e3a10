"""Whether a value fits the schema that it stands in: asked of the judge of calls, unless it is plain to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolwright.check.plain import Node
from toolwright.check.subject import Subject
from toolwright.errors import SchemaError
from toolwright.jsonrpc.messages import Json, is_array, is_object
from toolwright.protocol.schema import compile_schema

__all__ = ["fits", "is_of"]

# Beside these, the type alone decides.
_PLAIN: Final = frozenset({"type", "title", "description", "default", "examples", "example", "format", "deprecated"})
_ROOT: Final = ("$schema", "$defs", "definitions")


def fits(tool: Subject, node: Node, value: Json) -> bool:
    """Whether the schema accepts a value that is in it. Formats are left out; so is a schema that nobody can judge."""
    if _PLAIN.issuperset(node.schema) and is_of(value, node.schema.get("type")):
        return True
    root = tool.definition.get(str(node.path[0]))
    around = {name: root[name] for name in _ROOT if name in root} if is_object(root) else {}
    try:
        return compile_schema({**node.schema, **around}, assert_formats=False).accepts(value)
    except SchemaError:
        return True


def is_of(value: Json, kinds: Json) -> bool:
    """Whether a value is of a type, or of one of several, as schemas name them."""
    return any(_is_of(value, kind) for kind in (kinds if is_array(kinds) else [kinds]))


def _is_of(value: Json, kind: Json) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    found = _TYPES.get(kind) if isinstance(kind, str) else None
    return found is not None and isinstance(value, found)


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": int,
    "array": list,
    "object": dict,
    "null": type(None),
}
