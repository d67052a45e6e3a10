"""Describes, checks and converts plain types: text, numbers, yes or no, choices, lists, objects, and unions of these.

The schemas and values are those of pydantic, byte for byte, without its import and without an adapter for each tool.
For any other type there is no schema and no reader here, and pydantic is asked.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.tools.binding.signature import MISSING, FunctionParameter, field_info

__all__ = ["Misfit", "Reader", "arguments_reader", "arguments_schema", "fits", "schema_of"]

Reader = Callable[[Any], Any]


class Misfit(Exception):
    """A value is not exactly of its plain type; pydantic decides whether it can be converted."""


# -- schemas -----------------------------------------------------------------------------------------------------------

_MANY = 256
"""Parameters, options and choices beyond this number are left to pydantic and to the survey of schemas."""
_DEEPEST = 8

_NAMES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_BOUNDS: Mapping[str, Mapping[str, str]] = {
    "Ge": {"ge": "minimum"},
    "Gt": {"gt": "exclusiveMinimum"},
    "Le": {"le": "maximum"},
    "Lt": {"lt": "exclusiveMaximum"},
    "MinLen": {"min_length": "minLength"},
    "MaxLen": {"max_length": "maxLength"},
}
"""Classes of `annotated_types`, the member that holds the bound, and its keyword."""


def arguments_schema(parameters: Sequence[FunctionParameter]) -> dict[str, Any] | None:
    """Return the published schema of the arguments; ``None`` unless all types and defaults are plain."""
    properties: dict[str, Any] = {}
    for parameter in parameters:
        schema = _property(parameter)
        if schema is None:
            return None
        properties[parameter.name] = schema
    if len(properties) > _MANY:
        return None
    required = [parameter.name for parameter in parameters if parameter.default is MISSING]
    schema = {"additionalProperties": False, "properties": properties}
    return {**schema, **({"required": required} if required else {}), "type": "object"}


def _property(parameter: FunctionParameter) -> dict[str, Any] | None:
    type_, metadata = _unwrapped(parameter.type)
    schema = schema_of(type_)
    if schema is None or len(metadata) > 1 or not _is_scalar(parameter.default):
        return None
    described: dict[str, Any] = {}
    for item in metadata:
        keywords = _keywords(item, type_)
        if keywords is None:
            return None
        described |= keywords
    if parameter.description is not None:
        described["description"] = parameter.description
    if not _is_unicode(described.get("description", "")):
        return None
    schema = dict(sorted((schema | described).items()))
    return schema if parameter.default is MISSING else {**schema, "default": parameter.default}


def _unwrapped(type_: Any) -> tuple[Any, Sequence[Any]]:
    if get_origin(type_) is not Annotated:
        return type_, ()
    inner, *metadata = get_args(type_)
    return inner, metadata


def _is_scalar(default: Any) -> bool:
    """Whether JSON has the default, or there is none."""
    if type(default) is float:
        return math.isfinite(default)
    return default is MISSING or default is None or type(default) in (bool, int) or _is_unicode(default)


def _is_unicode(text: Any) -> bool:
    """Whether it is text without lone surrogates."""
    return type(text) is str and (text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text))


def _keywords(item: Any, type_: Any) -> dict[str, Any] | None:
    """Return the keywords of a pydantic field that has a description and bounds alone."""
    field = field_info(item)
    if field is None or not _has_bounds_only(field):
        return None
    keywords: dict[str, Any] = {}
    if field.description is not None:
        keywords["description"] = field.description
    for bound in field.metadata:
        if type(bound).__module__ != "annotated_types" or type(bound).__name__ not in _BOUNDS:
            return None
        for member, keyword in _BOUNDS[type(bound).__name__].items():
            value = getattr(bound, member)
            if not _is_bound_of(type_, keyword, value):
                return None
            keywords[keyword] = value
    return keywords


def _has_bounds_only(field: Any) -> bool:
    blank = type(field)()
    members = (name for name in field.__slots__ if not name.startswith("_") and name not in ("description", "metadata"))
    return all(getattr(field, name) is getattr(blank, name) for name in members) and field.description != ""


def _is_bound_of(type_: Any, keyword: str, value: Any) -> bool:
    if keyword.endswith("Length"):
        return type_ is str and type(value) is int and value >= 0
    if type_ is float:
        return type(value) is float and math.isfinite(value)
    return type_ is int and type(value) is int


def schema_of(type_: Any, depth: int = _DEEPEST) -> dict[str, Any] | None:
    """Return the schema of a plain type, for arguments and results; ``None`` for any other."""
    if type_ is Any:
        return {}
    if (name := _name(type_)) is not None:
        return {"type": name}
    origin, inner = get_origin(type_), get_args(type_)
    if not depth or len(inner) > _MANY:
        return None
    if type_ is list or (origin is list and len(inner) == 1):
        items = schema_of(inner[0] if inner else Any, depth - 1)
        return None if items is None else {"items": items, "type": "array"}
    if type_ is dict or (origin is dict and len(inner) == 2 and inner[0] is str):
        values = schema_of(inner[1] if inner else Any, depth - 1)
        return None if values is None else {"additionalProperties": values or True, "type": "object"}
    if origin is Literal:
        return _choices(inner)
    return _union(inner, depth) if origin in (Union, types.UnionType) else None


def _name(type_: Any) -> str | None:
    return _NAMES.get(type(None) if type_ is None else type_) if type_ is None or isinstance(type_, type) else None


def _choices(values: Sequence[Any]) -> dict[str, Any] | None:
    if not values:
        return None
    if all(map(_is_unicode, values)):
        kind = "string"
    elif all(type(value) is int for value in values):
        kind = "integer"
    else:
        return None
    return {"const": values[0], "type": kind} if len(values) == 1 else {"enum": list(values), "type": kind}


def _union(options: Sequence[Any], depth: int) -> dict[str, Any] | None:
    # As in pydantic, null comes last.
    schemas = [schema_of(option, depth - 1) for option in sorted(options, key=lambda option: option is type(None))]
    return None if None in schemas or {} in schemas else {"anyOf": schemas}


# -- checks ------------------------------------------------------------------------------------------------------------


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a scalar is certain to fit a schema of this module; ``False`` also where that is not obvious."""
    if "anyOf" in schema:
        return any(fits(option, value) for option in schema["anyOf"])
    if not schema.keys() <= _CHECKED or not _is_of(schema.get("type"), value):
        return False
    within = value in schema["enum"] if "enum" in schema else value == schema.get("const", value)
    return within and all(keyword not in schema or holds(schema[keyword], value) for keyword, holds in _HOLDS.items())


