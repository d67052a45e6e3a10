"""The layers of an author: their places among the stages of a pipeline.

A place is a gap between two stages. Without one, a layer stands innermost, right around the tools: all guards of the
input are outside of it, and its results are timed, checked, cleaned, limited and recorded like those of the tools. No
layer stands outside of ``audit``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

from tooltrue.errors import ConfigurationError, DefinitionError
from tooltrue.policy.plan import (
    Leaving,
    PlannedLayer,
    Step,
    StepLayer,
    around_step,
    as_planned,
    finds_the_same,
    passes_calls,
)
from tooltrue.policy.wording import (
    LAYER_HOOK_OF_OTHER_LIBRARY,
    LAYER_MADE_NO_PROVIDER,
    LAYER_NAME_INVALID,
    LAYER_NOT_CALLABLE,
    LAYER_OUTSIDE_AUDIT,
    LAYER_PLACED_TWICE,
    LAYER_RETURNED_NO_OUTCOME,
    LAYER_STAGE_UNKNOWN,
    LAYER_STEPS_ABOVE_AUTHORIZE,
    LAYER_STEPS_WITHOUT_GENERAL_FORM,
)
from tooltrue.protocol.types import (
    CallToolResult,
    InputRequiredResult,
    PromptOutcome,
    ReadOutcome,
    TaskCreated,
    ToolOutcome,
    Value,
    replaced,
)
from tooltrue.spelling import closest
from tooltrue.tools.advice import HOOKS
from tooltrue.tools.memo import Remembered
from tooltrue.tools.null import NoLibrary, NoTools
from tooltrue.tools.rounds import InputRequired, how_it_ended
from tooltrue.tools.toolset import Library, Provider, Toolset, Wrapper, resolve_call
from tooltrue.tools.vocabulary import (
    Principal,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
    Unwatch,
)
from tooltrue.wording import coded_sentence

__all__ = [
    "GUARANTEES",
    "AuthorLayer",
    "LayerForm",
    "Placed",
    "around_each",
    "by_gap",
    "checked",
    "forms",
    "placed",
    "with_authors",
]

LayerFactory: TypeAlias = Callable[[Provider], Provider]
LayerForm: TypeAlias = Literal["steps", "around", "general", "passes calls"]

_OUTERMOST = "audit"
_INNERMOST = "stored_results"
_FINDS = "authorize"
_ANSWERS = "errors_as_results"
_INNERMOST_STEPS = "sanitize_output"  # stages inside of it have no steps for calls

GUARANTEES: Mapping[str, str] = {
    "audit": "each operation is recorded, and an error is answered, whatever the layer does",
    "errors_as_results": "sees a failure below as an exception, not as a result",
    "nested_calls": "questions of a nested call are kept apart from those of the call that makes it",
    "observe": "what it does is counted and traced with the operation",
    "abuse": "does not see operations of callers that are paused",
    "authorize": "sees only tools and entries that the caller may use; the call has its tool",
    "renames": "a tool has its present name",
    "rate": "sees calls only as often as the rate limits allow",
    "sizes": "the arguments are no larger than the limit",
    "repair": "the arguments are spelt as the schema wants them",
    "validate": "the arguments fit the schema and have their defaults; what the layer changes is not checked again",
    "authorize_arguments": "the rules allow these arguments",
    "confirm": "a person has agreed, where one has to",
    "concurrency": "the call has its slots",
    "write_ahead_audit": "a destructive call has been recorded as one that runs",
    "consume_grant": "the grant of a person has been consumed",
    "tasks": "runs for each round of a task, and not for the call that becomes one",
    "timeout": "the time of the layer is limited, and the call is cancelled at its end",
    "store_results": "what it keeps by `context.keep` is stored",
    "sanitize_output": "what it returns or raises is checked, cleaned, masked and limited like the output of a tool",
    "stored_results": "does not see reads of stored results (the default place)",
}
"""For each stage of a server, what holds for a layer inside of it."""


class Placed(Value, frozen=True):
    """A layer with its place, made by :func:`placed`."""

    layer: LayerFactory
    before: str = ""
    after: str = ""
    name: str = ""


AuthorLayer: TypeAlias = LayerFactory | Placed
"""An item of ``Server(layers=[…])``: a class or function that makes a layer of the provider below, placed or not."""


def placed(layer: LayerFactory, *, before: str = "", after: str = "", name: str = "") -> Placed:
    """Place a layer in the pipeline: right outside of the stage ``before``, or right inside of the stage ``after``.

    With neither, it stands innermost. ``name`` is the layer's name in ``tooltrue inspect`` and in errors; without one,
    it is that of its class or function. Raises ``ConfigurationError`` for two places, and for one outside of ``audit``.
    """
    if before and after:
        raise ConfigurationError.of(LAYER_PLACED_TWICE, before=before, after=after)
    if before == _OUTERMOST:
        raise ConfigurationError.of(LAYER_OUTSIDE_AUDIT)
    if not callable(layer):
        raise DefinitionError.of(LAYER_NOT_CALLABLE, layer=type(layer).__name__)
    if not name.isprintable():
        raise DefinitionError.of(LAYER_NAME_INVALID, name=name)
    return Placed(layer, before, after, name)


def checked(layers: Iterable[AuthorLayer], stages: Sequence[str]) -> tuple[Placed, ...]:
    """Return the layers with their places, each with a name that no other layer and no stage has.

    Raises ``ConfigurationError`` for a stage that is not among ``stages``, and ``DefinitionError`` for an item that is
    no layer.
    """
    taken, found = {*stages, f"{_ANSWERS} (2)"}, list[Placed]()
    for item in layers:
        layer = item if isinstance(item, Placed) else placed(item)
        if (stage := layer.before or layer.after) and stage not in stages:
            raise ConfigurationError.of(
                LAYER_STAGE_UNKNOWN, stage=stage, nearest=closest(stage, stages, 1), stages=", ".join(stages)
            )
        name = _unused(layer.name or _name_of(layer.layer), taken)
        taken.add(name)
        found.append(replaced(layer, name=name))
    return tuple(found)


def _name_of(layer: object) -> str:
    """Return the name of a class or function, also through ``functools.partial``."""
    while (inner := getattr(layer, "func", None)) is not None:
        layer = inner
    name = getattr(layer, "__name__", type(layer).__name__)
    return "layer" if name == "<lambda>" else name


def _unused(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def by_gap(layers: Iterable[AuthorLayer], stages: Sequence[str]) -> dict[int, list[Placed]]:
    """Return the layers in each gap, the outermost first: gap ``n`` is right outside of stage ``n``."""
    gaps = dict[int, list[Placed]]()
    for layer in checked(layers, stages):
        gap = stages.index(layer.before) if layer.before else stages.index(layer.after or _INNERMOST) + 1
        gaps.setdefault(gap, []).append(layer)
    return gaps


def with_authors(
    stages: Sequence[tuple[str, LayerFactory]], layers: Iterable[AuthorLayer]
) -> list[tuple[str, LayerFactory]]:
    """Return the stages of a pipeline with the author's layers in their gaps, the outermost first."""
    names = [name for name, _ in stages]
    gaps, finds, answers = by_gap(layers, names), names.index(_FINDS), names.index(_ANSWERS)
    row = list[tuple[str, LayerFactory]]()
    for gap in range(len(stages) + 1):
        authors = gaps.get(gap, ())
        if authors and gap <= answers:  # what these raise is answered too
            row.append((f"{_ANSWERS} (2)", stages[answers][1]))
        row += [(layer.name, _maker(layer, has_found=gap > finds)) for layer in authors]
        row += stages[gap : gap + 1]
    return row


