"""Plain types have the schemas, the verdicts and the values that pydantic would give them."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.tools.binding import schemas
from tooltrue.tools.binding.plain_types import Misfit, arguments_reader, arguments_schema, fits, schema_of
from tooltrue.tools.binding.signature import MISSING, FunctionParameter, Signature

TEXTS = st.text(st.characters(codec="utf-8"), max_size=4)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
NAMES = st.from_regex(re.compile(r"[a-z_][a-z0-9_]{0,3}|title|schema|type|model_config|self", re.ASCII), fullmatch=True)
NUMBERS = st.one_of(st.integers(-3, 3), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


def choices(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, min_size=1, max_size=3).map(lambda chosen: Literal[tuple(chosen)])


SIMPLE = st.sampled_from([str, int, float, bool, None, type(None), Any, list, dict]) | choices(
    TEXTS | st.integers(-3, 3)
)
TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda item: list[item]),
        inner.map(lambda item: dict[str, item]),
        inner.map(lambda item: Optional[item]),  # noqa: UP045 - `item | None` does not work for all items
        st.lists(inner, min_size=2, max_size=3).map(lambda options: Union[tuple(options)]),  # noqa: UP007
    ),
    max_leaves=5,
)


def constrained(pair: tuple[Any, dict[str, Any]]) -> Any:
    type_, members = pair
    return Annotated[type_, Field(**members)]


BOUNDS = st.fixed_dictionaries(
    {}, optional={"ge": NUMBERS, "gt": NUMBERS, "le": NUMBERS, "lt": NUMBERS, "description": TEXTS}
)
LENGTHS = st.fixed_dictionaries(
    {}, optional={"min_length": st.integers(-1, 4), "max_length": st.integers(0, 4), "description": TEXTS}
)
OTHERS = st.sampled_from([{"title": "T"}, {"strict": True}, {"pattern": "^a"}, {"examples": ["a"]}, {"alias": "b"}])
ANNOTATED = st.one_of(
    TYPES,
    st.tuples(st.sampled_from([int, float]), BOUNDS).map(constrained),
    st.tuples(st.just(str), LENGTHS | OTHERS).map(constrained),
    TYPES.map(lambda type_: Annotated[type_, Field(description="described")]),
)


def values_of(type_: Any) -> st.SearchStrategy[Any]:
    """Values of a type, and numbers that stand for another kind of number."""
    inner = get_args(type_)
    if get_origin(type_) is Literal:
        return st.sampled_from(inner) | st.sampled_from(inner).map(
            lambda one: one if isinstance(one, str) else one + 0.0
        )
    if get_origin(type_) is Union:
        # `typing` may return an equal union that was made before, with its options in another order.
        return st.one_of(*map(values_of, sorted(inner, key=lambda option: sorted(repr(option)))))
    if type_ is list or get_origin(type_) is list:
        return st.lists(values_of(inner[0] if inner else Any), max_size=3)
    if type_ is dict or get_origin(type_) is dict:
        return st.dictionaries(TEXTS, values_of(inner[1] if inner else Any), max_size=3)
    whole = st.integers(-3, 3).map(float)
    return {str: TEXTS, int: st.integers() | whole, float: NUMBERS, bool: st.booleans(), Any: VALUES}.get(
        type_, st.none()
    )


TYPED_VALUES = TYPES.flatmap(lambda type_: st.tuples(st.just(type_), values_of(type_)))


@st.composite
def parameters(draw: st.DrawFn) -> tuple[FunctionParameter, ...]:
    names = draw(st.lists(NAMES, max_size=3, unique=True))
    return tuple(
        FunctionParameter(name, name, draw(ANNOTATED), draw(st.just(MISSING) | SCALARS), draw(st.none() | WORDS))
        for name in names
    )


def signature_of(given_parameters: tuple[FunctionParameter, ...]) -> Signature:
    return Signature(given_parameters, None, {}, (), MISSING, None, False)


def text(schema: object) -> str:
    """The JSON of a schema: the order of its members is published too."""
    return json.dumps(schema)


@given(parameters())
@example((FunctionParameter("a", "a", Annotated[int, Field(ge=1, description="x")], 3, None),))
@example((FunctionParameter("a", "a", Literal["b", "a"], "a", "one of two"),))
@example(())
def test_the_schema_of_plain_arguments_is_that_of_pydantic(given_parameters: tuple[FunctionParameter, ...]) -> None:
    schema = arguments_schema(given_parameters)
    if schema is None:
        return

    signature = signature_of(given_parameters)
    assert text(schema) == text(schemas.input_schema(schemas.arguments_adapter(signature), signature))


@given(TYPES)
def test_the_schema_of_a_plain_result_is_that_of_pydantic(type_: Any) -> None:
    schema = schema_of(type_)
    if schema is None:
        return

    assert text(schema) == text(schemas.write_schema(schemas.adapter_of(type_), "serialization"))


@given(parameters())
def test_a_plain_schema_compiles_and_a_default_that_fits_is_accepted(
    given_parameters: tuple[FunctionParameter, ...],
) -> None:
    schema = arguments_schema(given_parameters)
    if schema is None:
        return

    compile_schema(schema, bounds=OWN)
    for property_ in schema["properties"].values():
        if "default" in property_ and fits(property_, property_["default"]):
            assert compile_schema(property_, bounds=OWN).accepts(property_["default"])


@given(TYPED_VALUES)
@example((int, 5.0))
@example((float, 5))
@example((float | None, 2**60))
@example((int | float, 5))
@example((list[int] | list[str], ["a"]))
@example((Literal[1] | float, 1))
def test_a_plain_value_is_read_as_pydantic_would_convert_it(typed_value: tuple[Any, Any]) -> None:
    type_, value = typed_value
    plain = (FunctionParameter("a", "a", type_, MISSING, None),)
    read, schema = arguments_reader(plain), arguments_schema(plain)
    if read is None or schema is None or not compile_schema(schema, bounds=OWN).accepts({"a": value}):
        return
    try:
        converted = read({"a": value})
    except Misfit:
        return  # pydantic converts it, or refuses it

    convert = schemas.arguments_converter("tool", schemas.arguments_adapter(signature_of(plain)))
    assert repr(converted) == repr(convert({"a": value}))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (str, "a"),
        (int, 5),
        (float, 5),
        (bool, True),
        (float | None, 1.5),
        (Literal["a", "b"], "b"),
        (list[int], [1, 2]),
        (dict[str, Any], {"a": [1.5, None]}),
        (int | str | None, None),
    ],
)
def test_an_ordinary_plain_value_needs_no_pydantic(type_: Any, value: Any) -> None:
    read = arguments_reader((FunctionParameter("a", "a", type_, MISSING, None),))

    assert read is not None
    assert read({"a": value}) == {"a": value}
