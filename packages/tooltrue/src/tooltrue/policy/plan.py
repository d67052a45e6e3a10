"""Plans: what the layers of a pipeline do for the calls of one tool by one caller, as a list of steps.

A layer in its general form is a toolset around a toolset: it costs a coroutine, a frame and often a copy of the call,
also where it has nothing to do. Beside that form a layer can say what it does for one tool and one caller
(``for_tool``): a :class:`Step`, or ``None`` if nothing. A *plan* is the list of the steps that remain. One coroutine
runs it (:meth:`Planned.call_tool`)::

      before 1 --> before 2 --> ... --> before n --> the tool
                                                        |
      after 1  <-- after 2  <-- ... <-- after n  <------+     where it ends well
      failed 1 <-- failed 2 <-- ... <-- failed n <------+     where something below has raised

Each step that was entered is left exactly once, the innermost first, by ``after`` or by ``failed``. A step whose
``before`` raises has not been entered, and undoes itself what it has begun. An outcome that ``before`` gives ends the
call there, and the steps above it leave with that outcome. ``failed`` gives an outcome, after which the steps above
leave by ``after``, or the error with which they leave by ``failed``. All three are plain functions; one that has to
wait returns an awaitable. A step that asks a person (``call.context.ask``) ends the call with the question.

The plan of a tool is made when it is first called by a caller, and holds for this tool object and this principal: a
tool that is registered anew, or shown to other callers, is another object, or is not found. Settings and rules are
fixed when a pipeline is built. So nothing has to be dropped, apart from the oldest plans, of which 1,000 are kept.
A call that is traced (``traceparent``) takes a form of its plan that notes the time of each step.
Layers that ask for nothing of the principal say so (``same_for_all``): the plans of all callers share their steps.

Calls take the general form where a plan cannot say what happens: a name that is not known without waiting, an old name
of a tool, and every call of a pipeline that has a layer without ``for_tool``, unless that stands right around the
tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from tooltrue.errors import InvalidParams, UnknownTool
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TaskCreated, ToolOutcome, Value, field
from tooltrue.tools.rounds import InputRequired, how_it_ended
from tooltrue.tools.toolset import Layer, Provider, Wrapper, resolve_call
from tooltrue.tools.vocabulary import Principal, RequestContext, StepTime, Tool, ToolCall

__all__ = [
    "After",
    "Before",
    "CallPlan",
    "Failed",
    "Leaving",
    "Planned",
    "PlannedLayer",
    "Step",
    "StepLayer",
    "around_step",
    "as_planned",
    "finds_the_same",
    "passes_calls",
    "planned",
]

Leaving: TypeAlias = ToolOutcome | BaseException
"""How a step is left: with an outcome, or with an error."""

Before: TypeAlias = Callable[[ToolCall], Awaitable[ToolOutcome | None] | None]
After: TypeAlias = Callable[[ToolCall, ToolOutcome], ToolOutcome | Awaitable[ToolOutcome]]
Failed: TypeAlias = Callable[[ToolCall, BaseException], Leaving | Awaitable[Leaving]]


PartT = TypeVar("PartT", bound=Callable[..., Any])


class Step(Value, frozen=True):
    """The work of one layer for the calls of one tool and caller. A part that is ``None`` does nothing."""

    before: Before | None = None
    after: After | None = None
    failed: Failed | None = None


@runtime_checkable
class PlannedLayer(Protocol):
    """A layer that says what it does for one tool and one caller.

    ``for_tool`` must depend on nothing else that can change: what differs from call to call belongs into the step. It
    must do what the layer does in its general form, and a test holds it to that.
    """

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None: ...


class StepLayer(Layer, frozen=True):
    """A layer whose general form for calls is made from its step. It stands below ``authorize``, since it asks for the
    tool. ``same_for_all``: its step for a tool is the same for all callers."""

    same_for_all: ClassVar[bool] = False

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        """Return the layer's work for the calls of this tool by this caller, or ``None`` if it has none."""
        raise NotImplementedError

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        if (tool := call.tool) is None:
            call, tool = await resolve_call(self.inner, call)
        step = self.for_tool(tool, call.context.principal)
        return await (self.inner.call_tool(call) if step is None else around_step(step, call, self.inner.call_tool))


