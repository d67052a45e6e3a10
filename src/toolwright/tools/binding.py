"""A Python function → a tool: its contract is derived here, once, at registration. Owns pydantic.

JSON Schema alone accepts or refuses arguments; pydantic writes the schema and then only *converts* (strict JSON mode).
What cannot be described is a ``DefinitionError`` that names the fix.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, Union, get_args, get_origin, get_type_hints

import pydantic
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, PydanticUndefined, to_jsonable_python
from typing_extensions import TypedDict

from toolwright.errors import DefinitionError, InvalidArguments, InvalidResult
from toolwright.jsonrpc.messages import Json, encode, is_array, is_object
from toolwright.protocol import types as wire
from toolwright.protocol.headers import find_mirrors
from toolwright.protocol.names import is_name
from toolwright.protocol.schema import OWN, compile_schema
from toolwright.protocol.types import ToolOutcome
from toolwright.tools.content import BLOCKS, is_blocks, present, structured
from toolwright.tools.docstrings import read_docstring
from toolwright.tools.threads import ThreadPool
from toolwright.tools.toolset import EFFECTS, Effect, RequestContext, Tool, ToolCall

__all__ = ["Bound", "Depends", "Settings", "bind", "bind_raw"]

Run: TypeAlias = Callable[[ToolCall], Awaitable[ToolOutcome]]


@dataclass(frozen=True, slots=True)
class Depends:
    """``Annotated[T, Depends(make)]``: a parameter that ``make()`` or ``make(context)`` provides for each call.

    ``make`` may be ``async``. The parameter is not part of the tool's schema.
    """

    make: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an author may declare beside the function; everything has a default.

    - ``effect``: ``read`` (changes nothing), ``write`` (changes, and can be undone), ``destructive`` (may lose
      something), ``open-world`` (acts on others outside). Undeclared counts as ``write``, and clients are told nothing,
      so that they assume the worst.
    - ``idempotent``: calling again with the same arguments adds nothing.
    - ``open_world``: the tool talks to others outside; declared with the effect, ``False`` unless said.
    - ``seconds`` and ``max_bytes``: limits of this tool; the server's otherwise.
    - ``blocking=False``: a plain function that is known to be quick is called directly, without a thread.
    - ``examples``: arguments that are checked against the schema and published in it.
    """

    name: str | None = None
    title: str | None = None
    description: str | None = None
    effect: Effect | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    examples: Sequence[Mapping[str, Any]] = ()
    seconds: float | None = None
    max_bytes: int | None = None
    blocking: bool = True
    icons: Sequence[wire.Icon] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def annotations(self) -> wire.ToolAnnotations | None:
        """The hints that follow from what was declared; none for what was not."""
        if self.effect is None:
            hints = wire.ToolAnnotations(idempotentHint=self.idempotent, openWorldHint=self.open_world)
            return None if hints == wire.ToolAnnotations() else hints
        return wire.ToolAnnotations(
            readOnlyHint=self.effect == "read",
            destructiveHint=None if self.effect == "read" else self.effect != "write",
            idempotentHint=None if self.effect == "read" else self.idempotent,
            openWorldHint=bool(self.open_world) or self.effect == "open-world",
        )

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Settings:
        """The settings that a decorator was given. ``DefinitionError`` for one that there is not."""
        known = [item.name for item in fields(cls)]
        for name in said:
            if name not in known:
                raise DefinitionError.of("TW3014", name=name, known=", ".join(known))
        return cls(**said)


@dataclass(frozen=True, slots=True)
class Bound:
    """A tool and the way to run it. ``run`` expects arguments that fit the input schema."""

    tool: Tool
    run: Run


def bind(function: Callable[..., Any], settings: Settings, pool: ThreadPool) -> Bound:
    """The tool that ``function`` is. Raises ``DefinitionError``, naming the function and the fix."""
    name = settings.name or getattr(function, "__name__", "")
    with _located(name, function):
        signature = _read_signature(function)
        adapter = _arguments_adapter(signature)
        input_schema = _input_schema(adapter, signature)
        output = _Output(signature.returns)
        definition = _definition(name, settings, signature.description, input_schema, output.schema)
        tool = _tool(definition, settings, stoppable=signature.is_async or not settings.blocking)
        return Bound(tool, _runner(function, signature, adapter, output, settings, pool))


