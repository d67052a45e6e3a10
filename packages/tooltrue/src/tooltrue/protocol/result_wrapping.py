"""Schemas that move to another place in a document: references to their former root are rewritten.

Structured results are wrapped as ``{"result": value}`` for clients that accept objects only, and so are their schemas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema.survey import BASE, absolute

__all__ = ["at_pointer", "wrapped", "wraps"]


def wraps(schema: Mapping[str, Json] | None) -> bool:
    """Whether results of this schema must be wrapped: session-based revisions allow only objects as structured
    content."""
    return schema is not None and schema.get("type") != "object"


_WRAPPED = "#/properties/result"
_DEFINED = ("$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef")
_VALUES = ("const", "enum", "default", "examples")
# The keys in these are names chosen by the author, which may coincide with JSON Schema keywords.
_NAMED = (*_DEFINED, "properties", "patternProperties", "dependentSchemas", "dependencies")


def wrapped(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The schema of ``{"result": value}`` that accepts exactly the values accepted by ``schema``.

    Its definitions stay at the root, where references look for them, and so does its ``$id``.
    """
    move = _Moved(schema, _WRAPPED, _DEFINED)
    parts = move.part(dict(schema), BASE)
    root = {key: parts.pop(key) for key in ("$schema", *_DEFINED) if key in parts}
    if move.document != BASE:
        root["$id"] = parts.pop("$id")
    return {**root, "type": "object", "properties": {"result": parts}, "required": ["result"]}


def at_pointer(schema: Mapping[str, Json], to: str) -> dict[str, Json]:
    """The same schema where it is not a document of its own, but stands at ``to`` (``#/…``) of another one. It loses
    its ``$id``, since readers of such documents do not look for one."""
    parts = _Moved(schema, to, loses_id=True).part(schema, BASE)
    parts.pop("$id", None)
    return parts


class _Moved:
    """Rewrites the references to the former root, which is now at ``to``, in parts of a schema. The parts of the root
    named by ``stays`` stay at the root. ``document`` is the root's own address, which is gone if it ``loses_id``."""

    def __init__(
        self, schema: Mapping[str, Json], to: str, stays: Sequence[str] = (), *, loses_id: bool = False
    ) -> None:
        self._loses_id = loses_id
        self._to = to
        self._stays = [[name] for name in stays]
        # Draft-07, section 8.3: siblings of a $ref are ignored.
        self._ref_stands_alone = "draft-07" in str(schema.get("$schema"))
        self.document = self._base(schema, BASE)

    def _base(self, node: Mapping[str, Json], base: str) -> str:
        """The base address of references in ``node``, given the address ``base`` of the enclosing resource."""
        id = node.get("$id")
        if not isinstance(id, str) or id.startswith("#") or (self._ref_stands_alone and "$ref" in node):
            return base
        return absolute(base, id).removesuffix("#")

    def part(self, node: Mapping[str, Json], base: str) -> dict[str, Json]:
        base = self._base(node, base)
        return {keyword: self._rewrite(keyword, value, base) for keyword, value in node.items()}

    def _rewrite(self, keyword: str, value: Json, base: str) -> Json:
        if keyword in _VALUES:
            return value
        if keyword in _REFERENCES and isinstance(value, str):
            return self._reference(value, base)
        if keyword in _NAMED and is_object(value):
            return {name: self._any(inner, base) for name, inner in value.items()}
        return self._any(value, base)

    def _any(self, value: Json, base: str) -> Json:
        if is_array(value):
            return [self._any(item, base) for item in value]
        return self.part(value, base) if is_object(value) else value

    def _reference(self, text: str, base: str) -> str:
        document, _, pointer = absolute(base, text).partition("#")
        if document != self.document or (pointer and not pointer.startswith("/")):
            return text  # targets in a part with its own address, and anchors, have moved along
        if unquote(pointer).split("/")[1:2] in self._stays:
            return text
        address = "" if self._loses_id and base == self.document else text.partition("#")[0]
        return f"{address}{self._to}{pointer}"