async def around_step(step: Step, call: ToolCall, proceed: Callable[[ToolCall], Awaitable[ToolOutcome]]) -> ToolOutcome:
    """Run one step around the layers below: the meaning of a step, without a plan."""
    call = call.renewed()
    call.proceed = proceed
    if step.before is not None and (waiting := step.before(call)) is not None and (early := await waiting) is not None:
        return early
    try:
        outcome = await proceed(call)
    except BaseException as error:
        if step.failed is None:
            raise
        call.proceed = proceed
        leaving = step.failed(call, error)
        leaving = leaving if isinstance(leaving, _LEFT) else await leaving
        if leaving is error:
            raise
        if isinstance(leaving, BaseException):
            raise leaving from None
        return leaving
    if step.after is None:
        return outcome
    leaving = step.after(call, outcome)
    return leaving if isinstance(leaving, _OUTCOMES) else await leaving


_OUTCOMES = (CallToolResult, InputRequiredResult, TaskCreated)
_LEFT = (*_OUTCOMES, BaseException)


_TIMES = "times of steps"
"""The name under which a traced call keeps the times of its steps."""


class _Timed:
    """A part of the step at ``place`` that adds what it takes to the times of its call."""

    __slots__ = ("part", "place")

    def __init__(self, part: Callable[..., Any], place: int) -> None:
        self.part = part
        self.place = place

    def __call__(self, call: ToolCall, *outcome: Any) -> Any:
        times: Sequence[StepTime] = call.recall(_TIMES)
        began = perf_counter()
        try:
            waiting = self.part(call, *outcome)
        finally:
            times[self.place].seconds += perf_counter() - began
            if call.context.trail is not None:
                call.context.trail.steps = times
        return waiting if waiting is None or isinstance(waiting, _LEFT) else _finished(waiting, times[self.place])


async def _finished(waiting: Awaitable[Any], time: StepTime) -> Any:
    began = perf_counter()
    try:
        return await waiting
    finally:
        time.seconds += perf_counter() - began


class CallPlan:
    """The steps for one tool and one caller, the outermost first, each with the name of its layer."""

    __slots__ = (
        "_places",
        "_with_times",
        "afters",
        "befores",
        "depth",
        "names",
        "principal",
        "proceed",
        "steps",
        "tool",
    )

    def __init__(
        self,
        tool: Tool,
        principal: Principal,
        steps: Sequence[tuple[str, Step]],
        proceed: Callable[[ToolCall], Awaitable[ToolOutcome]],
    ) -> None:
        self.tool = tool
        self.principal = principal
        self.names = tuple(name for name, _ in steps)
        self.steps = tuple(step for _, step in steps)
        self.proceed = proceed
        self.depth = len(self.steps)
        self._with_times: CallPlan | None = None
        # A part tells its place, so that no call counts along; each is an object of its own.
        self._places: dict[int, int] = {}
        self.befores = tuple(self._placed(step.before, place) for place, step in enumerate(self.steps) if step.before)
        afters = [self._placed(step.after, place) for place, step in enumerate(self.steps) if step.after]
        self.afters = tuple(reversed(afters))

    def timed(self, call: ToolCall) -> CallPlan:
        """Return this plan in the form that notes in the trail of ``call`` how long each step takes, and the tool. The
        form is made once; each call keeps times of its own."""
        call.keep(_TIMES, [*map(StepTime, (*self.names, "tool"))])
        if self._with_times is None:
            steps = [
                (name, Step(*(part and _Timed(part, place) for part in (step.before, step.after, step.failed))))
                for place, (name, step) in enumerate(zip(self.names, self.steps, strict=True))
            ]
            self._with_times = CallPlan(self.tool, self.principal, steps, _Timed(self.proceed, self.depth))
        return self._with_times

    def _placed(self, part: PartT, place: int) -> PartT:
        own = cast("PartT", partial(part)) if id(part) in self._places else part
        self._places[id(own)] = place
        return own

    def place_of(self, part: Before | After | None) -> int:
        """Return the place of the step that ``part`` belongs to; behind all steps if it is ``None``, for the tool."""
        return self.depth if part is None else self._places[id(part)]

    async def run_below(self, call: ToolCall, place: int) -> ToolOutcome:
        """Run the steps below ``place``, and the tool."""
        first = place + 1
        leaving: Leaving | None = None
        try:
            for place, step in enumerate(self.steps[first:], first):  # noqa: B007 - the place of the step that raises
                if step.before is not None and (waiting := step.before(call)) is not None:
                    leaving = await waiting
                    if leaving is not None:
                        break
            else:
                place = self.depth
                leaving = await self.proceed(call)
        except BaseException as error:  # noqa: BLE001 - each step that was entered is left
            leaving = error
        try:
            return await self.leave(call, place, leaving, first)
        finally:
            del leaving  # an error, whose traceback holds this frame

    async def leave(self, call: ToolCall, place: int, leaving: Leaving | None, first: int = 0) -> ToolOutcome:
        """Leave the steps above ``place`` down to ``first``, the innermost first; return or raise what remains."""
        if isinstance(leaving, InputRequired):
            leaving = _asked(leaving)
        while place > first:
            place -= 1
            step = self.steps[place]
            try:
                if isinstance(leaving, BaseException):
                    if step.failed is None:
                        continue
                    call.proceed = _Below(self, place)
                    waiting = step.failed(call, leaving)
                elif step.after is not None:
                    waiting = step.after(call, cast("ToolOutcome", leaving))
                else:
                    continue
                leaving = waiting if isinstance(waiting, _LEFT) else await cast("Awaitable[Leaving]", waiting)
            except BaseException as error:  # noqa: BLE001 - the steps above see it
                leaving = _asked(error) if isinstance(error, InputRequired) else error
        if isinstance(leaving, BaseException):
            try:
                raise leaving
            finally:
                del leaving  # which holds this frame
        return cast("ToolOutcome", leaving)