def _is_of(name: str | None, value: Any) -> bool:
    kind = _name(cast("type[Any]", type(value)))
    return name in (None, kind) or (name, kind) == ("number", "integer")


_HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda least, value: value >= least,
    "exclusiveMinimum": lambda least, value: value > least,
    "maximum": lambda most, value: value <= most,
    "exclusiveMaximum": lambda most, value: value < most,
    "minLength": lambda least, value: len(value) >= least,
    "maxLength": lambda most, value: len(value) <= most,
}
_CHECKED = {"type", "enum", "const", "description", "default", *_HOLDS}


# -- values ------------------------------------------------------------------------------------------------------------


def arguments_reader(parameters: Iterable[FunctionParameter]) -> Reader | None:
    """Return the function that converts arguments that fit their schema, or raises ``Misfit``; ``None`` if a type needs
    pydantic. Containers are copied.
    """
    readers: dict[str, Reader] = {}
    for parameter in parameters:
        reader = _reader(parameter.type)
        if reader is None or field_info(parameter.default) is not None:
            return None
        readers[parameter.key] = reader
    return lambda arguments: {name: readers[name](value) for name, value in arguments.items()}


def _reader(type_: Any) -> Reader | None:
    by_kind = _readers(type_, _DEEPEST)
    if by_kind is None:
        return None
    if len(by_kind) == 1:
        [(kind, read)] = by_kind.items()
        return lambda value: read(value) if type(value) is kind else _misfit()
    return lambda value: by_kind.get(cast("type[Any]", type(value)), _misfit)(value)


def _misfit(value: Any = None) -> Any:
    raise Misfit


def _readers(type_: Any, depth: int) -> dict[type, Reader] | None:
    """Return the reader of each kind of JSON value that the type takes."""
    if schema_of(type_, depth) is None:
        return None
    if type_ is Any:
        return dict.fromkeys((*_NAMES, list, dict), _copied)
    origin, inner = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        return _readers_of_union(inner, depth)
    if origin is Literal:
        return {type(inner[0]): _one_of(inner)}
    if type_ is list or origin is list:
        items = _reader(inner[0] if inner else Any)
        return items and {list: lambda value: [items(item) for item in value]}
    if type_ is dict or origin is dict:
        values = _reader(inner[1] if inner else Any)
        return values and {dict: lambda value: {name: values(item) for name, item in value.items()}}
    if type_ is float:
        return {float: _same, int: _exact_float}
    return {type(None) if type_ is None else type_: _same}


def _readers_of_union(options: Sequence[Any], depth: int) -> dict[type, Reader] | None:
    """Each kind of value may have one reader: which of two lists an array is for, pydantic decides."""
    merged: dict[type, Reader] = {}
    for option in sorted(options, key=lambda option: option is float):  # a whole number is an int if that is an option
        readers = _readers(option, depth - 1)
        if readers is None or any(kind in merged and (option, kind) != (float, int) for kind in readers):
            return None
        merged = readers | merged
    return merged


def _same(value: Any) -> Any:
    return value


_EXACT = 2**53


def _exact_float(value: int) -> float:
    return float(value) if -_EXACT <= value <= _EXACT else _misfit()


def _one_of(choices: Sequence[Any]) -> Reader:
    return lambda value: value if value in choices else _misfit()


def _copied(value: Json) -> Json:
    if is_object(value):
        return {name: _copied(inner) for name, inner in value.items()}
    return list(map(_copied, value)) if is_array(value) else value
