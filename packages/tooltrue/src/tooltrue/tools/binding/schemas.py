"""Turns types into JSON Schema 2020-12: the published schemas of a function."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any, Literal, NotRequired

import pydantic
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypedDict

from tooltrue.errors import DefinitionError, InvalidArguments
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.tools.binding.sent_types import foreign_type, sent_type
from tooltrue.tools.binding.signature import MISSING, FunctionParameter, Signature, is_provider
from tooltrue.tools.binding.tool_options import Header, Lifespan
from tooltrue.tools.wording import (
    DEPENDS_WITHIN_TYPE,
    LABEL_CORRECT_AND_REPEAT,
    PARAMETER_TYPE_BYTES,
    PARAMETER_TYPE_WITHOUT_JSON_FORM,
    PROVIDER_WITHIN_TYPE,
    RESULT_FIELD_OF_BYTES,
    TOOL_ARGUMENTS_INVALID,
    TYPE_WITHOUT_JSON_FORM,
)
from tooltrue.wording import Worded

__all__ = ["adapter_of", "arguments_adapter", "arguments_converter", "input_schema", "integral", "write_schema"]


class _SchemaWriter(GenerateJsonSchema):
    """Writes JSON Schema 2020-12 without generated titles, and describes exactly the values of Python's types.

    The formats mean RFC 3339, which has a year 0 and leap seconds, unlike Python; Python has naive times and fractions
    in durations, unlike RFC 3339. A format that would promise too much of a result is left out.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def date_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().date_schema(schema), **self._argument_pattern("^0{0,3}[1-9]")}

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        result = {**super().datetime_schema(schema), **self._argument_pattern("^0{0,3}[1-9][0-9]*-..-...(..:){2}[0-5]")}
        return result if schema.get("tz_constraint") == "aware" else self._without_result_format(result)

    def time_schema(self, schema: Any) -> dict[str, Any]:
        return self._without_result_format({**super().time_schema(schema), **self._argument_pattern("^(..:){2}[0-5]")})

    def timedelta_schema(self, schema: Any) -> dict[str, Any]:
        return self._without_result_format(super().timedelta_schema(schema))

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        result = super().decimal_schema(schema)
        for option in result.get("anyOf", ()):
            if option.get("type") == "string":
                option |= self._argument_pattern(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$")
        return result

    def fraction_schema(self, schema: Any) -> dict[str, Any]:
        return {"type": "string"}

    def _argument_pattern(self, pattern: str) -> dict[str, Any]:
        """Return a pattern that applies to arguments only."""
        return {"pattern": pattern} if self.mode == "validation" else {}

    def _without_result_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Drop the format from results: they are only promised to be text."""
        return schema if self.mode == "validation" else {"type": schema["type"]}


def arguments_adapter(signature: Signature) -> pydantic.TypeAdapter[dict[str, Any]]:
    """Return the adapter for the arguments as one closed object, the keyword arguments of the function."""
    fields: dict[str, Any] = {
        parameter.name: _described(parameter) if parameter.default is MISSING else NotRequired[_described(parameter)]
        for parameter in signature.parameters
    }
    shape = TypedDict("Arguments", fields)  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType]
    shape.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")  # pyright: ignore[reportAttributeAccessIssue]
    try:
        return adapter_of(shape)
    except DefinitionError:
        for parameter in signature.parameters:
            _check_type(parameter)
        raise


def _described(parameter: FunctionParameter) -> Any:
    if (foreign := foreign_type(parameter.type)) is not None:  # it can be sent, and not be made from JSON
        problem = f"{foreign.__module__}.{foreign.__qualname__}"
        raise DefinitionError.of(PARAMETER_TYPE_WITHOUT_JSON_FORM, what=parameter.name, problem=problem)
    type_ = sent_type(parameter.type)
    if parameter.description is None:
        return type_
    return Annotated[type_, pydantic.Field(description=parameter.description)]


def _check_type(parameter: FunctionParameter) -> None:
    """Raise ``DefinitionError`` with the name of the parameter if its type has no JSON form."""
    try:
        adapter_of(sent_type(parameter.type))
    except DefinitionError as error:
        if error.code != TYPE_WITHOUT_JSON_FORM:
            raise
        raise DefinitionError.of(PARAMETER_TYPE_WITHOUT_JSON_FORM, what=parameter.name, **error.facts) from None


def adapter_of(type_: Any) -> pydantic.TypeAdapter[Any]:
    """Return pydantic's adapter for a type. Raises ``DefinitionError`` for a type without a JSON form."""
    try:
        adapter = pydantic.TypeAdapter(type_)
    except (pydantic.PydanticSchemaGenerationError, pydantic.PydanticUserError, TypeError) as error:
        raise DefinitionError.of(TYPE_WITHOUT_JSON_FORM, problem=_reason(error)) from None
    if (provider := _default_provider(adapter.core_schema)) is not None:
        kind = provider if isinstance(provider, type) else type(provider)
        if kind in (Header, Lifespan):
            raise DefinitionError.of(PROVIDER_WITHIN_TYPE, provider=kind.__name__)
        raise DefinitionError.of(DEPENDS_WITHIN_TYPE)
    return adapter


def _reason(error: Exception) -> str:
    """Return pydantic's first sentence; the second would have the author configure a model that does not exist."""
    return str(error).split("\n")[0].split(". Set `arbitrary_types_allowed")[0]


_NOT_SCHEMAS = ("metadata", "config", "cls", "serialization", "custom_error_context")


def _default_provider(schema: Any) -> Any:
    """Return the dependency, or the like, that is the default of a field at any depth: a client could set it."""
    if isinstance(schema, list | tuple):
        found = map(_default_provider, schema)  # pyright: ignore[reportUnknownArgumentType]
    elif is_object(schema):
        defaults = (schema.get(key) for key in ("default", "default_factory"))
        found = chain(
            filter(is_provider, defaults),
            (_default_provider(inner) for key, inner in schema.items() if key not in _NOT_SCHEMAS),
        )
    else:
        return None
    return next((provider for provider in found if provider is not None), None)


def arguments_converter(
    tool: str, adapter: pydantic.TypeAdapter[dict[str, Any]]
) -> Callable[[dict[str, Json]], dict[str, Any]]:
    """Return the function that converts the arguments of a tool, and raises ``InvalidArguments`` if the author's own
    validators refuse them.
    """

    def convert(arguments: dict[str, Json]) -> dict[str, Any]:
        try:
            return adapter.validate_json(encode(arguments), strict=True)
        except pydantic.ValidationError:
            pass
        try:
            # To JSON Schema 5.0 is an integer; to pydantic, in strict mode, it is not.
            return adapter.validate_json(encode(integral(arguments)), strict=True)
        except pydantic.ValidationError as error:
            raise _invalid(tool, error) from None

    return convert


def _invalid(tool: str, error: pydantic.ValidationError) -> InvalidArguments:
    """Report the errors of the author's own validators, without the values themselves."""
    lines = [
        "- $." + ".".join(map(str, problem["loc"])) + ": " + problem["msg"]
        for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]
    ]
    return InvalidArguments.of(
        TOOL_ARGUMENTS_INVALID,
        tool=tool,
        problems="\n".join(lines)[:400],
        next=Worded(LABEL_CORRECT_AND_REPEAT, {}),
    )


