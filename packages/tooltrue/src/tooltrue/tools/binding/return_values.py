"""Turns a function's return value into the outcome of its call."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from tooltrue.errors import InvalidResult
from tooltrue.jsonrpc.messages import EncodedJson
from tooltrue.protocol import types as wire
from tooltrue.protocol.schema import Schema
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.binding.direct_json import WriteJson, direct_writer
from tooltrue.tools.binding.plain_types import schema_of
from tooltrue.tools.binding.signature import MISSING
from tooltrue.tools.content import BLOCKS, encoded_value, is_blocks, present, structured
from tooltrue.tools.wording import (
    LABEL_AWAITED_VALUE,
    LABEL_IMAGE_OF_FIGURE,
    LABEL_IMAGE_OF_PICTURE,
    LABEL_IMAGE_OR_BASE64,
    LABEL_TYPE_WITHIN,
    RESULT_VIOLATES_DECLARED_TYPE,
    RETURNED_TYPE_NOT_ACCEPTED,
    RETURNED_VALUE_NOT_JSON,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # loaded for values that are not JSON already
    import pydantic

__all__ = ["Output", "is_json_type", "json_text"]


T = TypeVar("T")


Present: TypeAlias = Callable[[Any], ToolOutcome]


class Output:
    """Turns returned values into content, as the return annotation decides. ``is_plain``: the schema is sure to
    compile.
    """

    def __init__(self, returns: Any) -> None:
        self.schema: dict[str, Any] | None = None
        self.is_plain = False
        self._present: Present = _present_anything
        self._adapter: pydantic.TypeAdapter[Any] | None = None
        shape = _beside_outcomes(returns)
        if _has_schema(shape):
            adapter = functools.cache(functools.partial(_adapter, shape))
            self._present = _present_json if is_json_type(shape) else functools.partial(_present_converted, adapter)
            self.schema = schema_of(shape)
            self.is_plain = self.schema is not None
            if self.schema is None:
                from tooltrue.tools.binding import schemas  # noqa: PLC0415 - plain types do not need pydantic

                self._adapter = adapter()
                self.schema = schemas.write_schema(self._adapter, "serialization")
        elif get_origin(returns) is list:
            self._present = _present_blocks

    def presenter(self, schema: Schema | None) -> Present:
        """Return the function that makes content of a returned value. ``schema`` is that of this output, compiled."""
        if self._adapter is None or schema is None:
            return self._present
        return _Writer(self._adapter, schema, self._present).present


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
        return any(map(_has_schema, inner))
    if origin in (list, tuple):
        return not all(map(_is_block, inner))
    return returns not in _WITHOUT_SCHEMA


def _is_block(item: Any) -> bool:
    """Whether the items of a list are content blocks, or one of several kinds of them."""
    return item in BLOCKS or (any(option in BLOCKS for option in get_args(item)) and not _has_schema(item))


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

    return to_jsonable_python(value)


def _present_json(value: Any) -> ToolOutcome:
    try:
        return _with_numbers(structured, value)
    except InvalidResult as error:
        raise _unfit(value, error) from error


def _present_anything(value: Any) -> ToolOutcome:
    if type(value) is str:
        return wire.CallToolResult([wire.TextContent(text=value)])
    if _is_mixed(value):
        return present(_blocks(value))
    try:
        return _with_numbers(lambda it: present(_jsonable(it) if _needs_conversion(it) else it), value)
    except _unwritable() as error:
        raise _unfit(value, error) from error
    except _ENDLESS as error:
        raise _not_json(value, error) from error


def _present_blocks(value: Any) -> ToolOutcome:
    # Without an annotation an empty list is JSON; annotated as content blocks it is an empty result.
    if isinstance(value, list) and all(isinstance(item, (str, *BLOCKS)) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return present(_blocks(value)) if value else wire.CallToolResult([])  # pyright: ignore[reportUnknownArgumentType]
    return _present_anything(value)


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
    return _scalar(value)


_COLLECTIONS = (list, tuple, set, frozenset)


def _scalar(value: Any) -> Any:
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    return value


def _unfit(value: Any, error: Exception) -> InvalidResult:
    """Return the error that names the returned value, and a replacement."""
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
