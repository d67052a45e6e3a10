"""Approval prompts at a terminal: input typed before the prompt is ignored, and any answer but yes means no."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator

import pytest

from support.guarded_host import Person, Place
from support.terminals import at_terminal, open_terminal
from tooltrue.host.approval_prompts import Always, ApprovalQuestion, EditedArguments, No, Once, ThisSession
from tooltrue.host.prompters import lines_of, prompting, terminal


def question(**arguments: object) -> ApprovalQuestion:
    """The question that a person would be asked about a call with these arguments."""
    person = Person(No())
    place = Place(person)
    place.add("put", effect="write", schema={"type": "object", "properties": {name: {} for name in arguments}})
    asyncio.run(place.call("put", **arguments))  # pyright: ignore[reportArgumentType]
    return person.asked[0]


def scripted(*lines: str) -> tuple[Callable[[str], Awaitable[str]], list[str]]:
    prompts: list[str] = []
    waiting = list(lines)

    async def read(prompt: str) -> str:
        prompts.append(prompt)
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return read, prompts


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["y"], Once()),
        (["YES"], Once()),
        (["是"], Once()),
        (["s"], ThisSession()),
        (["once"], Once()),
        (["Session"], ThisSession()),
        (["n"], No()),
        (["no"], No()),
        (["deny"], No()),
        ([""], No()),
        (["n not there"], No("not there")),
        (["y but not there", "n"], No()),
        (["what?", "y"], Once()),
        (["ok", "sure", "yep"], No()),
        (["e", '{"x": "b"}'], EditedArguments({"x": "b"})),
        (["e", '{"x": "b", "x": "c"}', "n"], No()),
        (["e", "[1]", "n"], No()),
    ],
)
def test_each_typed_reply_is_parsed_as_its_approval_answer(typed: list[str], answer: object):
    read, prompts = scripted(*typed)
    shown: list[str] = []
    asked = question(x="a\u202e")
    assert asyncio.run(_ask(read, shown, asked)) == answer
    assert len(prompts) == len(typed)
    assert asked.text in shown[0]
    assert '"x" (2): "a\\u202e"' in shown[0]


async def _ask(read: Callable[[str], Awaitable[str]], shown: list[str], asked: ApprovalQuestion) -> object:
    return await prompting(read, shown.append)(asked)


def test_a_pattern_lets_those_arguments_differ_that_the_person_names():
    read, prompts = scripted("a", "x , z")
    answer = asyncio.run(_ask(read, [], question(x="a", y=1)))
    assert isinstance(answer, Always)
    assert "x, y" in prompts[1]
    assert answer.pattern == {
        "type": "object",
        "properties": {"x": True, "z": True, "y": {"const": 1}},
        "required": ["y"],
        "additionalProperties": False,
    }


def test_a_terminal_that_is_gone_is_no_answer():
    read, _ = scripted()
    with pytest.raises(EOFError):
        asyncio.run(_ask(read, [], question()))


@pytest.fixture
def typing() -> Generator[tuple[int, int]]:
    """The end of a person at a terminal, and that of this program."""
    person, program = open_terminal()
    with at_terminal(program):
        yield person, program
    os.close(person)
    os.close(program)


@pytest.mark.needs("terminals")
def test_input_typed_before_a_prompt_does_not_answer_it(typing: tuple[int, int]):
    person, program = typing
    os.write(person, b"y\n")  # before anything was asked
    shown: list[str] = []
    read = lines_of(program, shown.append)

    async def scenario() -> str:
        line = asyncio.ensure_future(read("? "))
        await asyncio.sleep(0)
        os.write(person, b"n\n")
        return await line

    assert asyncio.run(scenario()) == "n"


@pytest.mark.needs("terminals")
def test_a_cancelled_prompt_does_not_consume_the_line_of_the_next_prompt(typing: tuple[int, int]):
    person, program = typing
    read = lines_of(program, lambda text: None)

    async def scenario() -> str:
        late = asyncio.ensure_future(read("first? "))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        line = asyncio.ensure_future(read("second? "))
        await asyncio.sleep(0)
        os.write(person, "s\u00e9\n".encode())
        return await line

    assert asyncio.run(scenario()) == "s\u00e9"


def test_without_a_terminal_there_is_no_front(monkeypatch: pytest.MonkeyPatch):
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert terminal() is None
