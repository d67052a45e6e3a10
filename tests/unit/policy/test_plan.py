"""The runner of plans against the nested form of the same layers, for all short lists of small layers.

Each layer does one of a few things in ``before``, ``after`` and ``failed``. Both forms run without an event loop: a
test drives the coroutine from one wait to the next, and cancels it at each of them in turn.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import types
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from typing import Any, NamedTuple

import pytest

from tooltrue.errors import UnknownTool
from tooltrue.policy import plan
from tooltrue.policy.pipeline import standard
from tooltrue.policy.plan import CallPlan, Planned, Step, StepLayer, planned
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TextContent, ToolOutcome
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT, NoLibrary
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import LOCAL, CallRecord, Principal, RequestContext, Tool, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)
ANN, BOB = Principal("ann"), Principal("bob")
TOOL, OTHER = (
    LocalToolset().add_raw("tool", {"type": "object"}, lambda arguments: "", description=text)
    for text in ("the first", "the other")
)


class Behaviour(NamedTuple):
    """The behaviour of one layer; an empty text is a part that the step leaves out."""

    before: str = ""
    after: str = ""
    failed: str = ""


BEFORES = ("", "passes", "waits")
AFTERS = ("", "passes", "waits", "changes", "raises", "waits, raises")
FAILURES = ("", "passes", "waits", "raises", "waits, raises", "recovers", "waits, recovers", "again")
# A step that was not entered is not left: its other parts would show it.
ENDINGS = tuple(
    Behaviour(before, "changes", "recovers") for before in ("raises", "waits, raises", "ends", "waits, ends")
)
ALL = (*ENDINGS, *(Behaviour(*parts) for parts in itertools.product(BEFORES, AFTERS, FAILURES)))
SOME = (
    *ENDINGS,
    Behaviour("passes"),
    Behaviour("waits", "waits", "waits"),
    Behaviour("", "changes", "recovers"),
    Behaviour("passes", "raises", "again"),
    Behaviour("waits", "waits, raises", "waits, recovers"),
    Behaviour("passes", "passes", "raises"),
    Behaviour("", "", "waits, raises"),
)
TOOLS = ("answers", "fails", "fails once", "waits")


class Trouble(Exception):
    pass


@types.coroutine
def turn() -> Generator[None]:
    yield


async def later(doing: Callable[[], Any]) -> Any:
    await turn()
    return doing()


class Log:
    """The events of one run. ``made`` numbers outcomes and errors, so that another one has another name."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.made = itertools.count()

    def note(self, *words: object) -> None:
        self.events.append(" ".join(map(str, words)))

    def outcome(self) -> CallToolResult:
        return CallToolResult([TextContent(text=f"outcome {next(self.made)}")])

    def trouble(self) -> Trouble:
        return Trouble(f"trouble {next(self.made)}")


def raised(error: BaseException) -> Any:
    raise error


class Acts(StepLayer, frozen=True):
    number: int
    behaviour: Behaviour
    log: Log

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        if not any(self.behaviour):
            return None
        behaviour = self.behaviour
        return Step(
            self.before if behaviour.before else None,
            self.after if behaviour.after else None,
            self.failed if behaviour.failed else None,
        )

    def before(self, call: ToolCall) -> Any:
        self.log.note(self.number, "before")
        ends = {"ends": lambda: InputRequiredResult(requestState=str(next(self.log.made)))}
        result = self.acted(self.behaviour.before, None, ends)
        return ready(result) if self.behaviour.before == "ends" else result

    def after(self, call: ToolCall, outcome: ToolOutcome) -> Any:
        self.log.note(self.number, "after", described(outcome))
        return self.acted(self.behaviour.after, outcome, {"changes": self.log.outcome})

    def failed(self, call: ToolCall, error: BaseException) -> Any:
        self.log.note(self.number, "failed", described(error))
        if self.behaviour.failed == "again":
            assert call.proceed is not None
            return call.proceed(call)
        return self.acted(self.behaviour.failed, error, {"recovers": self.log.outcome})

    def acted(self, what: str, passes: Any, more: dict[str, Callable[[], Any]]) -> Any:
        does = what.removeprefix("waits").strip(", ") or "passes"
        doing = {"passes": lambda: passes, "raises": lambda: raised(self.log.trouble()), **more}[does]
        return later(doing) if what.startswith("waits") else doing()


async def ready(value: Any) -> Any:
    return value


