"""All of it together: a function, or a schema and a handler, becomes a tool that can be run."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tooltrue._internal.signatures import signature_of
from tooltrue.errors import DefinitionError, InvalidResult
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.protocol import types as wire
from tooltrue.protocol.characters import check_plain
from tooltrue.protocol.headers import find_mirrors
from tooltrue.protocol.name_rules import check_meta, is_name
from tooltrue.protocol.schema import OWN, Schema, compile_schema, sound_schema
from tooltrue.protocol.types import ToolOutcome, Value, replaced
from tooltrue.tools.binding.dependencies import Threads, by_keywords, refuse_dependencies
from tooltrue.tools.binding.signature import Signature, plain, read_signature, required
from tooltrue.tools.binding.tool_options import ToolOptions
from tooltrue.tools.content import Unfinished, present, structured
from tooltrue.tools.rounds import InputRequired, how_it_ended
from tooltrue.tools.threads import Lane, ThreadPool
from tooltrue.tools.vocabulary import EFFECTS, Principal, RequestContext, Tool, ToolCall, for_author
from tooltrue.tools.wording import (
    DEFAULT_NONE_NOT_IN_TYPE,
    DEFAULT_VIOLATES_SCHEMA,
    DEFINITION_SETTING_INVALID,
    EXAMPLE_VIOLATES_SCHEMA,
    INPUT_SCHEMA_ROOT_NOT_OBJECT,
    LABEL_LEFT_OUT_ISOLATED,
    LABEL_LEFT_OUT_NO_FUNCTION,
    LABEL_LEFT_OUT_WITH_CREDENTIALS,
    RAW_HANDLER_SIGNATURE_INVALID,
    READ_WHEN_UNKNOWN_ARGUMENT,
    RETURN_TYPE_WITHOUT_JSON_FORM,
    TOOL_ALIAS_IS_OWN_NAME,
    TOOL_NAME_INVALID,
    TYPE_WITHOUT_JSON_FORM,
    UNKNOWN_TOOL_EFFECT,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # a raw schema needs no types
    from tooltrue.tools.binding.arguments import Convert
    from tooltrue.tools.binding.return_values import Output
    from tooltrue.tools.lifespan_values import LifespanValues

__all__ = ["Bound", "bind", "bind_raw", "caller", "located"]

Run: TypeAlias = Callable[[ToolCall], Awaitable[ToolOutcome]]


class Bound(Value, frozen=True):
    """A tool and its runner. ``run`` expects arguments that fit the input schema; ``visible`` decides which callers see
    the tool; ``lane`` is its share of the threads, if it needs them.
    """

    tool: Tool
    run: Run
    visible: Callable[[Principal], bool] | None = None
    lane: Lane | None = None


def bind(
    function: Callable[..., Any],
    settings: ToolOptions,
    pool: ThreadPool,
    lifespan: Callable[[], LifespanValues] | None = None,
) -> Bound:
    """Make a tool of ``function``. Raises ``DefinitionError``, naming the function and the fix. ``lifespan`` returns
    the values of the toolset for functions that take some from the lifespan.
    """
    from tooltrue.tools.binding.arguments import arguments_of  # noqa: PLC0415 - a raw schema needs no types

    name = settings.name or getattr(function, "__name__", "")
    with located(f"Tool {name!r}", function):
        signature = read_signature(function, collects=True)
        arguments, output = arguments_of(name, signature), _output(signature.returns)
        definition = _definition(name, settings, signature.description, arguments.schema, output.schema)
        plain = _Plain(arguments.is_plain and not settings.examples, output.is_plain)
        if settings.isolation is not None:
            return _isolated(function, definition, plain, settings, signature, pool)
        threads = pool.lane(name, settings.at_once) if settings.blocking else None
        lane = None if signature.is_async else threads
        tool = _tool(function, definition, plain, settings, lane, pool)
        present = output.presenter(tool.output)
        if signature.provided:
            return _provided(function, signature, arguments.convert, present, threads, lifespan, tool, settings, lane)
        return Bound(tool, _runner(function, signature, arguments.convert, present, threads), settings.visible, lane)


class _Plain(Value, frozen=True):
    """Which schemas are of plain types, and so are sure to compile."""

    input: bool = False
    output: bool = False


def _compiled(schema: dict[str, Any], is_plain: bool) -> Schema:
    """Compile a schema; a plain one at its first use."""
    return sound_schema(schema) if is_plain else compile_schema(schema, bounds=OWN)


def _output(returns: Any) -> Output:
    from tooltrue.tools.binding.return_values import Output  # noqa: PLC0415 - a raw schema needs no types

    try:
        return Output(returns)
    except DefinitionError as error:
        if error.code != TYPE_WITHOUT_JSON_FORM:
            raise
        raise DefinitionError.of(RETURN_TYPE_WITHOUT_JSON_FORM, **error.facts) from None


def _isolated(
    function: Callable[..., Any],
    definition: wire.ToolDefinition,
    plain: _Plain,
    settings: ToolOptions,
    signature: Signature,
    pool: ThreadPool,
) -> Bound:
    """Make a tool whose calls run in processes of their own; a thread waits for each."""
    from tooltrue.tools.isolated_calls import AT_ONCE, check_isolated, isolated  # noqa: PLC0415 - few tools need it

    if signature.context is not None or signature.provided:
        raise DefinitionError.of(
            DEFINITION_SETTING_INVALID, name="isolation", wanted=Worded(LABEL_LEFT_OUT_ISOLATED, {})
        )
    check_isolated(function)
    lane = pool.lane(definition.name, settings.at_once or AT_ONCE)
    tool = replaced(_tool(function, definition, plain, settings, lane, pool), stoppable=True)
    call = isolated(function, definition.name, lane)
    return Bound(tool, lambda call_: call(call_.arguments, call_.context.stored), settings.visible, lane)


def bind_raw(
    handler: Callable[..., Any],
    definition: wire.ToolDefinition,
    settings: ToolOptions,
    pool: ThreadPool,
    credentials: Collection[str] = (),
) -> Bound:
    """Make a tool of a JSON Schema and ``handler(arguments)`` or ``handler(arguments, context)``, whose context has the
    headers ``credentials`` of the caller."""
    is_async = inspect.iscoroutinefunction(handler)
    output_schema = definition.outputSchema
    with located(f"Tool {definition.name!r}", handler):
        if settings.isolation is not None:
            raise DefinitionError.of(
                DEFINITION_SETTING_INVALID, name="isolation", wanted=Worded(LABEL_LEFT_OUT_NO_FUNCTION, {})
            )
        description, schema = definition.description, definition.inputSchema
        made = _definition(definition.name, settings, description, schema, output_schema)
        lane = None if is_async or not settings.blocking else pool.lane(definition.name, settings.at_once)
        tool = _tool(handler, made, _Plain(), settings, lane, pool)
        tool = replaced(tool, credentials=tuple(sorted(credentials))) if credentials else tool
        with_context = _takes_context(handler)
    call = caller(handler, is_async, lane)
    context_of = partial(_with_credentials, names=tool.credentials) if credentials else for_author

    async def run(call_: ToolCall) -> ToolOutcome:
        try:
            value = await (
                call(_own(call_.arguments), context_of(call_.context)) if with_context else call(call_.arguments)
            )
        except (InputRequired, BaseExceptionGroup) as error:
            return how_it_ended(error)
        # A declared output schema means that a bare string, too, is a JSON value.
        if output_schema is not None:
            return structured(value)
        try:
            return present(value)
        except InvalidResult:
            return await _finished_raw(value, call_.context, lane)

    return Bound(tool, run, settings.visible, lane)


def _with_credentials(context: RequestContext, names: Collection[str]) -> RequestContext:
    carried = context.carried or {}
    return replaced(for_author(context), carried={name: carried[name] for name in names if name in carried})


@contextlib.contextmanager
def located(what: str, function: Callable[..., Any]) -> Generator[None]:
    """Add the subject and its source location to definition errors."""
    source = _source_of(function)
    place = f" ({source[0]}:{source[1]})" if source else ""
    try:
        yield
    except DefinitionError as error:
        raise error.locate(what + place) from None


def _source_of(function: Callable[..., Any]) -> tuple[str, int] | None:
    """Return the file and line of a function; ``None`` if it is not Python code."""
    code = getattr(inspect.unwrap(plain(function)), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


def _definition(
    name: str, settings: ToolOptions, described: str | None, input_schema: dict[str, Any], output: dict[str, Any] | None
) -> wire.ToolDefinition:
    if not is_name(name):
        raise DefinitionError.of(TOOL_NAME_INVALID, name=name)
    if settings.effect is not None and settings.effect not in EFFECTS:
        raise DefinitionError.of(UNKNOWN_TOOL_EFFECT, effect=settings.effect, allowed=", ".join(EFFECTS))
    if name in settings.old_names:
        raise DefinitionError.of(TOOL_ALIAS_IS_OWN_NAME, name=name)
    check_meta(settings.meta)
    if settings.examples:
        input_schema = {**input_schema, "examples": [dict(example) for example in settings.examples]}
    made = wire.ToolDefinition(
        name=name,
        inputSchema=input_schema,
        title=settings.title,
        description=_described(settings.description or described, settings.deprecated),
        outputSchema=output,
        annotations=settings.annotations(),
        icons=list(settings.icons) or None,
        meta=settings.published_meta(),
    )
    check_plain("The definition", made)
    return made


def _described(description: str | None, deprecated: str) -> str | None:
    """Put the deprecation first: some clients truncate long descriptions, and no model is shown ``_meta``."""
    return f"Deprecated: {deprecated}\n\n{description or ''}".rstrip() if deprecated else description


def _tool(
    function: Callable[..., Any],
    definition: wire.ToolDefinition,
    plain: _Plain,
    settings: ToolOptions,
    lane: Lane | None,
    pool: ThreadPool,
) -> Tool:
    if definition.inputSchema.get("type") != "object":
        raise DefinitionError.of(INPUT_SCHEMA_ROOT_NOT_OBJECT)
    input_schema = _compiled(definition.inputSchema, plain.input)
    properties: dict[str, Any] = definition.inputSchema.get("properties", {})
    defaults = {name: inner["default"] for name, inner in properties.items() if is_object(inner) and "default" in inner}
    for example in settings.examples:
        if not input_schema.accepts(dict(example)):
            raise DefinitionError.of(EXAMPLE_VIOLATES_SCHEMA, problem=input_schema.problems(dict(example))[0])
    unsure = {name: value for name, value in defaults.items() if not (plain.input and _fits(properties[name], value))}
    _check_defaults(properties, unsure, definition.inputSchema.get("$defs"))
    for name in settings.read_when:
        if name not in properties:
            raise DefinitionError.of(READ_WHEN_UNKNOWN_ARGUMENT, name=name)
    return Tool(
        definition,
        settings.effect or "write",
        input_schema,
        _compiled(definition.outputSchema, plain.output) if definition.outputSchema is not None else None,
        defaults,
        find_mirrors(definition.inputSchema),
        settings.seconds,
        settings.max_bytes,
        lane is None,
        settings.rate,
        settings.at_once if lane is None else lane.share,
        settings.max_argument_bytes,
        frozenset(settings.requires),
        settings.confirm,
        _preview(definition.name, settings.preview, pool),
        settings.secrets,
        settings.untrusted,
        read_when=dict(settings.read_when),
        repair=settings.repair,
        personal=settings.personal,
        sends=settings.sends,
        replaces=settings.old_names,
        deprecated=settings.deprecated,
        excused=dict(settings.excused),
        tags=frozenset(settings.tags),
        source=_source_of(function),
        task=settings.task_mode,
        reads_stored=settings.reads_stored,
    )


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    from tooltrue.tools.binding.plain_types import fits  # noqa: PLC0415 - a raw schema needs no types

    return fits(schema, value)


def _preview(
    name: str, preview: Callable[[dict[str, Any]], Any] | None, pool: ThreadPool
) -> Callable[[dict[str, Any]], Awaitable[Any]] | None:
    if preview is None:
        return None
    refuse_dependencies(preview)
    is_async = inspect.iscoroutinefunction(preview)
    return caller(preview, is_async, None if is_async else pool.lane(f"preview of {name}", None))


def _check_defaults(properties: Mapping[str, Any], defaults: Mapping[str, Any], defs: Any) -> None:
    for name, default in defaults.items():
        inner = {**properties[name], **({"$defs": defs} if defs else {})}
        if not compile_schema(inner, bounds=OWN).accepts(default):
            raise DefinitionError.of(
                DEFAULT_NONE_NOT_IN_TYPE if default is None else DEFAULT_VIOLATES_SCHEMA, name=name
            )


def caller(function: Callable[..., Any], is_async: bool, threads: Threads | None) -> Callable[..., Awaitable[Any]]:
    """Wrap the function as an awaitable one: on ``threads``, if it may block."""
    if is_async:
        return function

    async def call(*args: Any, **kwargs: Any) -> Any:
        if threads is not None:
            value = await threads.run(partial(function, *args, **kwargs))
        else:
            value = function(*args, **kwargs)
        # A plain wrapper around an async function returns an awaitable.
        return await value if inspect.isawaitable(value) else value

    return call


def _runner(
    function: Callable[..., Any],
    signature: Signature,
    convert: Convert,
    present: Callable[[Any], ToolOutcome],
    threads: Threads | None,
) -> Run:
    target = by_keywords(function, signature.positional)
    if signature.is_iterator:
        from tooltrue.tools.binding.collecting import collecting  # noqa: PLC0415 - few tools return iterators

        target = collecting(target, is_async=signature.is_async)
    call = caller(target, signature.is_async, None if signature.is_async else threads)
    context = signature.context

    async def run(call_: ToolCall) -> ToolOutcome:
        arguments = convert(call_.arguments)
        try:
            if context is not None:
                arguments = {**arguments, context: for_author(call_.context)}
            return present(await call(**arguments))
        except (InputRequired, BaseExceptionGroup) as error:
            return how_it_ended(error)
        except Unfinished as unfinished:
            return await _finished(unfinished, call_.context, threads)

    return run


async def _finished_raw(value: Any, context: RequestContext, threads: Threads | None) -> ToolOutcome:
    """Return the outcome of a raw handler's value that msgspec cannot write: a file, a picture, a model."""
    from tooltrue.tools.binding.return_values import present_anything  # noqa: PLC0415 - a raw schema needs no types

    try:
        return present_anything(value)
    except Unfinished as unfinished:
        return await _finished(unfinished, context, threads)