def bind_raw(handler: Callable[..., Any], definition: wire.Tool, settings: Settings, pool: ThreadPool) -> Bound:
    """A tool from a JSON Schema and ``handler(arguments)`` or ``handler(arguments, context)``."""
    is_async = inspect.iscoroutinefunction(handler)
    output_schema = definition.outputSchema
    with _located(definition.name, handler):
        description, schema = definition.description, definition.inputSchema
        made = _definition(definition.name, settings, description, schema, output_schema)
        tool = _tool(made, settings, stoppable=is_async or not settings.blocking)
    with_context = len(_required(handler)) > 1
    call = _caller(handler, is_async, settings.blocking, pool)

    async def run(call_: ToolCall) -> ToolOutcome:
        value = await (call(call_.arguments, call_.context) if with_context else call(call_.arguments))
        # A declared output schema means that a bare string, too, is a JSON value.
        return present(value) if output_schema is None else structured(value)

    return Bound(tool, run)


@contextlib.contextmanager
def _located(name: str, function: Callable[..., Any]) -> Generator[None]:
    """Definition errors say which tool it is, and where it is written."""
    code = getattr(inspect.unwrap(_plain(function)), "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    try:
        yield
    except DefinitionError as error:
        raise error.locate(f"Tool {name!r}{place}") from None


# --- the signature ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parameter:
    """``key`` is the name on the wire: an alias where there is one."""

    name: str
    key: str
    type: Any
    default: Any
    positional: bool


@dataclass(frozen=True, slots=True)
class _Signature:
    parameters: tuple[_Parameter, ...]
    context: str | None
    depends: Mapping[str, Depends]
    returns: Any
    description: str | None
    is_async: bool


_MISSING = inspect.Parameter.empty


def _read_signature(function: Callable[..., Any]) -> _Signature:
    target = _plain(function)
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise DefinitionError.of("TW3001")
    hints = _hints(target)
    description, described = read_docstring(inspect.getdoc(_documented(function)))
    parameters: list[_Parameter] = []
    contexts: list[str] = []
    depends: dict[str, Depends] = {}
    for parameter in inspect.signature(function).parameters.values():
        annotation = hints.get(parameter.name, _MISSING)
        _check_parameter(parameter, annotation)
        if RequestContext in (annotation, *_options(annotation)):
            contexts.append(parameter.name)
        elif (dependency := _dependency(annotation)) is not None:
            depends[parameter.name] = dependency
        else:
            parameters.append(_parameter(parameter, annotation, described.get(parameter.name)))
    if len(contexts) > 1:
        raise DefinitionError.of("TW3004", names=", ".join(contexts))
    return _Signature(
        tuple(parameters),
        contexts[0] if contexts else None,
        depends,
        hints.get("return", _MISSING),
        description,
        inspect.iscoroutinefunction(target),
    )


def _plain(function: Any) -> Callable[..., Any]:
    """The function behind a partial, or behind an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return function if inspect.isroutine(function) else type(function).__call__


def _documented(function: Any) -> Any:
    return _plain(function) if isinstance(function, functools.partial) else function


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise DefinitionError.of("TW3003", problem=str(error)) from None


def _check_parameter(parameter: inspect.Parameter, annotation: Any) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise DefinitionError.of("TW3002", name=str(parameter))
    if annotation is _MISSING:
        raise DefinitionError.of("TW3005", name=parameter.name)


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()


def _dependency(annotation: Any) -> Depends | None:
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((item for item in metadata if isinstance(item, Depends)), None)


def _parameter(parameter: inspect.Parameter, annotation: Any, described: str | None) -> _Parameter:
    metadata: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
    default = parameter.default
    if isinstance(default, FieldInfo):  # written x: int = Field(5, ge=1)
        metadata.append(default)
        default = _MISSING if default.default in (PydanticUndefined, ...) else default.default
    texts = [item for item in metadata if isinstance(item, str)]
    rest = [item for item in metadata if not isinstance(item, str)]
    description = texts[0] if texts else described
    if description and not any(isinstance(item, FieldInfo) and item.description for item in rest):
        rest.append(pydantic.Field(description=description))
    plain = [part for item in rest for part in _without_default(item)]
    type_: Any = Annotated[(annotation, *plain)] if plain else annotation  # pyright: ignore[reportInvalidTypeForm]
    key = next((item.alias for item in plain if isinstance(item, FieldInfo) and item.alias), parameter.name)
    return _Parameter(parameter.name, key, type_, default, parameter.kind is parameter.POSITIONAL_ONLY)


def _without_default(item: Any) -> Sequence[Any]:
    """Metadata of a parameter as it may stand in a TypedDict: its default is published from the signature instead."""
    if not isinstance(item, FieldInfo) or item.default is PydanticUndefined:
        return (item,)
    said = pydantic.Field(title=item.title, description=item.description, examples=item.examples, alias=item.alias)
    return (*item.metadata, said)


# --- the schemas -----------------------------------------------------------------------------------------------------


class _SchemaWriter(GenerateJsonSchema):
    """JSON Schema 2020-12 without titles that nobody wrote, which says of Python's types just what they hold.

    RFC 3339, which the formats mean, has a year 0 and leap seconds, and Python has not; Python has naive times and
    fractions in durations, and RFC 3339 has not. What a format would promise of a result too much is left out.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def date_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().date_schema(schema), **self._taken("^0{0,3}[1-9]")}

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        written = {**super().datetime_schema(schema), **self._taken("^0{0,3}[1-9][0-9]*-..-...(..:){2}[0-5]")}
        return written if schema.get("tz_constraint") == "aware" else self._given(written)

    def time_schema(self, schema: Any) -> dict[str, Any]:
        return self._given({**super().time_schema(schema), **self._taken("^(..:){2}[0-5]")})

    def timedelta_schema(self, schema: Any) -> dict[str, Any]:
        return self._given(super().timedelta_schema(schema))

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        written = super().decimal_schema(schema)
        for option in written.get("anyOf", ()):
            if option.get("type") == "string":
                option |= self._taken(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$")
        return written

    def _taken(self, pattern: str) -> dict[str, Any]:
        """What only arguments are held to."""
        return {"pattern": pattern} if self.mode == "validation" else {}

    def _given(self, written: dict[str, Any]) -> dict[str, Any]:
        """A result is text here, and nothing is promised of it."""
        return written if self.mode == "validation" else {"type": written["type"]}


def _arguments_adapter(signature: _Signature) -> pydantic.TypeAdapter[dict[str, Any]]:
    fields: dict[str, Any] = {
        parameter.name: parameter.type if parameter.default is _MISSING else NotRequired[parameter.type]
        for parameter in signature.parameters
    }
    shape = TypedDict("Arguments", fields)  # pyright: ignore
    shape.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")  # pyright: ignore
    return _adapter(shape)


def _adapter(type_: Any) -> pydantic.TypeAdapter[Any]:
    try:
        return pydantic.TypeAdapter(type_)
    except (pydantic.PydanticSchemaGenerationError, pydantic.PydanticUserError, TypeError) as error:
        raise DefinitionError.of("TW3006", problem=str(error).split("\n")[0]) from None


def _write_schema(adapter: pydantic.TypeAdapter[Any], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=_SchemaWriter)
    except (PydanticInvalidForJsonSchema, pydantic.PydanticUserError) as error:
        raise DefinitionError.of("TW3006", problem=str(error).split("\n")[0]) from None
    return _tidy_schema(schema, schema.get("title", ""))


def _tidy_schema(schema: Any, own_title: str) -> Any:
    """Close the objects that do not say whether they are open, and drop the titles that are only class names."""
    if is_array(schema):
        return [_tidy_schema(item, "") for item in schema]
    if not is_object(schema):
        return schema
    tidy: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and value == own_title:
            continue
        if key in ("properties", "$defs"):
            tidy[key] = {name: _tidy_schema(inner, name) for name, inner in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            tidy[key] = value
        else:
            tidy[key] = _tidy_schema(value, "")
    if tidy.get("type") == "object" and "properties" in tidy:
        tidy.setdefault("additionalProperties", False)
    return tidy


def _input_schema(adapter: pydantic.TypeAdapter[Any], signature: _Signature) -> dict[str, Any]:
    schema = _write_schema(adapter, "validation")
    schema.setdefault("type", "object")
    schema.setdefault("additionalProperties", False)
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    for parameter in signature.parameters:
        if parameter.default is not _MISSING:
            _publish_default(parameter, properties[parameter.key])
    return schema


def _publish_default(parameter: _Parameter, property: dict[str, Any]) -> None:
    try:
        property["default"] = to_jsonable_python(parameter.default)
    except PydanticSerializationError:
        property.pop("default", None)  # a default that JSON cannot say stays the function's own business


class _Output:
    """How a returned value becomes content, decided by the return annotation."""

    def __init__(self, returns: Any) -> None:
        self.schema: dict[str, Any] | None = None
        self.present: Callable[[Any], ToolOutcome] = _present_anything
        if _has_schema(returns):
            adapter = _adapter(returns)
            self.schema = _write_schema(adapter, "serialization")
            if _is_json_type(returns):
                self.present = structured
            else:
                self.present = functools.partial(_present_converted, adapter)


_WITHOUT_SCHEMA = (str, None, type(None), Any, _MISSING, wire.CallToolResult, wire.InputRequiredResult, *BLOCKS)


def _has_schema(returns: Any) -> bool:
    """Whether a return type is JSON with a shape. Text, content blocks and whole results have none."""
    origin, inner = get_origin(returns), get_args(returns)
    if origin is Annotated:
        return _has_schema(inner[0])
    if origin in (Union, types.UnionType):
        return any(map(_has_schema, inner))
    if origin in (list, tuple):
        return not all(item in BLOCKS or (get_args(item) and not _has_schema(item)) for item in inner)
    return returns not in _WITHOUT_SCHEMA


_JSON_TYPES = (str, int, float, bool, type(None), None)


def _is_json_type(annotation: Any) -> bool:
    """Whether values of this type are JSON already, so that nothing needs to be converted."""
    if annotation in _JSON_TYPES:
        return True
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (list, Union, types.UnionType):
        return all(map(_is_json_type, inner))
    if origin is dict:
        return inner[0] is str and _is_json_type(inner[1])
    return origin is Literal and all(isinstance(value, str | int | bool) for value in inner)


def _present_anything(value: Any) -> ToolOutcome:
    return present(to_jsonable_python(value) if _needs_conversion(value) else value)


def _needs_conversion(value: Any) -> bool:
    return not (value is None or isinstance(value, _READY) or is_blocks(value))


_OUTCOMES = (wire.CallToolResult, wire.InputRequiredResult)
_READY = (str, *_OUTCOMES, *BLOCKS)


def _present_converted(adapter: pydantic.TypeAdapter[Any], value: Any) -> ToolOutcome:
    if isinstance(value, _OUTCOMES):
        return structured(value)
    try:
        return structured(adapter.dump_python(value, mode="json", by_alias=True, warnings="error"))
    except PydanticSerializationError as error:
        raise InvalidResult(f"the result is not of the declared type: {error}") from error


# --- the tool --------------------------------------------------------------------------------------------------------


def _definition(
    name: str, settings: Settings, described: str | None, input_schema: dict[str, Any], output: dict[str, Any] | None
) -> wire.Tool:
    if not is_name(name):
        raise DefinitionError.of("TW3007", name=name)
    if settings.effect is not None and settings.effect not in EFFECTS:
        raise DefinitionError.of("TW3008", effect=settings.effect, allowed=", ".join(EFFECTS))
    if settings.examples:
        input_schema = {**input_schema, "examples": [dict(example) for example in settings.examples]}
    return wire.Tool(
        name=name,
        inputSchema=input_schema,
        title=settings.title,
        description=settings.description or described,
        outputSchema=output,
        annotations=settings.annotations(),
        icons=list(settings.icons) or None,
        meta=dict(settings.meta) or None,
    )


def _tool(definition: wire.Tool, settings: Settings, *, stoppable: bool) -> Tool:
    if definition.inputSchema.get("type") != "object":
        raise DefinitionError.of("TW3009")
    input_schema = compile_schema(definition.inputSchema, bounds=OWN)
    properties: dict[str, Any] = definition.inputSchema.get("properties", {})
    defaults = {name: inner["default"] for name, inner in properties.items() if is_object(inner) and "default" in inner}
    for example in settings.examples:
        if not input_schema.accepts(dict(example)):
            raise DefinitionError.of("TW3010", problem=input_schema.problems(dict(example))[0])
    _check_defaults(properties, defaults, definition.inputSchema.get("$defs"))
    return Tool(
        definition,
        settings.effect or "write",
        input_schema,
        compile_schema(definition.outputSchema, bounds=OWN) if definition.outputSchema is not None else None,
        defaults,
        find_mirrors(definition.inputSchema),
        settings.seconds,
        settings.max_bytes,
        stoppable,
    )


def _check_defaults(properties: Mapping[str, Any], defaults: Mapping[str, Any], defs: Any) -> None:
    for name, default in defaults.items():
        inner = {**properties[name], **({"$defs": defs} if defs else {})}
        if not compile_schema(inner, bounds=OWN).accepts(default):
            raise DefinitionError.of("TW3011", name=name)


def _caller(
    function: Callable[..., Any], is_async: bool, blocking: bool, pool: ThreadPool
) -> Callable[..., Awaitable[Any]]:
    if is_async:
        return function

    async def call(*args: Any, **kwargs: Any) -> Any:
        value = await pool.run(functools.partial(function, *args, **kwargs)) if blocking else function(*args, **kwargs)
        # A plain wrapper around an async function returns what has still to be awaited.
        return await value if inspect.isawaitable(value) else value

    return call


def _runner(
    function: Callable[..., Any],
    signature: _Signature,
    adapter: pydantic.TypeAdapter[dict[str, Any]],
    output: _Output,
    settings: Settings,
    pool: ThreadPool,
) -> Run:
    call = _caller(function, signature.is_async, settings.blocking, pool)
    convert = _converter(signature, adapter)
    given = _injector(signature)
    positional = [parameter.name for parameter in signature.parameters if parameter.positional]
    present = output.present

    async def run(call_: ToolCall) -> ToolOutcome:
        arguments = convert(call_.arguments)
        if given is not None:
            arguments = {**arguments, **await given(call_.context)}
        if positional:
            first = [arguments.pop(name) for name in positional if name in arguments]
            return present(await call(*first, **arguments))
        return present(await call(**arguments))

    return run


def _converter(
    signature: _Signature, adapter: pydantic.TypeAdapter[dict[str, Any]]
) -> Callable[[dict[str, Json]], dict[str, Any]]:
    if all(_is_json_type(parameter.type) and _never_integral(parameter.type) for parameter in signature.parameters):
        return dict  # JSON values are what the function wants

    def convert(arguments: dict[str, Json]) -> dict[str, Any]:
        try:
            return adapter.validate_json(encode(arguments), strict=True)
        except pydantic.ValidationError:
            pass
        try:
            # To JSON Schema 5.0 is an integer; to pydantic, in strict mode, it is not.
            return adapter.validate_json(encode(_integral(arguments)), strict=True)
        except pydantic.ValidationError as error:
            raise InvalidArguments(_explain(error)) from None

    return convert


def _never_integral(annotation: Any) -> bool:
    """Whether 5.0 can never stand for an int here: the conversion would have to make it one."""
    return annotation is not int and all(map(_never_integral, get_args(annotation)))


def _integral(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_array(value):
        return list(map(_integral, value))
    if is_object(value):
        return {key: _integral(inner) for key, inner in value.items()}
    return value


def _explain(error: pydantic.ValidationError) -> str:
    """What the author's own validators say; the values themselves are not repeated."""
    lines = [
        "- $." + ".".join(map(str, problem["loc"])) + ": " + problem["msg"]
        for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]
    ]
    return "Invalid arguments:\n" + "\n".join(lines)[:400] + "\nCorrect them and call again."


def _injector(signature: _Signature) -> Callable[[RequestContext], Awaitable[dict[str, Any]]] | None:
    if signature.context is None and not signature.depends:
        return None
    makers = {
        name: (dependency.make, _wants_context(dependency.make)) for name, dependency in signature.depends.items()
    }

    async def inject(context: RequestContext) -> dict[str, Any]:
        given: dict[str, Any] = {} if signature.context is None else {signature.context: context}
        for name, (make, with_context) in makers.items():
            value = make(context) if with_context else make()
            given[name] = await value if inspect.isawaitable(value) else value
        return given

    return inject


def _wants_context(make: Callable[..., Any]) -> bool:
    required = _required(make)
    if len(required) > 1:
        raise DefinitionError.of("TW3012", name=getattr(make, "__name__", str(make)))
    return len(required) == 1


def _required(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that somebody has to give; one with a default is the function's own business."""
    return [one for one in inspect.signature(function).parameters.values() if one.default is _MISSING]
