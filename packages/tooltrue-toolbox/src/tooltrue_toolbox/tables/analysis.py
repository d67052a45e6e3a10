"""Figures of a table: the SQL query for them, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.dates import BINS, bin_expression, order_of
from tooltrue_toolbox.tables.engine import Query
from tooltrue_toolbox.tables.filters import Node
from tooltrue_toolbox.tables.layout import Layout
from tooltrue_toolbox.tables.open_table import OpenTable
from tooltrue_toolbox.tables.sql import TableColumns, is_number
from tooltrue_toolbox.tables.table_results import Analysis, Cell, Group, NotNumbers, Operation, plain, quotient
from tooltrue_toolbox.tables.wording import START_GROUP_BEYOND_END, TABLE_WITHOUT_NUMERIC_COLUMN

__all__ = ["AnalysisRequest", "Sort", "analyze"]

Sort = Literal["rows", "value", "key"]

_QUANTILES: Mapping[str, float] = {"median": 0.5, "p10": 0.1, "p25": 0.25, "p75": 0.75, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    operations: tuple[Operation, ...]
    """If empty, the rows of each group are counted."""
    columns: Sequence[str]
    """If empty, all columns with numbers."""
    group_by: Sequence[str]
    filter: str
    sort: Sort
    top: int
    start: int = 1

    def order(self, keys: int) -> str:
        by_key = ", ".join(f"r{n} NULLS LAST" for n in range(keys))
        # Without a measure, the largest groups are those with the most rows.
        sort = "rows" if self.sort == "value" and not self.operations else self.sort
        first = {"rows": f"r{keys} DESC, ", "value": f"r{keys + 3} DESC NULLS LAST, ", "key": ""}[sort]
        return first + by_key


def analyze(
    source: OpenTable, request: AnalysisRequest, node: Node | None, exact: bool, query: Query, table: TableColumns
) -> Analysis:
    """The figures of the rows that match ``node``; quantiles are estimated unless ``exact``. ``ToolError`` if there is
    no group from ``asked.start`` on."""
    names = (request.columns or _numeric(table, source.layout)) if request.operations else ()
    keys = [_key(table, source.layout, name) for name in request.group_by]
    measures = [_measure(table, name, op, exact) for name in names for op in request.operations]
    numeric = names if _needs_numbers(request.operations) else []
    misses = [part for name in numeric for part in _missing(table, name, bool(keys))]
    totals = ["sum(count(*)) OVER ()", "count(*) OVER ()"] if keys else ["count(*)", "1"]
    values: list[object] = []
    where = f" WHERE {table.condition(node, values)}" if node else ""
    parts = [*keys, "count(*)", *totals, *measures, *misses]
    numbered = ", ".join(f"{part} AS r{n}" for n, part in enumerate(parts))
    sql = f"SELECT {numbered} FROM {table.numbered_rows(numeric, where)}"
    if keys:
        sql += f" GROUP BY {', '.join(keys)} ORDER BY {request.order(len(keys))}"
        sql += f" LIMIT {request.top} OFFSET {request.start - 1}"
    rows = query.rows(sql, len(table.names), values)
    if request.start > 1 and not (keys and rows):
        raise ToolError.of(START_GROUP_BEYOND_END, start=request.start)
    return _analysis(source, table, request, names, numeric, rows, exact)


def _key(table: TableColumns, layout: Layout, name: str) -> str:
    """The text of a column, or the day, week, … of its date; a column of exactly that name takes precedence."""
    column, _, bin = name.rpartition(":")
    if name in table.names or bin not in BINS or column not in table.names:
        return table.text(name, "$.group_by")
    samples = next((each.samples for each in layout.columns if each.name == column), ())
    return bin_expression(table.text(column), bin, order_of(samples))


def _needs_numbers(operations: Sequence[Operation]) -> bool:
    return any(operation not in ("count", "distinct") for operation in operations)


def _numeric(table: TableColumns, layout: Layout) -> list[str]:
    """The columns with numbers, at most 50: those whose cells in the beginning of the file are all numbers."""
    if table.natives:
        columns = [name for name in table.names if name in table.natives]
    else:
        how = table.notations.get
        columns = [
            c.name for c in layout.columns if c.samples and all(is_number(one, how(c.name)) for one in c.samples)
        ]
    if not columns:
        raise ToolError.of(TABLE_WITHOUT_NUMERIC_COLUMN, known=", ".join(table.names[:40]))
    return columns[:50]


def _measure(table: TableColumns, name: str, operation: Operation, exact: bool) -> str:
    cell = table.cell(name)
    if operation == "count":
        return f"count({cell})"
    if operation == "distinct":
        return f"approx_count_distinct({cell})"
    number = table.read(name)
    match operation:
        case "sum" | "average":
            return f"sum({number})"
        case "min" | "max":
            return f"{operation}({number})"
        case "stddev":
            return f"stddev_samp(CAST({number} AS DOUBLE))"
        case _:
            how = "quantile_cont" if exact else "approx_quantile"
            return f"{how}(CAST({number} AS DOUBLE), {_QUANTILES[operation]})"


def _missing(table: TableColumns, name: str, grouped: bool) -> tuple[str, str, str]:
    """The number of a column's cells that are numbers, of those that are not, and an example of the latter."""
    text, number = table.text(name), table.read(name)
    count, example = f"count({text}) - count({number})", f"left(min({text}) FILTER (({number}) IS NULL), 60)"
    if grouped:
        return f"count({number})", f"sum({count}) OVER ()", f"min({example}) OVER ()"
    return f"count({number})", count, example


