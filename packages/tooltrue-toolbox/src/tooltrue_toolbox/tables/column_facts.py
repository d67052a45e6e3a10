"""The description of columns: the SQL query for it, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrue.errors import ToolError
from tooltrue.tools.vocabulary import Slice
from tooltrue_toolbox.tables.engine import Query
from tooltrue_toolbox.tables.formulas import formula_of, is_formula
from tooltrue_toolbox.tables.open_table import OpenTable
from tooltrue_toolbox.tables.sql import TableColumns
from tooltrue_toolbox.tables.table_results import ColumnDescription, ColumnType, Description, plain
from tooltrue_toolbox.tables.wording import START_COLUMN_BEYOND_END

__all__ = ["describe"]

DESCRIBED = 50
"""Columns in one description."""
_EXAMPLE_CHARACTERS = 200
"""Characters of a cell that is an example."""


def describe(open_table: OpenTable, start: int, query: Query, table: TableColumns) -> Description:
    """The table ``source``, with its columns from number ``start`` on. ``ToolError`` if there is no such column."""
    names = table.names[start - 1 : start - 1 + DESCRIBED]
    if not names:
        raise ToolError.of(START_COLUMN_BEYOND_END, start=start, columns=len(table.names))
    parts = [part for name in names for part in _facts(table, name)]
    source = table.numbered_rows([name for name in names if table.counts(name)])
    [row] = query.rows(f"SELECT count(*), {', '.join(parts)} FROM {source}", len(table.names))
    width = len(parts) // len(names)
    result = Description(
        path=open_table.display_path,
        read_as=open_table.layout.read_as,
        rows=row[0],
        column_count=len(table.names),
        columns=[
            _column(name, row[1 + width * n : 1 + width * (n + 1)], table, open_table) for n, name in enumerate(names)
        ],
    )
    if start - 1 + len(names) < len(table.names):
        result["next_start_column"] = start + len(names)
    return result


def _facts(table: TableColumns, name: str) -> tuple[str, ...]:
    text, cell = table.text(name), table.cell(name)
    number = table.read(name) if table.counts(name) else "CAST(NULL AS DOUBLE)"
    number_text = table.number_text(name) if name in table.notations else text
    return (
        f"count({cell})",
        f"count({number})",
        f"count(*) FILTER ({number} IS NOT NULL AND NOT contains({number_text}, '.'))",
        f"count(*) FILTER (strlen({text}) = 10 AND regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}'))",
        f"count(*) FILTER (strlen({text}) < 6 AND lower({text}) IN ('true', 'false'))",
        f"approx_count_distinct({cell})",
        f"min({number})",
        f"max({number})",
        f"left(min({text}), {_EXAMPLE_CHARACTERS + Slice.BEHIND})",
        f"left(max({text}), {_EXAMPLE_CHARACTERS + Slice.BEHIND})",
        f"count(*) FILTER ({formula_of(text, number)})",
    )


def _column(name: str, facts: Sequence[Any], table: TableColumns, source: OpenTable) -> ColumnDescription:
    filled, numbers, integers, dates, truths, distinct, least, most, first, last, formulas = facts
    kind: ColumnType = "text"
    if not filled:
        kind = "empty"
    elif numbers == filled:
        kind = "integer" if integers == filled else "decimal" if table.shape(name).exact else "float"
    elif dates == filled:
        kind = "date"
    elif truths == filled:
        kind = "boolean"
    by_number = kind in ("integer", "decimal", "float")
    samples = next((column.samples for column in source.layout.columns if column.name == name), ())
    result = ColumnDescription(
        name=name,
        type=kind,
        filled=filled,
        numbers=numbers,
        distinct=min(distinct, filled),
        min=plain(least if by_number else first and source.beginning(first, _EXAMPLE_CHARACTERS)),
        max=plain(most if by_number else last and source.beginning(last, _EXAMPLE_CHARACTERS)),
        examples=[source.beginning(cell, _EXAMPLE_CHARACTERS) for cell in list(dict.fromkeys(samples))[:3]],
    )
    if formulas := formulas + is_formula(name, None):
        result["formulas"] = formulas
    return result
