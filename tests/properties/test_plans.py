"""Plans and the nested form of a pipeline: the same calls have the same outcomes, records, counters and order.

Mutants of plans show that the comparison sees a difference.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from properties.two_forms import (
    ANSWERS,
    AROUND,
    AUTHORS,
    BEHAVIOURS,
    DECISIONS,
    KINDS,
    PRINCIPALS,
    PROBES,
    Author,
    Call,
    Fault,
    Plot,
    ToolPlan,
    story,
)
from tooltrue._internal.deadline import Deadline
from tooltrue.policy.layers import audit, authorize, concurrency, confirm, sanitize
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.pipeline import STAGES
from tooltrue.policy.plan import CallPlan, Planned, Step
from tooltrue.policy.rules.globs import globs
from tooltrue.protocol.types import ToolOutcome, replaced
from tooltrue.tools.bounds import Rate
from tooltrue.tools.vocabulary import Principal, Tool, ToolCall

# -- strategies --------------------------------------------------------------------------------------------------------

_TOOL_SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "max_bytes": st.sampled_from([10, 300, 2_000]),
    "repair": st.just(True),
    "read_when": st.just({"dry": True}),
    "confirm": st.booleans(),
    "old": st.just(True),
    "visible": st.just(True),
    "deprecated": st.just("t1"),
    "requires": st.just({"s1"}),
    "sends": st.just(True),
    "reads_stored": st.just(True),
    "untrusted": st.just(True),
    "secrets": st.just("keep"),
    "personal": st.just("mask"),
    "rate": st.sampled_from([Rate(0.001, 1), Rate(0.001, 2)]),
    "at_once": st.just(1),
    "seconds": st.just(5.0),
    "max_argument_bytes": st.just(40),
}
_GUARD_SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "confirm": st.sampled_from([Confirm.never(), Confirm(frozenset({"write", "destructive"}), questions=1)]),
    "repair": st.just(globs("*")),
    "personal": st.just("mask"),
    "secrets": st.just("keep"),
    "language": st.just("zh"),
    "audit_off": st.just(True),
    "audit_refuses": st.just(True),
}


INSIDE = [stage.name for stage in STAGES][5:]
"""The stages inside of which layers of steps can stand: ``authorize`` and all below."""


def some(values: dict[str, st.SearchStrategy[Any]], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """A few of these settings."""
    names = st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: values[name] for name in chosen}))


tools = st.builds(
    ToolPlan,
    st.sampled_from(KINDS),
    st.sampled_from(["read", "write", "destructive", "destructive", "open-world"]),
    some(_TOOL_SETTINGS, 3),
    st.booleans(),
)
behaviours = st.sampled_from(
    ["value"] * 8 + ["needs", "needs then asks", "late", "remove", "refuse"] * 2 + list(BEHAVIOURS)
)
plain = st.builds(lambda do: {"do": do}, behaviours)
arguments = st.one_of(
    plain,
    plain,
    plain,
    st.builds(
        lambda do, more: {"do": do, **more},
        behaviours,
        some(
            {
                "n": st.sampled_from([1, 2, "2", "x", None]),
                "dry": st.sampled_from([True, False, "true"]),
                "text": st.sampled_from(["ask", "needs", "refuse", "x" * 30, "x" * 3_000]),
                "more": st.just(1),
            },
            3,
        ),
    ),
    st.sampled_from([{}, {"do": object()}, {"do": float("nan")}]),
)
calls = st.builds(
    Call,
    st.sampled_from(["t0"] * 9 + ["t1"] * 4 + ["old0", "none"]),
    arguments,
    st.sampled_from(PRINCIPALS),
    trail=st.sampled_from(["none", "new", "claimed"]),
    has_rounds=st.sampled_from([True] * 5 + [False]),
    can_ask=st.sampled_from([True] * 5 + [False]),
    is_silent=st.booleans(),
    answer=st.sampled_from(["once"] * 5 + list(ANSWERS)),
    has_state=st.booleans(),
    tool_is_found=st.sampled_from([False] * 4 + [True]),
    is_admitted=st.sampled_from([True] * 15 + [False]),
    change=st.sampled_from([""] * 9 + ["exchange", "exchange", "remove"]),
    later=st.sampled_from([0.0, 0.0, 20.0, 100_000.0]),
    settle=st.sampled_from(["", "allow", "deny"]),
)
faults = st.builds(
    Fault,
    st.integers(0, PROBES - 1),
    st.sampled_from(["before", "after", "failed"]),
    st.sampled_from(["refuse", "crash", "state", "wait", "cancel", "wait, crash", "result", "ask"]),
    st.integers(0, 2),
)
authors = st.builds(
    lambda steps, around: (*steps, *around),
    st.lists(st.builds(Author, st.sampled_from(INSIDE), st.sampled_from(AUTHORS)), max_size=2),
    st.lists(st.builds(Author, st.just(INSIDE[-1]), st.sampled_from(AROUND)), max_size=1),
)
repeated = st.builds(lambda call, times: ((call,),) * times, calls, st.integers(2, 4))
groups = st.lists(st.lists(calls, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4).map(tuple)
plots = st.builds(
    Plot,
    st.tuples(tools, tools),
    st.one_of(groups, groups, repeated),
    some(_GUARD_SETTINGS, 2),
    st.sampled_from(["none"] * 6 + sorted(DECISIONS)),
    st.sampled_from(["here", "elsewhere"]),
    st.sampled_from(["plain", "plain", "plain", "prefixed", "only finds"]),
    st.one_of(st.just(()), st.just(()), st.lists(faults, max_size=2).map(tuple)),
    st.sampled_from([True, True, False]),
    st.one_of(st.just(0), st.just(0), st.just(0), st.integers(1, 40)),
    st.one_of(st.just(0), st.just(0), st.just(0), st.integers(1, 20)),
    st.sampled_from([False, False, True]),
    st.sampled_from([False] * 5 + [True]),
    st.one_of(st.just(()), st.just(()), authors),
)

# -- the property ------------------------------------------------------------------------------------------------------

ASYNC = ToolPlan("async", "write", {})
PLAIN = Plot((ASYNC, ASYNC), ())


def plot(*groups: tuple[Call, ...], **changes: Any) -> Plot:
    return replace(PLAIN, calls=groups, **changes)


def call(do: str, name: str = "t0", **changes: Any) -> Call:
    return Call(name, {"do": do}, **changes)


EXAMPLES = (
    plot((call("value"),), (call("late"),), (call("refuse"),), (call("crash"),)),
    plot((call("needs"),), (call("needs then fails"),), (call("needs then asks", answer="session"),)),
    plot((call("needs", can_ask=False, settle="allow"),), (call("needs", can_ask=False),), (call("needs"),)),
    plot((call("remove", "t1"), call("value"), call("value")), tools=(ASYNC, ToolPlan("inline", "read", {}))),
    plot((call("value"),), (call("value", change="exchange"),), (call("value", change="remove"),)),
    plot((call("wait"), call("wait"), call("late"), call("wait")), cancel_at=5),
    plot((call("value", principal=PRINCIPALS[1]),), (call("value"),), decision="rules hide"),
    plot((call("value", answer="once"),), (call("value", answer="deny"),), (call("ask"),), decision="rules ask"),
)


def check_same(plot: Plot, mutate: Callable[[pytest.MonkeyPatch], None] = lambda patch: None) -> None:
    """Compare the events of both forms. Only the plan is changed by a mutant."""
    with pytest.MonkeyPatch.context() as patch:
        mutate(patch)
        plan = story(plot, as_plan=True)
    nested = story(plot, as_plan=False)
    for place, (one, other) in enumerate(zip(plan, nested, strict=False)):
        assert one == other, "\n".join([*plan[max(0, place - 5) : place], f"PLAN   {one}", f"NESTED {other}"])
    assert len(plan) == len(nested), (plan[len(nested) :], nested[len(plan) :])


@pytest.mark.parametrize("plot", EXAMPLES, ids=map(str, range(len(EXAMPLES))))
def test_a_plan_is_the_same_as_the_nested_layers_in_cases_that_have_differed(plot: Plot):
    check_same(plot)


@pytest.mark.parametrize(
    ("after", "does"), [*itertools.product(INSIDE, AUTHORS), *((INSIDE[-1], does) for does in AROUND)]
)
def test_an_authors_layer_does_the_same_in_both_forms_at_each_place(after: str, does: str):
    check_same(
        plot(
            (call("value"), call("wait")),
            (call("refuse"),),
            (call("ask"),),
            (call("needs"),),
            (call("late"),),
            tools=(ToolPlan("async", "destructive", {}), ToolPlan("inline", "read", {})),
            authors=(Author(after, does),),
        )
    )


@settings(
    max_examples=max(300, settings().max_examples),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plots)
def test_a_plan_is_the_same_as_the_nested_layers(plot: Plot):
    check_same(plot)


# -- mutants of plans, each of which the property has to see -----------------------------------------------------------


def leaves_all_steps_but_the_innermost(patch: pytest.MonkeyPatch) -> None:
    leave = CallPlan.leave

    async def skips(self: CallPlan, call: ToolCall, place: int, left: Any, first: int = 0) -> ToolOutcome:
        return await leave(self, call, max(first, place - 1), left, first)

    patch.setattr(CallPlan, "leave", skips)


def leaves_the_step_that_was_not_entered(patch: pytest.MonkeyPatch) -> None:
    leave = CallPlan.leave

    async def one_more(self: CallPlan, call: ToolCall, place: int, left: Any, first: int = 0) -> ToolOutcome:
        return await leave(self, call, min(self.depth, place + 1), left, first)

    patch.setattr(CallPlan, "leave", one_more)


def returns_an_early_outcome_at_once(patch: pytest.MonkeyPatch) -> None:
    leave = CallPlan.leave

    async def at_once(self: CallPlan, call: ToolCall, place: int, left: Any, first: int = 0) -> ToolOutcome:
        return await leave(self, call, place, left, first) if isinstance(left, BaseException) else left

    patch.setattr(CallPlan, "leave", at_once)


def lets_a_cancellation_through_at_once(patch: pytest.MonkeyPatch) -> None:
    leave = CallPlan.leave

    async def at_once(self: CallPlan, call: ToolCall, place: int, left: Any, first: int = 0) -> ToolOutcome:
        if isinstance(left, asyncio.CancelledError):
            raise left
        return await leave(self, call, place, left, first)

    patch.setattr(CallPlan, "leave", at_once)


def leaves_the_outermost_step_first(patch: pytest.MonkeyPatch) -> None:
    make = CallPlan.__init__

    def in_order(self: CallPlan, *facts: Any) -> None:
        make(self, *facts)
        self.afters = self.afters[::-1]

    patch.setattr(CallPlan, "__init__", in_order)


def tells_the_steps_above_of_an_error_that_was_answered(patch: pytest.MonkeyPatch) -> None:
    make = CallPlan.__init__

    def without_afters(self: CallPlan, *facts: Any) -> None:
        make(self, *facts)
        self.steps = tuple(Step(step.before, None, step.failed) for step in self.steps)

    patch.setattr(CallPlan, "__init__", without_afters)


def runs_too_little_once_more(patch: pytest.MonkeyPatch) -> None:
    run_below = CallPlan.run_below
    patch.setattr(CallPlan, "run_below", lambda self, call, place: run_below(self, call, place + 5))


def changes_the_call_of_the_caller(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolCall, "renewed", lambda self: self)


def keeps_the_tool_that_was_exchanged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Planned, "_is_exchanged", lambda self, tool, call: False)


def keeps_a_plan_by_name(patch: pytest.MonkeyPatch) -> None:
    plan_of, kept = Planned.plan_of, dict[Any, CallPlan]()

    def by_name(self: Planned, tool: Tool, principal: Principal) -> CallPlan:
        return kept.setdefault((tool.name, principal.id), plan_of(self, tool, principal))

    patch.setattr(Planned, "plan_of", by_name)


def shares_a_plan_among_callers(patch: pytest.MonkeyPatch) -> None:
    plan_of, kept = Planned.plan_of, dict[Any, CallPlan]()

    def of_tool(self: Planned, tool: Tool, principal: Principal) -> CallPlan:
        return kept.setdefault(tool, plan_of(self, tool, principal))

    patch.setattr(Planned, "plan_of", of_tool)


def frees_no_slot_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(concurrency._Slots, "free_failed", lambda self, call, error: error)  # pyright: ignore[reportPrivateUsage]


def ends_no_deadline(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Deadline, "end_late", lambda self: False)


def settles_no_grant(patch: pytest.MonkeyPatch) -> None:
    async def forgets(call: ToolCall, left: Any) -> Any:
        return left

    patch.setattr(confirm, "_settle_grant", forgets)


def without_part(patch: pytest.MonkeyPatch, layer: Any, part: str) -> None:
    """The layer's step lacks this part."""
    for_tool = layer.for_tool

    def without(self: Any, tool: Tool, principal: Principal) -> Step | None:
        step = for_tool(self, tool, principal)
        return None if step is None else replaced(step, **{part: None})

    patch.setattr(layer, "for_tool", without)