def _analysis(
    source: OpenTable,
    table: TableColumns,
    request: AnalysisRequest,
    names: Sequence[str],
    numeric: Sequence[str],
    rows: list[tuple[Any, ...]],
    exact: bool,
) -> Analysis:
    keys, operations = len(request.group_by), request.operations
    behind = keys + 3 + len(names) * len(operations)
    groups: list[Group] = []
    for row in rows:
        measured = iter(row[keys + 3 : behind])
        counted = {name: row[behind + 3 * n] for n, name in enumerate(numeric)}
        groups.append(
            Group(
                by=dict(zip(request.group_by, row[:keys], strict=True)),
                rows=row[keys],
                values={name: _values(operations, measured, counted.get(name, 0)) for name in names},
            )
        )
    result = Analysis(
        path=source.display_path,
        read_as=source.layout.read_as,
        rows=int(rows[0][keys + 1]) if rows else 0,
        group_count=rows[0][keys + 2] if rows else 0,
        groups=groups,
    )
    if request.start - 1 + len(groups) < result["group_count"]:
        result["next_start_group"] = request.start + len(groups)
    missed = [
        NotNumbers(column=name, cells=int(rows[0][behind + 3 * n + 1]), example=rows[0][behind + 3 * n + 2])
        for n, name in enumerate(numeric)
        if rows and rows[0][behind + 3 * n + 1]
    ]
    if missed:
        result["not_numbers"] = missed
    if inexact := _inexact(table, names, operations, exact):
        result["approximate"] = inexact
    return result


def _values(operations: Sequence[Operation], measured: Iterator[Any], numbers: int) -> dict[str, Cell]:
    values: dict[str, Cell] = {}
    for operation in operations:
        value = next(measured)
        if operation == "average" and value is not None:
            value = quotient(value, numbers)
        values[operation] = plain(value)
    return values


def _inexact(table: TableColumns, names: Sequence[str], operations: Sequence[Operation], exact: bool) -> list[str]:
    estimated = [op for op in operations if op == "distinct" or (op in _QUANTILES and not exact)]
    rounded = [name for name in names if _needs_numbers(operations) and not table.shape(name).exact]
    return [*estimated, *rounded]
