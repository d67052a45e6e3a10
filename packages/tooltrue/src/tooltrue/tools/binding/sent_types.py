"""The JSON types that stand for types which JSON does not have: bytes, iterators, arrays, data frames.

A type that has such a part is replaced before pydantic describes it; any other is returned as it is.
"""

from __future__ import annotations

import base64
import binascii
import collections.abc
import functools
import sys
import types
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

from tooltrue.tools.foreign_types import ForeignKind, foreign_kind

if TYPE_CHECKING:  # only types that are not plain need it
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

__all__ = [
    "BASE64",
    "TABLE_SCHEMA",
    "foreign_type",
    "holds_frame",
    "is_content_type",
    "is_iterator_type",
    "kind_of_type",
    "sent_type",
]

TABLE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {
            "type": "array",
            "items": {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
        },
        "total_rows": {"type": "integer", "minimum": 0},
        "truncated": {"type": "boolean"},
    },
    "required": ["columns", "rows", "total_rows", "truncated"],
    "additionalProperties": False,
}
"""The published output schema of a table."""

_ITERATORS: Final = frozenset(
    {
        collections.abc.Iterator,
        collections.abc.Iterable,
        collections.abc.Generator,
        collections.abc.AsyncIterator,
        collections.abc.AsyncIterable,
        collections.abc.AsyncGenerator,
    }
)


def is_iterator_type(type_: Any) -> bool:
    """Whether values of this return type are collected into an array."""
    if get_origin(type_) is Annotated:
        return is_iterator_type(get_args(type_)[0])
    return (get_origin(type_) or type_) in _ITERATORS


def kind_of_type(type_: Any) -> ForeignKind | None:
    """Return the kind of a class, or of a generic one with parameters, that another library or our helpers define."""
    origin = get_origin(type_) or type_
    return foreign_kind(origin) if isinstance(origin, type) and origin.__module__ != "builtins" else None


def is_content_type(type_: Any) -> bool:
    """Whether values of this type are sent as content blocks: our helpers, pictures and figures."""
    return kind_of_type(type_) in ("helper", "picture", "figure")


def holds_frame(type_: Any) -> bool:
    """Whether a return type is a data frame, or may be one."""
    return kind_of_type(type_) in ("frame", "table") or any(map(holds_frame, get_args(type_)))


def foreign_type(type_: Any) -> Any:
    """Return the first class within a type that another library or our helpers define; ``None`` if there is none."""
    if kind_of_type(type_) is not None:
        return get_origin(type_) or type_
    return next((found for part in get_args(type_) if (found := foreign_type(part)) is not None), None)


def sent_type(type_: Any) -> Any:
    """Return the type that describes the JSON of values of ``type_``."""
    if is_iterator_type(type_) and get_origin(type_) is not Annotated:
        items = get_args(type_)
        return list[sent_type(items[0])] if items else list[Any]
    return _replaced(type_)


def _replaced(type_: Any) -> Any:
    origin, inner = get_origin(type_), get_args(type_)
    kind = kind_of_type(type_)
    if origin is None or kind is not None:
        return _class(type_, kind)
    if origin is Annotated:
        if inner[0] is bytes and any(hasattr(item, "encoder") for item in inner[1:]):
            return type_  # pydantic's Base64Bytes and its relatives
        bare = sent_type(inner[0])
        return type_ if bare is inner[0] else Annotated[(bare, *type_.__metadata__)]  # pyright: ignore[reportInvalidTypeForm]
    is_union = origin in (Union, types.UnionType)
    parts = tuple(map(sent_type if is_union else _replaced, inner))
    if all(part is before for part, before in zip(parts, inner, strict=True)):
        return type_
    return Union[parts] if is_union else origin[parts]  # noqa: UP007


def _class(type_: Any, kind: ForeignKind | None) -> Any:
    if type_ is bytes:
        return Annotated[bytes, BASE64]
    if kind in ("frame", "table"):
        return _table_type()
    if kind == "scalar":
        return _scalar_type(type_)
    return list[Any] if kind in ("array", "column") else type_


def _scalar_type(type_: Any) -> Any:
    """Return the Python type of a scalar type of numpy, which the author has imported."""
    names = {"f": float, "i": int, "u": int, "b": bool, "U": str}
    try:
        return names.get(sys.modules["numpy"].dtype(type_).kind, type_)
    except (KeyError, TypeError):  # an abstract class, such as numpy.number
        return type_


@functools.cache
def _table_type() -> Any:
    from pydantic import WithJsonSchema  # noqa: PLC0415 - plain types do not need it

    return Annotated[dict[str, Any], WithJsonSchema(TABLE_SCHEMA)]


class _Base64:
    """Describes bytes as text in base64 (RFC 4648, section 4, with padding)."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as made  # noqa: PLC0415 - plain types do not need it

        writer = made.plain_serializer_function_ser_schema(_encoded, return_schema=made.str_schema(), when_used="json")
        return made.no_info_after_validator_function(_decoded, made.str_schema(), serialization=writer)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "contentEncoding": "base64"}


BASE64: Final = _Base64()


def _decoded(text: str) -> bytes:
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        data = None
    # Strict mode accepts bits behind the last byte, and padding for nothing: no two texts mean the same bytes.
    if data is None or base64.b64encode(data).decode() != text:
        from pydantic_core import PydanticCustomError  # noqa: PLC0415 - most arguments are right

        raise PydanticCustomError("base64", "must be base64 of the standard alphabet, with padding")
    return data


def _encoded(data: Any) -> str:
    return base64.b64encode(memoryview(data)).decode()
