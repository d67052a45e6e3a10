"""Rules on schemas, annotations and accuracy: the text of a fix, and the use of a judge in unclear cases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.contract.contract import Contract
from tooltrue.contract.patterns import patterns
from tooltrue.protocol.schema import compile_schema
from tooltrue.wording import SENTENCES, load_catalogues
from tooltrue_check.card import Level, cards
from tooltrue_check.findings import RuleFinding, check_contracts, rules
from tooltrue_check.plain import is_plain
from tooltrue_check.subject import Shelf, Subject
from tooltrue_check.text_statements import stated_default, stated_limit, stated_values, states_optional, states_required

load_catalogues()


def tool(properties: Any = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or {}} | more.pop("schema", {})
    return {"name": "t", "description": "Adds.", "inputSchema": schema, **more}


def found(definition: dict[str, Any], rule: str) -> list[RuleFinding]:
    return [one for one in check_contracts([("server", Contract.of([definition]))]) if one.card.name == rule]


@pytest.mark.parametrize(
    ("rule", "definition", "path", "value"),
    [
        ("repeated", tool({"a": {"enum": ["a", "b", "a"]}}), ("inputSchema", "properties", "a", "enum"), ["a", "b"]),
        ("repeated", tool({"a": {"enum": [1, 1.0, 2]}}), ("inputSchema", "properties", "a", "enum"), [1, 2]),
        ("repeated", tool({"a": {}}, schema={"required": ["a", "a"]}), ("inputSchema", "required"), ["a"]),
        (
            "integral_float",
            tool({"a": {"type": "integer", "default": 5.0}}),
            ("inputSchema", "properties", "a", "default"),
            5,
        ),
        (
            "dialect",
            tool(schema={"$schema": "https://json-schema.org/draft/2020-12/schema/"}),
            ("inputSchema", "$schema"),
            "https://json-schema.org/draft/2020-12/schema",
        ),
        ("input_type", {"name": "t", "inputSchema": {"properties": {}}}, ("inputSchema", "type"), "object"),
        ("input_type", {"name": "t"}, ("inputSchema",), {"type": "object"}),
        (
            "invalid_schema",
            tool({"a": {"type": "number", "minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": False}}),
            ("inputSchema", "properties", "a"),
            {"type": "number", "exclusiveMinimum": 1},
        ),
        (
            "destructive_unmarked",
            {**tool(annotations={"openWorldHint": False}), "name": "delete_note"},
            ("annotations",),
            {"openWorldHint": False, "readOnlyHint": False, "destructiveHint": True},
        ),
        (
            "annotation_type",
            tool(annotations={"title": "T", "readOnlyHint": None, "idempotentHint": None}),
            ("annotations",),
            {"title": "T"},
        ),
    ],
)
def test_a_fix_removes_its_finding(rule: str, definition: dict[str, Any], path: tuple[str, ...], value: Any):
    first = found(definition, rule)[0]
    assert first.problem.fix is not None
    assert (first.problem.fix.path, first.problem.fix.value) == (path, value)
    again: Any = definition
    for step in path[:-1]:
        again = again[step]
    again[path[-1]] = value
    assert not found(definition, rule)


def test_a_default_is_judged_by_all_that_stands_around_it():
    definition = tool(
        {"a": {"$ref": "#/$defs/word", "default": "xyz"}, "b": {"$ref": "#/$defs/word", "default": "ok"}},
        schema={"$defs": {"word": {"type": "string", "pattern": "^[a-o]+$"}}},
    )
    assert [one.place for one in found(definition, "bad_default")] == ["$.inputSchema.properties.a.default"]


def test_a_default_of_null_is_a_fault_and_no_error():
    (one,) = found(tool({"a": {"type": "string", "default": None}}), "bad_default")
    assert one.level is Level.WARNING


def test_two_tools_of_one_server_with_one_name_are_both_found():
    shelf = Shelf()
    shelf.subjects.extend(Subject("server", tool(), shelf) for _ in range(2))
    ((card, problems),) = [one for one in rules() if one[0].name == "same_name"]
    assert card.level is Level.ERROR
    assert [len([*problems(one)]) for one in shelf.subjects] == [1, 1]


def test_each_code_that_is_found_at_runtime_is_passed_on_by_one_rule():
    passed_on = [code for card in cards().values() for code in card.also]
    assert len(set(passed_on)) == len(passed_on)
    assert set(passed_on) <= set(SENTENCES)
    scanned = {code for code in SENTENCES if code.startswith("TT91")}
    schemas = {code for code in SENTENCES if code.startswith("TT31")}
    assert scanned | schemas - {"TT3103"} == set(passed_on)  # a dialect is found without compiling
    assert {one.code for one in patterns()} <= set(passed_on)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Sort order: 'newest' or 'oldest' (default)", ("newest", "oldest")),
        ('One of: "a" (first), "b" (second), or "c".', ("a", "b", "c")),
        ("可选值：markdown、html、lake", ("markdown", "html", "lake")),
        ('"trigger" | "transform" | "output". Returns all.', ("trigger", "transform", "output")),
        ("A city, e.g. 'Bonn' or 'Köln'", ()),
        ("Comma-separated list of 'a', 'b' or 'c'", ()),
        ("Either this or id must be provided.", ()),
        ("A number, a hash, or 'latest'/'pending'", ()),
        ("必须是通过 `get_code` 或 `get_city` 查询得到的编码", ()),
        ("如 '北京' 或 '上海'", ()),
    ],
)
def test_a_list_of_values_is_read_out_of_a_text(text: str, values: tuple[str, ...]):
    assert stated_values(text) == values


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("How many (default: 20, max: 50)", "integer", 20),
        ("Defaults to 0.5.", "number", 0.5),
        ("Whether to look deeper. Default is false, which is quick.", "boolean", False),
        ("Format, default 'html'", "string", "html"),
        ("每页数量，默认为10，最大为20", "integer", 10),
        ("Defaults to 5 minutes", "integer", None),
        ("Defaults to now", "string", None),
        ("0 for the default of 100", "integer", None),
        ("Defaults to 20.", "string", None),
        ("Where to write. Defaults to `page-{timestamp}.pdf`.", "string", None),
        ("Where to write, default: 'log-<date>.txt'", "string", None),
        ("Where to write, default: '$HOME/log'", "string", None),
    ],
)
def test_a_default_is_read_out_of_a_text(text: str, kind: str, value: Any):
    assert stated_default(text, frozenset({kind})) == value


def test_a_need_is_read_out_of_a_text_and_not_where_it_depends():
    assert states_required("The word (required)")
    assert states_required("Name. This field is required.")
    assert states_required("关键词，必填")
    assert not states_required("Required if the other is not set.")
    assert not states_required("Authentication is required for this.")
    assert states_optional("Optional. A word.")
    assert states_optional("关键词（可选）")
    assert not states_optional("With inclusion and optional exclusion")


def test_a_limit_is_read_out_of_a_text():
    assert stated_limit("How many (1-20, default 10)") == "1-20"
    assert stated_limit("数量，最大为20") == "最大为20"
    assert stated_limit("A year, such as 2020") == ""


KEYWORDS = (
    *("type", "properties", "items", "enum", "default", "examples", "required", "anyOf", "$defs", "$ref", "a", "if"),
    *("minimum", "maximum", "pattern", "description", "$schema", "x-mcp-header", "additionalProperties"),
)
TEXTS = (
    *("string", "object", "array", "integer", "id", "a", "#", "#/$defs/a", "默认为 5", "(required)", "'a' or 'b'"),
    *("^(a+)+$", "readOnlyHint", "https://example.org/i.svg"),
)
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.sampled_from(TEXTS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta"]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_rule_raises_on_any_json(definition: dict[str, Any]):
    shelf = Shelf()
    subject = Subject("server", definition, shelf)
    shelf.subjects.append(subject)
    for card, problems in rules():
        for problem in problems(subject):
            one = RuleFinding("server", subject.name, card, problem)
            assert one.say("en")
            assert one.instead("zh")


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYWORDS), JSON))
def test_a_schema_recognized_as_plain_compiles(schema: dict[str, Any]):
    subject = Subject("server", {"inputSchema": schema})
    if is_plain(subject.nodes):
        compile_schema(schema)


def test_an_invalid_schema_hides_its_other_findings_until_it_is_fixed():
    deeper = tool({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
    assert found(deeper, "invalid_schema")
    assert not found(deeper, "vague_type")
    assert found(tool({"name": {}}), "vague_type")
