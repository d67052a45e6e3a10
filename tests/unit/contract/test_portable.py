"""Portable definitions for a client or provider: names, descriptions, schemas, and quarantined tools."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from properties.test_contracts import VALUES, compiled, documents
from tooltrue.contract.portable import Fitted, UnportableTool, aliases, check, fit, fitting
from tooltrue.contract.profile import SETTINGS, profile, profile_names
from tooltrue.errors import ConfigurationError, DefinitionError
from tooltrue.protocol.types import ToolDefinition

EVERY = pytest.mark.parametrize("name", profile_names())


def fitted(schema: Any, name: str, **more: Any) -> Fitted:
    found = fit({"name": "t", "inputSchema": schema, **more}, profile(name))
    assert isinstance(found, Fitted), found
    return found


def within(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


@EVERY
def test_each_setting_of_a_profile_has_a_fact_with_a_source_and_a_date(name: str):
    said = profile(name)
    spoken_of = {setting for fact in said.facts for setting in fact.of}
    defaults = {"name_characters", "name_length"}
    plain = profile("ollama")
    different = {one for one in SETTINGS - defaults if getattr(said, one) != getattr(plain, one)}
    assert different | defaults <= spoken_of
    assert spoken_of <= SETTINGS
    assert all(fact.source.startswith("https://") and fact.says for fact in said.facts)


def test_a_profile_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ConfigurationError, match="openai") as caught:
        profile("../openai")
    assert caught.value.code == "TT9008"


@EVERY
def test_a_plain_definition_is_accepted_by_everybody_as_it_is(name: str):
    schema = within({"type": "string", "description": "A."})
    assert fitted(schema, name, description="Does.") == Fitted("t", "t", "Does.", schema)


# -- names -------------------------------------------------------------------------------------------------------------


@EVERY
@given(st.tuples(st.sampled_from(["", "files", "数据"]), st.text(max_size=80)))
def test_every_name_becomes_one_that_is_accepted(name: str, tool: tuple[str, str]):
    said = profile(name)
    (alias,) = aliases([tool], said).values()
    extra = ":" if said.name_template == "{server}:{tool}" else ""
    assert re.fullmatch(f"[{extra}{said.name_characters}]{{1,{said.name_length}}}", alias)
    assert not said.name_first or re.match(f"[{said.name_first}]", alias)
    assert aliases([tool], said) == aliases([tool], said)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "a_b"]), st.text("ab_.读", max_size=6)), unique=True, max_size=30))
def test_no_two_tools_share_an_alias_in_any_order(tools: list[tuple[str, str]]):
    said = aliases(tools, profile("openai"))
    assert len(set(said.values())) == len(tools)
    assert aliases(reversed(tools), profile("openai")) == said


def test_a_tool_that_is_called_like_anothers_alias_does_not_take_it():
    odd = aliases([("", "a.b")], profile("openai"))["", "a.b"]
    both = aliases([("", "a.b"), ("", odd)], profile("openai"))
    assert both["", odd] == odd
    assert both["", "a.b"] != odd


def test_a_name_that_is_changed_says_so():
    found = fit({"name": "读取", "inputSchema": {"type": "object"}}, profile("openai"), server="files")
    assert isinstance(found, Fitted)
    assert found.original == "读取"
    assert re.fullmatch(r"files____[0-9a-f]{8}", found.name)
    assert [one.code for one in found.adjustments] == ["TT9060"]


def test_a_client_builds_names_of_its_own():
    said = aliases([("github", "create_issue"), ("git hub", "create")], profile("claude-code"))
    assert said["github", "create_issue"] == "mcp__github__create_issue"
    assert re.fullmatch(r"mcp__git_hub__create_[0-9a-f]{8}", said["git hub", "create"])


# -- descriptions and counts -------------------------------------------------------------------------------------------


def test_a_description_is_cut_where_it_is_cut_and_marked():
    found = fitted({"type": "object"}, "claude-code", description="word " * 1_000)
    assert len(found.description) <= 2_048
    assert found.description.endswith("[…]")
    assert [one.say() for one in found.adjustments] == ["The description has 5000 characters and is cut at 2048."]


def test_too_many_tools_are_counted():
    assert not check(profile("openai"), 128)
    assert [one.code for one in check(profile("openai"), 129)] == ["TT9069"]


# -- schemas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "becomes"),
    [
        ({"const": "a"}, {"enum": ["a"]}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": ["string"]}, {"type": "string"}),
        (
            {"type": ["string", "integer"], "minLength": 1},
            {"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]},
        ),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"$ref": "#/$defs/A", "description": "Mine."}, {"type": "string", "description": "Mine."}),
        ({"allOf": [{"$ref": "#/$defs/A"}], "default": "x"}, {"type": "string", "description": "A.", "default": "x"}),
        ({"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}, {"type": "object"}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer"}),
    ],
)
def test_a_schema_for_gemini_keeps_the_keywords_that_gemini_supports(given_: Any, becomes: Any):
    schema = {**within(given_), "$defs": {"A": {"type": "string", "description": "A."}}, "additionalProperties": False}
    assert fitted(schema, "gemini").schema["properties"]["a"] == becomes


def test_kimi_has_types_in_the_branches_and_no_references():
    schema = {
        **within({"type": "string", "anyOf": [{"minLength": 1}, {"$ref": "#/$defs/A"}]}),
        "$defs": {"A": {"enum": ["x"]}},
    }
    found = fitted(schema, "kimi").schema
    assert found["properties"]["a"] == {
        "anyOf": [{"type": "string", "minLength": 1}, {"type": "string", "enum": ["x"]}]
    }
    assert "$defs" not in found


def test_every_condition_that_is_left_out_is_reported_where_it_stood():
    found = fitted(within({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2}), "gemini")
    assert [(one.code, one.place) for one in found.adjustments] == [
        ("TT9062", "$.inputSchema.properties.a.exclusiveMinimum"),
        ("TT9062", "$.inputSchema.properties.a.multipleOf"),
    ]


@pytest.mark.parametrize(
    ("name", "schema", "code"),
    [
        ("openai", {"type": "object", "anyOf": [within({}), {"required": ["b"]}]}, "TT9065"),
        ("anthropic", {"type": "object", "oneOf": [within({})]}, "TT9065"),
        ("gemini", {**within({"$ref": "#"})}, "TT9064"),
        ("gemini", {**within({"$ref": "#/nowhere"})}, "TT9064"),
        ("kimi", within({"description": "Anything."}), "TT9066"),
        ("openai", [], "TT9068"),
        ("openai", None, "TT9068"),
    ],
)
def test_a_schema_that_a_profile_cannot_express_is_quarantined_with_the_reason(name: str, schema: Any, code: str):
    found = fit({"name": "t", "inputSchema": schema}, profile(name))
    assert isinstance(found, UnportableTool)
    assert [one.code for one in found.reasons] == [code]


def test_alternatives_beside_parameters_are_left_out_and_reported():
    found = fitted({**within({"type": "string"}), "anyOf": [{"required": ["a"]}]}, "openai")
    assert found.schema == within({"type": "string"})
    assert [one.place for one in found.adjustments] == ["$.inputSchema.anyOf"]


def test_references_that_double_are_quarantined_quickly():
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {**within({"$ref": "#/$defs/d0"}), "$defs": {**doubling, "d40": {"type": "string"}}}
    found = fit({"name": "t", "inputSchema": schema}, profile("gemini"))
    assert isinstance(found, UnportableTool)
    assert [one.code for one in found.reasons] == ["TT9067"]


def test_fitting_returns_a_tool_or_raises_an_error_with_the_reason():
    fits = fitting(profile("kimi"))
    tool = ToolDefinition("t", within({"const": "a"}), title="T", description="Does.")
    assert fits(tool) == ToolDefinition("t", within({"type": "string", "const": "a"}), title="T", description="Does.")
    with pytest.raises(DefinitionError, match=r"\$\.inputSchema\.properties\.a: A type is needed") as caught:
        fits(ToolDefinition("t", within({})))
    assert caught.value.code == "TT9070"


def nullable(schema: Any) -> Any:
    """Gemini's word for null, in the words of JSON Schema."""
    if isinstance(schema, list):
        return [nullable(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {keyword: nullable(value) for keyword, value in schema.items() if keyword != "nullable"}
    return {"anyOf": [found, {"type": "null"}]} if schema.get("nullable") is True else found


def test_a_schema_that_contains_itself_gets_no_type_at_its_top():
    schema = {"properties": {"a": {"$ref": "#"}}}
    assert fitted(schema, "openai").schema == schema


@EVERY
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(schema=documents(), values=st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), min_size=10))
def test_a_value_that_is_valid_before_fitting_is_valid_after_it(name: str, schema: dict[str, Any], values: list[Any]):
    before = compiled(schema)
    if before is None:
        return
    found = fit({"name": "t", "inputSchema": schema}, profile(name))
    if isinstance(found, UnportableTool):
        return
    after = compiled(nullable(json.loads(json.dumps(found.schema))))
    assert after is not None
    for value in values:
        if before.accepts(value):
            assert after.accepts(value), (value, found)


def test_fitting_removes_a_keyword_that_depends_on_another_one_without_an_error():
    """A schema of a stranger must not end in an error of ours."""
    inside: dict[str, Any] = {"$ref": "#/$defs/D", "minLength": 2}
    items: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "contains": inside, "maxContains": 1}
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {"D": {"type": "string", "minLength": 1}},
        "properties": {"a": items},
    }
    for name in profile_names():
        fit({"name": "t", "description": "Does it.", "inputSchema": schema}, profile(name))
