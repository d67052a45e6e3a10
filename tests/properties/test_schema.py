"""Properties of any schema and any value: verdict and explanation agree, limits hold, explanations quote no values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from tooltrue.protocol.result_wrapping import wrapped
from tooltrue.protocol.schema import FOREIGN, OWN, Schema, SchemaBounds, SchemaError, compile_schema, explain

MARKER = "hunter2"  # stands in every string that a value holds; no schema of these tests has it

names = st.sampled_from(["path", "pth", "n", "rows", "a b", "ü"])
numbers = st.one_of(st.integers(-20, 20), st.floats(-5, 5), st.integers())
literals = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(["", "red", "green", "5", "true"]))
secrets = st.one_of(st.text(max_size=8).map(lambda text: MARKER + text), st.just(f"[{MARKER}]"))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, secrets),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
json_values = st.recursive(
    literals | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
kinds = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
small = st.integers(0, 4)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas that use a few of the keywords, over ``inner`` schemas."""
    branches = st.lists(inner, min_size=1, max_size=3)
    parts = st.dictionaries(names, inner, max_size=3)
    values: dict[str, st.SearchStrategy[Any]] = {
        "type": kinds | st.lists(kinds, min_size=1, max_size=3, unique=True),
        "enum": st.lists(literals, min_size=1, max_size=4),
        "const": literals,
        "minimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([1, 2, 0.5, 10**30]),
        "minLength": small,
        "maxLength": small,
        "pattern": st.sampled_from(["^r", "[0-9]+$", "a|b"]),
        "format": st.sampled_from(["date", "email", "uuid", "regex", "unknown"]),
        "minItems": small,
        "maxItems": small,
        "uniqueItems": st.booleans(),
        "required": st.lists(names, max_size=3, unique=True),
        "minProperties": small,
        "properties": parts,
        "patternProperties": st.dictionaries(st.sampled_from(["^p", "n"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "items": inner,
        "prefixItems": branches,
        "contains": inner,
        "minContains": small,
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True), max_size=2),
        "dependentSchemas": parts,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "allOf": branches,
        "anyOf": branches,
        "oneOf": branches,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(["#", "#/$defs/one", "#/$defs/two"]),
        "description": st.sampled_from(["The file. It exists.", ""]),
    }
    few = st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=4, unique=True)
    return few.flatmap(lambda names: st.fixed_dictionaries({name: values[name] for name in names}))


leaves = st.booleans() | keywords(st.booleans())
subschemas = leaves | keywords(leaves)
schemas = st.builds(
    lambda root, one, two: {**root, "$defs": {"one": one, "two": two}},
    keywords(subschemas),
    subschemas,
    subschemas,
)
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def compiled(definition: Any, bounds: SchemaBounds = FOREIGN) -> Schema | SchemaError:
    """The schema or its refusal; anything else that is raised fails the test."""
    try:
        return compile_schema(definition, bounds=bounds)
    except SchemaError as error:
        return error


@patient
@given(schemas, values, st.sampled_from([OWN, FOREIGN]))
def test_problems_are_found_exactly_where_a_value_is_refused(schema: dict[str, Any], value: Any, bounds: SchemaBounds):
    judge = compiled(schema, bounds)
    if not isinstance(judge, Schema):
        reject()  # the references may run in circles
    problems = judge.problems(value)
    assert bool(problems) is not judge.accepts(value)
    assert len(problems) <= 8


@patient
@given(schemas, values, st.integers(0, 300))
def test_an_explanation_keeps_its_limit_and_says_no_string_of_the_value(schema: dict[str, Any], value: Any, limit: int):
    judge = compiled(schema)
    if not isinstance(judge, Schema):
        reject()
    problems = judge.problems(value, 20)
    assert len(explain(problems, limit)) <= limit
    everything = explain(problems, 1_000_000) + json.dumps([problem.as_dict() for problem in problems])
    assert MARKER not in everything


@patient
@given(
    json_values | st.dictionaries(st.sampled_from(["$ref", "$id", "type", "allOf", "$defs", "$schema"]), json_values)
)
def test_any_json_compiles_or_is_refused_as_a_schema(definition: Any):
    outcome = compiled(definition)
    if isinstance(outcome, SchemaError):
        assert outcome.code.startswith("TT31")
        assert outcome.say("zh").endswith(f"[{outcome.code}]")


@pytest.mark.requirement("SCH-11")
@patient
@given(st.integers(1, 40), st.sampled_from(["allOf", "anyOf", "oneOf"]), st.integers(2, 4), values)
def test_references_that_multiply_are_counted_before_they_are_followed(
    levels: int, combine: str, width: int, value: Any
):
    definitions: dict[str, Any] = {"d0": {"type": "integer"}}
    for level in range(1, levels + 1):
        definitions[f"d{level}"] = {combine: [{"$ref": f"#/$defs/d{level - 1}"}] * width}
    outcome = compiled({"$defs": definitions, "$ref": f"#/$defs/d{levels}"})
    if isinstance(outcome, Schema):
        assert width**levels <= FOREIGN.expansion
        outcome.problems(value)
    else:
        assert outcome.code == "TT3114"


@patient
@given(
    st.integers(1, 90), st.integers(2, 5), st.sampled_from(["anyOf", "oneOf", "allOf"]), st.sampled_from(["x", 1, None])
)
def test_recursive_forms_do_not_multiply(depth: int, width: int, combine: str, leaf: Any):
    """A search that tried each branch at each level would not end within the time limit of the test."""
    form = {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "required": ["a"]}
    node = {"anyOf": [{"type": "integer"}, {combine: [form | {"title": str(n)} for n in range(width)]}]}
    schema = compile_schema({"$ref": "#/$defs/node", "$defs": {"node": node}})
    value = leaf
    for _ in range(depth):
        value = {"a": value}
    assert bool(schema.problems(value)) is not schema.accepts(value)


def referring(schema: dict[str, Any], address: str | None, name: str, reference: str) -> dict[str, Any]:
    """The schema with an address, and a property ``name`` that refers to a part of it."""
    property = {"properties": {name: {"$ref": reference}, "n": {"type": "integer"}}}
    return {**({"$id": address} if address else {}), **schema, "anyOf": [property, {"items": property}]}


@patient
@given(
    st.builds(
        referring,
        schemas,
        st.sampled_from([None, "https://e.x/s", "s", "urn:s"]),
        st.sampled_from(["default", "enum", "const", "$ref", "$id", "properties", "result"]),
        st.sampled_from(["#/$defs/one", "#/%24defs/two", "#", "#/anyOf/0", "#/anyOf/0/properties/n", "s#/anyOf/1"]),
    ),
    st.recursive(
        literals,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(names | st.sampled_from(["default", "$ref", "result"]), inner, max_size=3)
        ),
        max_leaves=8,
    ),
)
def test_a_value_fits_a_schema_where_it_fits_the_wrapped_one_wrapped(schema: dict[str, Any], value: Any):
    judge = compiled(schema, OWN)
    if not isinstance(judge, Schema):
        reject()
    assert compile_schema(wrapped(schema), bounds=OWN).accepts({"result": value}) is judge.accepts(value)