class Bottom(NoLibrary):
    """The provider below the layers, with one tool."""

    def __init__(self, behaviour: str, log: Log) -> None:
        self.behaviour = behaviour
        self.log = log
        self.calls = 0
        self.tool: Tool | None = TOOL

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return () if self.tool is None else (self.tool,)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        if self.tool is None:
            raise UnknownTool(name)
        return self.tool

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        if self.tool is None:
            raise UnknownTool(name)
        return self.tool

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        self.calls += 1
        self.log.note("tool", None if call.tool is None else call.tool.definition.description)
        if self.behaviour == "waits":
            await turn()
        if self.behaviour == "fails" or (self.behaviour == "fails once" and self.calls == 1):
            raise self.log.trouble()
        return self.log.outcome()

    def watch(self, changed: Callable[[Any], None]) -> Callable[[], None]:
        return lambda: None


def described(end: object) -> str:
    match end:
        case CallToolResult():
            return end.content[0].text
        case InputRequiredResult():
            return f"question {end.requestState}"
        case BaseException():
            return f"{type(end).__name__}({end})"
        case _:
            return repr(end)


def run(behaviours: Sequence[Behaviour], tool: str, *, as_plan: bool, cancel_at: int = -1) -> list[str]:
    """Return the events of one call; its task is cancelled at the wait of this number."""
    log = Log()
    layers = [_layer(number, behaviour, log) for number, behaviour in enumerate(behaviours)]
    provider = planned(Bottom(tool, log), layers)
    assert isinstance(provider, Planned)
    return driven(
        (provider if as_plan else provider.inner).call_tool(ToolCall("tool", {}, CONTEXT, TOOL)), log, cancel_at
    )


def _layer(number: int, behaviour: Behaviour, log: Log) -> tuple[str, Callable[[Provider], Provider]]:
    return str(number), lambda inner: Acts(inner, number, behaviour, log)


def driven(coroutine: Coroutine[Any, Any, ToolOutcome], log: Log, cancel_at: int) -> list[str]:
    try:
        for number in itertools.count():
            log.note("turn", number)
            if number == cancel_at:
                coroutine.throw(asyncio.CancelledError("here"))
            else:
                coroutine.send(None)
    except StopIteration as end:
        log.note("ends with", described(end.value))
    except BaseException as error:  # noqa: BLE001 - it is the subject
        log.note("raises", described(error))
    return log.events


def check_same(behaviours: Sequence[Behaviour], tools: Iterable[str] = TOOLS, cancelled: Iterable[int] = (-1,)) -> None:
    for tool, cancel_at in itertools.product(tools, cancelled):
        plan, nested = (run(behaviours, tool, as_plan=form, cancel_at=cancel_at) for form in (True, False))
        assert plan == nested, f"{behaviours} around a tool that {tool}, cancelled at {cancel_at}"


def check_short_lists() -> None:
    """The comparison, over the shortest lists and all waits in them."""
    for length in (1, 2):
        for behaviours in itertools.product(SOME, repeat=length):
            check_same(behaviours, cancelled=range(-1, 5))


def test_one_layer_is_the_same_in_both_forms():
    for behaviour in ALL:
        check_same((behaviour,), cancelled=range(-1, 4))


def test_two_layers_are_the_same_in_both_forms():
    for behaviours in itertools.product(ALL, SOME):
        check_same(behaviours, ("answers", "fails once"))
        check_same(behaviours[::-1], ("answers", "fails once"))


def test_three_layers_are_the_same_in_both_forms():
    for behaviours in itertools.product(SOME, repeat=3):
        check_same(behaviours, ("answers", "fails once"))


def test_a_cancellation_at_each_wait_is_the_same_in_both_forms():
    check_short_lists()


def test_each_step_that_was_entered_is_left_exactly_once():
    every = Behaviour("passes", "passes", "passes")
    for ending in (*ENDINGS, Behaviour("waits", "raises", "raises")):
        events = run((every, every, ending, every), "answers", as_plan=True)
        for number in (0, 1):
            left = [event for event in events if event.startswith((f"{number} after", f"{number} failed"))]
            assert len(left) == 1
        inner, outer = (next(i for i, e in enumerate(events) if e.startswith((f"{n} a", f"{n} f"))) for n in (1, 0))
        assert inner < outer
        entered = "3 before" in events
        assert any(event.startswith(("3 after", "3 failed")) for event in events) == entered