def records_no_failure(patch: pytest.MonkeyPatch) -> None:
    without_part(patch, audit._Audit, "failed")  # pyright: ignore[reportPrivateUsage]


def authorizes_no_call(patch: pytest.MonkeyPatch) -> None:
    without_part(patch, authorize._AuthorizeArguments, "before")  # pyright: ignore[reportPrivateUsage]


def cleans_no_error(patch: pytest.MonkeyPatch) -> None:
    without_part(patch, sanitize._SanitizeOutput, "failed")  # pyright: ignore[reportPrivateUsage]


def answers_no_need_of_approval(patch: pytest.MonkeyPatch) -> None:
    without_part(patch, confirm.Confirming, "failed")


MUTANTS = (
    leaves_all_steps_but_the_innermost,
    leaves_the_step_that_was_not_entered,
    returns_an_early_outcome_at_once,
    lets_a_cancellation_through_at_once,
    leaves_the_outermost_step_first,
    tells_the_steps_above_of_an_error_that_was_answered,
    runs_too_little_once_more,
    changes_the_call_of_the_caller,
    keeps_the_tool_that_was_exchanged,
    keeps_a_plan_by_name,
    shares_a_plan_among_callers,
    frees_no_slot_after_a_failure,
    ends_no_deadline,
    settles_no_grant,
    records_no_failure,
    authorizes_no_call,
    cleans_no_error,
    answers_no_need_of_approval,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_fault_in_plans_is_seen_by_the_property(mutant: Callable[[pytest.MonkeyPatch], None]):
    def differs(plot: Plot) -> None:
        check_same(plot, mutant)

    for plot in reversed(EXAMPLES):
        differs = example(plot)(differs)
    hunt = settings(
        max_examples=200,
        derandomize=True,
        report_multiple_bugs=False,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType] - the metaclass iterates
    )
    with pytest.raises((AssertionError, ExceptionGroup)):
        hunt(given(plots)(differs))()