def _maker(layer: Placed, *, has_found: bool) -> LayerFactory:
    return lambda inner: _bounded(layer, inner, has_found=has_found)


_METHODS = tuple(name for part in (Toolset, Library) for name in vars(part) if not name.startswith("_"))


def _bounded(placed: Placed, inner: Provider, *, has_found: bool = True) -> Provider:
    """Make the layer around ``inner``, with a boundary for its questions and outcomes where it treats calls."""
    layer = placed.layer(inner)
    if missing := [name for name in _METHODS if not hasattr(layer, name)]:
        raise DefinitionError.of(
            LAYER_MADE_NO_PROVIDER, layer=placed.name, made=type(layer).__name__, names=", ".join(missing)
        )
    if hook := next((name for name in HOOKS if hasattr(layer, name)), None):
        raise DefinitionError.of(LAYER_HOOK_OF_OTHER_LIBRARY, layer=placed.name, hook=hook, here=HOOKS[hook])
    passes = passes_calls(layer, inner)
    if (stepping := as_planned(layer)) is None:
        return layer if layer is inner else _Bounded(inner, layer, placed.name, passes, Remembered())
    if passes:
        raise DefinitionError.of(LAYER_STEPS_WITHOUT_GENERAL_FORM, layer=placed.name)
    if not has_found and isinstance(layer, StepLayer):
        raise DefinitionError.of(LAYER_STEPS_ABOVE_AUTHORIZE, layer=placed.name)
    if layer.find_tool != inner.find_tool:  # the tool that it finds may be another than the plan's
        return _Bounded(inner, layer, placed.name, passes, Remembered())
    made = _BoundedStepLayer if type(layer).call_tool is StepLayer.call_tool else _BoundedSteps
    return made(inner, layer, placed.name, passes, Remembered(), stepping)


