"""There is no way to a tool, resource or prompt that the decision denies, whichever way a caller takes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from properties.guarding import PATHS, Attempts, Item, Told, World, worlds
from tooltrue.policy import pipeline
from tooltrue.policy.consent import question as consent
from tooltrue.policy.layers import authorize
from tooltrue.policy.rules import decision as deciding
from tooltrue.policy.rules import rule as rules
from tooltrue.policy.rules.rule import ALLOW
from tooltrue.testing.state import LIMIT
from tooltrue.tools.toolset import Wrapper
from tooltrue.tools.vocabulary import Principal


def holds(drawn: tuple[World, Principal]) -> None:
    world, by = drawn

    async def main() -> Told:
        async with asyncio.timeout(LIMIT):
            return await Attempts(world, by).all()

    told = asyncio.run(main())
    _nothing_was_reached_that_is_denied(world, by)
    _everything_was_reached_that_is_allowed(world, by)
    _whatever_asks_ran_as_often_as_somebody_agreed(world, by)
    _nothing_is_told_but_by_what_ran(world, told)
    _nobody_hears_of_what_is_hidden(world, by, told)
    _what_may_be_used_is_listed(world, by, told)


def _nothing_was_reached_that_is_denied(world: World, by: Principal) -> None:
    items = {(item.kind, item.name): item for item in world.items()}
    for kind, name, path, who in world.ran:
        assert who == by.id
        item = items[kind, name]
        assert world.allows(item, path, by) or world.asks(item, path, by), f"{name} {path!r} was reached"


def _whatever_asks_ran_as_often_as_somebody_agreed(world: World, by: Principal) -> None:
    """To this very tool and path, before it was reached, and once each time."""
    agreed: Counter[tuple[str, str]] = Counter()
    items = {item.name: item for item in world.items() if item.kind == "tools"}
    for what, name, path in world.story:
        if not world.asks(items[name], path, by):
            assert what != "yes", f"{name} {path!r} was asked about"
        elif what == "yes":
            agreed[name, path] += 1
        else:
            assert agreed[name, path] > 0, f"{name} {path!r} {what} without a yes"
            agreed[name, path] -= what == "done"
    assert not agreed.total(), f"agreed to, and not run: {agreed}"


def _nothing_is_told_but_by_what_ran(world: World, told: Told) -> None:
    done = {name for what, name, _ in world.story if what == "done"}
    for item, _, way, text in told.answers:
        assert item.kind != "tools" or item.secret not in text or item.name in done, way


def _everything_was_reached_that_is_allowed(world: World, by: Principal) -> None:
    ran = {(kind, name, path) for kind, name, path, _ in world.ran}
    for item in world.items():
        for path in PATHS if item.kind == "tools" else ("",):
            assert not world.allows(item, path, by) or (item.kind, item.name, path) in ran


def _nobody_hears_of_what_is_hidden(world: World, by: Principal, told: Told) -> None:
    may_read = {item.name for item in world.items() if item.kind == "resources" and world.allows(item, "", by)}
    assert {f"docs:t/{value}" for value in told.completed} <= may_read
    hidden = {item.name for item in world.items() if world.is_hidden(item, by)}
    for way, seen in told.lists.items():
        assert not hidden & seen, way
    nothing = [answer for answer in told.answers if "none" in answer[0].name]
    unknown = {(item.kind, path, way): _worded(item, text) for item, path, way, text in nothing}
    for item, path, way, text in told.answers:
        if item.name in hidden and way != "resumed":
            assert _worded(item, text) == unknown[item.kind, path, way], (item, path, way)


def _worded(item: Item, text: str) -> str:
    """An answer without the parts that differ between requests."""
    said = json.loads(text)
    said = json.loads(said) if isinstance(said, str) and said.startswith("{") else said
    return json.dumps({**said, "id": 0} if isinstance(said, dict) else said).replace(item.name, "NAME")


def _what_may_be_used_is_listed(world: World, by: Principal, told: Told) -> None:
    for item in world.items():
        if world.is_there(item, by) and not item.name.startswith("docs:t/"):
            for way, seen in told.lists.items():
                assert not way.endswith(item.kind) or item.name in seen, way


@pytest.mark.requirement("CALL-15")
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds())
def test_no_request_reaches_an_object_that_the_decision_denies(drawn: tuple[World, Principal]):
    holds(drawn)


# -- mutants: each is a hole, and the property above has to see it -----------------------------------------------------

AUTHORIZE = authorize._Authorize  # pyright: ignore[reportPrivateUsage] - no public name reaches a layer


def no_authorize(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pipeline, "authorize", lambda decide: Wrapper)


def no_arguments_stage(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pipeline, "authorize_arguments", lambda decide: Wrapper)


def calls_what_is_not_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AUTHORIZE, "call_tool", lambda self, call: self.inner.call_tool(call))
    patch.setattr(AUTHORIZE, "for_tool", lambda self, tool, principal: None)


def lists_what_is_not_called(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AUTHORIZE, "list_tools", lambda self, context: self.inner.list_tools(context))


def reads_what_is_not_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AUTHORIZE, "read_resource", lambda self, read: self.inner.read_resource(read))


def gets_what_is_not_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AUTHORIZE, "get_prompt", lambda self, get: self.inner.get_prompt(get))


def completes_what_is_not_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AUTHORIZE, "complete", lambda self, get: self.inner.complete(get))


def requires_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deciding, "_required", lambda tool, context, held: ALLOW)


def everybody_holds_every_scope(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules, "lacking", lambda scopes, principal, held: frozenset())


def open_where_nothing_matches(patch: pytest.MonkeyPatch) -> None:
    decide = rules.Rules.decide

    def opened(self: Any, subject: Any, context: Any, arguments: Any) -> Any:
        verdict = decide(self, subject, context, arguments)
        return ALLOW if isinstance(verdict, rules.Deny) and not verdict.rule else verdict

    patch.setattr(rules.Rules, "decide", opened)


def the_last_rule_decides(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules.Rules, "here", lambda self: reversed(self.rules))


def to_ask_is_to_allow(patch: pytest.MonkeyPatch) -> None:
    verdict = rules.Rule.verdict
    patch.setattr(rules.Rule, "verdict", lambda self: ALLOW if self.then == "ask" else verdict(self))


def nobody_is_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pipeline, "confirm", lambda *_, **__: Wrapper)


def a_no_is_a_yes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(consent.Consent, "read", lambda self, answer: "once")


def a_yes_is_never_used_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pipeline, "consume_grant", Wrapper)


def a_tool_calls_past_the_guard(patch: pytest.MonkeyPatch) -> None:
    standard = pipeline.standard

    def past(provider: Any, *settings: Any) -> Any:
        guarded = standard(provider, *settings)
        calls = ContextVar("calls", default=False)

        class Past(Wrapper, frozen=True):
            async def call_tool(self, call: Any) -> Any:
                inner, token = provider if calls.get() else self.inner, calls.set(True)
                try:
                    return await inner.call_tool(call)
                finally:
                    calls.reset(token)

        return Past(guarded)

    patch.setattr(pipeline, "standard", past)


def weakest_of_two_decisions(patch: pytest.MonkeyPatch) -> None:
    strictness = deciding._strictness  # pyright: ignore[reportPrivateUsage]
    patch.setattr(deciding, "_strictness", lambda verdict: -strictness(verdict))


MUTANTS = (
    no_authorize,
    no_arguments_stage,
    calls_what_is_not_listed,
    lists_what_is_not_called,
    reads_what_is_not_listed,
    gets_what_is_not_listed,
    completes_what_is_not_listed,
    requires_nothing,
    everybody_holds_every_scope,
    open_where_nothing_matches,
    the_last_rule_decides,
    to_ask_is_to_allow,
    nobody_is_asked,
    a_no_is_a_yes,
    a_yes_is_never_used_up,
    a_tool_calls_past_the_guard,
    weakest_of_two_decisions,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_hole_in_the_guard_is_seen_by_the_property(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    mutant(monkeypatch)
    hunt = settings(
        deadline=None,
        max_examples=500,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType] - the metaclass iterates
    )
    with pytest.raises((AssertionError, ExceptionGroup)):
        hunt(given(worlds())(holds))()
