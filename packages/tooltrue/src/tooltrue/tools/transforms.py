"""``transformed``: the tools of a provider with other arguments, texts and stricter rules, and wrapped calls.

The published schema of a transformed tool is the one that is enforced: a call is validated by it on the way in, and the
inner tool's own schema is checked again with the arguments that the inner tool gets. Problems that are found there are
reported with the names that the caller used.
"""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias

from tooltrue.errors import DefinitionError, InvalidArguments, UnknownTool, fact_of
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol import types as wire
from tooltrue.protocol.characters import check_plain
from tooltrue.protocol.headers import find_mirrors
from tooltrue.protocol.name_rules import TAGS
from tooltrue.protocol.schema import OWN, ProblemClauses, ProblemLines, Schema, SchemaProblem, compile_schema
from tooltrue.protocol.schema.words import json_path
from tooltrue.protocol.types import (
    UNSET,
    CallToolResult,
    InputRequiredResult,
    ToolOutcome,
    UnsetType,
    Value,
    field,
    replaced,
)
from tooltrue.tools.binding.signature import required
from tooltrue.tools.content import present, structured
from tooltrue.tools.memo import DerivedLists, DerivedValues
from tooltrue.tools.null import SILENT
from tooltrue.tools.rounds import InputRequired, how_it_ended
from tooltrue.tools.toolset import Provider, Source, Wrapper, provider_of
from tooltrue.tools.transformed_schema import Change, transformed_schema, visible_names
from tooltrue.tools.views import check_exchange
from tooltrue.tools.vocabulary import EVERYONE, Effect, RequestContext, Tool, ToolCall
from tooltrue.tools.wording import (
    ARGUMENT_SETTINGS_CONFLICT,
    DEFAULT_VIOLATES_SCHEMA,
    DEPENDENCY_TOO_MANY_PARAMETERS,
    FIXED_VALUE_VIOLATES_SCHEMA,
    HIDDEN_ARGUMENT_WITHOUT_VALUE,
    HIDDEN_VALUE_INVALID,
    LABEL_CORRECT_AND_REPEAT,
    TOOL_ARGUMENTS_INVALID,
    TRANSFORM_LOOSENS,
    TRANSFORM_MISFIT,
    TRANSFORM_OF_PREVIEW,
    TRANSFORM_UNKNOWN_ARGUMENT,
    TRANSFORM_UNKNOWN_TOOL,
    TRANSFORM_WITHOUT_TOOL,
    WRAPPED_CALL_INVALID,
)
from tooltrue.wording import Phrase, Worded, coded_sentence, names_or_none

__all__ = ["Argument", "Proceed", "Transform", "Wrap", "transformed"]

_log = logging.getLogger("tooltrue")

Proceed: TypeAlias = Callable[[ToolCall], Awaitable[ToolOutcome]]
Wrap: TypeAlias = Callable[[ToolCall, Proceed], Awaitable[Any]]


class Argument(Value, frozen=True, kw_only=True):
    """The change of one argument of a tool.

    A visible argument gets another ``name``, ``title``, ``description`` or ``default``; with a default it is optional.
    ``value`` fixes the argument to a constant, and ``factory`` to the result of ``factory()`` or ``factory(context)``,
    called for each call (and for each round of a call that asks); it may be ``async``, and a plain one must be quick.
    ``hidden`` alone leaves the argument to the tool's own default. A fixed or hidden argument is not part of the
    schema, and no caller can set it.
    """

    name: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any | UnsetType = UNSET
    value: Any | UnsetType = UNSET
    factory: Callable[..., Any] | None = None
    hidden: bool = False

    def __post_init__(self) -> None:
        fixed = [name for name in ("value", "factory") if self._has(name)]
        texts = [name for name in ("name", "title", "description", "default") if self._has(name)]
        if len(fixed) > 1 or (texts and (fixed or self.hidden)):
            names = ", ".join(f"{name}=…" for name in (*(["hidden"] if self.hidden else []), *fixed, *texts))
            raise DefinitionError.of(ARGUMENT_SETTINGS_CONFLICT, names=names)

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not (UNSET if name in ("value", "default") else None)

    @property
    def is_hidden(self) -> bool:
        return self.hidden or self.factory is not None or not isinstance(self.value, UnsetType)

    @property
    def change(self) -> Change:
        return Change(self.is_hidden, self.name, self.title, self.description, self.default)


