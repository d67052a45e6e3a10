"""Undeclared arguments, and values of the wrong type, at each depth and for each parameter type."""

from __future__ import annotations

import asyncio
import datetime
import enum
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
from typing_extensions import TypedDict

from support.variants import tried
from tooltrue import Client, Server


class Model(pydantic.BaseModel):
    path: str


@dataclass
class Record:
    path: str


class Typed(TypedDict):
    path: str


class Colour(enum.Enum):
    RED = "red"


def served(annotation: Any, ran: list[Any]) -> Server:
    """A server whose one tool has the parameter ``value`` of this type and appends each received value to ``ran``."""

    def save(path: str, value: Any) -> str:
        ran.append(value)
        return repr(value)

    save.__annotations__["value"] = annotation
    server = Server("typed")
    server.add_tool(save, name="save", effect="write", blocking=False)
    return server


def answers(server: Server, tried_with: list[dict[str, Any]]) -> list[tuple[bool, str]]:
    """Whether each call is an error, and its text."""

    async def main() -> list[tuple[bool, str]]:
        async with Client(server) as client:
            results = [await client.call_tool("save", arguments) for arguments in tried_with]
            return [(result.is_error, result.text) for result in results]

    return asyncio.run(main())


# -- B06: undeclared arguments -----------------------------------------------------------------------------------------

UNDECLARED = [
    "admin", "Path", "PATH", "path ", " path", "path\u200b", "p\u0430th", "pa\u0301th", "\uff50ath", "", "0",
    "__proto__",
    "constructor", "__class__", "_meta", "$ref", "path.path", "path[]", "args", "kwargs", "self", "context", "cls",
]  # fmt: skip
PLACES: dict[str, tuple[Any, Callable[[dict[str, Any]], Any]]] = {
    "at the top": (dict[str, str], lambda more: {}),
    "in a model": (Model, lambda more: {"path": "a", **more}),
    "in a dataclass": (Record, lambda more: {"path": "a", **more}),
    "in a typed dictionary": (Typed, lambda more: {"path": "a", **more}),
    "in a list": (list[Model], lambda more: [{"path": "a"}, {"path": "b", **more}]),
    "in a dictionary": (dict[str, Model], lambda more: {"one": {"path": "a", **more}}),
    "in what may be null": (Model | None, lambda more: {"path": "a", **more}),
    "in one of two": (Model | int, lambda more: {"path": "a", **more}),
}


@pytest.mark.variants(len(UNDECLARED))
@pytest.mark.parametrize("place", PLACES)
def test_b06_no_undeclared_argument_is_taken_at_any_depth(place: str):
    annotation, value = PLACES[place]
    ran: list[Any] = []
    more = [{name: True} for name in UNDECLARED]
    calls = [{"path": "a", "value": value(each), **(each if place == "at the top" else {})} for each in more]
    passed: list[str] = []
    for name, (refused, text) in zip(UNDECLARED, answers(served(annotation, ran), calls), strict=True):
        tried(name)
        if not refused or "[TT2001]" not in text:
            passed.append(name)
    assert (passed, ran) == ([], [])


@pytest.mark.parametrize("place", PLACES)
def test_b06_twin_a_declared_argument_is_accepted_at_any_depth(place: str):
    annotation, value = PLACES[place]
    ran: list[Any] = []
    assert [refused for refused, _ in answers(served(annotation, ran), [{"path": "a", "value": value({})}])] == [False]
    assert len(ran) == 1


# -- B07: values of another type ---------------------------------------------------------------------------------------

VALUES: dict[str, Any] = {
    "an integer": 7,
    "zero": 0,
    "one": 1,
    "a fraction": 0.5,
    "a text": "text",
    "a number as text": "7",
    "true as text": "true",
    "nothing as text": "",
    "null as text": "null",
    "a list as text": "[7]",
    "an object as text": '{"path": "a"}',
    "true": True,
    "false": False,
    "null": None,
    "a list": [7],
    "an empty list": [],
    "a list of one text": ["a"],
    "an object": {"path": "a"},
    "an empty object": {},
    "an object with numbers for names": {"0": 7},
}
OBJECTS = {"an object"}
# A type, and which of the values fit it: all others are refused.
TYPES: dict[str, tuple[Any, set[str]]] = {
    "int": (int, {"an integer", "zero", "one"}),
    "float": (float, {"an integer", "zero", "one", "a fraction"}),
    "str": (str, {name for name, value in VALUES.items() if isinstance(value, str)}),
    "bool": (bool, {"true", "false"}),
    "list of int": (list[int], {"a list", "an empty list"}),
    "list of str": (list[str], {"a list of one text", "an empty list"}),
    "tuple": (tuple[int, ...], {"a list", "an empty list"}),
    "set": (set[int], {"a list", "an empty list"}),
    "dict of str": (dict[str, str], {"an object", "an empty object"}),
    "dict of int": (dict[str, int], {"an empty object", "an object with numbers for names"}),
    "literal": (Literal["text"], {"a text"}),
    "literal number": (Literal[1], {"one"}),
    "enumeration": (Colour, set[str]()),
    "model": (Model, OBJECTS),
    "dataclass": (Record, OBJECTS),
    "typed dictionary": (Typed, OBJECTS),
    "int or null": (int | None, {"an integer", "zero", "one", "null"}),
    "int or list": (int | list[int], {"an integer", "zero", "one", "a list", "an empty list"}),
    "bounded int": (Annotated[int, pydantic.Field(ge=1, le=7)], {"an integer", "one"}),
    "date": (datetime.date, set[str]()),
    "date and time": (datetime.datetime, set[str]()),
    "identifier": (uuid.UUID, set[str]()),
}


@pytest.mark.variants(9)
@pytest.mark.parametrize("kind", TYPES)
def test_b07_a_value_of_another_type_is_not_made_into_one(kind: str):
    annotation, fitting = TYPES[kind]
    ran: list[Any] = []
    others = {name: value for name, value in VALUES.items() if name not in fitting}
    taken: list[str] = []
    said = answers(served(annotation, ran), [{"path": "a", "value": value} for value in others.values()])
    for name, (refused, text) in zip(others, said, strict=True):
        tried(name)
        if not refused or "[TT2001]" not in text:
            taken.append(f"{name}: {text}")
    assert (taken, ran) == ([], [])


@pytest.mark.parametrize("kind", [kind for kind, (_, fitting) in TYPES.items() if fitting])
def test_b07_twin_values_of_the_type_are_taken(kind: str):
    annotation, fitting = TYPES[kind]
    said = answers(served(annotation, []), [{"path": "a", "value": VALUES[name]} for name in sorted(fitting)])
    assert [text for refused, text in said if refused] == []
