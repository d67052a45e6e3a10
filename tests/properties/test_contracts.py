"""Properties of any two schemas: a change classified as widening refuses no value that was accepted before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tooltrue.contract.contract import Contract
from tooltrue.contract.diff import diff
from tooltrue.contract.digests import canonical
from tooltrue.contract.schema_diff import Effect, compare
from tooltrue.protocol.schema import Schema, SchemaError, compile_schema

HARMLESS = {Effect.MORE, Effect.TEXT, Effect.COSMETIC}
ANY_NAME = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-2, 6) | st.sampled_from([0.5, 2.0, 3.5])
LITERALS = st.none() | st.booleans() | NUMBERS | st.sampled_from(["", "a", "b", "ab"])
VALUES = st.recursive(
    LITERALS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_NAME, inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
SMALL = st.integers(0, 3)


def keyword_values(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    branches = st.lists(inner, min_size=1, max_size=3)
    parts = st.dictionaries(ANY_NAME, inner, max_size=3)
    return {
        "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
        "enum": st.lists(LITERALS, min_size=1, max_size=4),
        "const": LITERALS,
        "minimum": NUMBERS,
        "maximum": NUMBERS,
        "exclusiveMinimum": NUMBERS,
        "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 4, 0.5]),
        "minLength": SMALL,
        "maxLength": SMALL,
        "pattern": st.sampled_from(["^a", "b$", "a|b"]),
        "minItems": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "required": st.lists(ANY_NAME, max_size=3, unique=True),
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "properties": parts,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "items": inner,
        "prefixItems": branches,
        "contains": inner,
        "minContains": SMALL,
        "maxContains": SMALL,
        "dependentRequired": st.dictionaries(ANY_NAME, st.lists(ANY_NAME, max_size=2, unique=True), max_size=2),
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
        "$ref": st.sampled_from(["#", "#/$defs/one", "#/$defs/two", "#/properties/a"]),
        "description": st.sampled_from(["The file.", "The  file.", ""]),
    }


def schema_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    values = keyword_values(inner)
    few = st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=4, unique=True)
    return few.flatmap(lambda names: st.fixed_dictionaries({name: values[name] for name in names}))


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.fixed_dictionaries({"type": KINDS}) | st.builds(dict), schema_of, max_leaves=6
).filter(lambda schema: isinstance(schema, dict))


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    root = draw(SCHEMAS)
    if "$ref" in str(root):
        root = {**root, "$defs": {"one": draw(SCHEMAS), "two": draw(SCHEMAS)}}
    return root


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object within a schema that may be one."""
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from nodes(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from nodes(inner)


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema, and the same with a few changes somewhere in it."""
    old = draw(documents())
    new = json.loads(json.dumps(old))
    for _ in range(draw(st.integers(1, 2))):
        node = draw(st.sampled_from(list(nodes(new))))
        values = keyword_values(SCHEMAS)
        match draw(st.sampled_from(["remove", "replace", "add property", "drop name"])):
            case "remove" if node:
                del node[draw(st.sampled_from(sorted(node)))]
            case "add property":
                node.setdefault("properties", {})
                if isinstance(node["properties"], dict):
                    node["properties"][draw(ANY_NAME)] = json.loads(json.dumps(draw(SCHEMAS)))
            case "drop name" if isinstance(node.get("required"), list) and node["required"]:
                node["required"].pop()
            case _:
                keyword = draw(st.sampled_from(sorted(values)))
                node[keyword] = json.loads(json.dumps(draw(values[keyword])))
    return old, new


def closed(schema: Any) -> Any:
    """The schema with `additionalProperties: false` in each object that has properties and does not set the keyword."""
    return _closed(schema, root=True)


def _closed(schema: Any, *, root: bool = False) -> Any:
    if isinstance(schema, list):
        return [_closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {}
    for keyword, value in schema.items():
        if keyword in ("enum", "const", "required", "dependentRequired", "if", "not"):
            found[keyword] = value
        elif keyword in ("properties", "patternProperties", "dependentSchemas", "$defs") and isinstance(value, dict):
            found[keyword] = {name: _closed(inner) for name, inner in value.items()}
        else:
            found[keyword] = _closed(value)
    if "properties" in schema or (root and "$ref" not in schema):
        found.setdefault("additionalProperties", False)
    return found


def compiled(schema: Any) -> Schema | None:
    try:
        return compile_schema(schema)
    except SchemaError:
        return None


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(edits(), st.lists(VALUES, min_size=20, max_size=40))
def test_a_schema_change_reported_as_widening_accepts_every_value_accepted_before(
    pair: tuple[dict[str, Any], dict[str, Any]], values: list[Any]
):
    old, new = pair
    before, after, strictly = compiled(old), compiled(new), compiled(closed(old))
    assume(before is not None and after is not None and strictly is not None)
    assert before is not None
    assert after is not None
    assert strictly is not None
    changes = compare(old, new)
    if not {one.effect for one in changes} <= HARMLESS:
        return
    for value in values:
        if before.accepts(value) and strictly.accepts(value):
            assert after.accepts(value), (value, changes)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(edits(), st.lists(VALUES, min_size=20, max_size=40))
def test_a_result_change_reported_as_compatible_still_fits_the_promised_schema(
    pair: tuple[dict[str, Any], dict[str, Any]], values: list[Any]
):
    old, new = pair
    before, after = compiled(old), compiled(new)
    assume(before is not None and after is not None)
    assert before is not None
    assert after is not None
    changes = compare(old, new, gives=True)
    if not {one.effect for one in changes} <= {Effect.LESS, Effect.TEXT, Effect.COSMETIC}:
        return
    for value in values:
        if after.accepts(value):
            assert before.accepts(value), (value, changes)


@given(edits())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_difference_goes_without_a_change(pair: tuple[dict[str, Any], dict[str, Any]]):
    old, new = pair
    said = [Contract.of([{"name": "t", "inputSchema": one}]) for one in (old, new)]
    found = diff(*said)
    assert bool(found) is (canonical(old) != canonical(new))
    assert [*found.lines("en")] if found else not [*found.lines("zh")]