class Transform(Value, frozen=True, kw_only=True):
    """The change of one tool.

    ``title`` and ``description`` replace the published texts, ``tags`` the tags. ``arguments`` are changes by the name
    of the argument. ``effect``, ``confirm`` and ``requires`` may only become stricter. ``wrap(call, proceed)`` is an
    ``async`` function around each call: ``call`` has the caller's arguments, by their new names, and ``proceed(call)``
    runs the tool. It returns the outcome, or any value that a tool may return.
    """

    title: str | None = None
    description: str | None = None
    arguments: Mapping[str, Argument] = field(default_factory=dict[str, Argument])
    tags: Collection[str] | None = None
    effect: Effect | None = None
    confirm: bool | None = None
    requires: Collection[str] = ()
    wrap: Wrap | None = None


def transformed(inner: Source, transforms: Mapping[str, Transform]) -> Provider:
    """Return the same tools, those in ``transforms`` (by name) changed. A tool keeps its name: see ``renamed``.

    Raises ``DefinitionError`` for a transformation that does not fit its tool, and for a tool that does not exist. Of
    servers elsewhere the tools are not known yet: a tool whose definition does not fit is withheld, with an error in
    the log, so that no argument is open that should be hidden.
    """
    provider = provider_of(inner)
    return _Transformed(provider, dict(transforms), _checked(provider, transforms))


def _checked(provider: Provider, transforms: Mapping[str, Transform]) -> set[str]:
    """Check the tools that are known now. Return the names of the others."""
    context = RequestContext(EVERYONE, SILENT)
    unknown: set[str] = set()
    for name, transform in transforms.items():
        try:
            tool = provider.known_tool(name, context)
        except UnknownTool:
            raise DefinitionError.of(TRANSFORM_UNKNOWN_TOOL, name=name) from None
        if tool is not None and tool.name != name:  # an old name
            raise DefinitionError.of(TRANSFORM_UNKNOWN_TOOL, name=name)
        if tool is None:
            unknown.add(name)
        else:
            _made(tool, transform)
    return unknown


# --- one tool ---------------------------------------------------------------------------------------------------------


