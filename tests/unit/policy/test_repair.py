"""Arguments that miss their schema by spelling alone, where mending them is declared."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.guarded_host import Person, Place
from tooltrue import Client, Server
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.repair import mended
from tooltrue.policy.rules.globs import globs
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import Tool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 0},
        "share": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "where": {"$ref": "#/$defs/where"},
        "parent": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "text": {"type": "string"},
        "either": {"type": ["string", "integer"]},
        "any": {},
        "size": {"enum": [1, 2, 3]},
    },
    "$defs": {"where": {"type": "object", "properties": {"line": {"type": "integer"}}}},
    "additionalProperties": False,
}


def handler(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


def tool(**settings: Any) -> Tool:
    return LocalToolset().add_raw("t", SCHEMA, handler, description="A tool.", **settings)


@pytest.mark.parametrize(
    ("came", "runs"),
    [
        ({"count": "5"}, {"count": 5}),
        ({"share": "-0.5"}, {"share": -0.5}),
        ({"deep": "true"}, {"deep": True}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"sizes": ["1", 2]}, {"sizes": [1, 2]}),
        ({"sizes": '["1", 2]'}, {"sizes": [1, 2]}),
        ({"where": '{"line": "7"}'}, {"where": {"line": 7}}),
        ({"parent": "null"}, {"parent": None}),
        ({"size": "2"}, {"size": 2}),
    ],
)
def test_a_misspelt_argument_is_repaired(came: dict[str, Any], runs: dict[str, Any]):
    made, said = mended(tool(), came)
    assert made == runs
    assert said


@pytest.mark.parametrize(
    "came",
    [
        {"count": "5 apples"},
        {"count": " 5"},
        {"count": "0x10"},
        {"count": "1_000"},
        {"count": "NaN"},
        {"count": "-1"},
        {"count": "true"},
        {"count": ""},
        {"deep": "yes"},
        {"tags": '["a", "b"'},
        {"where": '{"line": 1, "line": 2}'},
        {"count": "5", "unknown": 1},
        {"size": "9"},
    ],
)
def test_an_ambiguous_argument_is_not_repaired(came: dict[str, Any]):
    assert mended(tool(), came) == (came, [])


@pytest.mark.parametrize("came", [{"text": "5"}, {"text": "null"}, {"either": "5"}, {"any": "5"}, {"count": 5}])
def test_a_valid_argument_is_not_changed_by_repair(came: dict[str, Any]):
    assert mended(tool(), came) == (came, [])


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), st.text() | st.integers() | st.none()))
def test_repaired_arguments_match_the_schema(came: dict[str, Any]):
    one = tool()
    made, said = mended(one, came)
    assert (made == came) if not said else one.input.accepts(made)


def test_it_is_done_only_where_it_is_declared_and_it_is_recorded():
    number = {"type": "object", "properties": {"count": {"type": "integer"}}}

    async def main(guard: Guard, **settings: Any) -> tuple[str, Any]:
        place = Place(Person(), guard=guard)
        place.add("look", effect="read", schema=number, **settings)
        code = await place.code("look", count="5")
        return code, (await place.records())[0].get("notes")

    said = ["repaired: $.count: integer in text"]
    assert asyncio.run(main(Guard())) == ("TT2001", None)
    assert asyncio.run(main(Guard(), repair=True)) == ("", said)
    assert asyncio.run(main(Guard(repair=globs(["lo*"])))) == ("", said)


def test_on_a_server_it_is_declared_by_the_author():
    server = Server("sums", audit=False)

    @server.tool(effect="read", repair=True)
    def double(number: int) -> int:
        """Twice a number."""
        return 2 * number

    async def main() -> Any:
        async with Client(server) as client:
            return (await client.call_tool("double", number="21")).value

    assert json.dumps(asyncio.run(main())) in ("42", '{"result": 42}')
