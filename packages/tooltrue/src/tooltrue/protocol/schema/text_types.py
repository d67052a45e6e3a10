"""msgspec types that recognize valid JSON text by themselves.

``jsonschema_rs`` checks Python values. Where only the JSON of a value is known, a type made of the schema checks the
text in one pass instead. It is made where each keyword means the same to msgspec, and may still refuse valid text, such
as 1.0 for an integer. So its acceptance is final, and ``jsonschema_rs`` decides about all that it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Union, cast

import msgspec

from tooltrue.protocol.schema.words import Node

__all__ = ["TextTypes"]


class TextTypes:
    """The type of one schema, made on first use."""

    def __init__(self, root: Node) -> None:
        self._root = root

    @cached_property
    def decode(self) -> Callable[[bytes], object] | None:
        """The decoder, which raises ``msgspec.MsgspecError`` for text that it refuses; ``None`` if the schema has no
        type."""
        try:
            return msgspec.json.Decoder(_TextTypeMaker(self._root).type_of_root()).decode
        except _NoType:
            return None
        except (TypeError, ValueError, NotImplementedError):
            return None  # from msgspec: options of a union that it cannot tell apart, an integer beyond 63 bits

    def accept(self, text: bytes) -> bool:
        """Whether the type accepts ``text``: then it is valid JSON that fits the schema."""
        if (decode := self.decode) is None:
            return False
        try:
            decode(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return False
        return True


class _NoType(Exception):
    """No type means the same as the schema."""


_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
_DEFINITIONS: Final = "$defs"
_REFERENCE: Final = "#/$defs/"
# the keyword → the constraint of msgspec
_NUMBERS: Final = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_STRINGS: Final = {"minLength": "min_length", "maxLength": "max_length"}
_ARRAYS: Final = {"minItems": "min_length", "maxItems": "max_length"}
_EXACT: Final = 2**53
"""Below this, a float is compared with a bound as the number itself would be."""


class _TextTypeMaker:
    """Makes the type of each subschema. Raises ``_NoType`` for a keyword that is not in its tables."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._named: dict[str, Any] = {}
        self._open: set[str] = set()

    def type_of_root(self) -> Any:
        return self._type_of({key: value for key, value in self._root.items() if key != _DEFINITIONS})

    def _type_of(self, node: Any) -> Any:
        if not isinstance(node, dict):
            raise _NoType
        keywords = {key: value for key, value in cast("Node", node).items() if key not in _ANNOTATIONS}
        if "$ref" in keywords:
            return self._referenced(_only(keywords, "$ref"))
        if "anyOf" in keywords:
            return _union(map(self._type_of, _only(keywords, "anyOf")))
        if "enum" in keywords or "const" in keywords:
            return _options(keywords)
        match keywords.pop("type", None):
            case "object":
                return self._object(keywords)
            case "array":
                items = self._type_of(keywords.pop("items", None))
                return _bounded(list[items], keywords, _ARRAYS)
            case list() if not keywords:
                return _union(self._type_of({"type": name}) for name in cast("Node", node)["type"])
            case "string":
                return _bounded(str, keywords, _STRINGS)
            case "integer" | "number" as name:
                return _bounded(_SCALARS[name], keywords, _NUMBERS)
            case "boolean" | "null" as name if not keywords:
                return _SCALARS[name]
            case _:
                raise _NoType

    def _referenced(self, reference: str) -> Any:
        name, definitions = reference.removeprefix(_REFERENCE), self._root.get(_DEFINITIONS, {})
        if reference == name or name not in definitions or not name.isidentifier():
            raise _NoType  # another place, or a name that the reference has to escape
        if name in self._open:
            raise _NoType  # a value of this schema may be nested without end
        if name not in self._named:
            self._open.add(name)
            self._named[name] = self._type_of(definitions[name])
            self._open.remove(name)
        return self._named[name]

    def _object(self, keywords: Node) -> Any:
        properties, required = keywords.pop("properties", {}), keywords.pop("required", [])
        others = keywords.pop("additionalProperties", True)
        if keywords or not set(required) <= set(properties):
            raise _NoType
        if isinstance(others, dict) and not properties:
            return dict[str, self._type_of(others)]
        if others is not False:
            raise _NoType
        fields = [(f"p{place}", name, self._type_of(inner)) for place, (name, inner) in enumerate(properties.items())]
        return msgspec.defstruct(
            "Object",
            [(field, type_) if name in required else (field, type_, None) for field, name, type_ in fields],
            rename={field: name for field, name, _ in fields},
            forbid_unknown_fields=True,
            kw_only=True,
            gc=False,
        )


_SCALARS: Final[Mapping[str, Any]] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}


def _only(keywords: Node, name: str) -> Any:
    """Return the value of a keyword that stands alone."""
    if len(keywords) > 1:
        raise _NoType
    return keywords[name]


def _union(types: Iterable[Any]) -> Any:
    return Union[tuple(types)]  # noqa: UP007 - of types that are known only now


def _options(keywords: Node) -> Any:
    """Return the type of ``enum`` or ``const``, of strings or of integers."""
    kind = keywords.pop("type", None)
    options: list[Any] = _only(keywords, "enum") if "enum" in keywords else [_only(keywords, "const")]
    types = set(map(type, options))
    if (types == {str} and kind in (None, "string")) or (types == {int} and kind in (None, "integer")):
        return Literal[tuple(options)]
    raise _NoType


def _bounded(type_: Any, keywords: Node, constraints: Mapping[str, str]) -> Any:
    if not keywords:
        return type_
    bounds: dict[str, Any] = {}
    for keyword, bound in keywords.items():
        if keyword not in constraints or type(bound) not in (int, float) or not abs(bound) < _EXACT:
            raise _NoType
        if type_ is not float and bound != int(bound):
            raise _NoType
        bounds[constraints[keyword]] = bound if type_ is float else int(bound)
    return Annotated[type_, msgspec.Meta(**bounds)]
