"""A function whose arguments come as text: a prompt (server/prompts), or a resource with a template (RFC 6570).

What tools promise of schemas holds here of text: the parameters' types say what it is converted to, and what cannot be
made of text is a ``DefinitionError``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Annotated, Any, get_args, get_origin

import pydantic

from toolwright.errors import DefinitionError, InvalidParams, InvalidResult
from toolwright.jsonrpc.messages import is_array
from toolwright.protocol.types import Completion, Value
from toolwright.protocol.uris import MAX_URI
from toolwright.tools.binding.bind import caller, located
from toolwright.tools.binding.dependencies import injector, refuse_dependencies, standing_alone
from toolwright.tools.binding.schemas import adapter_of, arguments_adapter, input_schema
from toolwright.tools.binding.settings import Completes
from toolwright.tools.binding.signature import MISSING, Parameter, Signature, plain, read_signature, required
from toolwright.tools.rounds import InputRequired, how_it_ended
from toolwright.tools.threads import ThreadPool
from toolwright.tools.toolset import RequestContext

__all__ = ["Argument", "TextFunction"]

MAX_VALUES = 100

Suggest = Callable[[str, Mapping[str, str], RequestContext], Awaitable[Sequence[str]]]


class Argument(Value, frozen=True):
    """``suggest(prefix, arguments, context)`` gives the values that begin so; ``None`` where nobody knows any."""

    name: str
    title: str | None
    description: str | None
    required: bool
    suggest: Suggest | None


class TextFunction:
    """A function, called with text. ``what`` names it for errors; ``DefinitionError`` says where it is written."""

    def __init__(self, function: Callable[..., Any], what: str, pool: ThreadPool, *, blocking: bool) -> None:
        with located(what[:1].upper() + what[1:], function):
            signature = read_signature(function)
            self._adapter = arguments_adapter(signature)
            self.arguments = _arguments(signature, input_schema(self._adapter, signature), pool)
            self._given = injector(signature, pool if blocking else None)
        self.description = signature.description
        self._what = what
        self._call = caller(standing_alone(function, signature), signature.is_async, pool if blocking else None)
        self._keys = {parameter.name: parameter.key for parameter in signature.parameters}

    def convert(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """``texts`` as what the function wants. ``InvalidParams`` names what is missing, unknown, or does not fit."""
        try:
            return self._adapter.validate_strings(dict(texts))
        except pydantic.ValidationError as error:
            problems = "; ".join(_problems(error))[:400]
            raise InvalidParams.of("TW1041", subject=self._what, problems=problems) from None

    def spell(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """The texts of arguments that have been converted: one spelling, of all that ``convert`` makes the same of.

        It is what JSON says of the value, and ``str`` where JSON has no word for it.
        """
        values = {name: _one_of_equals(value) for name, value in arguments.items()}
        written = self._adapter.dump_python(values, mode="json", warnings=False, fallback=str)
        return {self._keys[name]: _spelt(value) for name, value in written.items()}

    async def call(self, arguments: Mapping[str, Any], context: RequestContext) -> Any:
        """What the function returns for arguments that have been converted, or the question that it asks."""
        try:
            named = {**arguments, **await self._given(context)} if self._given is not None else dict(arguments)
            return await self._call(**named)
        except (InputRequired, BaseExceptionGroup) as error:
            return how_it_ended(error)

    async def complete(
        self, name: str, prefix: str, arguments: Mapping[str, str], context: RequestContext
    ) -> Completion:
        """The values of an argument that begin with ``prefix``, 100 at the most; ``InvalidParams`` for an unknown one.

        ``InvalidResult`` where the author's own function returns no list of texts.
        """
        argument = self.arguments.get(name)
        if argument is None:
            raise InvalidParams.of("TW1042", subject=self._what, name=name[:128])
        if argument.suggest is None:
            return Completion([], 0, False)
        values: Any = await argument.suggest(prefix, arguments, context)
        if not isinstance(values, list | tuple) or not all(map(_is_str, values)):  # pyright: ignore[reportUnknownArgumentType]
            raise InvalidResult(f"what completes {name!r} is not a list of text")
        texts: list[str] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        return Completion(texts[:MAX_VALUES], len(texts), len(texts) > MAX_VALUES)


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _problems(error: pydantic.ValidationError) -> Iterable[str]:
    """Each with the name of the argument; the values themselves are not repeated."""
    for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]:
        name = str(problem["loc"][0]) if problem["loc"] else "?"
        yield f"{name[:128]}: {_WORDS.get(problem['type'], problem['msg'])}"


_WORDS = {"missing": "is required", "extra_forbidden": "there is no such argument"}


def _arguments(signature: Signature, schema: Mapping[str, Any], pool: ThreadPool) -> dict[str, Argument]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    return {
        parameter.key: _argument(parameter, properties[parameter.key], definitions, pool)
        for parameter in signature.parameters
    }


def _argument(
    parameter: Parameter, schema: Mapping[str, Any], definitions: Mapping[str, Any], pool: ThreadPool
) -> Argument:
    choices = tuple(map(_spelt, _choices(schema, definitions)))
    if not (_all_fit(choices, parameter.type) if choices else _is_text(schema, definitions)):
        raise DefinitionError.of("TW3030", name=parameter.name)
    needed = parameter.default is MISSING
    suggest = _suggest(parameter.type, choices, pool)
    return Argument(parameter.key, schema.get("title"), schema.get("description"), needed, suggest)


def _suggest(type_: Any, choices: Sequence[str], pool: ThreadPool) -> Suggest | None:
    metadata = get_args(type_)[1:] if get_origin(type_) is Annotated else ()
    for item in metadata:
        if isinstance(item, Completes):
            return _own(item.suggest, pool)
    return _among(choices) if choices else None


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    return definitions[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def _choices(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Any]:
    """The values that the type names one by one."""
    schema = _resolved(schema, definitions)
    if "enum" in schema or "const" in schema:
        return [value for value in schema.get("enum", [schema.get("const")]) if value is not None]
    if schema.get("type") == "boolean":
        return [True, False]
    return [value for option in schema.get("anyOf", ()) for value in _choices(option, definitions)]


def _spelt(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_of_equals(value: Any) -> Any:
    """The value, or its text where equal values are written in more than one way: 7.0 is ``7``, a time is in UTC."""
    if isinstance(value, float):
        return str(value + 0.0).removesuffix(".0")
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    if isinstance(value, datetime | time) and value.utcoffset():
        return ""
    return value


def _plain_decimal(value: Decimal) -> str:
    """Without an exponent and without zeros that say nothing; nothing for what no URI could hold."""
    if abs(value.adjusted()) > MAX_URI:
        return ""
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


_TEXT = ("string", "integer", "number", "boolean")


def _is_text(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether a value of the type can be one piece of text."""
    schema = _resolved(schema, definitions)
    if "anyOf" in schema:
        return any(_is_text(option, definitions) for option in schema["anyOf"])
    kind = schema.get("type", "string")
    return not is_array(kind) and kind in _TEXT


def _all_fit(choices: Sequence[str], type_: Any) -> bool:
    adapter = adapter_of(type_)
    try:
        for choice in choices:
            adapter.validate_strings(choice)
    except pydantic.ValidationError:
        return False
    return True


def _among(choices: Sequence[str]) -> Suggest:
    async def suggest(prefix: str, arguments: Mapping[str, str], context: RequestContext) -> Sequence[str]:
        return [choice for choice in choices if choice.lower().startswith(prefix.lower())]

    return suggest


def _own(function: Callable[..., Any], pool: ThreadPool) -> Suggest:
    refuse_dependencies(function)
    count = len(required(function))
    if count not in (1, 2, 3):
        raise DefinitionError.of("TW3031", name=getattr(function, "__name__", str(function)))
    call = caller(function, inspect.iscoroutinefunction(plain(function)), pool)

    async def suggest(prefix: str, arguments: Mapping[str, str], context: RequestContext) -> Sequence[str]:
        return await call(*(prefix, arguments, context)[:count])

    return suggest
