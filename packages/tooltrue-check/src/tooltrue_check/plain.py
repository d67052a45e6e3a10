"""A quick test for schemas that are certainly valid: it accepts most of them in a tenth of the validator's time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from tooltrue.contract.contract import Path
from tooltrue.jsonrpc.messages import Json, is_array, is_object

__all__ = ["Node", "is_plain"]


class Node(NamedTuple):
    """A schema, or a schema within one. ``path`` leads to it from the definition."""

    path: Path
    schema: Mapping[str, Json]


_MANY: Final = 500
_DEEP: Final = 30
_LARGE: Final = 10**15


def is_plain(schemas: Iterable[Node]) -> bool:
    """Whether each of these schemas has only common keywords with values of the right type. Subschemas have to be among
    them. A schema that fails here is not refused, but left to the validator."""
    budget = _MANY
    for path, schema in schemas:
        budget -= 1
        if budget < 0 or len(path) > _DEEP or ("$schema" in schema and len(path) > 1):
            return False
        for keyword, value in schema.items():
            is_right = _RIGHT.get(keyword)
            if is_right is None or not is_right(value):
                return False
    return True


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict | bool)


def _has_schemas(value: Json) -> bool:
    return is_object(value) and all(isinstance(one, dict | bool) for one in value.values())


def _is_choice(value: Json) -> bool:
    return is_array(value) and bool(value) and all(isinstance(one, dict | bool) for one in value)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGE < value < _LARGE


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGE


def _are_names(value: Json) -> bool:
    return is_array(value) and all(isinstance(one, str) for one in value) and len(set(value)) == len(value) <= _MANY


def _are_values(value: Json) -> bool:
    return is_array(value) and 0 < len(value) <= _MANY and all(isinstance(one, str | bool | None) for one in value)


def _is_anything(value: Json) -> bool:
    return isinstance(value, str | bool | None) or _is_number(value) or value in ([], {})


def _is_kind(value: Json) -> bool:
    if isinstance(value, str):
        return value in _KINDS
    return is_array(value) and bool(value) and _are_names(value) and _KINDS.issuperset(value)


_KINDS: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_DIALECTS: Final = frozenset(
    {"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}
)
_RIGHT: Final[Mapping[str, Callable[[Json], bool]]] = {
    "$schema": lambda value: isinstance(value, str) and value in _DIALECTS,
    "type": _is_kind,
    "title": _is_text,
    "description": _is_text,
    "format": _is_text,
    "default": _is_anything,
    "enum": _are_values,
    "properties": _has_schemas,
    "required": _are_names,
    "additionalProperties": _is_schema,
    "items": _is_schema,
    "anyOf": _is_choice,
    "minimum": _is_number,
    "maximum": _is_number,
    "exclusiveMinimum": _is_number,
    "exclusiveMaximum": _is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
}
