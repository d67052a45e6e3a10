"""SQL in names, cells and values: the engine returns the same result as a plain evaluation in Python."""

from __future__ import annotations

import asyncio
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.variants import tried
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.tables.table_tools import Rows, Tables

FRAGMENTS = (
    "'", "''", '"', '""', "`", "\\", "\\'", ";", "--", "/*", "*/", "#", "$$", "$1", "?", "{table}", "{0}", "%s", "\0",
    "\n", "\u2018", "\u2019", "\u02bc", "\uff07", "\u201c", "\u00b4", "e'", "U&'", "x'00'", "c0", "w0", "n0", "t",
    "' OR 1=1 --", "') OR true OR ('", "1; DROP TABLE t; --", "'); SELECT getenv('HOME'); --", "'}) UNION SELECT 1 --",
    "\" FROM read_text('/etc/passwd') --", "' || pg_sleep(5) || '", "NULL", "true", "select", "*", "COLUMNS(*)", " ",
    "rowid", "unfit c0 ", "Line 1", "record/value 1", "\u202e", "表", "\U0001f600", "1", "1.5", "=1+1", "%", "_", ".",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)
CELLS = st.one_of(HOSTILE, st.sampled_from(["", "1", "2.5", "-3", "10"]), st.none())


@dataclass(frozen=True)
class Asked:
    """A table, a filter over it, and a predicate with the meaning of the filter."""

    rows: Sequence[Mapping[str, str | None]]
    filter: str
    lets_through: Callable[[Mapping[str, str | None]], bool]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


MEANINGS: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda cell, value: cell == value,
    "<": lambda cell, value: cell.encode() < value.encode(),
    ">=": lambda cell, value: cell.encode() >= value.encode(),
    "contains": lambda cell, value: value in cell,
    "starts with": lambda cell, value: cell.startswith(value),
    "ends with": lambda cell, value: cell.endswith(value),
    "in": lambda cell, value: cell == value,
}


def number(cell: str | None) -> float | None:
    plain = cell is not None and re.fullmatch(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?", cell)
    return float(cell or "") if plain else None


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    names = draw(st.lists(HOSTILE, min_size=2, max_size=4, unique_by=lambda name: name.lower()))
    cells = draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), min_size=1, max_size=6))
    rows: list[Mapping[str, str | None]] = [dict(zip(names, row, strict=True)) for row in cells]
    nameable = [name for name in names if "`" not in name]
    if not nameable:
        return Asked(rows, "", lambda row: True)
    name = draw(st.sampled_from(nameable))
    if draw(st.booleans()):
        limit = draw(st.sampled_from([-3, 0, 1, 2.5]))
        return Asked(
            rows, f"`{name}` > {limit}", lambda row: (found := number(row[name])) is not None and found > limit
        )
    own = [cell for row in rows if (cell := row[name])]
    value = draw(st.one_of(HOSTILE, st.sampled_from(own)) if own else HOSTILE)
    how, negated = draw(st.sampled_from(list(MEANINGS))), draw(st.booleans())
    said = f"({quoted(value)})" if how == "in" else quoted(value)
    text = f"`{name}` {how} {said}"

    def lets_through(row: Mapping[str, str | None]) -> bool:
        cell = row[name]
        return (cell is not None and MEANINGS[how](cell, value)) is not negated

    return Asked(rows, f"not ({text})" if negated else text, lets_through)


def queried(folder: Path, asked: Asked, columns: Sequence[str]) -> Rows:
    """The answer of the tool itself: on its way to a client a NUL would be cleaned away."""
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked.rows))
    with Tables([folder]) as tables:
        call = tables.query_csv("t.jsonl", RequestContext(LOCAL, SILENT), columns=columns, filter=asked.filter)
        return asyncio.run(call)


@pytest.mark.variants(40)
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(asked=questions())
def test_g12_hostile_names_cells_and_values_change_no_question(tmp_path: Path, asked: Asked) -> None:
    tried((asked.rows, asked.filter))
    names = list(dict.fromkeys(key for row in asked.rows for key in row))
    found = queried(tmp_path, asked, names)
    assert found["columns"] == names
    assert found["rows"] == [[row[name] for name in names] for row in asked.rows if asked.lets_through(row)]


@pytest.mark.variants(40)
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    header=st.lists(HOSTILE, min_size=2, max_size=4),
    cells=st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=8),
    at=st.integers(0, 1),
)
def test_g12_hostile_headers_and_cells_are_grouped_as_they_are(
    tmp_path: Path, header: list[str], cells: list[tuple[str, str]], at: int
) -> None:
    tried((header, cells))
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [header[:2], *cells]
        csv.writer(file, lineterminator="\n").writerows([[cell.replace("\0", "0") for cell in row] for row in rows])
    context = RequestContext(LOCAL, SILENT)
    with Tables([tmp_path]) as tables:
        said = {"delimiter": ",", "encoding": "utf-8"}
        described = asyncio.run(tables.describe_csv("t.csv", context, read_as=said))
        name = described["columns"][at]["name"]
        found = asyncio.run(
            tables.analyze_csv("t.csv", ["count"], context, columns=[name], group_by=[name], top=1000, read_as=said)
        )
    assert "skipped" not in found
    assert {group["by"][name]: group["rows"] for group in found["groups"]} == Counter(
        row[at].replace("\0", "0") for row in cells
    )


def test_g12_twin_plain_names_and_values_with_quotes_are_found(tmp_path: Path) -> None:
    rows = [{"the order's; list": 'O\'Neill -- "Bo"'}, {"the order's; list": "Smith"}]
    asked = Asked(rows, "`the order's; list` = 'O''Neill -- \"Bo\"'", lambda row: True)
    assert queried(tmp_path, asked, ["the order's; list"])["rows"] == [['O\'Neill -- "Bo"']]
