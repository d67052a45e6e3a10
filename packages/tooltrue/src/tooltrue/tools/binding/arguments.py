"""The arguments of a function: their published schema, and their conversion to the function's types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.protocol.types import Value
from tooltrue.tools.binding.plain_types import Misfit, arguments_reader, arguments_schema
from tooltrue.tools.binding.return_values import is_json_type
from tooltrue.tools.binding.signature import FunctionParameter, Signature

__all__ = ["Arguments", "Convert", "arguments_of", "own"]

Convert: TypeAlias = Callable[[dict[str, Json]], dict[str, Any]]


class Arguments(Value, frozen=True):
    """``convert`` expects arguments that fit the schema. ``is_plain``: the schema is sure to compile."""

    schema: dict[str, Any]
    convert: Convert
    is_plain: bool


def arguments_of(tool: str, signature: Signature) -> Arguments:
    """Describe the arguments of a tool. Raises ``DefinitionError`` for a type without a JSON form.

    Plain types have neither pydantic's import nor an adapter, until a value comes that only pydantic can convert.
    """
    if (schema := arguments_schema(signature.parameters)) is not None:
        return Arguments(schema, _converter(signature, functools.partial(_convert, tool, signature)), True)
    from tooltrue.tools.binding import schemas  # noqa: PLC0415 - plain types do not need pydantic

    adapter = schemas.arguments_adapter(signature)
    convert = _converter(signature, lambda: schemas.arguments_converter(tool, adapter))
    return Arguments(schemas.input_schema(adapter, signature), convert, False)


def _convert(tool: str, signature: Signature) -> Convert:
    from tooltrue.tools.binding import schemas  # noqa: PLC0415 - plain types do not need pydantic

    return schemas.arguments_converter(tool, schemas.arguments_adapter(signature))


def _converter(signature: Signature, by_adapter: Callable[[], Convert]) -> Convert:
    """Return the function that converts arguments; ``by_adapter`` makes the one that uses pydantic."""
    if all(map(_is_taken_as_is, signature.parameters)):
        return dict if signature.context is None and not signature.provided else own
    by_adapter = functools.cache(by_adapter)
    read = arguments_reader(signature.parameters)
    if read is None:
        return lambda arguments: by_adapter()(arguments)

    def convert(arguments: dict[str, Json]) -> dict[str, Any]:
        try:
            return read(arguments)
        except Misfit:
            return by_adapter()(arguments)

    return convert


def _is_taken_as_is(parameter: FunctionParameter) -> bool:
    """Whether the function takes the JSON value without conversion."""
    return parameter.description is None and is_json_type(parameter.type) and _never_integral(parameter.type)


def own(arguments: dict[str, Json]) -> dict[str, Json]:
    """Copy the arguments, because the function may ask: the next round begins with the caller's arguments,
    unmodified.
    """
    if any(isinstance(value, dict | list) for value in arguments.values()):
        return decode(encode(arguments))
    return dict(arguments)


def _never_integral(annotation: Any) -> bool:
    """Whether 5.0 can never stand for an int here; otherwise conversion would have to make it one."""
    return annotation is not int and all(map(_never_integral, get_args(annotation)))
