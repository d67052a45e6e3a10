"""A host runs a call only by a rule that allows it, or by an approval of exactly its arguments, for any answers.

The oracle is small and independent of the layers: it reads rules and answers as they are written.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.guarded_host import Place
from tooltrue.host.approval_prompts import (
    Always,
    ApprovalAnswer,
    ApprovalQuestion,
    EditedArguments,
    No,
    Once,
    PromptLimits,
    ThisSession,
)
from tooltrue.policy import pipeline
from tooltrue.policy.consent.question import StandingGrant
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.rules.rule import Decide, Rule, Rules, Then
from tooltrue.policy.tasks.lethal_trifecta import Flow
from tooltrue.protocol.schema import compile_schema
from tooltrue.tools.toolset import Wrapper
from tooltrue.tools.vocabulary import EFFECTS, Effect

NAMES, VALUES = ("get", "put", "send"), ("a", "b", "c")


@dataclass(frozen=True)
class Said:
    """A rule as the oracle reads it; ``value`` is the argument that it is for."""

    then: Then
    tool: str
    value: str | None

    def rule(self, number: int) -> Rule:
        schema = {"type": "object", "properties": {"x": {"const": self.value}}, "required": ["x"]}
        arguments = None if self.value is None else compile_schema(schema)
        return Rule(self.then, f"r{number}", number, tools=globs([self.tool]), arguments=arguments, reason="because")

    def matches(self, tool: str, value: str) -> bool:
        return self.tool in ("*", tool) and self.value in (None, value)


ANSWERS = st.one_of(
    st.just(Once()),
    st.just(ThisSession()),
    st.sampled_from(VALUES).map(lambda value: Always({"properties": {"x": {"const": value}}, "required": ["x"]})),
    st.just(Always({"properties": {"x": True}})),
    st.sampled_from((*VALUES, 5)).map(lambda value: EditedArguments({"x": value})),
    st.just(No()),
    st.just(No("because")),
    st.just(None),
)


@dataclass(frozen=True)
class World:
    effects: dict[str, Effect]
    rules: tuple[Said, ...]
    answers: tuple[ApprovalAnswer | None, ...]
    calls: tuple[tuple[str, str], ...]
    at_once: bool
    asks_destructive: bool

    def allows(self, tool: str, value: str) -> bool:
        """Whether it may run without a word of the person."""
        first = next((rule.then for rule in self.rules if rule.matches(tool, value)), None)
        if first is None:
            return self.effects[tool] == "read"
        return first == "allow" and not (self.asks_destructive and self.effects[tool] == "destructive")

    def denies(self, tool: str, value: str) -> bool:
        first = next((rule.then for rule in self.rules if rule.matches(tool, value)), None)
        return first in ("deny", "hide")


WORLDS = st.builds(
    World,
    st.fixed_dictionaries({name: st.sampled_from(EFFECTS) for name in NAMES}),
    st.lists(
        st.builds(
            Said,
            st.sampled_from(("allow", "deny", "ask")),
            st.sampled_from((*NAMES, "*")),
            st.sampled_from((None, *VALUES)),
        ),
        max_size=4,
    ).map(tuple),
    st.lists(ANSWERS, max_size=12).map(tuple),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=8).map(tuple),
    st.booleans(),
    st.booleans(),
)


def holds(world: World) -> None:
    waiting = list(world.answers)
    yes: list[tuple[str, ApprovalAnswer, str]] = []  # tool, answer, the argument that was shown

    async def front(question: ApprovalQuestion) -> ApprovalAnswer:
        answer = waiting.pop(0) if waiting else None
        if answer is None:
            raise EOFError
        shown = question.request.arguments["x"]
        assert f'"x" (1): "{shown}"' in question.text
        yes.append((question.request.tool, answer, shown))
        await asyncio.sleep(0)
        return answer

    effects = frozenset({"destructive"} if world.asks_destructive else set[str]())
    guard = Guard(
        server="desk",
        rules=Rules(tuple(said.rule(number) for number, said in enumerate(world.rules)), "desk"),
        confirm=Confirm(effects=effects, questions=100),  # pyright: ignore[reportArgumentType]
    )
    place = Place(front, guard=guard, flow=Flow(is_on=False), asking=PromptLimits(no_seconds=1e-6))
    for name in NAMES:
        place.add(name, effect=world.effects[name])

    async def main() -> None:
        calls: list[Any] = [place.call(name, x=value) for name, value in world.calls]
        if world.at_once:
            await asyncio.gather(*calls, return_exceptions=True)
        else:
            for call in calls:
                place.now += 1
                await asyncio.gather(call, return_exceptions=True)

    asyncio.run(main())
    _nothing_ran_unasked(world, Counter((name, said["x"]) for name, said in place.ran), yes)


def _nothing_ran_unasked(
    world: World, ran: Counter[tuple[str, str]], yes: list[tuple[str, ApprovalAnswer, str]]
) -> None:
    for (tool, value), times in ran.items():
        assert not world.denies(tool, value), f"{tool} {value} is denied, and ran"
        if world.allows(tool, value):
            continue
        once = 0
        for name, answer, shown in yes:
            match answer:
                case Once() if (name, shown) == (tool, value):
                    once += 1
                case ThisSession() if (name, shown) == (tool, value):
                    once = times
                case Always(pattern) if name == tool:
                    fits = compile_schema(dict(pattern)).accepts
                    once = times if fits({"x": value}) and fits({"x": shown}) else once
                case _:
                    pass
        assert times <= once, f"{tool} {value} ran {times} times, on {once} yes"


@settings(deadline=None, max_examples=60)
@given(WORLDS)
def test_no_call_runs_without_a_rule_that_allows_it_or_a_yes_to_exactly_its_arguments(world: World):
    holds(world)


def test_the_oracle_sees_a_yes_that_is_not_used_up(monkeypatch: pytest.MonkeyPatch):
    async def granted(self: Any, wanted: Any, said: Any) -> StandingGrant:
        await self.approvals.remember(wanted, "session", 100.0)
        return StandingGrant("for long")

    monkeypatch.setattr("tooltrue.host.approval_prompts._AskPerson._granted", granted)
    world = World(dict.fromkeys(NAMES, "write"), (), (Once(),), (("put", "a"), ("put", "a")), False, False)
    with pytest.raises(AssertionError, match="ran 2 times, on 1 yes"):
        holds(world)


def test_the_oracle_sees_edits_that_are_not_decided_about_again(monkeypatch: pytest.MonkeyPatch):
    def undecided(decide: Decide) -> type[Wrapper]:
        return Wrapper

    monkeypatch.setattr(pipeline, "authorize_arguments", undecided)
    rules = (Said("deny", "put", "b"),)
    world = World(
        dict.fromkeys(NAMES, "destructive"), rules, (EditedArguments({"x": "b"}), Once()), (("put", "a"),), False, True
    )
    with pytest.raises(AssertionError, match="is denied, and ran"):
        holds(world)
