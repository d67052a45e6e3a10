"""Forms made from schemas: what a form can send is valid or told beside its field, and each value has its entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from browser.payloads import PAYLOADS
from tooltrue.protocol.schema import compile_schema
from tooltrue_console.forms import ABSENT, FormField, changed_entries, entries_of, initial_value, read_form, validated

Pair = tuple[dict[str, Any], Any]

NAMES = st.sampled_from(("a", "b c", "d/e", "f~g", "h|1", "é", "i.j", 'k"l'))
TEXTS = st.text(max_size=8) | st.sampled_from(PAYLOADS) | st.sampled_from(("", "\n", "a\r\nb", "\na", " x "))


def _number(kind: str, least: int | None) -> st.SearchStrategy[Pair]:
    low = -(10**6) if least is None else least
    values: st.SearchStrategy[Any] = st.integers(low, 10**6)
    if kind == "number":
        values |= st.floats(low, 10**6, allow_nan=False)
    schema = {"type": kind, **({} if least is None else {"minimum": least})}
    return values.map(lambda value: (schema, value))


def _object(members: dict[str, tuple[Pair, bool, bool]], is_closed: bool) -> Pair:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: schema for name, ((schema, _), _, _) in members.items()},
        "required": [name for name, (_, is_required, _) in members.items() if is_required],
    }
    value = {name: value for name, ((_, value), is_required, is_there) in members.items() if is_required or is_there}
    return {**schema, **({"additionalProperties": False} if is_closed else {})}, value


SCALARS: st.SearchStrategy[Pair] = st.one_of(
    TEXTS.map(lambda text: ({"type": "string"}, text)),
    st.text(min_size=2, max_size=4, alphabet="abc").map(lambda text: ({"type": "string", "minLength": 2}, text)),
    st.dates().map(lambda date: ({"type": "string", "format": "date"}, date.isoformat())),
    st.sampled_from(("integer", "number")).flatmap(lambda kind: _number(kind, None)),
    _number("integer", 1),
    st.booleans().map(lambda value: ({"type": "boolean"}, value)),
    st.just(({"type": "null"}, None)),
    st.just(({"const": "fixed"}, "fixed")),
    st.sampled_from((1, "1", True, None, 1.5)).map(lambda value: ({"enum": [1, "1", True, None, 1.5]}, value)),
    st.just(({}, {"any": [1]})),
    st.sampled_from(("x", None)).map(lambda value: ({"type": ["string", "null"]}, value)),
)


def _nested(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    members = st.dictionaries(NAMES, st.tuples(inner, st.booleans(), st.booleans()), max_size=4)
    return st.one_of(
        st.builds(_object, members, st.booleans()),
        st.tuples(inner, st.integers(0, 3)).map(
            lambda one: ({"type": "array", "items": one[0][0]}, [one[0][1]] * one[1])
        ),
        st.tuples(inner, inner).map(lambda two: ({"anyOf": [two[0][0], two[1][0]]}, two[1][1])),
        inner.map(lambda one: ({"type": "object", "additionalProperties": one[0]}, {"key": one[1]})),
    )


PAIRS = st.recursive(SCALARS, _nested, max_leaves=8)
ROOTS = st.builds(
    _object, st.dictionaries(NAMES, st.tuples(PAIRS, st.booleans(), st.booleans()), max_size=4), st.booleans()
)


def names_of(form: FormField) -> dict[str, tuple[str, ...]]:
    """The names of the entries of a form, with what a person may choose, or nothing where they type."""
    names: dict[str, tuple[str, ...]] = {}
    for one in form.walk():
        choices = ("", *(value for value, _ in one.choices))
        names |= {
            "text": {f"v{one.name}": ()},
            "number": {f"v{one.name}": ()},
            "json": {f"j{one.name}": ()},
            "choice": {f"c{one.name}": choices},
            "union": {f"u{one.name}": choices},
            "array": {f"n{one.name}": ("0", "1", "2")},
            "object": {f"p{one.name}": ("1",)},
            "constant": {f"p{one.name}": ("1",)},
        }[one.kind]
    return names


def filled(schema: Mapping[str, Any], data: st.DataObject) -> dict[str, str]:
    """Entries as a person makes them: what they choose shows more fields."""
    entries: dict[str, str] = {}
    for _ in range(4):
        for name, choices in names_of(read_form(schema, entries)).items():
            if name not in entries:
                typed = TEXTS | st.sampled_from(("1", "-3", "2.5", "1e999", "NaN", '{"a": 1}', "[", "2026-02-30"))
                entries[name] = data.draw(st.sampled_from(choices) if choices else typed, label=name)
    return entries


@given(pair=ROOTS, data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_a_form_can_send_is_valid_or_told_beside_its_field(pair: Pair, data: st.DataObject):
    schema, compiled = pair[0], compile_schema(pair[0])
    form = read_form(schema, filled(schema, data))
    own = sum(len(one.problems) for one in form.walk())
    problems = compiled.problems(form.value, 100)
    is_valid = validated(form, compiled, "en")
    told = [(one, sentence) for one in form.walk() for sentence in one.problems]
    assert is_valid == (not told)
    assert len(told) == own + len(problems)
    if is_valid:
        assert compiled.accepts(form.value)
    paths = {one.path for one in form.walk()}
    for problem in problems:
        if problem.path in paths:
            assert any(one.path == problem.path for one, _ in told)


@given(pair=ROOTS)
@settings(max_examples=200, deadline=None)
def test_each_valid_value_has_entries_that_are_read_as_it(pair: Pair):
    schema, value = pair
    compiled = compile_schema(schema)
    if not compiled.accepts(value):  # a format that the strategy does not know
        return
    entries = entries_of(schema, value)
    assert not any("\r" in text or "\x00" in text or "\u202e" in text for text in entries.values())
    form = read_form(schema, entries)
    assert json.dumps(form.value, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert validated(form, compiled, "zh")


@given(pair=ROOTS, entries=st.dictionaries(st.text(max_size=6) | st.sampled_from(("j", "n/a", "u/a", "c/a")), TEXTS))
@settings(max_examples=100, deadline=None)
def test_no_entries_break_a_form(pair: Pair, entries: dict[str, str]):
    form = read_form(pair[0], entries)
    validated(form, compile_schema(pair[0]), "en")
    for act in ("add:/a", "remove:/a/0", "json:", "form:", "remove:", "x", *entries):
        changed = changed_entries(pair[0], entries, act)
        assert isinstance(read_form(pair[0], changed), FormField)


@given(value=st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=4), data=st.data())
def test_an_item_that_is_removed_takes_nothing_else_along(value: list[list[int]], data: st.DataObject):
    lists = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"a": lists, "aa": lists}, "required": ["a", "aa"]}
    place = data.draw(st.integers(0, len(value) - 1))
    entries = entries_of(schema, {"a": value, "aa": value})
    form = read_form(schema, changed_entries(schema, entries, f"remove:/a/{place}"))
    assert form.value == {"a": value[:place] + value[place + 1 :], "aa": value}
    more = read_form(schema, changed_entries(schema, entries, f"add:/a/{place}"))
    assert more.value["a"] == [*value[:place], [*value[place]], *value[place + 1 :]]


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"$ref": "#/$defs/box"}, ["object", "text"]),
        ({"$ref": "#/$defs/tree"}, ["object", "array"]),
        ({"$ref": "#/$defs/loop"}, ["json"]),
        ({"$ref": "https://evil.example/schema"}, ["json"]),
        ({"allOf": [{"$ref": "#/$defs/box"}], "default": {"name": "x"}}, ["object", "text"]),
        ({"anyOf": [{"$ref": "#/$defs/box"}, {"type": "null"}]}, ["union", "object", "text"]),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, ["json"]),
        ({"type": "object", "properties": {"x\u202ey": {"type": "string"}}}, ["json"]),
        ({"type": "object", "properties": {f"p{n}": {} for n in range(500)}}, ["json"]),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}, ["choice"]),
    ],
)
def test_references_and_unions_have_fields_and_what_has_none_is_json(schema: dict[str, Any], kinds: list[str]):
    definitions = {
        "box": {"type": "object", "properties": {"name": {"type": "string"}}},
        "tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
        "loop": {"$ref": "#/$defs/loop"},
    }
    root = {"type": "object", "properties": {"it": schema}, "required": ["it"], "$defs": definitions}
    first = read_form(root, {"u/it": "0"}).children[0]
    assert [one.kind for one in first.walk()] == kinds


def test_a_schema_that_refers_to_itself_ends():
    schema = {"type": "object", "properties": {"it": {"$ref": "#"}}, "required": ["it"]}
    kinds = [one.kind for one in read_form(schema, {}).walk()]
    assert (kinds[-1], len(kinds)) == ("json", 8)


def test_defaults_are_filled_in_and_an_empty_optional_field_is_left_out():
    properties = {"a": {"type": "string"}, "b": {"type": "integer", "default": 3}, "c": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["c"]}
    form = read_form(schema, entries_of(schema, initial_value(schema)))
    assert form.value == {"b": 3, "c": ""}
    assert form.children[0].value is ABSENT
