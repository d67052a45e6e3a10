"""Values that are converted fit their published schema, by two validators, and keep what they hold."""

from __future__ import annotations

import asyncio
import base64
import csv
import datetime
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jsonschema
import jsonschema_rs
import numpy
import pandas
import polars
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tooltrue import Client, Server, Table
from tooltrue.errors import InvalidArguments
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import CallToolResult
from tooltrue.tools.binding import bind
from tooltrue.tools.binding.return_values import Output
from tooltrue.tools.binding.tool_options import ToolOptions
from tooltrue.tools.null import SILENT
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def outcome(value: Any, returns: Any) -> tuple[dict[str, Any], CallToolResult]:
    """The published schema of a return type, and the result of a value of it."""

    def tool() -> Any:
        return value

    tool.__annotations__["return"] = returns
    bound = bind(tool, ToolOptions(name="tool", blocking=False), ThreadPool(1))

    async def run() -> Any:
        return await bound.run(ToolCall("tool", {}, RequestContext(LOCAL, SILENT)))

    result = asyncio.run(run())
    assert isinstance(result, CallToolResult)
    assert bound.tool.definition.outputSchema is not None
    return bound.tool.definition.outputSchema, result


def checked(value: Any, returns: Any) -> Any:
    """The structured value as a client reads it, which fits the published schema."""
    schema, result = outcome(value, returns)
    plain = decode(encode(result.structuredContent))
    jsonschema_rs.Draft202012Validator(schema).validate(plain)
    jsonschema.Draft202012Validator(schema).validate(plain)
    return plain


@patient
@given(st.binary(max_size=200))
def test_bytes_come_back_as_they_were_sent(data: bytes) -> None:
    server = Server("t")

    @server.tool(effect="read")
    def echo(data: bytes) -> bytes:
        return data

    async def main() -> Any:
        async with Client(server) as client:
            return await client.call_tool("echo", data=base64.b64encode(data).decode())

    result = asyncio.run(main())
    assert base64.b64decode(result.structured, validate=True) == data


@patient
@given(st.text(st.sampled_from("AQaz09+/=-_ \n"), max_size=8))
def test_a_text_is_taken_as_bytes_if_it_is_their_one_spelling(text: str) -> None:
    bound = bind(take_bytes, ToolOptions(name="tool", blocking=False), ThreadPool(1))

    async def run() -> Any:
        return await bound.run(ToolCall("tool", {"data": text}, RequestContext(LOCAL, SILENT)))

    if is_canonical(text):
        assert base64.b64encode(bytes(asyncio.run(run()).structuredContent)).decode() == text
    else:
        with pytest.raises(InvalidArguments, match=r"\$\.data: must be base64"):
            asyncio.run(run())


def is_canonical(text: str) -> bool:
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def take_bytes(data: bytes) -> list[int]:
    return [*data]


COLUMNS: Sequence[st.SearchStrategy[list[Any]]] = [
    st.lists(values, min_size=4, max_size=4)
    for values in (
        st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        st.none() | st.integers(-(2**53), 2**53),
        st.none() | st.floats(allow_infinity=False),
        st.none() | st.booleans(),
        st.none() | st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1)),
        st.none() | st.dates(),
        st.none() | st.binary(max_size=3),
        st.none() | st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=9)),
        st.none() | st.lists(st.integers(0, 9), max_size=2),
    )
]
FRAMES: list[tuple[Any, Callable[[dict[str, list[Any]]], Any]]] = [
    (pandas.DataFrame, lambda columns: pandas.DataFrame(columns, dtype=object)),
    (pandas.DataFrame, pandas.DataFrame),
    (polars.DataFrame, lambda columns: polars.DataFrame(columns, strict=False)),
    (pyarrow.Table, pyarrow.table),
]


@patient
@given(st.dictionaries(st.sampled_from("abcd"), st.one_of(COLUMNS), max_size=4), st.sampled_from(FRAMES))
def test_a_table_fits_its_schema_and_its_csv_has_the_same_rows(columns: dict[str, list[Any]], frame: Any) -> None:
    kind, make = frame
    plain = checked(make(columns), kind)
    count = 4 if columns else 0
    assert (plain["columns"], plain["total_rows"], plain["truncated"]) == ([*columns], count, False)
    for name, cells in zip(plain["columns"], zip(*plain["rows"], strict=True), strict=True):
        for value, cell in zip(columns[name], cells, strict=True):
            assert (value is None or value != value) == (cell is None)
            assert not isinstance(value, str | bool) or cell == value
    _, result = outcome(Table(make(columns)), Table)
    head, *lines = csv.reader(io.StringIO(result.content[0].text, newline="")) if columns else [[]]
    assert (head, len(lines)) == ([*columns], count)


@patient
@given(st.lists(st.integers(-(2**31), 2**31), max_size=5) | st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_arrays_columns_and_iterators_give_the_values_of_a_list(values: list[Any]) -> None:
    assert checked(iter(values), Iterator[float]) == values
    assert checked(numpy.array(values, dtype=object), numpy.ndarray) == values
    assert checked(numpy.array(values, dtype=float), list[float]) == values
    assert checked(pandas.Series(values, dtype=object), pandas.Series) == values
    assert checked(polars.Series(values, dtype=polars.Float64), polars.Series) == values


TYPES = [
    bytes,
    list[bytes],
    dict[str, bytes | None],
    tuple[bytes, int],
    Iterator[bytes],
    pandas.DataFrame,
    pandas.DataFrame | None,
    Table,
    numpy.ndarray,
    numpy.float64,
    polars.Series,
]


@pytest.mark.parametrize("type_", TYPES)
def test_no_schema_names_a_format_that_json_schema_does_not_have(type_: Any) -> None:
    schema = Output(type_).schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not any(word in repr(schema) for word in ("'binary'", "'format'"))
