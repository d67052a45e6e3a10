"""Arguments: accepted values, and error messages for a model about the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrue.errors import InvalidArguments
from tooltrue.policy.layers.validate import MAX_EXPLANATION, check_arguments
from tooltrue.server.service import SILENT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import LOCAL, RequestContext, Tool


def tool(name: str = "save", **properties: Any) -> Tool:
    tools = LocalToolset()
    required = [key for key, schema in properties.items() if "default" not in schema]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    tools.add_raw(name, schema, lambda arguments: arguments)
    return asyncio.run(tools.find_tool(name, RequestContext(LOCAL, SILENT)))


def explained(checked: Tool, arguments: dict[str, Any]) -> str:
    with pytest.raises(InvalidArguments) as caught:
        check_arguments(checked, arguments)
    return caught.value.say()


@pytest.mark.twin("B06")
def test_valid_arguments_pass_as_the_same_object():
    arguments = {"a": 1}
    assert check_arguments(tool(a={"type": "integer"}), arguments) is arguments


def test_defaults_fill_in_missing_arguments_only():
    checked = tool(a={"type": "integer", "default": 5}, b={"type": ["integer", "null"], "default": 6})
    assert check_arguments(checked, {}) == {"a": 5, "b": 6}
    assert check_arguments(checked, {"b": None}) == {"a": 5, "b": None}


@pytest.mark.parametrize("value", ["5", True, 5.5, [5], {"": 5}, None, "five"])
def test_b07_a_value_of_another_type_is_not_coerced_to_an_integer(value: Any):
    assert "$.a" in explained(tool(a={"type": "integer"}), {"a": value})


@pytest.mark.parametrize("value", [5, 5.0, -0.0, 10**30, 1e20])
def test_b07_twin_an_integral_number_is_one(value: Any):
    check_arguments(tool(a={"type": "integer"}), {"a": value})


def test_b06_an_unknown_argument_is_refused_with_the_nearest_name():
    text = explained(tool(path={"type": "string"}, limit={"type": "integer", "default": 1}), {"path": "a", "limt": 1})
    assert "limt" in text
    assert "limit" in text


def test_b06_admin_is_refused_although_everything_else_fits():
    assert "admin" in explained(tool(path={"type": "string"}), {"path": "a", "admin": True})


def test_every_missing_argument_is_named():
    text = explained(tool(first={"type": "string"}, second={"type": "string"}), {})
    assert "first" in text
    assert "second" in text


@pytest.mark.parametrize("count", [1, 50])
def test_an_explanation_is_short_ends_with_an_instruction_and_echoes_no_value(count: int):
    checked = tool("n" * 128, **{f"parameter_{n}_{'x' * 40}": {"type": "integer"} for n in range(count)})
    text = explained(checked, dict.fromkeys(checked.definition.inputSchema["properties"], "hunter2" * 50))
    assert len(text) <= MAX_EXPLANATION == 600
    assert "hunter2" not in text
    assert text.endswith("call the tool again. [TT2001]")
    assert "$." in text


def test_a_value_of_any_shape_is_not_echoed():
    checked = tool(
        a={"type": "string", "maxLength": 3},
        b={"enum": ["x"]},
        c={"type": "string", "pattern": "^z"},
        d={"type": "array", "items": {"type": "integer"}},
        e={"anyOf": [{"type": "integer"}, {"type": "null"}]},
        f={"type": "string", "format": "date"},
    )
    arguments = {
        "a": "hunter2",
        "b": "hunter2",
        "c": "hunter2",
        "d": ["hunter2"],
        "e": {"k": "hunter2"},
        "f": "hunter2",
    }
    assert "hunter2" not in explained(checked, arguments)