def integral(value: Json) -> Json:
    """Turn whole floats into integers, which they are in JSON Schema but not in pydantic."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_array(value):
        return list(map(integral, value))
    if is_object(value):
        return {key: integral(inner) for key, inner in value.items()}
    return value


def write_schema(adapter: pydantic.TypeAdapter[Any], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=_SchemaWriter)
    except (PydanticInvalidForJsonSchema, pydantic.PydanticUserError) as error:
        raise DefinitionError.of(TYPE_WITHOUT_JSON_FORM, problem=_reason(error)) from None
    if _holds_bytes(schema):
        raise DefinitionError.of(RESULT_FIELD_OF_BYTES)
    return _closed_schema(schema, schema.get("title", ""))


_ENCODINGS = ("base64", "base64url")  # of pydantic's Base64Bytes and its relatives


def _closed_schema(schema: Any, own_title: str) -> Any:
    """Close objects without ``additionalProperties``, and drop titles that are only class names."""
    if is_array(schema):
        return [_closed_schema(item, "") for item in schema]
    if not is_object(schema):
        return schema
    if schema.get("type") == "string" and (encoding := schema.get("format")) in _ENCODINGS:
        # JSON Schema has a keyword for it, and no such format.
        schema = {**{key: value for key, value in schema.items() if key != "format"}, "contentEncoding": encoding}
    closed: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and value == own_title:
            continue
        if key in ("properties", "$defs"):
            closed[key] = {name: _closed_schema(inner, name) for name, inner in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            closed[key] = value
        else:
            closed[key] = _closed_schema(value, "")
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


def input_schema(adapter: pydantic.TypeAdapter[Any], signature: Signature) -> dict[str, Any]:
    """Return the published schema of the arguments, with the defaults that JSON can express."""
    try:
        schema = write_schema(adapter, "validation")
    except DefinitionError as error:
        if error.code != RESULT_FIELD_OF_BYTES:
            raise
        raise DefinitionError.of(PARAMETER_TYPE_BYTES, what=_of_bytes(signature)) from None
    schema.setdefault("type", "object")
    schema.setdefault("additionalProperties", False)
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    for parameter in signature.parameters:
        if parameter.default is not MISSING:
            _publish_default(parameter, properties[parameter.key])
    return schema


def _holds_bytes(schema: Any) -> bool:
    """Whether a part of the schema is for plain ``bytes`` of a model, whose encoding the model decides."""
    if is_array(schema):
        return any(map(_holds_bytes, schema))
    if not is_object(schema):
        return False
    return schema.get("format") == "binary" or any(map(_holds_bytes, schema.values()))


def _of_bytes(signature: Signature) -> str:
    """Return the first parameter that takes bytes, at any depth."""
    types = ((one.name, adapter_of(sent_type(one.type))) for one in signature.parameters)
    return next(name for name, adapter in types if _holds_bytes(adapter.json_schema(schema_generator=_SchemaWriter)))


def _publish_default(parameter: FunctionParameter, property: dict[str, Any]) -> None:
    try:
        if isinstance(parameter.default, bytes):
            property["default"] = base64.b64encode(parameter.default).decode()
        else:
            property["default"] = to_jsonable_python(parameter.default)
    except PydanticSerializationError:
        property.pop("default", None)  # a default that JSON cannot express is left to the function
