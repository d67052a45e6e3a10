"""Schemas: compilation, refusals and their reasons, and error messages for a model."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from tooltrue.errors import DefinitionError
from tooltrue.protocol.schema import FOREIGN, OWN, SchemaBounds, SchemaError, compile_schema, explain

DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def code_of(definition: Any, bounds: SchemaBounds = FOREIGN) -> str:
    """The code of the refusal; empty when it compiles."""
    try:
        compile_schema(definition, bounds=bounds)
    except SchemaError as error:
        return error.code
    return ""


def told(definition: dict[str, Any], value: Any) -> list[str]:
    """The error messages for a model about ``value``, a line for each problem."""
    return [str(problem) for problem in compile_schema(definition).problems(value, 20)]


def doubling(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {"d0": {"type": "integer"}}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"anyOf": [below, below]}
    return {"$defs": definitions, "$ref": f"#/$defs/d{levels}"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {"allOf": [schema]}
    return schema


TREE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["value"],
    "additionalProperties": False,
}


# -- dialects ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SCH-01", "SCH-04")
def test_without_a_declaration_a_schema_is_2020_12():
    schema = compile_schema({"prefixItems": [{"type": "integer"}]})
    assert schema.dialect == "2020-12"
    assert not schema.accepts(["a"])


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize("declared", [DRAFT_07, DRAFT_07.rstrip("#"), DRAFT_07.replace("http", "https")])
def test_draft_07_is_used_where_it_is_declared(declared: str):
    schema = compile_schema({"$schema": declared, "items": [{"type": "integer"}], "additionalItems": False})
    assert schema.dialect == "draft-07"
    assert schema.accepts([1])
    assert not schema.accepts([1, 2])


@pytest.mark.requirement("SCH-05")
@pytest.mark.parametrize(
    "declared", ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2019-09/schema", "x", 7]
)
def test_another_dialect_is_refused_with_the_two_that_there_are(declared: Any):
    with pytest.raises(SchemaError) as caught:
        compile_schema({"$schema": declared})
    assert caught.value.code == "TT3103"
    assert "draft/2020-12" in str(caught.value)
    assert "draft-07" in str(caught.value)


def test_a_part_cannot_have_a_dialect_of_its_own():
    assert code_of({"properties": {"a": {"$schema": DRAFT_07}}}) == "TT3115"


@pytest.mark.requirement("SCH-06", "TOOL-06")
def test_a_mistake_in_the_schema_is_named_with_its_place():
    with pytest.raises(DefinitionError) as caught:
        compile_schema({"type": "object", "properties": {"a": {"type": "strin"}}})
    assert caught.value.code == "TT3104"
    assert "$.properties.a.type" in str(caught.value)
    assert "string" in str(caught.value)
    assert "$.properties.a.type" in caught.value.say("zh")


# -- schemas that are refused before compilation -----------------------------------------------------------------------


@pytest.mark.requirement("TOOL-06")
@pytest.mark.parametrize("definition", [None, [], "x", 1, True])
def test_a_schema_is_an_object(definition: Any):
    assert code_of(definition) == "TT3101"


@pytest.mark.parametrize("value", [b"x", {1}, float("nan"), float("inf"), object()])
def test_a_schema_is_json(value: Any):
    assert code_of({"const": [value]}) == "TT3102"


def test_a_key_is_a_string():
    assert code_of({"properties": {1: {}}}) == "TT3102"


def test_a_lone_surrogate_is_refused():
    assert code_of({"const": "\ud800"}) == "TT3116"


@pytest.mark.attack("A32")
@pytest.mark.requirement("SCH-07", "SCH-10")
@pytest.mark.parametrize(
    "reference", ["http://169.254.169.254/", "file:///etc/passwd", "other.json", "//host/x", "http://["]
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_out_of_the_document_is_refused_by_name(reference: str, keyword: str):
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {keyword: reference}}})
    assert caught.value.code == "TT3105"
    assert reference in str(caught.value)
    assert "$.properties.a" in str(caught.value)


@pytest.mark.requirement("SCH-07", "SCH-10")
def test_an_identifier_does_not_make_a_document_reachable():
    assert code_of({"$id": "https://example.com/a", "$ref": "b"}) == "TT3105"


@pytest.mark.requirement("SCH-10")
def test_an_unused_external_reference_is_refused_too():
    assert code_of({"$defs": {"x": {"$ref": "http://example.com/"}}}) == "TT3105"


@pytest.mark.parametrize("reference", ["#/$defs/missing", "#missing", "#/$defs/list", "#/$defs/list/" + "9" * 5_000])
def test_a_reference_to_nothing_is_refused(reference: str):
    assert code_of({"$ref": reference, "$defs": {"list": []}}) in {"TT3106", "TT3104"}


@pytest.mark.twin("A32")
def test_a_ref_key_within_a_value_is_not_a_reference():
    assert code_of({"properties": {"$ref": {"type": "string"}}, "default": {"$ref": "http://example.com/"}}) == ""
    assert code_of({"enum": [{"$ref": "http://example.com/"}]}) == ""


@pytest.mark.attack("A34")
@pytest.mark.parametrize(
    "definition",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
        },
        {"not": {"$ref": "#"}},
        {"$dynamicAnchor": "x", "if": {"$dynamicRef": "#x"}},
        {"$schema": DRAFT_07, "dependencies": {"a": {"$ref": "#"}}},
        {"dependencies": {"a": {"$ref": "#"}}},
    ],
)
def test_a_circle_that_consumes_nothing_is_refused(definition: dict[str, Any]):
    assert code_of(definition) == "TT3107"


@pytest.mark.twin("A34", "A30", "A33")
def test_a_tree_is_recursive_and_welcome():
    schema = compile_schema(TREE)
    assert schema.accepts({"value": 1, "children": [{"value": 2, "children": []}]})
    assert told(TREE, {"value": 1, "children": [{"value": 2}, {"value": "3"}]}) == [
        "$.children[1].value must be an integer, not a string; send the number without quotes"
    ]


@pytest.mark.attack("A33")
@pytest.mark.requirement("SCH-11")
def test_references_that_double_are_refused():
    assert code_of(doubling(10)) == ""
    assert code_of(doubling(16)) == "TT3114"
    assert code_of(doubling(60), OWN) == "TT3114"


def test_branches_of_one_object_do_not_count_together():
    part = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20)}}
    wide: dict[str, Any] = {"$defs": {"l0": part}}
    for level in range(1, 8):
        properties = {name: {"$ref": f"#/$defs/l{level - 1}"} for name in "abcdef"}
        wide["$defs"][f"l{level}"] = {"type": "object", "properties": properties}
    assert code_of(wide | {"$ref": "#/$defs/l7"}) == ""


@pytest.mark.attack("A30")
@pytest.mark.requirement("SCH-11")
def test_depth_is_bounded():
    assert code_of(nested(20)) == ""
    assert code_of(nested(2_000)) == "TT3108"


@pytest.mark.attack("A34")
def test_a_structure_that_contains_itself_is_refused():
    loop: dict[str, Any] = {}
    loop["allOf"] = [loop]
    assert code_of(loop) == "TT3108"


@pytest.mark.requirement("SCH-11")
@pytest.mark.parametrize(
    ("definition", "code"),
    [
        ({"enum": list(range(20_000))}, "TT3109"),
        ({"allOf": [{"$ref": "#/$defs/a"}] * 2_000, "$defs": {"a": {}}}, "TT3110"),
        ({"patternProperties": {f"^{n}": {} for n in range(60)}}, "TT3112"),
        ({"pattern": "a" * 5_000}, "TT3113"),
        ({"pattern": "(a{1000}){1000}"}, "TT3117"),
    ],
)
def test_size_is_bounded(definition: dict[str, Any], code: str):
    assert code_of(definition) == code


def test_a_long_chain_of_references_is_refused():
    links: dict[str, Any] = {f"d{n}": {"properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(500)}
    assert code_of({"$defs": links | {"d500": {}}, "$ref": "#/$defs/d0"}) == "TT3111"
    used: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for n in range(500)}
    assert code_of({"$defs": used | {"d500": {}}}) == "TT3111"


# -- patterns ----------------------------------------------------------------------------------------------------------


def test_lookaround_is_for_own_schemas_only():
    password = {"type": "string", "pattern": "^(?=.*[0-9]).{8,}$"}
    assert code_of(password, FOREIGN) == "TT3117"
    schema = compile_schema(password, bounds=OWN)
    assert schema.accepts("abcdefg1")
    assert not schema.accepts("abcdefgh")


@pytest.mark.attack("A31")
def test_a_pattern_that_would_explode_gives_up():
    schema = compile_schema({"pattern": r"^(?=a)(a+)+\1$"}, bounds=OWN)
    assert not schema.accepts("a" * 40 + "!")


@pytest.mark.parametrize("bounds", [OWN, FOREIGN])
def test_a_broken_pattern_is_named_with_its_place(bounds: SchemaBounds):
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {"pattern": "("}}}, bounds=bounds)
    assert caught.value.code == "TT3117"
    assert "$.properties.a.pattern" in str(caught.value)


# -- formats -----------------------------------------------------------------------------------------------------------


def test_a_declared_format_is_a_promise():
    assert not compile_schema({"format": "email"}).accepts("nobody")
    assert compile_schema({"format": "email"}, assert_formats=False).accepts("nobody")


def test_an_unknown_format_promises_nothing():
    assert compile_schema({"format": "int32"}).accepts("x")


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [b"x", {1}, {1: 2}, "\ud800", object()])
def test_a_value_that_is_not_json_matches_no_schema(value: Any):
    schema = compile_schema({})
    assert not schema.accepts(value)
    assert [str(problem) for problem in schema.problems(value)] == ["$ must be JSON"]


def test_a_value_that_is_not_json_is_reported_at_any_depth():
    schema = compile_schema(
        {"required": ["a"], "properties": {"b": {"type": "integer"}}, "additionalProperties": False}
    )
    for value in ({"b": b"x"}, {"c": b"x"}, {"a": 1, "b": [b"x"]}, {"a": "\ud800", "b": "5"}):
        assert not schema.accepts(value)
        assert schema.problems(value)
    rows = compile_schema({"required": ["a"], "properties": {"rows": {"items": {"type": "null"}}}})
    assert rows.problems({"rows": [b"x"]})
    named = compile_schema({"required": ["a"], "patternProperties": {"^b": False}})
    assert named.problems({"\ud800": 1})


@pytest.mark.parametrize("rule", ["enum", "multipleOf", "minimum", "const"])
def test_numbers_beyond_all_measure_are_told_without_them(rule: str):
    huge = 10**4_000
    limit = [huge, 1] if rule == "enum" else huge
    for value in (5, 5.5, -huge + 1, "5", None):
        schema = compile_schema({rule: limit})
        assert bool(schema.problems(value)) is not schema.accepts(value)


def test_the_published_schema_is_a_copy():
    given = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = compile_schema(given)
    assert schema.definition == given
    given["properties"]["a"]["type"] = "string"
    assert schema.definition["properties"]["a"] == {"type": "integer"}


def test_members_of_an_enumeration_are_published_as_their_values():
    class Name(str, enum.Enum):  # noqa: UP042 - a StrEnum is written as its value anyway
        A = "a"

    schema = compile_schema({"properties": {Name.A: {"const": Name.A}}})
    assert schema.definition == {"properties": {"a": {"const": "a"}}}
    assert {type(name) for name in schema.definition["properties"]} == {str}


# -- error messages for a model ----------------------------------------------------------------------------------------

READ = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file to read. It must exist."},
        "mode": {"enum": ["text", "binary"]},
        "lines": {"$ref": "#/$defs/count"},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"count": {"type": "integer", "minimum": 1, "maximum": 500}},
}


def test_a_misspelt_property_is_told_with_the_nearest():
    assert told(READ, {"pth": "secret"}) == [
        "$.path is required: a string; it means: The file to read",
        "$.pth is an unknown property; known: path, mode, lines; nearest: path",
    ]


@pytest.mark.parametrize(
    ("definition", "value", "line"),
    [
        ({"type": "integer"}, "5", "$ must be an integer, not a string; send the number without quotes"),
        ({"type": "number"}, "5.5", "$ must be a number, not a string; send the number without quotes"),
        ({"type": "integer"}, "٥", "$ must be an integer, not a string"),  # which JSON has no number of
        ({"type": "integer"}, 5.5, "$ must be an integer, not a number; nearest: 6"),
        ({"type": "boolean"}, "True", "$ must be a boolean, not a string; send true or false without quotes"),
        (
            {"type": "array"},
            "[1]",
            "$ must be an array, not a string; send the array itself, not a string that holds JSON",
        ),
        ({"type": "array"}, "a", "$ must be an array, not a string; put a single value into an array: [value]"),
        (
            {"type": "object"},
            "{}",
            "$ must be an object, not a string; send the object itself, not a string that holds JSON",
        ),
        ({"type": ["string", "null"]}, 5, "$ must be a string or null, not an integer; put it in quotes"),
        ({"type": "null"}, "null", "$ must be null, not a string; send null without quotes"),
        ({"minimum": 1}, 0, "$ must be at least 1, not 0; nearest: 1"),
        ({"maximum": 500}, 501, "$ must be at most 500, not 501; nearest: 500"),
        ({"exclusiveMinimum": 1, "type": "integer"}, 1, "$ must be more than 1, not 1; nearest: 2"),
        ({"exclusiveMaximum": 1}, 1, "$ must be less than 1, not 1"),
        ({"minimum": 1.5, "type": "integer"}, 1, "$ must be at least 1.5, not 1; nearest: 2"),
        ({"minimum": 20, "multipleOf": 7}, 14, "$ must be at least 20, not 14"),
        ({"multipleOf": 5}, 12, "$ must be a multiple of 5, not 12; nearest: 10"),
        ({"maximum": 5}, 10**400, "$ must be at most 5, not a huge number; nearest: 5"),
        ({"enum": ["Read", "Write"]}, "raed", '$ must be one of "Read", "Write"; nearest: "Read"'),
        ({"enum": [1, 5]}, "5", "$ must be one of 1, 5; nearest: 5"),
        ({"enum": [1, 5]}, 4, "$ must be one of 1, 5; nearest: 5"),
        ({"enum": ["1", "5"]}, 5, '$ must be one of "1", "5"; nearest: "5"'),
        ({"const": "a"}, {}, '$ must be "a"'),
        ({"minLength": 3}, "a", "$ must have at least 3 characters, not 1"),
        ({"maxLength": 1}, "ab", "$ must have at most 1 character, not 2"),
        ({"pattern": "^a"}, "secret", "$ must match the pattern ^a"),
        ({"format": "date"}, "secret", "$ must be in the format date; for example 2026-07-28"),
        ({"minItems": 1}, [], "$ must have at least 1 item, not 0"),
        ({"maxProperties": 0}, {"a": 1}, "$ must have at most 0 properties, not 1"),
        ({"uniqueItems": True}, [1, 1], "$ must not hold the same item twice"),
        ({"properties": {"a": False}}, {"a": 1}, "$.a is not allowed here"),
        (
            {"additionalProperties": {"type": "string"}},
            {"a b": 1},
            '$["a b"] must be a string, not an integer; put it in quotes',
        ),
        ({"patternProperties": {"^a": {"type": "null"}}}, {"ab": 1}, "$.ab must be null, not an integer"),
        (
            {"propertyNames": {"maxLength": 2}},
            {"abc": 1},
            "$.abc has a name that must have at most 2 characters, not 3",
        ),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "$.b is required because a is given"),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, "$.b is required"),
        ({"prefixItems": [{"type": "null"}], "items": False}, [None, 2], "$[1] is not allowed here"),
        ({"prefixItems": [{"type": "null"}]}, [1], "$[0] must be null, not an integer"),
        ({"contains": {"type": "string"}}, [1, 2], "$ must hold at least 1 item of this kind: a string, not 0"),
        (
            {"contains": {"type": "null"}, "maxContains": 1},
            [None, None],
            "$ must hold at most 1 item of this kind: null, not 2",
        ),
        ({"not": {"type": "string"}}, "secret", "$ must not be a string"),
        ({"if": {"type": "string"}, "then": {"minLength": 9}}, "secret", "$ must have at least 9 characters, not 6"),
        ({"if": {"type": "string"}, "else": {"minimum": 9}}, 1, "$ must be at least 9, not 1; nearest: 9"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "$ must be an integer or null, not a string"),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, "B", '$ must be one of "a", "b"; nearest: "b"'),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "$ must fit exactly one of 2 forms, not 2 at the same time"),
        (
            {"allOf": [{"type": "string"}, {"type": "string"}]},
            1,
            "$ must be a string, not an integer; put it in quotes",
        ),
        ({"properties": {"a": True}, "unevaluatedProperties": False}, {"b": 1}, "$.b is an unknown property; known: a"),
        ({"unevaluatedItems": False}, [1], "$ does not fit the schema, not an array"),
        ({"additionalProperties": False}, {"a": 1}, "$.a is an unknown property"),
    ],
)
def test_a_schema_problem_is_one_line_with_an_instruction(definition: dict[str, Any], value: Any, line: str):
    assert told(definition, value) == [line]


SHAPES = {
    "oneOf": [
        {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
        {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
    ],
    "type": "object",
}


def test_the_form_that_was_meant_is_the_one_explained():
    assert told(SHAPES, {"kind": "square"}) == ["$.side is required: a number; closest of 2 forms"]


def test_a_tag_that_no_form_has_is_the_only_problem_told():
    assert told(SHAPES, {"kind": "sqare"}) == ['$.kind must be one of "circle", "square"; nearest: "square"']


def test_one_bad_row_of_many_is_found():
    rows = [1] * 250_000 + ["secret"]
    assert told({"items": {"type": "integer"}}, rows) == ["$[250000] must be an integer, not a string"]


def test_draft_07_is_explained_in_its_own_words():
    schema = {
        "$schema": DRAFT_07,
        "definitions": {"n": {"type": "integer"}},
        "properties": {
            "n": {"$ref": "#/definitions/n", "maximum": 1},
            "row": {"items": [True], "additionalItems": False},
        },
        "dependencies": {"n": ["row"]},
    }
    assert told(schema, {"n": 5}) == ["$.row is required because n is given"]
    assert told(schema, {"row": [1, 2]}) == ["$.row[1] is not allowed here"]
    assert told(schema, {"n": "x", "row": []}) == ["$.n must be an integer, not a string"]


def test_draft_07_is_not_explained_with_keywords_that_it_ignores():
    ignored = {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": False}, "unevaluatedProperties": False}
    schema = {"$schema": DRAFT_07, "required": ["c"], **ignored}
    assert told(schema, {"a": 1}) == ["$.c is required"]
    schema = {"$schema": DRAFT_07, "maxItems": 1, "contains": {"type": "null"}, "maxContains": 1}
    assert told(schema, [None, None]) == ["$ must have at most 1 item, not 2"]


def test_a_schema_with_an_identifier_is_explained_too():
    schema = {
        "$id": "https://example.com/s",
        "properties": {"a/b~": {"$ref": "#n"}},
        "$defs": {"n": {"$anchor": "n", "type": "null"}},
    }
    assert told(schema, {"a/b~": 1}) == ['$["a/b~"] must be null, not an integer']


def test_names_of_the_caller_are_cut_and_cleaned():
    (line,) = told({"additionalProperties": False}, {"a\n\x1b" + "b" * 100: 1})
    assert line.startswith('$["a??bbb')
    assert len(line) < 90


def test_a_value_is_not_repeated():
    schema = {"properties": {"key": {"enum": ["a"]}, "n": {"type": "integer"}, "d": {"format": "date"}}}
    text = "\n".join(told(schema, {"key": "hunter2", "n": "hunter2", "d": "hunter2"}))
    assert "hunter2" not in text


def test_problems_are_limited():
    assert len(compile_schema({"items": {"type": "null"}}).problems([1] * 100, 3)) == 3


def test_an_explanation_leaves_out_whole_problems_and_says_how_many():
    problems = compile_schema({"items": {"type": "null"}}).problems([1] * 5)
    whole = explain(problems)
    assert whole.splitlines() == [f"- $[{n}] must be null, not an integer" for n in range(5)]
    assert explain(problems, len(whole)) == whole
    assert explain(problems, len(whole) - 1).splitlines()[-1] == "- and 1 more"
    assert explain(problems, 3) == ""
    assert explain(()) == ""


def test_a_problem_has_a_form_for_programs():
    (problem,) = compile_schema({"enum": ["read", "write"]}).problems("raed")
    assert problem.as_dict() == {
        "path": "$",
        "rule": "enum",
        "expected": "must be one of",
        "allowed": ['"read"', '"write"'],
        "nearest": '"read"',
    }