def _asked(error: InputRequired) -> Leaving:
    """Return the question of a step that has asked a person: its outcome."""
    try:
        return how_it_ended(error)
    except InvalidParams as invalid:
        return invalid


class _Below:
    """Runs what lies below a step once more."""

    __slots__ = ("place", "plan")

    def __init__(self, plan: CallPlan, place: int) -> None:
        self.plan = plan
        self.place = place

    async def __call__(self, call: ToolCall) -> ToolOutcome:
        return await self.plan.run_below(call, self.place)


_MAX_PLANS = 1_000
"""A plan takes some 9 kB, that with times 5 kB more, and the steps that the plans of a tool share 9 kB."""
_Plans: TypeAlias = dict[tuple[int, str], CallPlan]
_SharedSteps: TypeAlias = dict[int, tuple[Tool, dict[str, Step | None]]]


class Planned(Wrapper, frozen=True):
    """A pipeline whose calls take plans where they can. ``inner`` is the pipeline in its general form, ``layers`` its
    layers with their names, the outermost first, and ``innermost`` the provider below them."""

    layers: tuple[tuple[str, PlannedLayer], ...]
    innermost: Provider
    plans: _Plans = field(default_factory=_Plans)
    shared: _SharedSteps = field(default_factory=_SharedSteps)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        context = call.context
        principal = context.principal
        try:
            tool = call.tool or self.innermost.known_tool(call.name, context)
        except UnknownTool:
            tool = None
        if tool is None or tool.definition.name != call.name or call.called:
            return await self.inner.call_tool(call)
        plan = self.plans.get((id(tool), principal.id))
        if plan is None or plan.tool is not tool or plan.principal is not principal:
            plan = self.plan_of(tool, principal)
        call = call.renewed()
        if context.meta and "traceparent" in context.meta:
            plan = plan.timed(call)
        call.began = perf_counter()
        part: Before | After | None = None
        entered = 0
        try:
            for part in plan.befores:
                if (waiting := part(call)) is not None:
                    if (leaving := await waiting) is not None:
                        break
                    if call.tool is None and self._is_exchanged(tool, call):
                        entered = 1
                        leaving = await self._below(plan.names[plan.place_of(part)])(call)
                        break
            else:
                part = None
                leaving = await plan.proceed(call)
                for part in plan.afters:
                    waits = part(call, leaving)
                    if waits is not leaving:
                        leaving = waits if isinstance(waits, _OUTCOMES) else await waits
                return leaving
        except BaseException as error:  # noqa: BLE001 - each step that was entered is left
            leaving = error
        try:
            return await plan.leave(call, plan.place_of(part) + entered, leaving)
        finally:
            del leaving  # an error, whose traceback holds this frame

    def _is_exchanged(self, tool: Tool, call: ToolCall) -> bool:
        """Return whether the call has another tool by now: it has waited, and no layer has found its tool yet."""
        try:
            return self.innermost.known_tool(call.name, call.context) is not tool
        except UnknownTool:
            return True

    def _below(self, name: str) -> Callable[[ToolCall], Awaitable[ToolOutcome]]:
        """Return the general form of all that lies below a layer."""
        return cast("Wrapper", dict(self.layers)[name]).inner.call_tool

    def plan_of(self, tool: Tool, principal: Principal) -> CallPlan:
        """Return the plan for this tool and this caller. A later call takes the same."""
        plan = self.plans.get((id(tool), principal.id))
        if plan is not None and plan.tool is tool and plan.principal == principal:
            return plan
        if len(self.plans) >= _MAX_PLANS:
            self.plans.pop(next(iter(self.plans)))
        made = [(name, self._step(name, layer, tool, principal)) for name, layer in self.layers]
        steps = [(name, step) for name, step in made if step is not None]
        plan = self.plans[id(tool), principal.id] = CallPlan(tool, principal, steps, self.innermost.call_tool)
        return plan

    def _step(self, name: str, layer: PlannedLayer, tool: Tool, principal: Principal) -> Step | None:
        if not getattr(layer, "same_for_all", False):
            return layer.for_tool(tool, principal)
        owner, steps = self.shared.get(id(tool), (None, dict[str, Step | None]()))
        if owner is not tool:
            if len(self.shared) >= _MAX_PLANS:
                self.shared.pop(next(iter(self.shared)))
            self.shared[id(tool)] = (tool, steps := {})
        if name not in steps:
            steps[name] = layer.for_tool(tool, principal)
        return steps[name]

    async def plan_for(self, name: str, context: RequestContext) -> CallPlan:
        """Return the plan for the tool of this name. ``UnknownTool`` if this caller has none."""
        return self.plan_of(await self.inner.find_tool(name, context), context.principal)