class _Derived(Value, frozen=True):
    """A transformed tool: ``names`` are the visible arguments, inner → outer, ``values`` the constants of hidden ones,
    and ``factories`` make the other ones. ``is_open``: other arguments are passed on as they come.
    """

    tool: Tool
    inner: Tool
    names: Mapping[str, str]
    values: Mapping[str, Any]
    factories: Mapping[str, Callable[..., Any]]
    is_open: bool
    wrap: Wrap | None

    async def arguments(self, outer: Mapping[str, Any], context: RequestContext) -> dict[str, Any]:
        """Return the arguments of the inner tool. Only visible arguments are taken from ``outer``."""
        arguments = self.constant(outer)
        for name, factory in self.factories.items():
            value = factory(context) if required(factory) else factory()
            arguments[name] = await value if inspect.isawaitable(value) else value
        missing = {name: value for name, value in self.inner.defaults.items() if name not in arguments}
        return {**copy.deepcopy(missing), **arguments}

    def constant(self, outer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without those that factories make."""
        if self.is_open:
            return {**outer, **copy.deepcopy(dict(self.values))}
        visible = {name: outer[shown] for name, shown in self.names.items() if shown in outer}
        return {**visible, **copy.deepcopy(dict(self.values))}

    def outward(self, problem: SchemaProblem) -> SchemaProblem | None:
        """Return the problem with the caller's names, or ``None`` if it is one of a hidden argument."""
        if self.is_open:
            return problem
        for name, shown in self.names.items():
            path = json_path((name,))
            if problem.path == path or problem.path.startswith((f"{path}.", f"{path}[")):
                return replaced(problem, path=json_path((shown,)) + problem.path[len(path) :])
        return None

    def outward_lines(self, text: str) -> str:
        """Do the same for lines of text (``- $.name: problem``); a line without a path belongs to the one before."""
        lines: list[str] = []
        is_shown = True
        for line in text.splitlines():
            if line.startswith(_PATH):
                name = self._argument_of(line)
                shown = name if self.is_open else self.names.get(name)
                is_shown = shown is not None
                line = f"{_PATH}{shown}{line[len(_PATH) + len(name) :]}"
            if is_shown:
                lines.append(line)
        return "\n".join(lines)

    def _argument_of(self, line: str) -> str:
        """Return the argument of the inner tool that a line is about. A name may have the signs of a path, and begin as
        another one does: the longest counts.
        """
        rest = line[len(_PATH) :]
        known = self.inner.definition.inputSchema.get("properties", {})
        names = [name for name in known if rest.startswith((f"{name}.", f"{name}:", f"{name}["))]
        return max(names, key=len, default="")


_PATH = "- $."


def _made(tool: Tool, transform: Transform) -> _Derived:
    """Transform a tool. ``DefinitionError`` if that does not fit it."""
    try:
        return _derived(tool, transform)
    except DefinitionError as error:
        raise error.locate(f"transformed({tool.name!r})") from None


def _derived(tool: Tool, transform: Transform) -> _Derived:
    schema, arguments = tool.definition.inputSchema, transform.arguments
    properties: Mapping[str, Any] = schema.get("properties", {})
    _check_arguments(tool, properties, arguments)
    changes = {name: argument.change for name, argument in arguments.items()}
    names = visible_names(tool.name, schema, changes)
    made = transformed_schema(tool.name, schema, changes)
    hidden = {name: argument for name, argument in arguments.items() if argument.is_hidden}
    values = {name: argument.value for name, argument in hidden.items() if not isinstance(argument.value, UnsetType)}
    factories = {name: argument.factory for name, argument in hidden.items() if argument.factory is not None}
    changed = made != schema
    compiled = _compiled(made) if changed else tool.input
    made = _fitting_examples(made, compiled)
    definition = replaced(
        tool.definition,
        inputSchema=made,
        title=tool.definition.title if transform.title is None else transform.title,
        description=tool.definition.description if transform.description is None else transform.description,
        annotations=_annotations(tool, transform.effect),
        meta=_meta(tool.definition.meta, transform.tags),
    )
    check_plain("The definition", definition)
    own: Mapping[str, Any] = made.get("properties", {})
    outer = replaced(
        tool,
        definition=definition,
        effect=_effect(tool, transform.effect),
        input=_compiled(made) if made != compiled.definition else compiled,
        defaults={
            name: inner["default"] for name, inner in own.items() if isinstance(inner, dict) and "default" in inner
        },
        mirrors=find_mirrors(made),
        confirm=_confirm(tool, transform.confirm),
        requires=tool.requires | frozenset(transform.requires),
        read_when={} if transform.wrap is not None else _read_when(tool, names, values, factories),
        tags=tool.tags if transform.tags is None else frozenset(transform.tags),
    )
    is_open = len(names) == len(properties) and all(name == shown for name, shown in names.items())
    derived = _Derived(outer, tool, names, values, factories, is_open, transform.wrap)
    return derived if tool.preview is None else replaced(derived, tool=_with_preview(derived))


def _check_arguments(tool: Tool, properties: Mapping[str, Any], arguments: Mapping[str, Argument]) -> None:
    needed = tool.definition.inputSchema.get("required", ())
    for name, argument in arguments.items():
        if name not in properties:
            known = names_or_none(sorted(properties))
            raise DefinitionError.of(TRANSFORM_UNKNOWN_ARGUMENT, tool=tool.name, name=name, known=known)
        if argument.hidden and argument.factory is None and isinstance(argument.value, UnsetType) and name in needed:
            raise DefinitionError.of(HIDDEN_ARGUMENT_WITHOUT_VALUE, tool=tool.name, name=name)
        if argument.factory is not None:
            _check_factory(argument.factory)
            if tool.preview is not None:
                raise DefinitionError.of(TRANSFORM_OF_PREVIEW, tool=tool.name, name=name)
        if not isinstance(argument.value, UnsetType) and (problem := _problem(tool, name, argument.value)):
            raise DefinitionError.of(FIXED_VALUE_VIOLATES_SCHEMA, tool=tool.name, name=name, problem=problem)
        if not isinstance(argument.default, UnsetType) and _problem(tool, name, argument.default):
            raise DefinitionError.of(DEFAULT_VIOLATES_SCHEMA, name=name)


def _check_factory(factory: Callable[..., Any]) -> None:
    if len(required(factory)) > 1:
        raise DefinitionError.of(DEPENDENCY_TOO_MANY_PARAMETERS, name=getattr(factory, "__name__", repr(factory)))


def _problem(tool: Tool, name: str, value: Any) -> SchemaProblem | None:
    """Return the first problem of a value of an argument."""
    schema = tool.definition.inputSchema
    definitions = {keyword: schema[keyword] for keyword in ("$schema", "$defs", "definitions") if keyword in schema}
    root = {**definitions, "type": "object", "properties": {name: schema["properties"][name]}}
    problems = _compiled(root).problems({name: value})
    return problems[0] if problems else None


def _compiled(schema: dict[str, Any]) -> Schema:
    return compile_schema(schema, bounds=OWN)


def _fitting_examples(schema: dict[str, Any], compiled: Schema) -> dict[str, Any]:
    """Leave out the examples that do not fit any more."""
    examples = schema.get("examples")
    if examples is None or all(map(compiled.accepts, examples)):
        return schema
    fitting = [example for example in examples if compiled.accepts(example)]
    rest = {keyword: value for keyword, value in schema.items() if keyword != "examples"}
    return {**rest, "examples": fitting} if fitting else rest


_STRICTER: Mapping[Effect, tuple[Effect, ...]] = {
    "read": ("read", "write", "destructive", "open-world"),
    "write": ("write", "destructive", "open-world"),
    "open-world": ("open-world", "destructive"),
    "destructive": ("destructive",),
}
"""For each effect, those that it may become."""


def _effect(tool: Tool, effect: Effect | None) -> Effect:
    if effect is None:
        return tool.effect
    if effect not in _STRICTER[tool.effect]:
        raise DefinitionError.of(
            TRANSFORM_LOOSENS, setting="effect", tool=tool.name, before=repr(tool.effect), after=repr(effect)
        )
    return effect


def _confirm(tool: Tool, confirm: bool | None) -> bool | None:
    if confirm is False and tool.confirm is not False:
        before = repr(tool.confirm)
        raise DefinitionError.of(TRANSFORM_LOOSENS, setting="confirm", tool=tool.name, before=before, after="False")
    return tool.confirm if confirm is None else confirm


def _annotations(tool: Tool, effect: Effect | None) -> wire.ToolAnnotations | None:
    """Return the hints with those that follow from a stricter effect; no other hint changes."""
    hints = tool.definition.annotations
    if effect is None or effect == tool.effect:
        return hints
    hints = hints or wire.ToolAnnotations()
    return replaced(
        hints,
        readOnlyHint=False,
        destructiveHint=True if effect != "write" else hints.destructiveHint,
        openWorldHint=True if effect == "open-world" else hints.openWorldHint,
    )


def _meta(meta: dict[str, Any] | None, tags: Collection[str] | None) -> dict[str, Any] | None:
    if tags is None:
        return meta
    rest = {key: value for key, value in (meta or {}).items() if key != TAGS}
    return {**rest, **({TAGS: sorted(set(tags))} if tags else {})} or None


def _read_when(
    tool: Tool, names: Mapping[str, str], values: Mapping[str, Any], factories: Mapping[str, Any]
) -> Mapping[str, bool]:
    """Return the marks of a harmless call that the caller can set. Without marks, the effect holds for every call."""
    marks: dict[str, bool] = {}
    for name, mark in tool.read_when.items():
        if name in names:
            marks[names[name]] = mark
        elif name in factories or values.get(name, tool.defaults.get(name)) is not mark:
            return {}
    return marks


def _with_preview(derived: _Derived) -> Tool:
    preview, defaults = derived.inner.preview, derived.inner.defaults

    async def of_inner(outer: dict[str, Any]) -> Any:
        assert preview is not None
        return await preview({**copy.deepcopy(dict(defaults)), **derived.constant(outer)})

    return replaced(derived.tool, preview=of_inner)


# --- the view ---------------------------------------------------------------------------------------------------------


class _Transformed(Wrapper, frozen=True):
    """``unseen`` are the names without a known tool so far; ``_derived`` holds ``None`` for a tool that is withheld."""

    transforms: Mapping[str, Transform]
    unseen: set[str]
    _lists: DerivedLists[Tool] = field(default_factory=DerivedLists[Tool])
    _derived: DerivedValues[Tool, _Derived | None] = field(default_factory=DerivedValues[Tool, "_Derived | None"])

    def _of(self, tool: Tool) -> _Derived | None:
        return self._derived.of(tool, self._make)

    def _make(self, tool: Tool) -> _Derived | None:
        try:
            return _made(tool, self.transforms[tool.name])
        except DefinitionError as error:
            _log.error("%s", coded_sentence(TRANSFORM_MISFIT, "en", {"tool": tool.name, "problem": fact_of(error)}))
            return None

    def _shown(self, tool: Tool, name: str) -> Tool:
        if tool.name not in self.transforms:
            return tool
        if (derived := self._of(tool)) is None:
            raise UnknownTool(name)
        return derived.tool

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        tools = await self.inner.list_tools(context)
        return self._lists.of([tools], lambda: self._made_list(tools))

    def _made_list(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        if self.unseen:
            self._note_missing(frozenset(tool.name for tool in tools))
        made = ((tool, self._of(tool) if tool.name in self.transforms else None) for tool in tools)
        shown = (tool if tool.name not in self.transforms else derived and derived.tool for tool, derived in made)
        return tuple(tool for tool in shown if tool is not None)

    def _note_missing(self, names: frozenset[str]) -> None:
        """Log the names that no tool of the first list has."""
        for name in sorted(self.unseen - names):
            _log.warning("%s", coded_sentence(TRANSFORM_WITHOUT_TOOL, "en", {"name": name}))
        self.unseen.clear()

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return self._shown(await self.inner.find_tool(name, context), name)

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        tool = self.inner.known_tool(name, context)
        return None if tool is None else self._shown(tool, name)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        tool = await self.inner.find_tool(call.name, call.context)
        if tool.name not in self.transforms:
            return await self.inner.call_tool(call)
        if (derived := self._of(tool)) is None:
            raise UnknownTool(call.name)
        check_exchange(call, derived.tool)
        if derived.wrap is None:
            return await self._proceed(derived, call, call)

        async def proceed(changed: ToolCall) -> ToolOutcome:
            return await self._proceed(derived, changed, call)

        # A copy: the call belongs to the layers around, and is recorded as it came.
        own = replaced(call, tool=derived.tool, arguments=copy.deepcopy(call.arguments))
        try:
            value = await derived.wrap(own, proceed)
        except (InputRequired, BaseExceptionGroup) as error:
            return how_it_ended(error)
        if isinstance(value, CallToolResult | InputRequiredResult):
            return value
        return present(value) if derived.tool.output is None else structured(value)

    async def _proceed(self, derived: _Derived, call: ToolCall, original: ToolCall) -> ToolOutcome:
        """Run the inner tool with the arguments that the transformation makes of those of ``call``."""
        outer = {**copy.deepcopy(dict(derived.tool.defaults)), **call.arguments}
        if problems := derived.tool.input.problems(outer):
            if call.arguments == original.arguments:
                raise _invalid(derived, problems)
            raise DefinitionError.of(WRAPPED_CALL_INVALID, tool=call.name, problem=ProblemClauses(problems))
        arguments = await derived.arguments(outer, call.context)
        if problems := derived.inner.input.problems(arguments):
            raise _refused(derived, problems)
        inner = derived.inner
        own = replaced(call, name=inner.name, tool=inner, arguments=arguments)
        try:
            return await self.inner.call_tool(own)
        except InvalidArguments as error:
            raise _outward(derived, error) from error.__cause__


_ROOM = 600


def _invalid(derived: _Derived, problems: tuple[SchemaProblem, ...]) -> InvalidArguments:
    return _worded(
        derived, ProblemLines(problems, _ROOM), tuple(f"{problem.path} {problem.rule}" for problem in problems)
    )


def _worded(derived: _Derived, problems: str | Phrase, wrong: tuple[str, ...]) -> InvalidArguments:
    next_step = Worded(LABEL_CORRECT_AND_REPEAT, {})
    return InvalidArguments.of(
        TOOL_ARGUMENTS_INVALID, tool=derived.tool.name, problems=problems, next=next_step, wrong=wrong
    )


def _refused(derived: _Derived, problems: tuple[SchemaProblem, ...]) -> InvalidArguments | DefinitionError:
    """Return the error for problems that the inner tool's schema has found: for the caller, or for the author where
    hidden arguments do not fit, which no caller can correct.
    """
    shown = tuple(filter(None, map(derived.outward, problems)))
    if not shown:
        clauses = ProblemClauses(problems)
        return DefinitionError.of(HIDDEN_VALUE_INVALID, tool=derived.tool.name, problem=clauses)
    return _invalid(derived, shown)


def _outward(derived: _Derived, error: InvalidArguments) -> InvalidArguments | DefinitionError:
    """Return the same error with the caller's names. An error of another tool stays as it is."""
    if error.code != TOOL_ARGUMENTS_INVALID or error.facts.get("tool") != derived.inner.name:
        return error
    problems: Json | Phrase = error.facts["problems"]
    if isinstance(problems, ProblemLines):
        return _refused(derived, problems.problems)
    if text := derived.outward_lines(str(problems)):
        return _worded(derived, text, ())
    return DefinitionError.of(HIDDEN_VALUE_INVALID, tool=derived.tool.name, problem=str(problems))
