"""Turns a function's return value into the outcome of its call."""

from __future__ import annotations

import binascii
import functools
import types
from collections.abc import AsyncIterator, Callable, Iterator, Sequence, Set, ValuesView
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from tooltrue.errors import InvalidResult, ToolError
from tooltrue.jsonrpc.messages import EncodedJson
from tooltrue.protocol import types as wire
from tooltrue.protocol.schema import Schema
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.binding.direct_json import WriteJson, direct_writer
from tooltrue.tools.binding.plain_types import schema_of
from tooltrue.tools.binding.signature import MISSING
from tooltrue.tools.content import BLOCKS, Unfinished, encoded_value, is_blocks, present, structured
from tooltrue.tools.wording import (
    ARRAY_TOO_LARGE,
    LABEL_AWAITED_VALUE,
    LABEL_CONTENT_IN_LIST,
    LABEL_IMAGE_OF_FIGURE,
    LABEL_IMAGE_OF_PICTURE,
    LABEL_IMAGE_OR_BASE64,
    LABEL_NESTED_ITERATOR,
    LABEL_TYPE_WITHIN,
    RESULT_NUMBER_NOT_FINITE,
    RESULT_VIOLATES_DECLARED_TYPE,
    RETURNED_TYPE_NOT_ACCEPTED,
    RETURNED_VALUE_NOT_JSON,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # loaded for values that are not JSON already
    import pydantic

    from tooltrue.tools.foreign_types import ForeignKind

__all__ = ["Output", "is_json_type", "json_text", "present_anything"]


T = TypeVar("T")


Present: TypeAlias = Callable[[Any], ToolOutcome]


class Output:
    """Turns returned values into content, as the return annotation decides. ``is_plain``: the schema is sure to
    compile.
    """

    def __init__(self, returns: Any) -> None:
        self.schema: dict[str, Any] | None = None
        self.is_plain = False
        self._present: Present = present_anything
        self._adapter: pydantic.TypeAdapter[Any] | None = None
        self._is_array = False
        shape = _beside_outcomes(returns)
        if _has_schema(shape):
            self.schema = schema_of(shape)
            has_frames = is_json = False
            if self.schema is None:
                from tooltrue.tools.binding import sent_types  # noqa: PLC0415 - plain types need no replacement

                has_frames = sent_types.holds_frame(shape)
                is_json = sent_types.kind_of_type(shape) in ("array", "column")
                shape = sent_types.sent_type(shape)
                self.schema = schema_of(shape)
            adapter = functools.cache(functools.partial(_adapter, shape))
            is_json = is_json or is_json_type(shape)
            self._present = _present_json if is_json else functools.partial(_present_converted, adapter)
            if has_frames:
                self._present = functools.partial(_present_frame, self._present)
            self.is_plain = self.schema is not None
            if self.schema is None:
                from tooltrue.tools.binding import schemas  # noqa: PLC0415 - plain types do not need pydantic

                self._adapter = adapter()
                self.schema = schemas.write_schema(self._adapter, "serialization")
                options = self.schema.get("anyOf", (self.schema,))
                self._is_array = any(option.get("type") == "array" for option in options)
        elif get_origin(shape) in _ARRAYS or _is_iterator(shape):
            self._present = _present_blocks

    def presenter(self, schema: Schema | None) -> Present:
        """Return the function that makes content of a returned value. ``schema`` is that of this output, compiled."""
        present = self._present
        if self._adapter is not None and schema is not None:
            present = _Writer(self._adapter, schema, present).present
        return functools.partial(_present_array, present) if self._is_array else present


class _Writer:
    """Writes returned values of one type as JSON at once, without Python values in between, where the result is the
    same and the schema can be checked by that JSON alone. ``careful`` presents all others."""

    def __init__(self, adapter: pydantic.TypeAdapter[Any], schema: Schema, careful: Present) -> None:
        self._adapter = adapter
        self._schema = schema
        self._careful = careful

    @functools.cached_property
    def _write(self) -> WriteJson | None:
        return direct_writer(self._adapter) if self._schema.reads_text else None

    def present(self, value: Any) -> ToolOutcome:
        if self._write is None or isinstance(value, _OUTCOMES) or (text := self._write(value)) is None:
            return self._careful(value)
        return wire.CallToolResult([wire.TextContent(text=text.decode())], EncodedJson(text), encoded=text)


_ARRAYS = (list, tuple)
_WITHOUT_SCHEMA = (str, None, type(None), Any, MISSING, wire.CallToolResult, wire.InputRequiredResult, *BLOCKS)


def _beside_outcomes(returns: Any) -> Any:
    """Drop outcomes from a union: ``Model | CallToolResult`` has the schema of the model, and may return whole
    results.
    """
    if get_origin(returns) not in (Union, types.UnionType):
        return returns
    options = tuple(option for option in get_args(returns) if option not in _OUTCOMES)
    return Union[options] if options else returns  # noqa: UP007


def _has_schema(returns: Any) -> bool:
    """Whether a return type is JSON with a schema. Text, content blocks and whole results have none."""
    origin, inner = get_origin(returns), get_args(returns)
    if origin is Annotated:
        return _has_schema(inner[0])
    if origin in (Union, types.UnionType):
        return any(map(_has_schema, inner)) and not any(map(_is_block, inner))
    if origin in _ARRAYS or (inner and _is_iterator(returns)):
        return not any(map(_is_block, inner))
    return returns not in _WITHOUT_SCHEMA and not _is_content(returns)


def _is_block(item: Any) -> bool:
    """Whether values of a type are content blocks, or may be."""
    if get_origin(item) in (Union, types.UnionType, Annotated):
        return any(map(_is_block, get_args(item)))
    return item in BLOCKS or _is_content(item)


_NO_CONTENT = (str, int, float, bool, type(None), None, list, tuple, dict, Any, MISSING, *BLOCKS)
_PLAIN_ORIGINS = (list, tuple, dict, Literal, Union, types.UnionType)


def _is_content(type_: Any) -> bool:
    if type_ in _NO_CONTENT or get_origin(type_) in _PLAIN_ORIGINS:
        return False
    from tooltrue.tools.binding import sent_types  # noqa: PLC0415 - plain types need no replacement

    return sent_types.is_content_type(type_)


def _is_iterator(type_: Any) -> bool:
    if type_ in _NO_CONTENT or get_origin(type_) in _PLAIN_ORIGINS:
        return False
    from tooltrue.tools.binding import sent_types  # noqa: PLC0415 - plain types need no replacement

    return sent_types.is_iterator_type(type_)


_JSON_TYPES = (str, int, float, bool, type(None), None)


def is_json_type(annotation: Any) -> bool:
    """Whether values of this type are JSON already, and need no conversion."""
    if annotation in _JSON_TYPES:
        return True
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (list, Union, types.UnionType):
        return all(map(is_json_type, inner))
    if origin is dict:
        return inner[0] is str and is_json_type(inner[1])
    return origin is Literal and all(isinstance(value, str | int | bool) for value in inner)


def _adapter(shape: Any) -> pydantic.TypeAdapter[Any]:
    from tooltrue.tools.binding import schemas  # noqa: PLC0415 - plain types do not need pydantic

    return schemas.adapter_of(shape)


def _jsonable(value: Any) -> Any:
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - values that are JSON already do not need it

    if isinstance(value, Iterator):  # pydantic would read it without a bound
        raise InvalidResult.of(
            RETURNED_VALUE_NOT_JSON, type=_type_name(value), problem=Worded(LABEL_NESTED_ITERATOR, {})
        )
    return to_jsonable_python(value)


def _present_json(value: Any) -> ToolOutcome:
    try:
        return _with_numbers(structured, value)
    except InvalidResult as error:
        raise _unread(value, _present_json) or _unfit(value, error) from error


def _present_array(present: Present, value: Any) -> ToolOutcome:
    """Present an array. An iterator is read within bounds first."""
    if type(value) is not list and isinstance(value, Iterator | AsyncIterator):
        raise Unfinished(value, present)
    return present(value)


def _present_frame(present: Present, value: Any) -> ToolOutcome:
    """Present a data frame as a table, and any other value by ``present``."""
    if _kind(value) in ("frame", "table"):
        raise Unfinished(value, present)
    return present(value)


def _unread(value: Any, present: Present) -> Unfinished | None:
    """Return the exception for a value whose items have to be read first: an iterator, a column, a range."""
    is_unread = isinstance(value, Iterator | AsyncIterator) or _kind(value) == "column"
    is_other = isinstance(value, Sequence | Set | ValuesView) and not isinstance(value, _KNOWN_ARRAYS)
    return Unfinished(value, present) if is_unread or is_other else None


def _unfinished(value: Any, present: Present) -> Unfinished | None:
    """Return the exception for a value that is read or drawn before it is sent."""
    is_list = isinstance(value, list | tuple)
    if _is_drawn(value) or (is_list and any(isinstance(item, BLOCKS) or _is_drawn(item) for item in value)):  # pyright: ignore[reportUnknownVariableType]
        return Unfinished(value, present)
    return _unread(value, present)


def _is_drawn(value: Any) -> bool:
    return _kind(value) in ("helper", "picture", "figure", "frame", "table")


def _kind(value: Any) -> ForeignKind | None:
    from tooltrue.tools.foreign_types import kind_of  # noqa: PLC0415 - values that are JSON already do not need it

    return kind_of(value)


_KNOWN_ARRAYS = (str, bytes, bytearray, memoryview, list, tuple, set, frozenset)


def present_anything(value: Any) -> ToolOutcome:
    """Return the outcome of a value whose type is not declared. Raises ``Unfinished`` for one that is read or drawn
    first.
    """
    if type(value) is str:
        return wire.CallToolResult([wire.TextContent(text=value)])
    if _is_mixed(value):
        return present(_blocks(value))
    try:
        return _with_numbers(_present_one, value)
    except _unwritable() as error:
        raise _unfinished(value, present_anything) or _unfit(value, error) from error
    except _ENDLESS as error:
        raise _not_json(value, error) from error


def _present_one(value: Any) -> ToolOutcome:
    if not _needs_conversion(value):
        return present(value)
    if isinstance(value, bytes | bytearray):
        return structured(binascii.b2a_base64(value, newline=False).decode())
    return present(_jsonable(value))


def _present_blocks(value: Any) -> ToolOutcome:
    # Without an annotation an empty list is JSON; annotated as content blocks it is an empty result.
    if not isinstance(value, list | tuple):
        return present_anything(value)
    if all(isinstance(item, (str, *BLOCKS)) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return present(_blocks(value)) if value else wire.CallToolResult([])  # pyright: ignore[reportUnknownArgumentType]
    raise Unfinished(value, _present_blocks)


def _is_mixed(value: Any) -> bool:
    """Whether it is a list of text and content blocks, with at least one block."""
    if not isinstance(value, list | tuple) or not any(isinstance(item, BLOCKS) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return False
    return all(isinstance(item, (str, *BLOCKS)) for item in value)  # pyright: ignore[reportUnknownVariableType]


def _blocks(value: Sequence[Any]) -> list[Any]:
    return [wire.TextContent(text=item) if isinstance(item, str) else item for item in value]


def _unwritable() -> tuple[type[Exception], ...]:
    """Return the errors for values without a JSON form. It is evaluated only when there is an error."""
    return (_serialization_error(), UnicodeDecodeError, InvalidResult)


def _serialization_error() -> type[Exception]:
    from pydantic_core import PydanticSerializationError  # noqa: PLC0415 - most values need no pydantic

    return PydanticSerializationError


_ENDLESS = (ValueError, RecursionError)  # of pydantic, for a value that contains itself or is nested too deep
_DEEPEST = 64  # the search depth for values that cannot be written


def _with_numbers(write: Callable[[Any], T], value: Any) -> T:
    """Return ``write(value)``; if that fails, try once more with numpy scalars as Python numbers, which JSON has."""
    value = _scalar(value)
    try:
        return write(value)
    except _unwritable():
        return write(_numbers(value, _DEEPEST))


def _numbers(value: Any, depth: int) -> Any:
    if depth and isinstance(value, dict):
        return {_scalar(key): _numbers(inner, depth - 1) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if depth and type(value) in _COLLECTIONS:
        return type(value)(_numbers(inner, depth - 1) for inner in value)
    return _list_of_array(value) if _kind(value) == "array" else _scalar(value)


def _list_of_array(array: Any) -> Any:
    """Return the numbers of an array of numpy as lists."""
    if array.size > _MOST_NUMBERS:
        raise ToolError.of(ARRAY_TOO_LARGE, count=array.size, limit=_MOST_NUMBERS)
    return (array if array.dtype.kind not in "Mm" else array.astype(f"{array.dtype.kind}8[us]")).tolist()


_MOST_NUMBERS = 100_000


_COLLECTIONS = (list, tuple, set, frozenset)


def _scalar(value: Any) -> Any:
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item() if value.dtype.kind not in "Mm" else value.astype(f"{value.dtype.kind}8[us]").item()
    return value


def _unfit(value: Any, error: Exception) -> InvalidResult:
    """Return the error that names the returned value, and a replacement."""
    if isinstance(error, InvalidResult) and error.code == RESULT_NUMBER_NOT_FINITE:
        return error
    return _library_value_error(value) or _not_json(value, error)


def _not_json(value: Any, error: Exception) -> InvalidResult:
    return InvalidResult.of(RETURNED_VALUE_NOT_JSON, type=_type_name(value), problem=str(error).split("\n")[0])


def _library_value_error(value: Any) -> InvalidResult | None:
    """Return that error for values of well-known libraries, recognized by their members: no library is imported."""
    for inner in _within(value, _DEEPEST):
        for members, instead in _INSTEAD:
            if all(hasattr(inner, member) for member in members):
                name = _type_name(inner)
                facts = {"type": name, "container": _type_name(value)}
                shown = name if inner is value else Worded(LABEL_TYPE_WITHIN, facts)
                return InvalidResult.of(RETURNED_TYPE_NOT_ACCEPTED, type=shown, instead=instead)
    return None


def _within(value: Any, depth: int) -> Iterator[Any]:
    """Yield the value, and the values in it."""
    yield value
    if depth and isinstance(value, (dict, *_COLLECTIONS)):
        for inner in value.values() if isinstance(value, dict) else value:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from _within(inner, depth - 1)


def _type_name(value: Any) -> str:
    kind: type = type(value)  # pyright: ignore[reportUnknownVariableType]
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


# members of a value → the replacement to return
_INSTEAD: tuple[tuple[tuple[str, ...], str | Worded], ...] = (
    (("block", "_max_bytes"), Worded(LABEL_CONTENT_IN_LIST, {})),
    (("to_dict", "columns"), "df.to_dict('records')"),
    (("tolist", "dtype"), "x.tolist()"),
    (("savefig",), Worded(LABEL_IMAGE_OF_FIGURE, {})),
    (("save", "size", "mode"), Worded(LABEL_IMAGE_OF_PICTURE, {})),
    (("cr_await", "cr_code"), Worded(LABEL_AWAITED_VALUE, {})),
    (("decode", "hex"), Worded(LABEL_IMAGE_OR_BASE64, {})),
)


def _needs_conversion(value: Any) -> bool:
    return not (value is None or isinstance(value, _READY) or is_blocks(value))


_OUTCOMES = (wire.CallToolResult, wire.InputRequiredResult)
_READY = (str, *_OUTCOMES, *BLOCKS)


def _present_converted(adapter: Callable[[], pydantic.TypeAdapter[Any]], value: Any) -> ToolOutcome:
    if isinstance(value, _OUTCOMES):
        return structured(value)
    try:
        return _with_numbers(
            lambda it: structured(adapter().dump_python(it, mode="json", by_alias=True, warnings="error")), value
        )
    except (_serialization_error(), UnicodeDecodeError) as error:
        if (unread := _unread(value, functools.partial(_present_converted, adapter))) is not None:
            raise unread from error
        if isinstance(value, str | int | float | list | dict | None):  # JSON, but not of the annotated type
            raise _library_value_error(value) or InvalidResult.of(
                RESULT_VIOLATES_DECLARED_TYPE, problem=error
            ) from error
        raise _unfit(value, error) from error
    except _ENDLESS as error:
        raise _not_json(value, error) from error


def json_text(value: Any) -> str:
    """Return the JSON of any value that has a JSON form. Raises ``InvalidResult`` for others."""
    try:
        return _with_numbers(lambda it: encoded_value(_jsonable(it)), value).decode()
    except _unwritable() as error:
        raise _unfit(value, error) from error
    except _ENDLESS as error:
        raise _not_json(value, error) from error
