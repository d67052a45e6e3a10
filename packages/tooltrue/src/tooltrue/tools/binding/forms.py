"""Turns a type into a form that a person fills in, and the answer back into the type."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pydantic

from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.protocol.input_requests import InputRequest, check_form, elicitation_form
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.tools.binding.schemas import adapter_of, integral, write_schema
from tooltrue.tools.client_questions import Answer
from tooltrue.tools.rounds import ClientQuestion

__all__ = ["Form"]

T = TypeVar("T")


@dataclass(frozen=True)
class Form(ClientQuestion[Answer[T]], Generic[T]):
    """A form to ask a person to fill in (2026-07-28, client/elicitation "Form mode").

    ``fields`` is a TypedDict, dataclass or pydantic model of plain fields (text, numbers, yes or no, ``Literal``
    choices, lists of these), or the JSON Schema of such an object; without fields it asks for a yes or no. The answer's
    ``value`` is of that type. For an answer that does not fit, the form is shown again, with the reason.

    Raises ``DefinitionError`` for fields that a form cannot hold, including secrets: ask for them with a :class:`Link`.
    """

    message: str
    fields: type[T] | Mapping[str, Any] | None = None
    request: InputRequest = field(init=False, repr=False, compare=False)
    _parse: Callable[[Json], Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        schema, parse = _fields(self.fields)
        check_form(schema)
        object.__setattr__(self, "request", elicitation_form(self.message, schema))
        object.__setattr__(self, "_parse", parse)

    def read(self, answer: Mapping[str, Json]) -> Answer[T]:
        accepted = answer["action"] == "accept"
        value: Any = self._parse(answer.get("content", {})) if accepted else None
        return Answer(answer["action"], value)


_EMPTY: dict[str, Json] = {"type": "object", "properties": {}}


def _fields(fields: Any) -> tuple[dict[str, Json], Callable[[Json], Any]]:
    """Return the published schema of the fields, and the function that reads an answer."""
    if fields is None:
        return _EMPTY, lambda content: None
    if isinstance(fields, Mapping):
        schema: dict[str, Json] = {key: value for key, value in fields.items() if key in _ROOT}  # pyright: ignore[reportUnknownVariableType]
        check_form(schema)
        compiled = compile_schema({**schema, "additionalProperties": False}, bounds=OWN)
        return schema, lambda content: _checked(compiled, content)
    if not isinstance(fields, Hashable):
        check_form({})  # raises: a list of choices, for example, is neither a type nor a schema
    return _of_type(fields)


@functools.lru_cache(maxsize=256)  # a form is made anew in each round
def _of_type(fields: Any) -> tuple[dict[str, Json], Callable[[Json], Any]]:
    adapter = adapter_of(fields)
    return _flat(write_schema(adapter, "validation")), lambda content: _converted(adapter, content)


_ROOT = ("$schema", "type", "properties", "required")


def _checked(schema: Schema, content: Json) -> Json:
    if not schema.accepts(content):
        raise ValueError(str(schema.problems(content, 1)[0]))
    return {name: [*value] if is_array(value) else value for name, value in content.items()}  # a copy for each round


def _converted(adapter: pydantic.TypeAdapter[Any], content: Json) -> Any:
    try:
        return adapter.validate_json(encode(integral(content)), strict=True)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise ValueError(".".join(map(str, problem["loc"])) + ": " + problem["msg"]) from None


def _flat(schema: dict[str, Json]) -> dict[str, Json]:
    """Reduce the schema of a type to the keywords of forms; answers are still checked against the type itself."""
    defs = schema.get("$defs", {})
    flat: dict[str, Json] = {"type": schema.get("type")}
    if "properties" in schema:
        flat["properties"] = {name: _plain(inner, defs) for name, inner in schema["properties"].items()}
    if schema.get("required"):
        flat["required"] = schema["required"]
    return flat


_KEPT = ("type", "title", "description", "default", "minLength", "maxLength", "minimum", "maximum")
_KEPT_OF_LISTS = ("minItems", "maxItems")
_FORMATS = ("email", "uri", "date", "date-time")


def _plain(schema: Json, defs: Mapping[str, Json]) -> Json:
    if not is_object(schema):
        return schema
    if "$ref" in schema:
        named = defs.get(str(schema["$ref"]).removeprefix("#/$defs/"), {})
        return _plain({**named, **{key: value for key, value in schema.items() if key != "$ref"}}, defs)
    options = schema.get("anyOf")
    if is_array(options):  # an optional field
        rest = [option for option in options if option != {"type": "null"}]
        if len(rest) == 1:
            return _plain({**rest[0], **{key: value for key, value in schema.items() if key != "anyOf"}}, defs)
    members = {key: value for key, value in schema.items() if key in (*_KEPT, *_KEPT_OF_LISTS)}
    if members.get("default", ...) is None:
        del members["default"]
    if schema.get("format") in _FORMATS:
        members["format"] = schema["format"]
    if "const" in schema:
        members["enum"] = [schema["const"]]
    if "enum" in schema:
        members["enum"] = schema["enum"]
    if "items" in schema:
        members["items"] = _plain(schema["items"], defs)
    return members
