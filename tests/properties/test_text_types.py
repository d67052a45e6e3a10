"""Properties of the types that recognize valid JSON text: what they accept, the validator accepts."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tooltrue.protocol.schema import OWN, compile_schema

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Form(NamedTuple):
    """A schema, and values of which many fit it."""

    schema: dict[str, Any]
    values: st.SearchStrategy[Any]


bounds = st.sampled_from([0, 1, -3, 2.0, 0.5, 2**53 - 1, -(2**53) + 1, 2**53, 2**60])
sizes = st.integers(0, 3)
names = st.sampled_from(["a", "b c", "ü", 'q"', "type"])
words = st.sampled_from(["", "a", "ab", "red", "💡", "1", "null", "\x00"])
near = [0, 1, -3, -4, 2, 0.5, 0.25, 2**53 - 1, 2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**63, 2**64, 10**30, -(2**64)]
numbers = st.sampled_from([*near, *map(float, near)]) | st.integers(-5, 5) | st.floats(-5, 5)
anything = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)


def limited(kind: str, values: st.SearchStrategy[Any], keywords: dict[str, st.SearchStrategy[Any]]) -> Any:
    some = st.fixed_dictionaries({}, optional=keywords)
    return some.map(lambda limits: Form({"type": kind, **limits}, values))


LIMITS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
SIZES = ["minLength", "maxLength", "minItems", "maxItems"]
number_limits = {"minimum": bounds, "maximum": bounds}
leaves: st.SearchStrategy[Form] = st.one_of(
    st.just(Form({"type": "boolean"}, st.booleans())),
    st.just(Form({"type": "null", "title": "Nothing"}, st.none())),
    limited("string", words, {"minLength": sizes, "maxLength": sizes, "description": words}),
    limited("integer", numbers, number_limits),
    limited("number", numbers, number_limits),
    limited("integer", numbers, {"exclusiveMinimum": bounds, "exclusiveMaximum": bounds}),
    limited("number", numbers, {"exclusiveMinimum": bounds, "exclusiveMaximum": bounds}),
    st.lists(words, min_size=1, max_size=3).map(lambda options: Form({"enum": options}, words)),
    st.lists(words, min_size=1, max_size=3).map(lambda options: Form({"enum": options, "type": "string"}, words)),
    st.just(Form({"enum": [1, 2], "type": "integer"}, numbers)),
    st.just(Form({"const": "red"}, words)),
    st.just(Form({"const": 1}, numbers)),
)


def arrays(inner: Form) -> Any:
    keywords = {"minItems": sizes, "maxItems": sizes, "items": st.just(inner.schema)}
    return limited("array", st.lists(inner.values, max_size=3), keywords).filter(lambda form: "items" in form.schema)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Form]) -> Form:
    forms = draw(st.dictionaries(names, inner, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(forms)), unique=True)) if forms else []
    schema = {
        "type": "object",
        "properties": {name: form.schema for name, form in forms.items()},
        "required": required,
        "additionalProperties": False,
    }
    values = {name: form.values for name, form in forms.items()}
    needed = {name: values.pop(name) for name in required}
    return Form(schema, st.fixed_dictionaries(needed, optional=values))


def maps(inner: Form) -> Form:
    values = st.dictionaries(names, inner.values, max_size=3)
    return Form({"type": "object", "additionalProperties": inner.schema}, values)


def larger(inner: st.SearchStrategy[Form]) -> st.SearchStrategy[Form]:
    return inner.flatmap(arrays) | objects(inner) | inner.map(maps)


plain = st.recursive(leaves, larger, max_leaves=6)
kinds = ["string", "integer", "number", "boolean", "null", "array", "object"]
odd: st.SearchStrategy[Form] = st.one_of(
    st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique=True).map(
        lambda some: Form({"type": some}, anything)
    ),
    st.sampled_from([{}, {"type": "object"}, {"type": "array"}, {"enum": [1, "a", None]}, {"enum": [True, 1.0]}]).map(
        lambda schema: Form(schema, anything)
    ),
    st.just(Form({"enum": ["a"], "type": "integer"}, anything)),
    st.just(Form({"const": 2**70}, numbers)),
    st.just(Form({"type": "string", "pattern": "^a"}, words)),
    st.just(Form({"type": "integer", "multipleOf": 2}, numbers)),
    st.just(Form({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, st.lists(numbers, max_size=2))),
    st.just(Form({"type": "object", "required": ["a"], "additionalProperties": False}, anything)),
    st.just(Form({"type": "object", "properties": {"a": {"type": "integer"}}}, anything)),
)


def choices(inner: st.SearchStrategy[Form]) -> st.SearchStrategy[Form]:
    some = st.lists(inner, min_size=1, max_size=3)
    return some.map(
        lambda forms: Form({"anyOf": [form.schema for form in forms]}, st.one_of(*(form.values for form in forms)))
    )


every = st.recursive(leaves | odd, lambda inner: larger(inner) | choices(inner), max_leaves=6)


def referring(form: Form) -> Form:
    """The same schema by a reference, which nobody can tell from it."""
    return Form({"$ref": "#/$defs/One", "title": "One", "$defs": {"One": form.schema}}, form.values)


def text_of(value: Any, again: Any) -> bytes:
    """Return JSON in which the first member of an object comes twice, if ``again`` is given; the last one counts."""
    text = json.dumps(value, ensure_ascii=False)
    if again is not ... and isinstance(value, dict) and value:
        text = f"{{{json.dumps(next(iter(value)))}:{json.dumps(again)},{text[1:]}"
    return text.encode()


@patient
@given(every | every.map(referring), st.data(), st.just(...) | anything)
def test_text_that_is_recognized_holds_a_valid_value(form: Form, data: st.DataObject, again: Any):
    schema = compile_schema(form.schema, bounds=OWN)
    text = text_of(data.draw(form.values | anything), again)
    if schema.recognizes(text):
        assert schema.accepts(json.loads(text))


def is_ordinary(value: Any) -> bool:
    """Whether no float in it is a whole number, which is an integer to JSON Schema alone."""
    if isinstance(value, dict | list):
        return all(map(is_ordinary, value.values() if isinstance(value, dict) else value))
    return not (isinstance(value, float) and value.is_integer())


@patient
@given(plain | plain.map(referring), st.data())
def test_ordinary_valid_text_of_a_plain_schema_is_recognized(form: Form, data: st.DataObject):
    schema = compile_schema(form.schema, bounds=OWN)
    value = data.draw(form.values)
    if schema.reads_text and schema.accepts(value) and is_ordinary(value):
        assert schema.recognizes(text_of(value, ...))


CORNERS = [
    None,
    True,
    False,
    *near,
    *map(float, near),
    "",
    "a",
    "ab",
    "abc",
    "null",
    "1",
    "💡",
    [],
    [1],
    ["a", "a"],
    [[]],
]
CORNERS += [{}, {"a": 1}, {"a": "x"}, {"b": 1}, {"a": 1, "b": 2}, {"a": None}, [1, 1], [1, 2, 3], {"b": "x"}]


@pytest.mark.parametrize(
    "schema",
    [
        *({"type": kind} for kind in kinds),
        *({"type": [kind, "null"]} for kind in kinds if kind != "null"),
        *({"type": kind, limit: bound} for kind in kinds for limit in SIZES for bound in (0, 1, 2.0)),
        *({"type": kind, limit: bound} for kind in kinds for limit in LIMITS for bound in near),
        *({"enum": options} for options in (["a", "ab"], [1, 2], [True], [1.0], [None, "a"], ["a", 1], [2**63])),
        *({"enum": ["a"], "type": kind} for kind in kinds),
        *({"const": 1, "type": kind} for kind in kinds),
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
        {"type": "array", "items": False},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        *(
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": required, **more}
            for required in ([], ["a"], ["b"])
            for more in ({}, {"additionalProperties": False}, {"additionalProperties": {"type": "string"}})
        ),
        {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False, "minProperties": 1},
        {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]},
        {"anyOf": [{"type": "integer"}], "type": "string"},
        {"type": "string", "pattern": "^b"},
        {"type": "string", "format": "date"},
        {"type": "integer", "multipleOf": 2},
        {"type": "integer", "not": {"const": 1}},
    ],
    ids=json.dumps,
)
def test_no_corner_is_recognized_that_the_validator_refuses(schema: dict[str, Any]):
    judge = compile_schema(schema, bounds=OWN)
    assert [value for value in CORNERS if judge.recognizes(text_of(value, ...)) and not judge.accepts(value)] == []


def test_the_last_of_two_members_with_one_name_counts_for_both():
    judge = compile_schema({"type": "object", "additionalProperties": {"type": "integer"}}, bounds=OWN)
    assert judge.accepts(json.loads(text := b'{"a":"x","a":1}'))
    assert not judge.recognizes(text)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": ["string", "null"]}},
        {"type": "object", "properties": {"a": {"type": "number", "minimum": 0}}, "additionalProperties": False},
        {
            "anyOf": [{"$ref": "#/$defs/One"}, {"type": "null"}],
            "$defs": {"One": {"enum": ["a", "b"], "type": "string"}},
        },
    ],
)
def test_schemas_of_usual_models_read_text(schema: dict[str, Any]):
    assert compile_schema(schema, bounds=OWN).reads_text


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"$ref": "#/$defs/One", "$defs": {"One": {"type": "array", "items": {"$ref": "#/$defs/One"}}}},
        {"$ref": "#/$defs/One", "minLength": 3, "$defs": {"One": {"type": "string"}}},
        {"enum": ["a", 1]},
    ],
)
def test_a_schema_with_another_meaning_reads_no_text(schema: dict[str, Any]):
    assert not compile_schema(schema, bounds=OWN).reads_text
