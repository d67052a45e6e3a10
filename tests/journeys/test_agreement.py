"""The function receives every call that the published schema accepts: JSON Schema and pydantic always agree."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import Any, Literal, NotRequired, Optional

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

from tooltrue.errors import InvalidArguments
from tooltrue.policy.layers.validate import check_arguments
from tooltrue.server.service import SILENT
from tooltrue.tools.binding import ToolOptions, bind
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)
POOL = ThreadPool(1)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 10


class Note(TypedDict):
    text: str
    rank: NotRequired[int | None]


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Box(pydantic.BaseModel):
    at: Point
    notes: list[Note] = []
    colour: Colour | None = None


LEAVES: list[Any] = [
    *(int, float, bool, str, type(None), Literal["a", 1, True], Literal["red", "blue"], Literal[1, 2]),
    *(datetime.date, datetime.datetime, uuid.UUID, Colour, Size, Note, Point, Box),
]
types = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        inner.map(lambda t: list[t])
        | inner.map(lambda t: dict[str, t])
        | inner.map(lambda t: Optional[t])  # noqa: UP045
        | st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1] if _joins(*pair) else pair[0])
    ),
    max_leaves=4,
)


def _joins(one: Any, other: Any) -> bool:
    try:
        _ = one | other
    except TypeError:
        return False
    return True


numbers = (
    st.integers(-3, 12)
    | st.integers(-(10**300), 10**300)
    | st.integers(-3, 12).map(float)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2**53, 2.0**53, 2**63, 2**64, -(2**63), 1e20, 1e300, -0.0, 0.1, 5e-324])
)
dates = st.dates().map(str) | st.sampled_from(["2024-02-29", "10000-01-01", "2024-1-2", "20240102", ""])
times = (
    st.datetimes(timezones=st.just(datetime.UTC)).map(datetime.datetime.isoformat)
    | st.datetimes().map(lambda value: value.isoformat() + "Z")
    | st.sampled_from(
        [
            *("2024-01-02T03:04:05Z", "2024-01-02t03:04:05z", "2024-01-02T03:04:05.123456789Z", "2024-01-02 03:04:05Z"),
            *("2024-01-02T03:04:05+23:59", "2024-01-02T03:04:05-00:00", "2024-01-02T03:04:05+24:00"),
            *("2024-01-02T24:00:00Z", "2024-01-02T03:04:05", "2024-01-02T03:04Z", "2024-01-02T03:04:05.Z"),
        ]
    )
)
uuids = st.uuids().map(str) | st.sampled_from(
    ["{12345678-1234-5678-1234-567812345678}", "urn:uuid:" + "0" * 32, "0" * 32]
)
decimals = st.decimals(allow_nan=False, allow_infinity=False).map(str) | st.sampled_from(
    ["1.50", "1e5", "NaN", "Infinity", "-", ".", "1.", ".5", "+1", "١", "1_0", " 1", "1\n", "0x1", "", "1" * 500]
)
words = st.sampled_from(["red", "blue", "a", "1", "true", "null"]) | st.text(max_size=4)
leaves = st.none() | st.booleans() | numbers | words | dates | times | uuids | decimals
keys = st.sampled_from(["text", "rank", "x", "y", "at", "notes", "colour", "other"])
shaped = st.fixed_dictionaries({"x": numbers}, optional={"y": numbers}) | st.fixed_dictionaries(
    {"text": words}, optional={"rank": numbers | st.none()}
)
boxes = st.fixed_dictionaries(
    {"at": st.fixed_dictionaries({"x": numbers}, optional={"y": numbers})},
    optional={"notes": st.lists(shaped, max_size=2), "colour": st.none() | words},
)
values = st.recursive(
    leaves | shaped | boxes,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | words, inner, max_size=3),
    max_leaves=5,
)


written: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    str: st.text(st.characters(codec="utf-8")),
    datetime.date: st.dates(),
    datetime.datetime: st.datetimes(timezones=st.just(datetime.UTC)),
    uuid.UUID: st.uuids(),
    decimal.Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    Colour: st.sampled_from(Colour),
    Size: st.sampled_from(Size),
    Note: st.fixed_dictionaries({"text": st.text(st.characters(codec="utf-8"))}, optional={"rank": st.integers()}),
    Point: st.builds(Point, st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
}


def bound(type_: Any) -> tuple[Any, list[Any]]:
    received: list[Any] = []

    def tool(value: Any) -> str:
        received.append(value)
        return ""

    tool.__annotations__["value"] = type_
    return bind(tool, ToolOptions(blocking=False), POOL), received


def judge(type_: Any, value: Any) -> None:
    """The schema accepts exactly the values that the function receives, and each received value has the type."""
    made, received = bound(type_)
    try:
        arguments = check_arguments(made.tool, {"value": value})
    except InvalidArguments:
        return
    asyncio.run(made.run(ToolCall("tool", arguments, CONTEXT)))
    assert len(received) == 1
    pydantic.TypeAdapter(type_).validate_python(received[0])


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(types, st.data())
def test_the_function_receives_every_value_the_schema_accepts(type_: Any, data: st.DataObject):
    judge(type_, data.draw(values))


@pytest.mark.parametrize("type_", LEAVES, ids=str)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(data=st.data())
def test_the_function_receives_every_value_the_schema_accepts_for_each_type(type_: Any, data: st.DataObject):
    judge(type_, data.draw(values))


@pytest.mark.parametrize("type_", written, ids=str)
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_a_value_serialized_by_pydantic_passes_the_schema_and_reaches_the_function(type_: Any, data: st.DataObject):
    value = data.draw(written[type_])
    said = pydantic.TypeAdapter(type_).dump_python(value, mode="json")
    made, received = bound(type_)
    asyncio.run(made.run(ToolCall("tool", check_arguments(made.tool, {"value": said}), CONTEXT)))
    assert received == [value]


@settings(deadline=None)
@given(times)
def test_a_date_and_time_that_the_schema_accepts_is_received(text: str):
    judge(datetime.datetime, text)


@pytest.mark.parametrize("text", ["2016-12-31T23:59:60Z", "0000-01-01T00:00:00Z"], ids=["leap second", "year 0"])
def test_a_date_and_time_that_python_does_not_have_is_refused_by_the_schema(text: str):
    judge(datetime.datetime, text)


def test_a_date_that_python_does_not_have_is_refused_by_the_schema():
    judge(datetime.date, "0000-01-01")


@settings(deadline=None)
@given(dates)
def test_a_date_that_the_schema_accepts_is_received(text: str):
    judge(datetime.date, text)


@settings(deadline=None)
@given(decimals | numbers)
def test_a_decimal_that_the_schema_accepts_is_received(value: Any):
    judge(decimal.Decimal, value)


@settings(deadline=None)
@given(uuids)
def test_a_uuid_that_the_schema_accepts_is_received(text: str):
    judge(uuid.UUID, text)


@settings(deadline=None)
@given(numbers)
def test_a_number_that_the_schema_accepts_is_received_as_it_is(value: Any):
    judge(int, value)
    judge(float, value)
    made, received = bound(int)
    if value == int(value):
        asyncio.run(made.run(ToolCall("tool", check_arguments(made.tool, {"value": value}), CONTEXT)))
        assert received == [int(value)]
        assert type(received[0]) is int