def planned(provider: Provider, layers: Sequence[tuple[str, Callable[[Provider], Provider]]]) -> Provider:
    """Wrap ``provider`` in ``layers``, the outermost first, each with its name; calls take plans where every layer
    says what it does for a tool. Layers inside of all others that do not, and that change no tool, are run by a plan in
    the place of the tool."""
    inner = innermost = provider
    stepped, general = list[tuple[str, PlannedLayer]](), False
    for name, layer in reversed(layers):
        outer = layer(inner)
        if (stepping := as_planned(outer)) is not None:
            stepped.insert(0, (name, stepping))
        elif not passes_calls(outer, inner):
            innermost = outer
            general = general or bool(stepped) or not finds_the_same(outer, inner)
        inner = outer
    return inner if general else Planned(inner, tuple(stepped), innermost)


def as_planned(layer: object) -> PlannedLayer | None:
    """Return the layer if its ``for_tool`` holds. That of a class does not hold for one derived from it that treats
    calls in another way."""
    if not isinstance(layer, PlannedLayer):
        return None
    for cls in type(layer).__mro__:
        if "for_tool" in vars(cls):
            return layer
        if not _CALLING.isdisjoint(vars(cls)):
            return None
    return layer


_CALLING = frozenset({"call_tool", "around"})


def passes_calls(outer: Provider, inner: Provider) -> bool:
    """Return whether ``outer`` leaves calls alone: then it finds and calls tools by the methods of ``inner``."""
    return outer.call_tool == inner.call_tool and outer.find_tool == inner.find_tool


def finds_the_same(outer: Provider, inner: Provider) -> bool:
    """Return whether ``outer`` finds tools by the methods of ``inner``."""
    return outer.find_tool == inner.find_tool and outer.known_tool == inner.known_tool
