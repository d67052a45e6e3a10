"""Validation of a value against its schema: by a quick test where that is enough, else by the validator of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tooltrue.errors import SchemaError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema import compile_schema
from tooltrue_check.plain import Node
from tooltrue_check.subject import Subject

__all__ = ["fits", "is_of"]

# Beside these keywords, the type alone decides.
_PLAIN: Final = frozenset({"type", "title", "description", "default", "examples", "example", "format", "deprecated"})
_PLAIN_BESIDE_ENUM: Final = _PLAIN | {"enum"}
_PLAIN_BESIDE_ANY_OF: Final = _PLAIN - {"type"} | {"anyOf"}
_ROOT: Final = ("$schema", "$defs", "definitions")


def fits(tool: Subject, node: Node, value: Json) -> bool:
    """Whether a schema accepts a value in it. Formats are ignored; a schema that cannot be compiled accepts any
    value."""
    if _fits_plainly(node.schema, value):
        return True
    root = tool.definition.get(str(node.path[0]))
    around = {name: root[name] for name in _ROOT if name in root} if is_object(root) else {}
    try:
        return compile_schema({**node.schema, **around}, assert_formats=False).accepts(value)
    except SchemaError:
        return True


def _fits_plainly(schema: Mapping[str, Json], value: Json) -> bool:
    """Decide the common cases: by the type, by a list of strings, or by one of several types."""
    branches, values = schema.get("anyOf"), schema.get("enum")
    if is_array(branches) and _PLAIN_BESIDE_ANY_OF.issuperset(schema):
        return any(is_object(one) and _PLAIN.issuperset(one) and is_of(value, one.get("type")) for one in branches)
    if is_array(values) and not (isinstance(value, str) and value in values):
        return False
    return _PLAIN_BESIDE_ENUM.issuperset(schema) and is_of(value, schema.get("type"))


def is_of(value: Json, kinds: Json) -> bool:
    """Whether a value is of a JSON Schema type, or of one of several."""
    return any(_is_of(value, kind) for kind in (kinds if is_array(kinds) else [kinds]))


def _is_of(value: Json, kind: Json) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    types = _TYPES.get(kind) if isinstance(kind, str) else None
    return types is not None and isinstance(value, types)


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": int,
    "array": list,
    "object": dict,
    "null": type(None),
}
