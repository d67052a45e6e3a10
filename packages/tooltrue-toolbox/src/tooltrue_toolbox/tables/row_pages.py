"""Rows in an order, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.engine import Query
from tooltrue_toolbox.tables.filters import Node
from tooltrue_toolbox.tables.formulas import is_formula
from tooltrue_toolbox.tables.layout import TableLimits
from tooltrue_toolbox.tables.open_table import OpenTable
from tooltrue_toolbox.tables.sql import TableColumns
from tooltrue_toolbox.tables.table_results import Rows
from tooltrue_toolbox.tables.wording import TABLE_CURSOR_MISMATCH

__all__ = ["RowOrder", "rows_of"]


@dataclass(frozen=True, slots=True)
class RowOrder:
    by: str | None
    descending: bool
    limit: int
    cursor: str | None

    def offset(self, version: str) -> int:
        """The number of rows on earlier pages. ``ToolError`` when the cursor is of another file, or of an earlier
        version of this one."""
        if self.cursor is None:
            return 0
        of, _, offset = self.cursor.rpartition(":")
        if of != version or not offset.isdecimal() or len(offset) > 15:
            raise ToolError.of(TABLE_CURSOR_MISMATCH)
        return int(offset)

    def keys(self, table: TableColumns, cells: Sequence[str]) -> str:
        """The SQL sort keys: by number where there is one, then by text, then by all shown cells, so that pages do not
        overlap."""
        name = self.by or ""
        text = table.text(name, "$.order_by")
        way = "DESC" if self.descending else "ASC"
        numbers = [f"{table.number(name, '$.order_by')} {way} NULLS LAST"] if table.counts(name) else []
        return ", ".join((*numbers, f"{text} {way} NULLS LAST", *cells))


def rows_of(
    source: OpenTable,
    columns: Sequence[str],
    node: Node | None,
    order: RowOrder,
    limits: TableLimits,
    query: Query,
    table: TableColumns,
) -> Rows:
    """The rows that match ``node``, from the cursor in ``order`` on, as many as one result holds."""
    offset = order.offset(source.version)
    names = list(columns or table.names)
    cells = [table.text(name) for name in names]
    values: list[object] = []
    where = f" WHERE {table.condition(node, values)}" if node else ""
    sorted_by = f" ORDER BY {order.keys(table, cells)}" if order.by else ""
    page = f" LIMIT {order.limit + 1} OFFSET {offset}"
    sql = f"SELECT {', '.join(cells)} FROM {table.rows}{where}{sorted_by}{page}"
    rows = query.rows(sql, len(table.names), values)
    return _page(source, table, names, rows, order, limits)


def _page(
    source: OpenTable,
    table: TableColumns,
    names: list[str],
    rows: list[tuple[Any, ...]],
    order: RowOrder,
    limits: TableLimits,
) -> Rows:
    """As many of ``rows`` as fit, at least one."""
    notations = [table.notations.get(name) for name in names]
    fitting_rows: list[list[str | None]] = []
    cut, formulas = 0, sum(is_formula(name, None) for name in names)
    room = limits.result_bytes
    for row in rows[: order.limit]:
        cells: list[str | None] = [cell and source.beginning(cell, limits.cell_characters) for cell in row]
        room -= sum(len(cell.encode()) if cell else 4 for cell in cells)
        if fitting_rows and room < 0:
            break
        cut += sum(cell is not None and len(cell) > limits.cell_characters for cell in row)
        formulas += sum(is_formula(cell, how) for cell, how in zip(cells, notations, strict=True) if cell)
        fitting_rows.append(cells)
    result = Rows(path=source.display_path, read_as=source.layout.read_as, columns=names, rows=fitting_rows)
    if cut:
        result["cut_cells"] = cut
    if formulas:
        result["formulas"] = formulas
    if len(fitting_rows) < len(rows):
        result["next_cursor"] = f"{source.version}:{order.offset(source.version) + len(fitting_rows)}"
    return result
