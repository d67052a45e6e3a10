"""The shape of an answer: the schema of a description, widened so that it accepts what real APIs return.

It accepts all that the schema of the description accepts, and moreover:

- every property may be missing, and others may be there;
- every value within may be null, and a text or a number may stand where the other one is described;
- values beyond an ``enum``, lengths, bounds, formats and patterns;
- anything below the third level, or where that has more than 60 parts, below the second or the first.

So it still has the names and kinds of what is returned, which is what a program or a model reads it for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue_toolbox.openapi.answer_fields import FieldTree, field_tree
from tooltrue_toolbox.openapi.document import ApiDescription, Node, UnusablePart

__all__ = ["ResponseShapes"]

_MAX_LEVELS: Final = 3
_MAX_PARTS: Final = 60
_TYPES: Final[Mapping[str, Sequence[str]]] = {
    "string": ("string", "number", "null"),
    "number": ("number", "string", "null"),
    "integer": ("number", "string", "null"),
    "boolean": ("boolean", "number", "string", "null"),
    "array": ("array", "null"),
    "object": ("object", "null"),
    "null": ("null",),
}
"""The types that are accepted where one is described, that one first."""

Shape: TypeAlias = dict[str, Json]


class ResponseShapes:
    """The shapes of the answers of one API. Many operations share a schema, so that they share its shape."""

    def __init__(self, description: ApiDescription) -> None:
        self.description = description
        self._by_references: dict[tuple[str, ...], Shape] = {}

    def shape(self, schemas: Sequence[Json], fields: Sequence[str] = ()) -> Shape:
        """The shape of answers of these schemas, reduced to ``fields`` if there are some."""
        shape = self._whole(schemas)
        if fields:
            shape = _reduced(shape, field_tree(fields))
        # Session-based revisions put a result into an object unless the schema has this one type.
        types = _listed(shape, "type")
        return {**shape, "type": types[0]} if len(types) == 1 else shape

    def _whole(self, schemas: Sequence[Json]) -> Shape:
        references = tuple(dict.fromkeys(str(one["$ref"]) for one in schemas if is_object(one) and "$ref" in one))
        if not all(is_object(one) and one.keys() == {"$ref"} for one in schemas):
            return self._deepest(schemas)
        if references not in self._by_references:
            self._by_references[references] = self._deepest([{"$ref": one} for one in references])
        return self._by_references[references]

    def _deepest(self, schemas: Sequence[Json]) -> Shape:
        """The shape with as many levels as there is room for."""
        for levels in range(_MAX_LEVELS, 1, -1):
            with contextlib.suppress(_TooManyParts):
                return self._of_levels(schemas, levels)
        return self._of_levels(schemas, 1)

    def _of_levels(self, schemas: Sequence[Json], levels: int) -> Shape:
        reader = _ShapeReader(self.description, levels)
        return _either([reader.shape(schema) for schema in schemas])


class _TooManyParts(Exception):
    """The shape has more parts than are published."""


class _ShapeReader:
    """Reads the shape of a schema down to ``levels``. Raises :class:`_TooManyParts`, unless ``levels`` is 1."""

    def __init__(self, description: ApiDescription, levels: int) -> None:
        self._description = description
        self._levels = levels
        self._parts = 0

    def shape(self, schema: Json, level: int = 0) -> Shape:
        node = self._node(schema)
        if level > self._levels or not self._has_room():
            return {}
        made = self._own(node, level)
        for keyword in ("anyOf", "oneOf"):
            if is_array(branches := node.get(keyword)) and branches:
                made = _both(made, _either([self.shape(branch, level) for branch in branches]))
        for part in parts if is_array(parts := node.get("allOf")) else ():
            made = _both(made, self.shape(part, level))
        if node.get("nullable") is True and (types := _listed(made, "type")) and "null" not in types:
            made["type"] = [*types, "null"]
        return made

    def _has_room(self) -> bool:
        self._parts += 1
        if self._parts > _MAX_PARTS and self._levels > 1:
            raise _TooManyParts
        return self._parts <= _MAX_PARTS

    def _node(self, schema: Json) -> Node:
        """The schema without a reference. Without the keywords beside one it accepts more; so it does if the reference
        leads nowhere."""
        try:
            return self._description.followed(schema) if is_object(schema) else {}
        except UnusablePart:
            return {}

    def _own(self, node: Node, level: int) -> Shape:
        """The shape by the keywords of the schema itself."""
        made = Shape()
        kind = node.get("type")
        described = kind if is_array(kind) else [kind]
        types = dict.fromkeys(name for one in described for name in _TYPES.get(str(one), ()))
        if level == 0 and "null" not in described:
            types.pop("null", None)
        if types:
            made["type"] = [*types]
        properties = {
            name: self.shape(one, level + 1)
            for name, one in self._node(node.get("properties")).items()
            if level < self._levels and not (is_object(one) and one.get("writeOnly") is True)
        }
        if properties:
            made["properties"] = {**properties}
        if "prefixItems" not in node and (items := self.shape(node.get("items"), level + 1)):
            made["items"] = items
        return made


def _both(one: Shape, other: Shape) -> Shape:
    """The shape of values that fit both."""
    made = {**other, **one}
    types, others = _listed(one, "type"), _listed(other, "type")
    if common := [name for name in types if name in others]:
        made["type"] = common
    properties, more = _named(one), _named(other)
    if properties and more:
        made["properties"] = {
            **more,
            **{name: _both(shape, more[name]) if name in more else shape for name, shape in properties.items()},
        }
    if "items" in one and "items" in other:
        made["items"] = _both(_shape(one["items"]), _shape(other["items"]))
    return made


def _either(shapes: Sequence[Shape]) -> Shape:
    """The shape of values that fit one of them at least."""
    made = Shape()
    if all("type" in shape for shape in shapes):
        made["type"] = [*dict.fromkeys(name for shape in shapes for name in _listed(shape, "type"))]
    objects = [_named(shape) for shape in shapes if _may_be(shape, "object")]
    if names := dict.fromkeys(name for properties in objects for name in properties):
        made["properties"] = {name: _either([one.get(name, {}) for one in objects]) for name in names}
    arrays = [_shape(shape.get("items")) for shape in shapes if _may_be(shape, "array")]
    if all(arrays) and arrays:
        made["items"] = _either(arrays)
    return made


def _may_be(shape: Shape, kind: str) -> bool:
    return kind in _listed(shape, "type") or "type" not in shape


def _listed(shape: Shape, key: str) -> list[Json]:
    value = shape.get(key)
    return value if is_array(value) else []


def _named(shape: Shape) -> dict[str, Shape]:
    properties = shape.get("properties")
    return {name: _shape(one) for name, one in properties.items()} if is_object(properties) else {}


def _shape(value: Json) -> Shape:
    return value if is_object(value) else {}


def _reduced(shape: Shape, tree: FieldTree) -> Shape:
    """The shape of what ``only_fields`` leaves."""
    made = {**shape}
    if "items" in shape:
        made["items"] = _reduced(_shape(shape["items"]), tree)
    if properties := _named(shape):
        made["properties"] = {
            name: properties[name] if within is None else _reduced(properties[name], within)
            for name, within in tree.items()
            if name in properties
        }
    return made