OperationT = TypeVar("OperationT")
OutcomeT = TypeVar("OutcomeT")


class _Bounded(Wrapper, frozen=True):
    """The boundary around an author's layer: a question that the layer asks is its outcome, an outcome is one, and an
    equal list is the same object.

    ``inner`` is the provider below the layer, as for every layer of a pipeline.
    """

    layer: Provider
    name: str
    passes: bool
    last: Remembered[Tool]

    def __post_init__(self) -> None:
        methods, left_out = vars(Wrapper(self.layer)), set[str](_ASKING)
        if not self.passes:
            left_out.add("call_tool")
        if self.layer.list_tools != self.inner.list_tools:
            left_out.add("list_tools")
        vars(self).update({name: method for name, method in methods.items() if name not in left_out})

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return self.last.same(await self.layer.list_tools(context), context.principal.id)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        try:
            return _outcome(self.name, await self.layer.call_tool(call))
        except InputRequired as error:
            return how_it_ended(error)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        return await _asked(self.layer.read_resource, request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await _asked(self.layer.get_prompt, get)


_ASKING = ("read_resource", "get_prompt")
_OUTCOMES = (CallToolResult, InputRequiredResult, TaskCreated)


async def _asked(
    proceed: Callable[[OperationT], Awaitable[OutcomeT]], operation: OperationT
) -> OutcomeT | InputRequiredResult:
    try:
        return await proceed(operation)
    except InputRequired as error:
        return how_it_ended(error)


def _outcome(name: str, outcome: object) -> ToolOutcome:
    if isinstance(outcome, _OUTCOMES):
        return outcome
    facts = {"layer": name, "returned": type(outcome).__name__}
    raise TypeError(coded_sentence(LAYER_RETURNED_NO_OUTCOME, "en", facts))


class _BoundedSteps(_Bounded, frozen=True):
    """The boundary around a layer that joins plans. A plan runs the steps themselves, and takes their questions."""

    stepping: PlannedLayer

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return _safe(self.stepping.for_tool(tool, principal))


class _BoundedStepLayer(_BoundedSteps, frozen=True):
    """The boundary around a :class:`StepLayer`: its general form is made of the same step."""

    for_tool = _BoundedSteps.for_tool  # said again, since it holds beside this call_tool too: see as_planned

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await resolve_call(self.inner, call)
        step = self.for_tool(tool, call.context.principal)
        if step is None:
            return await self.inner.call_tool(call)
        try:
            return _outcome(self.name, await around_step(step, call, self.inner.call_tool))
        except InputRequired as error:
            return how_it_ended(error)


def _safe(step: Step | None) -> Step | None:
    """Return the step without the means to run the call again: that would run it twice with one consent."""
    if step is None or (fails := step.failed) is None:
        return step

    def failed(call: ToolCall, error: BaseException) -> Leaving | Awaitable[Leaving]:
        call.proceed = None
        return fails(call, error)

    return replaced(step, failed=failed)


class _Nothing(NoTools, NoLibrary):
    """A provider without anything."""

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        return lambda: None


def forms(layers: Iterable[AuthorLayer], stages: Sequence[str]) -> dict[str, LayerForm]:
    """Return how calls pass each layer, by its name. The layers are made for that, around a provider without anything.

    Right around the tools a layer without steps runs in the place of the tool; outside of any step it makes all calls
    take the general form.
    """
    gaps, found = by_gap(layers, stages), dict[str, LayerForm]()
    has_steps = False
    for gap in sorted(gaps, reverse=True):
        has_steps = has_steps or gap <= stages.index(_INNERMOST_STEPS)
        for layer in reversed(gaps[gap]):
            form = _form_of(layer)
            found[layer.name] = "general" if form == "around" and has_steps else form
            has_steps = has_steps or form == "steps"
    return found


def _form_of(layer: Placed) -> LayerForm:
    nothing = _Nothing()
    made = _bounded(layer, nothing)
    if as_planned(made) is not None:
        return "steps"
    if passes_calls(made, nothing):
        return "passes calls"
    return "around" if finds_the_same(made, nothing) else "general"


def around_each(provider: Provider, layers: Iterable[AuthorLayer]) -> list[tuple[str, Provider]]:
    """Return each layer alone around ``provider``, with its name. For tests of layers."""
    every = [layer if isinstance(layer, Placed) else placed(layer) for layer in layers]
    return [(layer.name or _name_of(layer.layer), layer.layer(provider)) for layer in every]