async def _finished(unfinished: Unfinished, context: RequestContext, threads: Threads | None) -> ToolOutcome:
    from tooltrue.tools.binding.deferred_values import finished  # noqa: PLC0415 - most values are plain

    try:
        return await finished(unfinished, context, threads)
    except (InputRequired, BaseExceptionGroup) as error:  # an iterator may ask
        return how_it_ended(error)


def _presented_or_unfinished(present: Callable[[Any], ToolOutcome], value: Any) -> ToolOutcome | Unfinished:
    """Present a value while the dependencies are open: an iterator may read from them, so it is collected here."""
    try:
        return present(value)
    except Unfinished as unfinished:
        items: Any = unfinished.value
        if not isinstance(items, Iterator):
            return unfinished
        from tooltrue.tools.binding.collecting import collected  # noqa: PLC0415 - few tools return iterators

        return _presented_or_unfinished(unfinished.present, collected(cast("Iterator[Any]", items)))


def _provided(
    function: Callable[..., Any],
    signature: Signature,
    convert: Convert,
    present: Callable[[Any], ToolOutcome],
    threads: Threads | None,
    lifespan: Callable[[], LifespanValues] | None,
    tool: Tool,
    settings: ToolOptions,
    lane: Lane | None,
) -> Bound:
    """Make a tool of a function with dependencies and the like."""
    from tooltrue.tools.binding.injection import Injection  # noqa: PLC0415 - few tools need it
    from tooltrue.tools.binding.sources import source_of  # noqa: PLC0415 - few tools need it
    from tooltrue.tools.lifespan_values import LifespanValues  # noqa: PLC0415 - few tools need it

    credentials: list[str] = []
    source = source_of(LifespanValues() if lifespan is None else lifespan(), f"the tool {tool.name}", credentials)
    if signature.is_iterator:
        from tooltrue.tools.binding.collecting import collecting  # noqa: PLC0415 - few tools return iterators

        function = collecting(function, is_async=signature.is_async)
    injection = Injection(function, signature, threads, source)
    if credentials:
        if tool.task:
            wanted = Worded(LABEL_LEFT_OUT_WITH_CREDENTIALS, {})
            raise DefinitionError.of(DEFINITION_SETTING_INVALID, name="task", wanted=wanted)
        tool = replaced(tool, credentials=tuple(sorted(credentials)))

    async def run(call_: ToolCall) -> ToolOutcome:
        arguments = convert(call_.arguments)
        try:
            outcome = await injection.call(arguments, call_.context, partial(_presented_or_unfinished, present))
        except (InputRequired, BaseExceptionGroup) as error:
            return how_it_ended(error)
        # Files and pictures need no dependency any more, and take time.
        return await _finished(outcome, call_.context, threads) if isinstance(outcome, Unfinished) else outcome

    return Bound(tool, run, settings.visible, lane)


def _own(arguments: dict[str, Json]) -> dict[str, Json]:
    from tooltrue.tools.binding.arguments import own  # noqa: PLC0415 - few handlers of a raw schema take a context

    return own(arguments)


def _takes_context(handler: Callable[..., Any]) -> bool:
    """Whether a raw handler takes the context beside the arguments: it has two required parameters, or one named
    ``context``.
    """
    function = getattr(handler, "__func__", None)
    return _method_takes_context(function) if inspect.isfunction(function) else _has_context(handler)


@functools.lru_cache(64)
def _method_takes_context(function: FunctionType) -> bool:
    """The same for a method: where each object is a tool, many tools have one."""
    return _has_context(MethodType(function, object()))


def _has_context(handler: Callable[..., Any]) -> bool:
    refuse_dependencies(handler)
    count = len(required(handler))
    parameters = signature_of(handler).parameters
    named = "context" in parameters
    if count > 2 or not parameters:
        raise DefinitionError.of(RAW_HANDLER_SIGNATURE_INVALID)
    return count == 2 or named
