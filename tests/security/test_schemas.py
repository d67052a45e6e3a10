"""Families of schemas that cost more than their size suggests: attacks A30, A31 and A33, on received messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from tooltrue.protocol.schema import compile_schema
from unit.protocol.test_schema import DRAFT_07, code_of

Schema: TypeAlias = dict[str, Any]


# -- A30: nested without end -------------------------------------------------------------------------------------------


def one(keyword: str) -> Callable[[Any], Schema]:
    return lambda inner: {keyword: inner}


def listed(keyword: str) -> Callable[[Any], Schema]:
    return lambda inner: {keyword: [inner]}


def named(keyword: str) -> Callable[[Any], Schema]:
    return lambda inner: {keyword: {"a": inner}}


NESTS: Mapping[str, Callable[[Any], Any]] = {
    **{
        keyword: one(keyword)
        for keyword in (
            *("not", "if", "then", "else", "items", "contains", "unevaluatedItems", "contentSchema"),
            *("additionalProperties", "propertyNames", "unevaluatedProperties", "x-of-its-own"),
        )
    },
    **{keyword: listed(keyword) for keyword in ("allOf", "anyOf", "oneOf", "prefixItems")},
    **{
        keyword: named(keyword)
        for keyword in ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies")
    },
    "each in another": lambda inner: {"allOf": [{"properties": {"a": {"items": {"not": inner}}}}]},
    "beside what is plain": lambda inner: {"anyOf": [{"type": "integer"}, inner], "description": "Deep."},
}
VALUES: Mapping[str, Callable[[Any], Any]] = {"lists": lambda inner: [inner], "objects": lambda inner: {"a": inner}}
HOLDERS = ("const", "default", "enum", "examples", "x-of-its-own")


def deep(nest: Callable[[Any], Any], levels: int) -> Any:
    made: Any = {}
    for _ in range(levels):
        made = nest(made)
    return made


@pytest.mark.attack("A30")
@pytest.mark.parametrize("levels", [130, 5_000])
@pytest.mark.parametrize("keyword", NESTS)
def test_a30_a_schema_is_nested_so_deep_and_no_deeper_by_each_keyword(keyword: str, levels: int) -> None:
    assert code_of({"properties": {"a": deep(NESTS[keyword], levels)}}) == "TT3108"


@pytest.mark.attack("A30")
@pytest.mark.parametrize("shape", VALUES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_a30_nor_is_a_value_in_it(holder: str, shape: str) -> None:
    assert code_of({holder: [deep(VALUES[shape], 5_000)]}) == "TT3108"


@pytest.mark.twin("A30")
@pytest.mark.parametrize("keyword", [keyword for keyword in NESTS if keyword != "each in another"])
def test_a30_twin_ordinary_nesting_is_accepted_as_a_schema(keyword: str) -> None:
    assert code_of({"properties": {"a": deep(NESTS[keyword], 10)}}) == ""


# -- A31: patterns -----------------------------------------------------------------------------------------------------

# A pattern, and a text that an engine which goes back in it tries in exponentially or quadratically many ways.
EXPLOSIVE = [
    (r"^(a+)+$", "a"),
    (r"(a+)+b", "a"),
    (r"^(a|a)*$", "a"),
    (r"^(a|aa)+$", "a"),
    (r"^(a*)*b$", "a"),
    (r"^(((a*)*)*)*$", "a"),
    (r"^(a+)+?$", "a"),
    (r"^(|a)+$", "a"),
    (r"(a|){1,500}b", "a"),
    (r"^(a?){40}a{40}$", "a"),
    (r"a*a*a*a*a*a*a*a*b", "a"),
    (r"(x+x+)+y", "x"),
    (r"^(a|b|ab)*c$", "ab"),
    (r"(a|b)*(a|b)*(a|b)*(a|b)*c", "ab"),
    (r"^(.*a){20}$", "a"),
    (r"^(.*)*$", "a\n"),
    (r"(.*)(.*)(.*)(.*)x", "a"),
    (r".*.*.*.*.*=.*;", "="),
    (r"^(\w+\s?)*$", "word "),
    (r"^([a-zA-Z]+)*$", "a"),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a"),
    (r"^[a-z0-9]([a-z0-9_.-]*[a-z0-9])*@", "a"),
    (r'^([^"]|"")*"$', '""'),
    (r"<(\w+)(\s+\w+(=.*)?)*\s*>", "<a b=c "),
    (r"(\d+,?)+;", "1"),
    (r"^(\S+\s*)+:$", "a"),
    (r"\b(\w+\b\W*)+!$", "a b "),
    (r"[ \t]+$", " "),
    (r"(?:.|\n)*?x(?:.|\n)*?y(?:.|\n)*?z", "xy"),
    (r"(?i)(A+)+$", "a"),
    (r"(?:a{1,40}){1,40}b", "a"),
    (r"^(\p{L}+)+$", "é"),
]
REFUSED = [
    r"^(?=(a+))a*b\1$", r"(a+)\1+$", r"(?<=a+)b", r"^(?!(a+)+$)", r"(?P<n>a+)(?P=n)+b", r"(?>a+)+b", r"(a(?1)?b)",
    r"^(?(?=a)b|c)+$", r"(a{1000}){1000}", r"((a{100}){100}){100}", r"\p{L}{1000}",
    "[\u0000-\uffff]{5000}", "(?:é{0,999}){0,999}", "a" * 1_001,
]  # fmt: skip


@pytest.mark.attack("A31")
@pytest.mark.parametrize(("pattern", "text"), EXPLOSIVE)
def test_a31_a_pattern_that_is_taken_reads_each_text_once(pattern: str, text: str) -> None:
    """An engine that goes back would not end within the time of a test."""
    schema = compile_schema({"type": "string", "pattern": pattern})
    assert not schema.accepts(text * 20_000 + "\n\x00?")


@pytest.mark.attack("A31")
@pytest.mark.parametrize("place", ["pattern", "patternProperties"])
@pytest.mark.parametrize("pattern", REFUSED)
def test_a31_a_pattern_that_goes_back_or_is_too_large_is_refused(pattern: str, place: str) -> None:
    assert code_of({place: pattern if place == "pattern" else {pattern: {}}}) in ("TT3113", "TT3117")


@pytest.mark.twin("A31")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$", "ann@example.org"),
        (r"^(\d{1,3},)*\d{1,3}$", "12,345"),
        (r"^([a-z]+-)*[a-z]+$", "a-b-c"),
        (r"^(?:[01]\d|2[0-3]):[0-5]\d$", "12:34"),
        (r"^\p{Lu}\p{Ll}+$", "Émile"),
    ],
)
def test_a31_twin_a_pattern_that_people_write_is_kept(pattern: str, text: str) -> None:
    schema = compile_schema({"pattern": pattern})
    assert schema.accepts(text)
    assert not schema.accepts(f"{text}!")


# -- A33: references that double ---------------------------------------------------------------------------------------

DOUBLINGS: Mapping[str, Callable[[Schema], Schema]] = {
    "allOf": lambda ref: {"allOf": [ref, ref]},
    "anyOf": lambda ref: {"anyOf": [ref, ref]},
    "oneOf": lambda ref: {"oneOf": [ref, ref]},
    "three at once": lambda ref: {"anyOf": [ref, ref, ref]},
    "nine at once": lambda ref: {"oneOf": [ref] * 9},
    "if and then": lambda ref: {"if": ref, "then": ref},
    "if and else": lambda ref: {"if": ref, "else": ref},
    "then and else": lambda ref: {"if": {}, "then": ref, "else": ref},
    "not and allOf": lambda ref: {"not": ref, "allOf": [ref]},
    "not of not": lambda ref: {"allOf": [{"not": ref}, {"not": {"not": ref}}]},
    "beside itself": lambda ref: {**ref, "allOf": [ref]},
    "two kinds of choice": lambda ref: {"oneOf": [{"anyOf": [ref]}, {"allOf": [ref]}]},
    "dependentSchemas": lambda ref: {"dependentSchemas": {"a": ref, "b": ref}},
    "contains and items": lambda ref: {"contains": ref, "items": ref},
    "prefixItems and contains": lambda ref: {"prefixItems": [ref], "contains": ref},
    "choices of an entry": lambda ref: {"items": {"allOf": [ref, ref]}},
    "choices of a property": lambda ref: {"properties": {"a": {"anyOf": [ref, ref]}}},
    "a property twice": lambda ref: {"properties": {"a": ref}, "allOf": [{"properties": {"a": ref}}]},
    "a property and its pattern": lambda ref: {"properties": {"a": ref}, "patternProperties": {"a": ref}},
    "two patterns": lambda ref: {"patternProperties": {"a": ref, "a|b": ref}},
    "propertyNames": lambda ref: {"propertyNames": ref, "allOf": [ref]},
    "additionalProperties": lambda ref: {"additionalProperties": ref, "allOf": [{"additionalProperties": ref}]},
    "unevaluatedProperties": lambda ref: {"unevaluatedProperties": ref, "anyOf": [ref]},
    "unevaluatedItems": lambda ref: {"unevaluatedItems": ref, "oneOf": [ref]},
}
WAYS: Mapping[str, tuple[str, Callable[[str], Schema], Callable[[str], Schema]]] = {
    "definitions": ("definitions", lambda name: {"$ref": f"#/definitions/{name}"}, lambda name: {}),
    "an anchor": ("$defs", lambda name: {"$ref": f"#{name}"}, lambda name: {"$anchor": name}),
    "a dynamic anchor": ("$defs", lambda name: {"$dynamicRef": f"#{name}"}, lambda name: {"$dynamicAnchor": name}),
    "an identifier": ("$defs", lambda name: {"$ref": name}, lambda name: {"$id": name}),
    "an escaped pointer": ("$defs", lambda name: {"$ref": f"#/%24defs/{name}"}, lambda name: {}),
    "a place that is no definition": ("x-parts", lambda name: {"$ref": f"#/x-parts/{name}"}, lambda name: {}),
}


def doubled(
    make: Callable[[Schema], Schema],
    levels: int,
    defs: str = "$defs",
    ref: Callable[[str], Schema] = lambda name: {"$ref": f"#/$defs/{name}"},
    more: Callable[[str], Schema] = lambda name: {},
) -> Schema:
    parts: Schema = {"d0": {"type": "integer", **more("d0")}}
    for level in range(1, levels + 1):
        parts[f"d{level}"] = {**make(ref(f"d{level - 1}")), **more(f"d{level}")}
    return {defs: parts, **ref(f"d{levels}")}


@pytest.mark.attack("A33")
@pytest.mark.parametrize("how", DOUBLINGS)
def test_a33_references_that_double_are_refused_by_each_keyword(how: str) -> None:
    assert code_of(doubled(DOUBLINGS[how], 24)) in ("TT3112", "TT3114")


@pytest.mark.attack("A33")
@pytest.mark.parametrize("way", WAYS)
def test_a33_references_that_double_are_refused_in_each_spelling(way: str) -> None:
    defs, ref, more = WAYS[way]
    assert code_of(doubled(DOUBLINGS["anyOf"], 24, defs, ref, more)) in ("TT3106", "TT3114")


OTHERS: Mapping[str, Schema] = {
    "two before": {
        "d0": {"type": "integer"},
        "d1": {"type": "string"},
        **{f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n - 1}"}, {"$ref": f"#/$defs/d{n - 2}"}]} for n in range(2, 40)},
    },
    "all before": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{m}"} for m in range(n)] or [{}]} for n in range(40)},
    "every other level": {
        "d0": {"type": "integer"},
        **{f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n - 1}"}] * (1 + n % 2), "title": "Half."} for n in range(1, 40)},
    },
}


@pytest.mark.attack("A33")
@pytest.mark.parametrize("how", OTHERS)
def test_a33_references_that_grow_more_slowly_are_refused_as_well(how: str) -> None:
    for used in ({"$ref": "#/$defs/d39"}, {"properties": {"a": {"items": {"$ref": "#/$defs/d39"}}}}):
        assert code_of({"$defs": OTHERS[how], **used}) == "TT3114"


@pytest.mark.attack("A33")
def test_a33_references_that_double_are_refused_in_the_older_dialect() -> None:
    parts = doubled(
        lambda ref: {"dependencies": {"a": ref, "b": ref}}, 24, "definitions", lambda n: {"$ref": f"#/definitions/{n}"}
    )
    assert code_of({"$schema": DRAFT_07, **parts}) == "TT3114"


@pytest.mark.twin("A33")
@pytest.mark.parametrize("how", DOUBLINGS)
def test_a33_twin_a_few_levels_are_a_schema(how: str) -> None:
    assert code_of(doubled(DOUBLINGS[how], 3)) == ""


@pytest.mark.twin("A33")
def test_a33_twin_properties_of_their_own_do_not_add_up() -> None:
    assert code_of(doubled(lambda ref: {"properties": {"a": ref, "b": ref}}, 24)) == ""
