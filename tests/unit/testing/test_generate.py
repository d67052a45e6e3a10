"""Values from schemas: the violated rules, the order of values, and the report of parts without a value."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.testing.generate import Missing, Samples, samples
from tooltrue.testing.patterns import text_maker


def of(definition: dict[str, Any], **settings: Any) -> Samples:
    return samples(compile_schema(definition, bounds=OWN), **settings)


def of_property(schema: Any, **more: Any) -> Samples:
    return of({"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False, **more})


def broken(found: Samples) -> set[str]:
    return {sample.rule for sample in found.invalid if sample.path.startswith("$.a")}


@pytest.mark.parametrize(
    ("schema", "rules"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, {"type", "minimum", "maximum"}),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 9}, {"exclusiveMinimum", "exclusiveMaximum"}),
        ({"type": "integer", "multipleOf": 4}, {"multipleOf"}),
        ({"type": "number", "multipleOf": 0.5}, {"multipleOf"}),
        ({"type": "string", "minLength": 2.0, "maxLength": 5}, {"type", "minLength", "maxLength"}),
        ({"type": "string", "pattern": "^[a-z]{2,4}-\\d+$"}, {"pattern"}),
        ({"type": "string", "format": "date"}, {"format"}),
        ({"type": "string", "format": "uuid"}, {"format"}),
        ({"enum": ["x", "y"]}, {"enum"}),
        ({"enum": [1, 2]}, {"enum"}),
        ({"const": "x"}, {"const"}),
        ({"type": "boolean"}, {"type"}),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
            {"type", "minItems", "maxItems"},
        ),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, {"uniqueItems"}),
        ({"type": "array", "contains": {"const": 5}}, {"contains"}),
        ({"type": "object", "minProperties": 1, "maxProperties": 2}, {"minProperties", "maxProperties"}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"type"}),
        ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]}, {"maxLength"}),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, {"minimum"}),
        ({"$ref": "#/$defs/small"}, {"maximum"}),
        (
            {"type": "object", "properties": {"b": {}, "c": {}}, "dependentRequired": {"b": ["c"]}},
            {"required"},  # so the judge calls it
        ),
    ],
)
def test_each_rule_is_broken_alone(schema: dict[str, Any], rules: set[str]):
    found = of_property(schema, **{"$defs": {"small": {"type": "integer", "maximum": 3}}})
    assert found.valid
    assert rules <= broken(found)
    assert {sample.rule for sample in found.invalid} >= {"required", "additionalProperties"}


def test_examples_and_defaults_come_first_and_bad_examples_are_told():
    found = of({"type": "object", "properties": {"a": {"type": "integer"}}, "examples": [{"a": 41}, {"a": "x"}]})
    assert (found.valid[0].value, found.valid[0].origin) == ({"a": 41}, "example")
    assert found.bad_examples == ({"a": "x"},)


def test_values_inside_are_taken_from_examples_too():
    found = of_property({"type": "string", "examples": ["notes/todo.txt"]})
    assert any(sample.value == {"a": "notes/todo.txt"} for sample in found.valid)


def test_the_least_and_the_most_are_among_the_valid_ones():
    names = {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "string"}}
    found = of({"type": "object", "properties": names, "required": ["b"]})
    sizes = {frozenset(sample.value) for sample in found.valid}
    assert {frozenset("b"), frozenset("abc")} <= sizes


def test_recursive_schemas_end():
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]}
    assert of(tree).valid


def test_schema_parts_without_a_generated_value_are_listed():
    lookahead = {"type": "string", "pattern": "(?=a)b?a"}
    found = of({"type": "object", "properties": {"a": lookahead, "b": {"type": "integer"}}})
    assert Missing("pattern", "$.a") in found.missing
    assert Missing("valid", "$.a") in found.missing
    assert of_property(False).missing == (Missing("type", "$.a"), Missing("valid", "$"))
    assert Missing("not", "$.a") in of_property({"type": "integer", "not": {"const": 5}}).missing


def test_the_seed_decides():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert of(schema, seed=1) == of(schema, seed=1)
    assert of(schema, seed=1) != of(schema, seed=2)


@pytest.mark.parametrize("pattern", ["(?=a)", "(?i)a", "\\p{L}", "(a", "a)", "*", "[", "a{x}", "\\", "(?<n>a)\\1"])
def test_patterns_beyond_the_plain_ones_are_refused(pattern: str):
    with pytest.raises(ValueError):  # noqa: PT011 - which words it has does not matter
        text_maker(pattern)


@pytest.mark.twin("A31")
@pytest.mark.parametrize(
    "pattern",
    [
        "^a+b*c?$",
        "(x|yy){2,3}",
        "[^a-z]",
        "(?:\\w+\\.)+\\w{2,}",
        "[\\d\\-]{3}",
        "\\u0041\\x42\\t",
        "(?P<n>.)-]",
        "a{2}",
    ],
)
def test_texts_of_plain_patterns_match(pattern: str):
    schema = compile_schema({"type": "string", "pattern": pattern.replace("?P<", "?<")}, bounds=OWN)
    make = text_maker(pattern)
    assert all(schema.accepts(make(Random(seed))) for seed in range(50))