def test_a_call_of_the_caller_stays_as_it_is():
    call = ToolCall("tool", {"a": 1}, CONTEXT)

    def change(call: ToolCall) -> None:
        call.arguments = {}
        call.asks = "?"
        call.keep("a", 1)

    class Changes(StepLayer, frozen=True):
        def for_tool(self, tool: Tool, principal: Principal) -> Step:
            return Step(change)

    provider = planned(Bottom("answers", Log()), [("changes", Changes)])
    for form in (provider, provider.inner):  # pyright: ignore[reportAttributeAccessIssue]
        driven(form.call_tool(call), Log(), -1)
        assert (call.arguments, call.asks, call.state, call.tool) == ({"a": 1}, None, None, None)


class Finds(StepLayer, frozen=True):
    """As ``authorize``: the layers below take the tool to be found."""

    log: Log

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        def before(call: ToolCall) -> None:
            call.tool = tool
            self.log.note("finds", tool.definition.description)

        return Step(before)


class WaitsFirst(Wrapper, frozen=True):
    """A layer above ``authorize`` that waits, as the audit layer does for a slow log."""

    log: Log

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        await turn()
        try:
            return await self.inner.call_tool(call)
        except UnknownTool:
            self.log.note("unknown")
            raise

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        def failed(call: ToolCall, error: BaseException) -> BaseException:
            if isinstance(error, UnknownTool):
                self.log.note("unknown")
            return error

        return Step(lambda call: later(lambda: None), failed=failed)


@pytest.mark.parametrize("other", [TOOL, OTHER, None], ids=["same", "other", "none"])
@pytest.mark.parametrize("as_plan", [True, False])
def test_a_call_that_waits_before_its_tool_is_found_runs_the_tool_that_there_is_then(other: Tool | None, as_plan: bool):
    log = Log()
    bottom = Bottom("answers", log)
    layers = [("waits", lambda inner: WaitsFirst(inner, log)), ("finds", lambda inner: Finds(inner, log))]
    provider = planned(bottom, layers)
    assert isinstance(provider, Planned)
    call = (provider if as_plan else provider.inner).call_tool(ToolCall("tool", {}, CONTEXT))
    assert call.send(None) is None
    bottom.tool = other
    events = driven(call, log, -1)
    if other is None:
        assert events == [
            "turn 0",
            "unknown",
            "raises UnknownTool(Unknown tool: 'tool'. Ask tools/list for the tools there are.)",
        ]
    else:
        name = other.definition.description
        assert events == ["turn 0", f"finds {name}", f"tool {name}", "ends with outcome 0"]


# -- which calls take plans --------------------------------------------------------------------------------------------


class Unplanned(Wrapper, frozen=True):
    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.inner.call_tool(call)


class Hides(Wrapper, frozen=True):
    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        raise UnknownTool(name)


class PlannedBase(StepLayer, frozen=True):
    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return None


class OtherCalls(PlannedBase, frozen=True):
    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return CallToolResult([TextContent(text="other")])


class OtherDecision(PlannedBase, frozen=True):
    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)


@pytest.mark.parametrize(
    ("layer", "takes_plans"),
    [
        (Unplanned, False),
        (OtherCalls, False),
        (Hides, False),
        (Wrapper, True),
        (PlannedBase, True),
        (OtherDecision, True),
    ],
)
def test_a_layer_that_treats_calls_without_a_step_keeps_the_pipeline_nested(
    layer: Callable[[Provider], Provider], takes_plans: bool
):
    provider = planned(Bottom("answers", Log()), [("base", PlannedBase), ("layer", layer), ("steps", PlannedBase)])
    assert isinstance(provider, Planned) == takes_plans


@pytest.mark.parametrize(
    ("layer", "takes_plans"), [(Unplanned, True), (OtherCalls, True), (Hides, False), (Wrapper, True)]
)
def test_a_layer_without_a_step_runs_in_the_place_of_the_tool_right_around_it(
    layer: Callable[[Provider], Provider], takes_plans: bool
):
    log = Log()
    provider = planned(Bottom("answers", log), [("base", PlannedBase), ("layer", layer)])
    assert isinstance(provider, Planned) == takes_plans
    if isinstance(provider, Planned):
        nested = driven(provider.inner.call_tool(ToolCall("tool", {}, CONTEXT)), log, -1)
        log.events.clear()
        log.made = itertools.count()
        assert driven(provider.call_tool(ToolCall("tool", {}, CONTEXT)), log, -1) == nested


