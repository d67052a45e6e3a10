"""Properties of the shape of an answer, for any schema: it accepts more than the schema, in the ways that are named."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given, reject
from hypothesis import strategies as st

from properties.test_schema import compiled, names, patient, schemas, values
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.testing.generate import samples
from tooltrue_toolbox.openapi.answer_fields import only_fields
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.response_shape import ResponseShapes

WIDENED: Final = frozenset(
    (
        "required",
        "additionalProperties",
        "enum",
        "const",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "contains",
        "dependentRequired",
    )
)
"""The keywords that a shape does not have."""


def shape_of(schema: dict[str, Any], fields: tuple[str, ...] = ()) -> Schema:
    root = {"openapi": "3.1.0", "$defs": schema.get("$defs", {})}
    return compile_schema(ResponseShapes(ApiDescription(root, "3.1")).shape([schema], fields), bounds=OWN)


@patient
@given(schemas, values)
def test_a_shape_accepts_what_the_schema_accepts(schema: dict[str, Any], value: Any):
    judge = compiled(schema, OWN)
    if not isinstance(judge, Schema):
        reject()
    shape = shape_of(schema)
    given_values = [value, *(one.value for one in samples(judge, seed=1, count=3).valid)]
    assert all(shape.accepts(one) for one in given_values if judge.accepts(one))


@patient
@given(schemas)
def test_a_shape_accepts_a_value_that_breaks_a_widened_rule(schema: dict[str, Any]):
    judge = compiled(schema, OWN)
    if not isinstance(judge, Schema):
        reject()
    shape = shape_of(schema)
    for one in samples(judge, seed=2, count=2).invalid:
        assert one.rule not in WIDENED or shape.accepts(one.value), one


@patient
@given(schemas, st.lists(names, min_size=1, max_size=2), values)
def test_a_shape_that_is_reduced_accepts_the_answer_that_is_reduced(
    schema: dict[str, Any], fields: list[str], value: Any
):
    judge = compiled(schema, OWN)
    if not isinstance(judge, Schema):
        reject()
    shape = shape_of(schema, tuple(fields))
    given_values = [value, *(one.value for one in samples(judge, seed=3, count=3).valid)]
    assert all(shape.accepts(only_fields(one, fields)) for one in given_values if judge.accepts(one))
