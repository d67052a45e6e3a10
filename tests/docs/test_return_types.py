"""The table of return types of ``docs/results.md``: each row is run, and its cells are compared with the wire."""

from __future__ import annotations

import ast
import asyncio
import collections.abc
import datetime
import decimal
import fractions
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pandas
import PIL.Image
import polars
import pyarrow
import pydantic
import pytest
from matplotlib.figure import Figure

import tooltrue
from support.exchanges import REVISIONS, exchange
from tooltrue import Server
from tooltrue.tools.binding.sent_types import TABLE_SCHEMA

PAGE = Path(__file__).parents[2] / "docs" / "results.md"


class Delivery(pydantic.BaseModel):
    parcel: int
    on: datetime.date
    note: str | None = None


async def count_later() -> collections.abc.AsyncIterator[int]:
    for number in range(2):
        yield number


NAMES: dict[str, Any] = {
    **{name: getattr(tooltrue, name) for name in ("Audio", "File", "Image", "ResourceLink", "Table")},
    **{name: getattr(collections.abc, name) for name in ("AsyncIterator", "Iterator")},
    "Decimal": decimal.Decimal,
    "Delivery": Delivery,
    "Figure": Figure,
    "Fraction": fractions.Fraction,
    "PIL": PIL,
    "PNG": b"\x89PNG\r\n\x1a\n",
    "count_later": count_later,
    "date": datetime.date,
    "figure": Figure((1, 1)),
    "frame": pandas.DataFrame({"city": ["Oslo", None]}),
    "numpy": numpy,
    "pandas": pandas,
    "picture": PIL.Image.new("RGB", (1, 1)),
    "polars": polars,
    "pyarrow": pyarrow,
}


def rows() -> list[list[str]]:
    _, below = PAGE.read_text("utf-8").split("\n## Every return type\n", 1)
    table = below[below.index("\n|---") :].split("\n\n")[0].strip().splitlines()[1:]
    return [[cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").split("|")[1:-1]] for line in table]


def evaluated(code: str) -> Any:
    """The value of an expression of the page."""
    ast.parse(code, mode="eval")
    return eval(code, dict(NAMES))  # noqa: S307 - the page is ours


def spelled(value: Any, table: str, *, is_table: bool) -> str:
    return table if is_table else f"`{json.dumps(value, separators=(',', ':'), sort_keys=True, ensure_ascii=False)}`"


@pytest.mark.parametrize("row", rows(), ids=lambda row: " ".join(row[:2]))
def test_a_return_type_has_the_form_that_the_page_says(row: list[str]) -> None:
    returns, value, content, structured, schema = row

    def tool() -> Any:
        return evaluated(value.strip("`"))

    tool.__annotations__ = {} if returns == "no annotation" else {"return": evaluated(returns.strip("`"))}
    server = Server("docs")
    server.add_tool(tool)
    [published] = asyncio.run(exchange(server, REVISIONS[0], "tools/list", {}))["tools"]
    result = asyncio.run(exchange(server, REVISIONS[0], "tools/call", {"name": "tool", "arguments": {}}))
    assert not result.get("isError"), result
    assert (", ".join(block["type"] for block in result["content"]) or "empty") == content
    output = published.get("outputSchema")
    assert ("none" if output is None else spelled(output, "of a table", is_table=output == TABLE_SCHEMA)) == schema
    if "structuredContent" not in result:
        assert structured == "absent"
        return
    sent = result["structuredContent"]
    assert spelled(sent, "a table", is_table=isinstance(sent, dict) and "total_rows" in sent) == structured
    jsonschema.validate(sent, output or {})


def test_the_table_has_every_helper() -> None:
    text = " ".join(map(str, rows()))
    assert [name for name in ("Image", "Audio", "File", "Table") if f"'`{name}`'" not in text] == []