def test_a_tool_that_a_layer_without_a_step_hides_is_not_called():
    log = Log()
    layers = [("finds", lambda inner: Finds(inner, log)), ("hides", Hides)]
    events = driven(planned(Bottom("answers", log), layers).call_tool(ToolCall("tool", {}, CONTEXT)), log, -1)
    assert events[-1].startswith("raises UnknownTool")


def test_the_oldest_plans_are_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "_MAX_PLANS", 2)
    provider = planned(Bottom("answers", Log()), [("base", PlannedBase)])
    assert isinstance(provider, Planned)
    for name in "abca":
        driven(provider.call_tool(ToolCall("tool", {}, RequestContext(Principal(name), SILENT))), Log(), -1)
    assert [id for _, id in provider.plans] == ["c", "a"]


def test_a_caller_of_the_same_name_with_other_scopes_has_a_plan_of_its_own():
    provider = planned(Bottom("answers", Log()), [("base", PlannedBase)])
    assert isinstance(provider, Planned)
    first, other = Principal("ann"), Principal("ann", frozenset({"s"}))
    assert provider.plan_of(TOOL, first) is provider.plan_of(TOOL, Principal("ann"))
    assert provider.plan_of(TOOL, other).principal == other


def test_the_plans_of_all_callers_share_the_steps_that_ask_for_nothing_of_the_principal():
    tools = LocalToolset()
    tool, second = (tools.add_raw(name, {"type": "object"}, lambda arguments: "") for name in ("one", "two"))
    provider = standard(tools)
    assert isinstance(provider, Planned)
    ann, bob, other = (provider.plan_of(*of) for of in ((tool, ANN), (tool, BOB), (second, ANN)))
    own = {"audit", "abuse", "rate", "concurrency", "store_results"}
    for name, of_ann, of_bob in zip(ann.names, ann.steps, bob.steps, strict=True):
        assert (of_ann is of_bob) is (name not in own), name
    constant = {"consume_grant"}
    assert [name for name, one, two in zip(ann.names, ann.steps, other.steps, strict=True) if one is two] == [*constant]


def test_the_shared_steps_of_the_oldest_tools_are_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "_MAX_PLANS", 2)
    tools = LocalToolset()
    provider = standard(tools)
    assert isinstance(provider, Planned)
    for number in range(5):
        provider.plan_of(tools.add_raw(f"t{number}", {"type": "object"}, lambda arguments: ""), ANN)
    assert [tool.name for tool, _ in provider.shared.values()] == ["t3", "t4"]


# --- times ------------------------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Takes(StepLayer, frozen=True):
    """Takes the seconds that the call names."""

    clock: Clock

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return Step(self.before)

    def before(self, call: ToolCall) -> None:
        self.clock.now += call.arguments["seconds"]


def traced_call(tool: Tool, trail: CallRecord, seconds: float = 0.0, caller: Principal = ANN) -> ToolCall:
    context = RequestContext(caller, SILENT, meta={"traceparent": "x"}, trail=trail)
    return ToolCall("tool", {"seconds": seconds}, context, tool)


def test_traced_calls_that_run_at_once_keep_times_of_their_own(monkeypatch: pytest.MonkeyPatch):
    clock, trails = Clock(), [CallRecord(), CallRecord()]
    monkeypatch.setattr(plan, "perf_counter", clock)
    provider = planned(Bottom("waits", Log()), [("takes", lambda inner: Takes(inner, clock))])
    calls = [provider.call_tool(traced_call(TOOL, trail, of)) for trail, of in zip(trails, (2.0, 5.0), strict=True)]
    for call in calls:
        call.send(None)  # until its tool waits
    for call in calls:
        driven(call, Log(), -1)
    times = [[(step.name, step.seconds) for step in trail.steps] for trail in trails]
    assert times == [[("takes", 2.0), ("tool", 5.0)], [("takes", 5.0), ("tool", 0.0)]]


def test_a_plan_has_one_form_for_all_traced_calls_and_it_goes_with_the_plan(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "_MAX_PLANS", 2)
    log, tool = Log(), LocalToolset().add_raw("tool", {"type": "object"}, lambda arguments: "")
    provider = planned(Bottom("answers", log), [("takes", lambda inner: Takes(inner, Clock()))])
    for name in "abcabcc":
        driven(provider.call_tool(traced_call(tool, CallRecord(), caller=Principal(name))), log, -1)
    gc.collect()
    assert sum(isinstance(one, CallPlan) and one.tool is tool for one in gc.get_objects()) == 4
