"""Functions whose arguments come as text: a prompt (server/prompts), or a resource template (RFC 6570).

Types convert text here as schemas convert JSON for tools; a type that text cannot be converted to is a
``DefinitionError``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Annotated, Any, get_args, get_origin

import pydantic

from tooltrue.errors import DefinitionError, InvalidParams, InvalidResult
from tooltrue.jsonrpc.messages import is_array
from tooltrue.protocol.types import Completion, Value
from tooltrue.protocol.uris import MAX_URI
from tooltrue.tools.binding.bind import caller, located
from tooltrue.tools.binding.dependencies import Threads, by_keywords, refuse_dependencies
from tooltrue.tools.binding.injection import Injection
from tooltrue.tools.binding.schemas import adapter_of, arguments_adapter, input_schema
from tooltrue.tools.binding.signature import MISSING, FunctionParameter, Signature, plain, read_signature, required
from tooltrue.tools.binding.sources import source_of
from tooltrue.tools.binding.tool_options import Completes
from tooltrue.tools.lifespan_values import LifespanValues
from tooltrue.tools.rounds import InputRequired, how_it_ended
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import RequestContext, for_author
from tooltrue.tools.wording import (
    COMPLETION_SIGNATURE_INVALID,
    PARAMETER_NOT_TEXT_CONVERTIBLE,
    TEXT_ARGUMENTS_INVALID,
    UNKNOWN_ARGUMENT,
)

__all__ = ["TextArgument", "TextFunction"]

MAX_VALUES = 100

Suggest = Callable[[str, Mapping[str, str], RequestContext], Awaitable[Sequence[str]]]


class TextArgument(Value, frozen=True):
    """``suggest(prefix, arguments, context)`` returns the values with this prefix; ``None`` if there are no
    suggestions.
    """

    name: str
    title: str | None
    description: str | None
    required: bool
    suggest: Suggest | None


class TextFunction:
    """A function that is called with text. ``what`` names it in errors; a ``DefinitionError`` adds its source
    location.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        what: str,
        pool: ThreadPool,
        *,
        blocking: bool,
        lifespan: Callable[[], LifespanValues] | None = None,
    ) -> None:
        threads = pool if blocking else None
        with located(what[:1].upper() + what[1:], function):
            signature = read_signature(function)
            self._adapter = arguments_adapter(signature)
            self.arguments = _arguments(signature, input_schema(self._adapter, signature), pool)
            self._injection = _injection(function, signature, what, threads, lifespan) if signature.provided else None
        self.description = signature.description
        self._what = what
        self._context = signature.context
        self._call = caller(by_keywords(function, signature.positional), signature.is_async, threads)
        self._keys = {parameter.name: parameter.key for parameter in signature.parameters}

    def convert(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Convert ``texts`` to the function's types. ``InvalidParams`` names missing, unknown and invalid arguments."""
        try:
            return self._adapter.validate_strings(dict(texts))
        except pydantic.ValidationError as error:
            problems = "; ".join(_problems(error))[:400]
            raise InvalidParams.of(TEXT_ARGUMENTS_INVALID, subject=self._what, problems=problems) from None

    def spell(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """Return the texts of converted arguments: one canonical spelling for all texts that ``convert`` treats as
        equal.

        It is the JSON of the value, or ``str`` if JSON cannot express it.
        """
        values = {name: _one_of_equals(value) for name, value in arguments.items()}
        dumped = self._adapter.dump_python(values, mode="json", warnings=False, fallback=str)
        return {self._keys[name]: _spelt(value) for name, value in dumped.items()}

    async def call(self, arguments: Mapping[str, Any], context: RequestContext) -> Any:
        """Return the function's value for converted arguments, or the question that it asks."""
        try:
            named = dict(arguments)
            if self._injection is not None:
                return await self._injection.call(named, context, _as_it_is)
            if self._context is not None:
                named[self._context] = for_author(context)
            return await self._call(**named)
        except (InputRequired, BaseExceptionGroup) as error:
            return how_it_ended(error)

    async def complete(
        self, name: str, prefix: str, arguments: Mapping[str, str], context: RequestContext
    ) -> Completion:
        """Return the values of an argument that begin with ``prefix``, at most 100. Raises ``InvalidParams`` for an
        unknown one.

        Raises ``InvalidResult`` if the author's function does not return a list of text.
        """
        argument = self.arguments.get(name)
        if argument is None:
            raise InvalidParams.of(UNKNOWN_ARGUMENT, subject=self._what, name=name[:128])
        if argument.suggest is None:
            return Completion([], 0, False)
        values: Any = await argument.suggest(prefix, arguments, context)
        if not isinstance(values, list | tuple) or not all(map(_is_str, values)):  # pyright: ignore[reportUnknownArgumentType]
            raise InvalidResult(f"what completes {name!r} is not a list of text")
        texts: list[str] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        return Completion(texts[:MAX_VALUES], len(texts), len(texts) > MAX_VALUES)


def _injection(
    function: Callable[..., Any],
    signature: Signature,
    what: str,
    threads: Threads | None,
    lifespan: Callable[[], LifespanValues] | None,
) -> Injection:
    values = LifespanValues() if lifespan is None else lifespan()
    return Injection(function, signature, threads, source_of(values, f"the {what}"))


def _as_it_is(value: Any) -> Any:
    return value


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _problems(error: pydantic.ValidationError) -> Iterable[str]:
    """Yield each problem with the name of the argument, without the values themselves."""
    for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]:
        name = str(problem["loc"][0]) if problem["loc"] else "?"
        yield f"{name[:128]}: {_WORDS.get(problem['type'], problem['msg'])}"


_WORDS = {"missing": "is required", "extra_forbidden": "there is no such argument"}


def _arguments(signature: Signature, schema: Mapping[str, Any], pool: ThreadPool) -> dict[str, TextArgument]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    return {
        parameter.key: _argument(parameter, properties[parameter.key], definitions, pool)
        for parameter in signature.parameters
    }


def _argument(
    parameter: FunctionParameter, schema: Mapping[str, Any], definitions: Mapping[str, Any], pool: ThreadPool
) -> TextArgument:
    choices = tuple(map(_spelt, _choices(schema, definitions)))
    if not (_all_fit(choices, parameter.type) if choices else _is_text(schema, definitions)):
        raise DefinitionError.of(PARAMETER_NOT_TEXT_CONVERTIBLE, name=parameter.name)
    needed = parameter.default is MISSING
    suggest = _suggest(parameter.type, choices, pool)
    return TextArgument(parameter.key, schema.get("title"), schema.get("description"), needed, suggest)


def _suggest(type_: Any, choices: Sequence[str], pool: ThreadPool) -> Suggest | None:
    metadata = get_args(type_)[1:] if get_origin(type_) is Annotated else ()
    for item in metadata:
        if isinstance(item, Completes):
            return _own(item.suggest, pool)
    return _among(choices) if choices else None


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    return definitions[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def _choices(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Any]:
    """Return the values that the type enumerates."""
    schema = _resolved(schema, definitions)
    if "enum" in schema or "const" in schema:
        return [value for value in schema.get("enum", [schema.get("const")]) if value is not None]
    if schema.get("type") == "boolean":
        return [True, False]
    return [value for option in schema.get("anyOf", ()) for value in _choices(option, definitions)]


def _spelt(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_of_equals(value: Any) -> Any:
    """Return the value, or its text if equal values have several spellings: 7.0 is ``7``, a time is in UTC."""
    if isinstance(value, float):
        return str(value + 0.0).removesuffix(".0")
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    if isinstance(value, datetime | time) and value.utcoffset():
        return ""
    return value


def _plain_decimal(value: Decimal) -> str:
    """Write a decimal without exponent and without trailing zeros; empty if it is too long for any URI."""
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
        raise DefinitionError.of(COMPLETION_SIGNATURE_INVALID, name=getattr(function, "__name__", str(function)))
    call = caller(function, inspect.iscoroutinefunction(plain(function)), pool)

    async def suggest(prefix: str, arguments: Mapping[str, str], context: RequestContext) -> Sequence[str]:
        return await call(*(prefix, arguments, context)[:count])

    return suggest
