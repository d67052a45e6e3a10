"""The type of a parameter in a few words for a person: ``integer``, ``array of object {name, age?}``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from tooltrue.jsonrpc.messages import is_array, is_object

__all__ = ["type_of"]

_DEPTH = 5  # nested references, and nested arrays
_PARTS = 8  # of a union, a tuple or an enumeration, and keys of an object
_WIDTH = 80


def type_of(schema: Any, root: Mapping[str, Any]) -> str:
    """Describe ``schema``, a part of ``root``. References within ``root`` are followed to a limited depth; objects are
    described by their keys. Long descriptions are cut."""
    words = _type(schema, root, _DEPTH)
    return words if len(words) <= _WIDTH else f"{words[: _WIDTH - 1]}…"


def _type(schema: Any, root: Mapping[str, Any], depth: int) -> str:
    if not is_object(schema) or depth == 0:
        return "any"
    if "$ref" in schema:
        return _type(_resolve(schema["$ref"], root), root, depth - 1)
    if is_array(options := schema.get("enum")):
        return "|".join(_some(map(str, options)))
    if "const" in schema:
        return str(schema["const"])
    for word in ("anyOf", "oneOf"):
        if is_array(branches := schema.get(word)):
            return "|".join(dict.fromkeys(_some(_type(branch, root, depth - 1) for branch in branches)))
    if is_array(parts := schema.get("allOf")) and len(parts) == 1:
        return _type(parts[0], root, depth - 1)
    kinds = kind if is_array(kind := schema.get("type")) else [kind]
    return "|".join(_some(_of_kind(kind, schema, root, depth) for kind in kinds))


def _of_kind(kind: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    match kind:
        case "array":
            return _array(schema, root, depth)
        case "object":
            return _object(schema, root, depth)
        case str():
            return kind
        case _:
            return "any"


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if is_array(places := schema.get("prefixItems")):
        return f"array [{', '.join(_some(_type(place, root, depth - 1) for place in places))}]"
    items = _type(schema.get("items"), root, depth - 1)
    if items == "any":
        return "array"
    return f"array of ({items})" if "|" in items else f"array of {items}"


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if is_object(properties := schema.get("properties")):
        required = schema.get("required")
        needed = required if is_array(required) else []
        return f"object {{{', '.join(_some(name if name in needed else f'{name}?' for name in properties))}}}"
    values = _type(schema.get("additionalProperties"), root, depth - 1)
    return "object" if values == "any" else f"object of {values}"


def _some(words: Iterable[str]) -> list[str]:
    """The first few words: an untrusted schema may have any number of them, at every level."""
    first = list(islice(words, _PARTS + 1))
    return first if len(first) <= _PARTS else [*first[:_PARTS], "…"]


def _resolve(reference: Any, root: Mapping[str, Any]) -> Any:
    """The target of a reference within the schema; None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node: Any = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if is_object(node) else None
    return node
