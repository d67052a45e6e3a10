"""Tools that call other tools: each of these calls is agreed to, and asks, for itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.confirming import ERAS, Attic
from tooltrue import Answer, Context, Form
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TextContent
from tooltrue.tools.rounds import InputRequired
from tooltrue.tools.vocabulary import ToolCall

SURE: Form[None] = Form("Sure?")
eras = pytest.mark.parametrize("revision", ERAS)


async def inner(attic: Attic, tool: str, box: str, context: Context) -> str:
    """The result text that a tool receives from a nested call through the guard."""
    outcome = await attic.provider.call_tool(ToolCall(tool, {"box": box}, context))
    if isinstance(outcome, InputRequiredResult):
        raise InputRequired(outcome)
    assert isinstance(outcome, CallToolResult)
    [said] = outcome.content
    assert isinstance(said, TextContent)
    return said.text


def with_both(attic: Attic, effect: Any) -> Attic:
    """With a tool that has two boxes burnt, each a single time."""

    async def both(box: str, context: Context) -> str:
        first = await context.once("first", lambda: inner(attic, "burn", box, context))
        return f"{first}, {await inner(attic, 'burn', box + ' too', context)}"

    attic.tools.add(both, effect=effect)
    return attic


@pytest.mark.twin("B02")
@eras
@pytest.mark.parametrize(("effect", "questions"), [("read", 2), ("destructive", 3)])
def test_each_tool_that_another_one_calls_is_agreed_to_for_itself(revision: str, effect: Any, questions: int):
    attic, seen = with_both(Attic(), effect), list[str]()

    def yes(question: Any) -> bool:
        seen.append(question.message)
        return True

    said = asyncio.run(attic.call("maps", yes, revision, "both"))
    assert said.text == "maps is ashes, maps too is ashes"
    assert attic.lost == ["maps", "maps too"]
    assert len(seen) == len(set(seen)) == questions


@eras
def test_a_no_to_one_of_them_is_none_to_the_other(revision: str):
    attic = with_both(Attic(), "read")
    said = asyncio.run(attic.call("maps", lambda question: "too" not in question.message, revision, "both"))
    assert "maps is ashes, burn was not run: the user said no" in said.text
    assert attic.lost == ["maps"]


@pytest.mark.attack("B02")
@eras
def test_approval_of_a_tool_does_not_cover_its_nested_calls(revision: str):
    attic = Attic(Guard(server="attic", confirm=Confirm(frozenset({"destructive"}))))
    seen: list[bool] = []

    async def look(box: str, context: Context) -> str:
        seen.append(context.agreed)
        return box

    async def through(box: str, context: Context) -> str:
        seen.append(context.agreed)
        return await inner(attic, "look", box, context)

    attic.tools.add(look, effect="write")
    attic.tools.add(through, effect="destructive")
    asyncio.run(attic.call("maps", lambda question: True, revision, "through"))
    assert seen == [True, False]


@eras
def test_tools_that_ask_under_the_same_key_are_answered_each_for_itself(revision: str):
    attic, asked = Attic(Guard(server="attic", confirm=Confirm.never())), list[str]()

    async def lend(box: str, context: Context) -> str:
        number = context.once("number", lambda: len(asked))
        answer: Answer[None] = context.ask(SURE, key="sure")
        return f"{box} {number} {bool(answer)}"

    async def both(box: str, context: Context) -> str:
        answer: Answer[None] = context.ask(SURE, key="sure")
        first, second = [await inner(attic, "lend", name, context) for name in (box, "maps")]
        return f"{bool(answer)}, {first}, {second}"

    def say(question: Any) -> bool:
        asked.append(question.message)
        return len(asked) != 2

    attic.tools.add(lend)
    attic.tools.add(both)
    assert asyncio.run(attic.call("hats", say, revision, "both")).text == "True, hats 1 False, maps 2 True"
