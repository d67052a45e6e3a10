"""A returned value gives the same result, or error, written as JSON at once and by way of Python values."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, Optional, get_origin

import numpy
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from tooltrue.errors import TooltrueError
from tooltrue.jsonrpc.messages import EncodedJson
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.protocol.types import CallToolResult
from tooltrue.tools.binding.direct_json import direct_writer
from tooltrue.tools.binding.return_values import Output

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    WORD = "word"
    ONE = 1
    HALF = 0.5


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


class Count(int):
    pass


@dataclasses.dataclass
class Point:
    x: Any = None
    y: Any = None


class Stranger(pydantic.BaseModel):
    a: int = 1


class Shape(NamedTuple):
    """A type, and values of which many are of this type."""

    type: Any
    values: st.SearchStrategy[Any]


TEXTS = ["null", "1e+16", '"', "\\", "\x7f", "\x00", "\ud800", "é", "💡"]
WHOLE = [2**63, 2**64, -(2**64), 10**4299]
REALS = [0.5, 1e15, 1e16, 1e17, 1e-5, -0.0, 5e-324, float("nan"), float("inf")]
TROUBLE: list[Any] = [
    None,
    True,
    1,
    1.0,
    "a",
    Name("a"),
    Count(3),
    Level.LOW,
    Colour.RED,
    b"a",
    b"\xff",
    ("a",),
    ["a"],
    {"a": 1},
    {1: 2, "1": 3},
    Point(1, 2),
    Stranger(),
    numpy.float64(1.5),
    object,
]
texts, whole, reals = (
    st.text(max_size=4) | st.sampled_from(TEXTS),
    st.integers() | st.sampled_from(WHOLE),
    st.floats() | st.sampled_from(REALS),
)
trouble = st.sampled_from(TROUBLE)
USUAL = [
    Shape(str, texts),
    Shape(int, whole),
    Shape(float, reals),
    Shape(bool, st.booleans()),
    Shape(type(None), st.none()),
    Shape(Literal["a", "b"], st.sampled_from(["a", "b", Name("a")])),
    Shape(Colour, st.sampled_from(Colour)),
    Shape(Level, st.just(Level.LOW)),
    Shape(Annotated[str, pydantic.Field(max_length=2, description="short")], texts),
    Shape(Annotated[int, pydantic.AfterValidator(abs)], whole),
]
ODD = [
    Shape(Literal["a", 1], st.sampled_from(["a", 1, True, 1.0])),
    Shape(Mixed, st.sampled_from(Mixed)),
    Shape(Annotated[str, pydantic.PlainSerializer(lambda value: f"<{value}>")], texts),
    Shape(Any, texts | st.dictionaries(st.sampled_from([1, "1"]), st.integers())),
    Shape(dict[str, int], st.dictionaries(st.sampled_from(["a", None, "None"]), st.integers())),
    Shape(int | str, whole | texts),
    Shape(bytes, st.binary(max_size=3)),
]


def mostly(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(lambda chance: trouble if chance == 9 else values)


def listed(inner: Shape) -> Shape:
    return Shape(list[inner.type], st.lists(mostly(inner.values), max_size=3))


def optional(inner: Shape) -> Shape:
    return Shape(Optional[inner.type], st.none() | inner.values)  # noqa: UP045 - of a type that is a value here


names = st.sampled_from(["a", "b", "c"])
configs = st.sampled_from(
    [
        pydantic.ConfigDict(),
        pydantic.ConfigDict(title="One"),
        pydantic.ConfigDict(),
        pydantic.ConfigDict(frozen=True),
        pydantic.ConfigDict(extra="allow"),
        pydantic.ConfigDict(extra="forbid"),
        pydantic.ConfigDict(ser_json_inf_nan="constants"),
    ]
)
make_record: Any = TypedDict


@st.composite
def models(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shapes = draw(st.dictionaries(names, inner, min_size=1, max_size=3))
    fields: dict[str, Any] = {
        name: (shape.type, pydantic.Field(serialization_alias=f"{name}-x" if name == "b" else None))
        for name, shape in shapes.items()
    }
    model = pydantic.create_model("Model", __config__=draw(configs), **fields)
    parts = {name: mostly(shape.values) for name, shape in shapes.items()}
    members = st.fixed_dictionaries({}, optional=parts) | st.fixed_dictionaries(parts)
    more = st.fixed_dictionaries({}, optional={"zz": st.integers()})
    return Shape(model, st.builds(lambda members, more: model.model_construct(**members, **more), members, more))


def roots(inner: Shape) -> Shape:
    root = pydantic.RootModel[inner.type]
    return Shape(root, mostly(inner.values).map(root.model_construct))


@st.composite
def records(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shapes = draw(st.dictionaries(names, inner, min_size=1, max_size=3))
    record = make_record("Record", {name: shape.type for name, shape in shapes.items()})
    parts = {name: mostly(shape.values) for name, shape in shapes.items()}
    return Shape(record, st.fixed_dictionaries(parts) | st.fixed_dictionaries({"zz": st.integers()}, optional=parts))


@st.composite
def dataclasses_of(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shapes = draw(st.dictionaries(names, inner, min_size=1, max_size=3))
    made = dataclasses.make_dataclass("Data", [(name, shape.type) for name, shape in shapes.items()])
    return Shape(
        made, st.fixed_dictionaries({n: mostly(s.values) for n, s in shapes.items()}).map(lambda it: made(**it))
    )


def larger(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    return st.one_of(
        *(inner.map(around) for around in (listed, optional, roots)),
        *(around(inner) for around in (models, records, dataclasses_of)),
    )


usual = st.recursive(st.sampled_from(USUAL), larger, max_leaves=5)
every = st.recursive(st.sampled_from([*USUAL, *ODD]), larger, max_leaves=5)


def given_by(present: Any, schema: Schema | None, value: Any) -> Any:
    """The result of a returned value, or the error, as clients and the log see it."""
    try:
        result = present(value)
    except TooltrueError as error:
        return type(error), error.code, str(error), str(error.facts)
    except Exception as error:  # noqa: BLE001 - any error is compared
        return type(error), str(error)
    assert isinstance(result, CallToolResult)
    if schema is not None and (problems := schema.problems(result.structuredContent)):
        return str(problems[0])  # and no result
    return result.content, repr(result.structuredContent), result.encoded, result.isError, result.meta


def check_both_ways(type_: Any, values: Iterable[Any]) -> None:
    """Fail if a value of this type is presented in different ways, at once and by Python values."""
    try:
        output = Output(type_)
        schema = None if output.schema is None else compile_schema(output.schema, bounds=OWN)
    except TooltrueError:
        return  # it has no JSON form
    at_once, careful = output.presenter(schema), output.presenter(None)
    for value in values:
        assert given_by(at_once, schema, value) == given_by(careful, schema, value)


@patient
@given(larger(usual) | every, st.data())
def test_a_value_gives_the_same_result_at_once_and_by_python_values(shape: Shape, data: st.DataObject):
    check_both_ways(shape.type, (data.draw(shape.values) for _ in range(5)))


@pytest.mark.parametrize("shape", [*USUAL, *ODD], ids=map(str, range(len(USUAL + ODD))))
def test_so_does_every_corner_in_every_place(shape: Shape):
    # The schema refuses a value that is no option; NaN is refused before, as no JSON.
    corners = [*TEXTS, *WHOLE, *(REALS[:-2] if get_origin(shape.type) is Literal else REALS), *TROUBLE]
    model = pydantic.create_model("Model", x=shape.type)
    data = dataclasses.make_dataclass("Data", [("x", shape.type)])
    check_both_ways(model, (model.model_construct(x=corner) for corner in corners))
    check_both_ways(list[model], ([model.model_construct(x=corner), model.model_construct()] for corner in corners))
    check_both_ways(data, map(data, corners))
    check_both_ways(make_record("Record", {"x": shape.type}), ({"x": corner} for corner in corners))
    root = pydantic.RootModel[list[shape.type]]
    check_both_ways(root, (root.model_construct([corner]) for corner in corners))
    check_both_ways(Optional[list[shape.type]], ([corner, None] for corner in corners))  # noqa: UP045 - as above


class Row(pydantic.BaseModel):
    name: str
    count: int = 0
    share: float = 0.5
    tags: list[Literal["new", "sale"]] = []


class Note(pydantic.BaseModel):
    text: str | None = None
    level: Level | None = None


class Sparse(pydantic.BaseModel):
    share: float
    count: int | None = None


class Table(pydantic.BaseModel):
    rows: list[Row]


class Tree(pydantic.BaseModel):
    inner: list[Tree] = []


class Doubled(pydantic.BaseModel):
    one: int = pydantic.Field(serialization_alias="x")
    two: int = pydantic.Field(serialization_alias="x")


class Summed(pydantic.BaseModel):
    one: int

    @pydantic.computed_field
    @property
    def two(self) -> int:
        return self.one + 1


class Open(pydantic.BaseModel, extra="allow"):
    one: int


class Loose(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(ser_json_inf_nan="constants")
    share: float


def presented(returns: Any, value: Any) -> CallToolResult:
    output = Output(returns)
    assert output.schema is not None
    result = output.presenter(compile_schema(output.schema, bounds=OWN))(value)
    assert isinstance(result, CallToolResult)
    return result


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        (Table, Table(rows=[Row(name="a", tags=["new"]), Row(name="b", count=2)])),
        (list[Row], [Row(name='"a"')]),
        (list[Note], [Note(), Note(text="null", level=Level.LOW)]),
        (Table | CallToolResult, Table(rows=[])),
    ],
)
def test_values_of_usual_models_are_written_at_once(returns: Any, value: Any):
    result = presented(returns, value)
    assert type(result.undecoded) is EncodedJson
    assert result.structuredContent == to_jsonable_python(value)
    assert type(result.undecoded) is not EncodedJson  # it is decoded once


@pytest.mark.parametrize(
    "value", [10**4300, 10**9000, -(10**6000), 1e16, float("1e300")], ids=["a", "b", "c", "d", "e"]
)
def test_numbers_that_json_has_in_two_forms_are_written_by_python_values(value: Any):
    write = direct_writer(pydantic.TypeAdapter(list[float] if isinstance(value, float) else list[int]))
    assert write is not None
    assert write([1, value]) is None
    assert write([1]) is not None


@pytest.mark.parametrize("value", [numpy.int64(2), numpy.float32(2), Decimal(2), Fraction(2)], ids=repr)
def test_what_can_be_made_a_number_is_written_as_that_number(value: Any):
    write = direct_writer(pydantic.TypeAdapter(Row))
    assert write is not None
    assert write(Row.model_construct(name="a", count=1, share=value)) == b'{"name":"a","count":1,"share":2.0,"tags":[]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_float_that_json_does_not_have_is_not_written(value: float):
    write = direct_writer(pydantic.TypeAdapter(Row))
    assert write is not None
    assert write(Row(name="a", share=value)) is None


@pytest.mark.parametrize(
    "type_",
    [
        Tree,
        Doubled,
        Summed,
        Open,
        Loose,
        Sparse,
        Mixed,
        dict[str, int],
        Iterable[int],
        list,
        list[Any],
        int | str,
        list[bytes],
        Annotated[int, pydantic.PlainSerializer(abs)],
    ],
)
def test_a_type_that_may_be_written_otherwise_is_not_written_at_once(type_: Any):
    assert direct_writer(pydantic.TypeAdapter(type_)) is None
