"""Converts the schemas of a description to JSON Schema 2020-12.

A tool has one schema for all of its arguments; what the description names once and uses often stands in its ``$defs``.
The converted schema accepts what the original accepts, with some differences:

- in a request there are no properties that are ``readOnly``, and in a response none that are ``writeOnly``;
- what JSON cannot hold or a validator cannot judge is left out: formats of other systems, and ``x-`` keywords;
- a branch that a ``discriminator`` maps accepts the mapped names alone;
- what lies behind many references accepts every value, or every object: the API itself judges it;
- bytes (the format ``byte``) are base64 in a request, and not looked at in a response;
- what accepts nothing is taken for a mistake: an ``enum`` without one value of its ``type``, and a required property
  that is neither described nor permitted, which is not required then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from tooltrue.errors import SchemaError
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_number, is_object
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue_toolbox.openapi.document import ApiDescription, Node, UnusablePart
from tooltrue_toolbox.openapi.texts import free_name, has_orders, identifier, plain_text, shortened
from tooltrue_toolbox.openapi.wording import (
    REASON_DYNAMIC_REFERENCE,
    REASON_SCHEMA_RENAMED,
    REASON_SCHEMA_TOO_DEEP,
    REASON_SCHEMA_TOO_LARGE,
)

__all__ = ["Direction", "SchemaConversion"]

Direction: TypeAlias = Literal["request", "response"]

_MAX_NODES: Final = 4_000
_MAX_DEPTH: Final = 40
_MAX_DESCRIBED: Final = 1_200
"""The parts of schemas after which nothing more is described: a definition beyond it accepts every value, or every
object."""
_MAX_LEVELS: Final = 8
_CUT: Final[Mapping[str, Json]] = {"description": "Not described here: see the documentation of the API."}
_TEXT: Final = 240
"""The most characters of the description of a property."""

_OF_SCHEMA: Final = frozenset(
    (
        "additionalProperties",
        "contains",
        "if",
        "then",
        "else",
        "not",
        "items",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_OF_SCHEMAS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_OF_NAMES: Final = frozenset(("properties", "patternProperties", "dependentSchemas"))
_AS_THEY_ARE: Final = frozenset(
    (
        "type",
        "enum",
        "const",
        "required",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "deprecated",
        "contentEncoding",
        "contentMediaType",
    )
)
_FORMATS: Final = frozenset(
    (
        "date",
        "date-time",
        "time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "uuid",
        "json-pointer",
        "regex",
    )
)
"""The formats that are asserted. Others mean something else to each API, or nothing."""
_TYPES: Final[Mapping[str, Any]] = {
    "string": str,
    "number": (int, float),
    "integer": (int, float),
    "array": list,
    "object": dict,
    "boolean": bool,
    "null": type(None),
}
_BASE64: Final = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_INT32: Final = (-(2**31), 2**31 - 1)


class SchemaConversion:
    """The conversion of all schemas of one tool. ``definitions`` collects what ``#/$defs/NAME`` refers to. A part that
    other tools of the description have converted is not converted again: the parts are shared, and never changed.

    A conversion raises :class:`UnusablePart` for what is too large, leads nowhere, or cannot be converted.
    """

    def __init__(self, description: ApiDescription, direction: Direction, *, patterns: bool = True) -> None:
        key = (direction, patterns)
        if key not in description.conversions:
            description.conversions[key] = _Components(description, direction, patterns)
        self._components: _Components = description.conversions[key]
        self._nodes = self._level = 0
        self.definitions: dict[str, dict[str, Json]] = {}

    def convert(self, schema: Json) -> dict[str, Json]:
        """The schema as JSON Schema 2020-12; its references lead to ``definitions``."""
        whole = self._components.part(schema)
        pending = self._entered(whole)
        # Level by level, and not by recursion: what is described nearest to the root is of most use.
        while pending:
            level, pending = pending, list[tuple[str, str]]()
            self._level += 1
            for name, reference in level:
                if self._level > _MAX_LEVELS or self._nodes > _MAX_DESCRIBED:
                    self.definitions[name] = self._components.cut(reference)
                    continue
                part = self._components.at(reference)
                pending += self._entered(part)
                self.definitions[name] = part.schema
        return whole.schema

    def _entered(self, part: _ConvertedPart) -> list[tuple[str, str]]:
        """The names and references of a part that are new to this tool."""
        self._nodes += part.nodes
        if self._nodes > _MAX_NODES:
            raise UnusablePart(REASON_SCHEMA_TOO_LARGE, limit=_MAX_NODES)
        fresh = [(name, reference) for name, reference in part.references.items() if name not in self.definitions]
        self.definitions |= {name: {} for name, _ in fresh}
        return fresh


@dataclass(frozen=True, slots=True)
class _ConvertedPart:
    """A converted schema, the references in it by their names in ``$defs``, and the number of schemas that it has."""

    schema: dict[str, Json]
    references: Mapping[str, str]
    nodes: int


class _Components:
    """The conversion of each schema that a description has, once for all tools. A schema that is referred to has one
    name in all of them."""

    def __init__(self, description: ApiDescription, direction: Direction, has_patterns: bool) -> None:
        self._description = description
        self._direction: Direction = direction
        self._has_patterns = has_patterns
        self._names: dict[str, str] = {}
        self._used_names = set[str]()
        self._parts: dict[str, _ConvertedPart] = {}

    def at(self, reference: str) -> _ConvertedPart:
        if reference not in self._parts:
            self._parts[reference] = self.part(self._description.at(reference), reference)
        return self._parts[reference]

    def cut(self, reference: str) -> dict[str, Json]:
        """The rest of a schema that is not described: that it is an object, if it is one."""
        schema = self._description.at(reference)
        is_any_object = is_object(schema) and schema.get("type") == "object" and schema.get("nullable") is not True
        return {"type": "object", **_CUT} if is_any_object else dict(_CUT)

    def part(self, schema: Json, own_reference: str = "") -> _ConvertedPart:
        is_recursive = is_object(schema) and schema.get("$recursiveAnchor") is True
        own_reference = own_reference if is_recursive else ""
        conversion = _PartConversion(
            self._description, self._direction, self._has_patterns, self.name_of, own_reference
        )
        converted = _as_object(conversion.convert(schema))
        return _ConvertedPart(converted, conversion.references, conversion.nodes)

    def name_of(self, reference: str) -> str:
        if reference not in self._names:
            self._names[reference] = name = free_name(_definition_name(reference), self._used_names)
            self._used_names.add(name)
        return self._names[reference]


class _PartConversion:
    """The conversion of one schema of a description, up to the references in it. ``recursive``: what ``$recursiveRef``
    leads to, the keyword of 2019-09 for a schema within itself, which some descriptions have."""

    def __init__(
        self,
        description: ApiDescription,
        direction: Direction,
        has_patterns: bool,
        name_of: Callable[[str], str],
        recursive: str,
    ) -> None:
        self._description = description
        self._direction: Direction = direction
        self._has_patterns = has_patterns
        self._name_of = name_of
        self._recursive = recursive
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self.references: dict[str, str] = {}
        self.nodes = 0

    def convert(self, schema: Json) -> Json:
        return self._schema(schema, 0)

    # --- one schema ---------------------------------------------------------------------------------------------------

    def _schema(self, node: Json, depth: int) -> Json:
        if isinstance(node, bool):
            return node
        if not is_object(node):
            return {}
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise UnusablePart(REASON_SCHEMA_TOO_LARGE, limit=_MAX_NODES)
        if depth > _MAX_DEPTH:
            raise UnusablePart(REASON_SCHEMA_TOO_DEEP, limit=_MAX_DEPTH)
        if node.get("$recursiveRef") == "#" and self._recursive:
            return self._referred(self._recursive)
        if "$dynamicRef" in node or "$recursiveRef" in node:
            raise UnusablePart(REASON_DYNAMIC_REFERENCE)
        if isinstance(new_base := node.get("$id"), str):
            raise UnusablePart(REASON_SCHEMA_RENAMED, keyword="$id", value=new_base[:200])
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._referring(reference, node, depth)
        return self._keywords(node, depth)

    def _referring(self, reference: str, node: Node, depth: int) -> Json:
        target = self._target(reference, depth)
        # OpenAPI 3.0 ignores what stands beside a reference; in 3.1 it counts too.
        beside = {} if self._description.version == "3.0" else {key: node[key] for key in node if key != "$ref"}
        if not beside:
            return target
        converted = self._keywords(beside, depth)
        if not is_object(target):
            return {**converted, "allOf": [target]}
        if not (converted.keys() & target.keys()):
            return {**target, **converted}
        return {**converted, "allOf": [*self._listed(converted.get("allOf")), target]}

    def _listed(self, value: Json) -> list[Json]:
        return value if is_array(value) else []

    def _target(self, reference: str, depth: int) -> Json:
        schema = self._description.at(reference)
        if is_object(schema) and not any(
            isinstance(value, dict | list) for key, value in schema.items() if key != "enum"
        ):
            return self._schema(schema, depth + 1) if "$ref" not in schema else self._chained(schema, depth)
        return self._referred(reference)

    def _referred(self, reference: str) -> Json:
        name = self._name_of(reference)
        self.references[name] = reference
        return {"$ref": f"#/$defs/{name}"}

    def _chained(self, schema: Node, depth: int) -> Json:
        self._description.followed(dict(schema))  # a cycle of references alone raises here
        return self._schema(dict(schema), depth + 1)

    def _keywords(self, node: Node, depth: int) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for key, value in node.items():
            if key in _AS_THEY_ARE:
                made[key] = value
            elif key in _OF_SCHEMA:
                made[key] = self._schema(value, depth + 1)
            elif key in _OF_SCHEMAS and is_array(value):
                made[key] = [self._schema(one, depth + 1) for one in value]
            elif key in _OF_NAMES and is_object(value):
                # A map in several files may be a reference: a property of that name would have a schema, not a text.
                named = self._description.followed(value)
                made[key] = {name: self._schema(one, depth + 1) for name, one in named.items()}
        if isinstance(text := node.get("description"), str) and (text := plain_text(text)):
            made["description"] = shortened(text, _TEXT)
        if not self._has_patterns:
            made.pop("pattern", None)
        self._set_bounds(made)
        self._set_format(made, node)
        self._set_enum(made)
        self._set_type(made, node)
        self._set_properties(made, node)
        self._map_branches(made, node, depth)
        self._set_values(made, node)
        return made if not self._may_be_null(node) else _or_null(made)

    # --- what differs -------------------------------------------------------------------------------------------------

    def _set_bounds(self, made: dict[str, Json]) -> None:
        """In OpenAPI 3.0 an exclusive bound is a mark beside the bound."""
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            mark = made.get(exclusive)
            if not isinstance(mark, bool):
                continue
            del made[exclusive]
            if mark and is_number(made.get(bound)):
                made[exclusive] = made.pop(bound)

    def _set_format(self, made: dict[str, Json], node: Node) -> None:
        name = node.get("format")
        if name == "int32" and node.get("type") == "integer":
            if "exclusiveMinimum" not in made:
                made.setdefault("minimum", _INT32[0])
            if "exclusiveMaximum" not in made:
                made.setdefault("maximum", _INT32[1])
        elif name == "byte" and node.get("type") == "string":
            made["contentEncoding"] = "base64"
            if self._has_patterns and self._direction == "request":
                made.setdefault("pattern", _BASE64)
        elif name in _FORMATS and node.get("type") in ("string", None):
            made["format"] = name

    def _set_type(self, made: dict[str, Json], node: Node) -> None:
        kind = made.get("type")
        is_answer = self._direction == "response"
        if node.get("nullable") is not True or not isinstance(kind, str):
            return
        if self._description.version != "3.0" and not is_answer:
            return  # the keyword has no meaning there, though some APIs return null where it stands
        made["type"] = [kind, "null"]
        if is_answer and is_array(options := made.get("enum")) and None not in options:
            made["enum"] = [*options, None]

    def _may_be_null(self, node: Node) -> bool:
        """By the specification ``nullable`` counts beside ``type`` alone. Many APIs return null where it stands beside
        ``allOf``, so that a response may; a request never holds it."""
        return node.get("nullable") is True and "type" not in node and self._direction == "response"

    def _set_properties(self, made: dict[str, Json], node: Node) -> None:
        """Leave out the properties that the other direction has alone."""
        node_properties = node.get("properties")
        properties = self._description.followed(node_properties) if is_object(node_properties) else dict[str, Any]()
        hidden = {name for name, one in properties.items() if self._is_hidden(one)}
        if is_object(properties := made.get("properties")):
            made["properties"] = {name: one for name, one in properties.items() if name not in hidden}
        if is_array(required := made.get("required")):
            made["required"] = [name for name in dict.fromkeys(map(str, required)) if name not in hidden]
            if made["required"]:
                self._declare_required(made)
            else:
                del made["required"]

    def _declare_required(self, made: dict[str, Json]) -> None:
        """Name each required property with what it accepts: a model must know that it is there."""
        kinds = made.get("type", "object")
        if "object" not in (kinds if is_array(kinds) else [kinds]):
            del made["required"]
            return
        others = made.get("additionalProperties", {})
        properties = {**made.get("properties", {})}
        if others is False and "patternProperties" not in made:
            made["required"] = [name for name in made["required"] if name in properties]
        for name in made["required"]:
            properties.setdefault(name, others if is_object(others) else {})
        made["properties"] = properties

    def _set_enum(self, made: dict[str, Json]) -> None:
        """Keep the values of the type. Where there is none, the description has a mistake: numbers stand for their
        texts, and the values of a list for those of its items."""
        kind, options = made.get("type"), made.get("enum")
        if not isinstance(kind, str) or not is_array(options):
            return
        values_of_type = [one for one in options if _is_of_type(one, kind)]
        if values_of_type:
            made["enum"] = values_of_type
            return
        del made["enum"]
        if kind == "string" and all(isinstance(one, int | float) for one in options):
            made["enum"] = [encode(one).decode() for one in options]
        elif kind == "array" and is_object(items := made.get("items")) and "enum" not in items:
            made["items"] = {**items, "enum": options}
            self._set_enum(made["items"])

    def _is_hidden(self, schema: Json, levels: int = 3) -> bool:
        try:
            if not is_object(schema) or schema.get(self._hidden) is True:
                return is_object(schema)
            followed = self._description.followed(schema)
            parts = followed.get("allOf")
            return followed.get(self._hidden) is True or (
                levels > 0 and is_array(parts) and any(self._is_hidden(one, levels - 1) for one in parts)
            )
        except UnusablePart:
            return False  # the conversion of the property itself reports it

    def _map_branches(self, made: dict[str, Json], node: Node, depth: int) -> None:
        """Let each branch that a discriminator maps accept its own names. A branch without a mapping stays as it is:
        its schema is often narrower than its name."""
        discriminator = node.get("discriminator")
        if not is_object(discriminator) or not is_object(mapping := discriminator.get("mapping")):
            return
        property_name = str(discriminator.get("propertyName", ""))
        for keyword in ("oneOf", "anyOf"):
            branches, converted = node.get(keyword), made.get(keyword)
            if not is_array(branches) or not is_array(converted):
                continue
            made[keyword] = [
                _mapped(one, property_name, list(_names_of(branch, mapping)))
                for one, branch in zip(converted, branches, strict=True)
            ]

    def _set_values(self, made: dict[str, Json], node: Node) -> None:
        """Keep a default and an example of a plain value if they are valid."""
        if not _is_leaf(made):
            return
        examples: list[Json] = node["examples"][:1] if is_array(node.get("examples")) else []
        examples = [node["example"]] if "example" in node else examples
        if not examples and "default" not in node:
            return
        try:
            schema = compile_schema(made, bounds=OWN)
        except SchemaError:
            return  # the tool reports it
        if examples and _is_short(examples[0]) and schema.accepts(examples[0]) and not _is_order(examples[0]):
            made["examples"] = examples
        if "default" in node and schema.accepts(node["default"]) and not _is_order(node["default"]):
            made["default"] = node["default"]


def _definition_name(reference: str) -> str:
    """The name of a schema: the last part of the reference, which many places within others share (``items``)."""
    place, _, last = reference.rpartition("/")
    name = identifier(last.replace("~1", "/").replace("~0", "~"), 40) or "schema"
    is_named = place.endswith(("#", "/schemas", "/definitions")) or "#/" not in reference
    return name if is_named else f"{name}_{hashlib.sha256(reference.encode()).hexdigest()[:6]}"


def _is_of_type(value: Json, kind: str) -> bool:
    if isinstance(value, bool) or value is None:
        return kind == ("null" if value is None else "boolean")
    return isinstance(value, _TYPES.get(kind, object))


def _as_object(schema: Json) -> dict[str, Json]:
    return schema if is_object(schema) else ({} if schema else {"not": {}})


def _or_null(schema: dict[str, Json]) -> dict[str, Json]:
    text = schema.pop("description", None)
    return {"anyOf": [schema, {"type": "null"}], **({} if text is None else {"description": text})}


def _is_leaf(schema: Mapping[str, Json]) -> bool:
    return not schema.keys() & (_OF_SCHEMAS | _OF_SCHEMA | _OF_NAMES | {"$ref"})


def _is_order(value: Json) -> bool:
    """Whether a text would be taken for an order to the model, such as ``<|endoftext|>``."""
    return isinstance(value, str) and has_orders(value)


def _is_short(value: Json) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 80)


def _names_of(branch: Json, mapping: Mapping[str, Json]) -> Iterator[str]:
    """The names that a mapping gives to a branch, by its reference or by the name of its schema."""
    reference = branch.get("$ref") if is_object(branch) else None
    if isinstance(reference, str):
        for name, target in mapping.items():
            if target in (reference, reference.rpartition("/")[2]):
                yield name


def _mapped(branch: Json, property_name: str, names: list[str]) -> Json:
    if not names:
        return branch
    own: dict[str, Any] = {"properties": {property_name: {"enum": names}}, "required": [property_name]}
    return {**own, "allOf": [branch]}
