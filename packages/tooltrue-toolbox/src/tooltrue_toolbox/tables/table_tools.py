"""The tables tools: describe a file, query its rows, compute figures, draw a chart.

The methods of :class:`Tables` are the tools. :mod:`tooltrue_toolbox.rooted_paths`
decides which paths they accept, ``layout`` and ``feed`` read a file, ``filters`` parses conditions, ``sql`` writes the
queries, and ``engine`` runs them. ``column_facts``, ``row_pages`` and ``analysis`` compose the queries. All tools are
read-only."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from tooltrue.errors import ToolError
from tooltrue.protocol.types import CallToolResult, ImageContent, TextContent
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.settings import ToolSettings
from tooltrue.tools.vocabulary import RequestContext
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.registration import add_tools, tool
from tooltrue_toolbox.rooted_paths import Folders, PathRules, Target, is_directory, path_errors
from tooltrue_toolbox.tables.analysis import AnalysisRequest, Sort, analyze
from tooltrue_toolbox.tables.column_facts import describe
from tooltrue_toolbox.tables.corrections import NOTHING, CorrectionsArgument, corrections_of
from tooltrue_toolbox.tables.engine import Query, QueryRun, TooWide, Unfit, check_pattern, open_query
from tooltrue_toolbox.tables.extras import needs_extra
from tooltrue_toolbox.tables.feed import open_feed
from tooltrue_toolbox.tables.filters import ColumnSearch, Node, leaves, parse
from tooltrue_toolbox.tables.layout import Corrections, TableLimits, detect_layout
from tooltrue_toolbox.tables.notation import is_unclear
from tooltrue_toolbox.tables.open_table import OpenTable
from tooltrue_toolbox.tables.row_pages import RowOrder, rows_of
from tooltrue_toolbox.tables.sql import FLOAT, Shape, TableColumns, shape_of
from tooltrue_toolbox.tables.table_results import (
    Analysis,
    Chart,
    Description,
    Group,
    Operation,
    Rows,
    Skipped,
    SkippedRow,
)
from tooltrue_toolbox.tables.wording import AGGREGATE_COLUMN_REQUIRED, TABLE_TOO_MANY_COLUMNS, TABLE_UNREADABLE

__all__ = ["Analysis", "Chart", "Description", "Rows", "Tables", "toolset"]

T = TypeVar("T")

_SETTINGS: ToolSettings = {"effect": "read", "idempotent": True, "seconds": 300.0, "at_once": 4, "untrusted": True}

PathArgument = Annotated[str, "Below the served folder, e.g. 'data/sales.csv'"]
FilterArgument = Annotated[str, "As for query_csv"]
ReadAsArgument = Annotated[CorrectionsArgument, "As for describe_csv"]
"""Only one tool describes each of these two arguments: every definition costs tokens in each conversation."""


class Tables:
    """The tools over the folders ``roots``, which stay open until :meth:`close`.

    ``ConfigurationError`` when a root is no directory. Every refusal of a method is a ``ToolError``.
    """

    def __init__(
        self, roots: Sequence[Path], *, limits: TableLimits | None = None, rules: PathRules | None = None
    ) -> None:
        self._folders = Folders(roots, rules)
        self._limits = limits or TableLimits()

    def close(self) -> None:
        """Close the folders; every later call is refused."""
        self._folders.close()

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @tool(_SETTINGS, title="Describe a table", examples=({"path": "sales.csv"},))
    async def describe_csv(
        self,
        path: PathArgument,
        context: RequestContext,
        start_column: Annotated[int, "First column, from 1", Field(ge=1, le=100_000)] = 1,
        read_as: Annotated[
            CorrectionsArgument, "Corrects read_as of the result: encoding, delimiter, header, quotes, decimal, sheet"
        ] = NOTHING,
    ) -> Description:
        """Describe a table file (表格: CSV, JSON, Excel, Parquet, packed too): columns, types, ranges, how it was read.

        Use first, when columns are unknown. Not for rows: use query_csv. For more columns pass next_start_column. Side
        effects: none.
        """
        corrections = corrections_of(read_as)
        return await _while(context, lambda run: self._describe(run, path, corrections, start_column))

    @tool(
        _SETTINGS,
        title="Query rows of a table",
        examples=({"path": "sales.csv", "filter": "city = 'Oslo'", "order_by": "amount"},),
    )
    async def query_csv(
        self,
        path: PathArgument,
        context: RequestContext,
        columns: Annotated[Sequence[str], "In this order; else all", Field(max_length=200)] = (),
        filter: Annotated[
            str,
            "e.g. amount >= 10 and (city in ('Oslo', 'Rome') or not name contains 'x'); starts with, ends with, "
            "matches, is empty; `odd name`",
        ] = "",
        order_by: Annotated[str, "Column"] = "",
        descending: Annotated[bool, "Largest first"] = False,
        limit: Annotated[int, "Most rows", Field(ge=1, le=1000)] = 50,
        cursor: Annotated[str, "next_cursor of a result"] = "",
        read_as: ReadAsArgument = NOTHING,
    ) -> Rows:
        """Query rows of a table file (查询CSV), filtered and sorted, as text.

        Use for single rows. Not for sums: use analyze_csv. Cells are cut at 2,000 characters. For more rows pass
        next_cursor. Side effects: none.
        """
        corrections = corrections_of(read_as)
        order = RowOrder(order_by or None, descending, limit, cursor or None)
        return await _while(context, lambda run: self._query(run, path, corrections, columns, filter, order))

    @tool(
        _SETTINGS,
        title="Analyze a table",
        examples=({"path": "sales.csv", "operations": ["sum"], "columns": ["amount"], "group_by": ["city"]},),
    )
    async def analyze_csv(
        self,
        path: PathArgument,
        operations: Annotated[
            list[Operation],
            "count, distinct: of cells that are not empty; the others: of numbers",
            Field(min_length=1, max_length=13),
        ],
        context: RequestContext,
        columns: Annotated[
            Sequence[str],
            "Else all with numbers",
            Field(max_length=50),
        ] = (),
        group_by: Annotated[Sequence[str], "Columns, as by of chart_csv", Field(max_length=4)] = (),
        filter: FilterArgument = "",
        sort: Annotated[Sort, "First groups: most rows, largest value, by key"] = "rows",
        top: Annotated[int, "Most groups", Field(ge=1, le=1000)] = 50,
        start_group: Annotated[int, "First group, from 1", Field(ge=1, le=1_000_000_000)] = 1,
        read_as: ReadAsArgument = NOTHING,
    ) -> Analysis:
        """Analyze a table file (分析CSV) of any size: count, sum, average, quantiles, of all rows or by group.

        Use for figures. Not for single rows: use query_csv. Sums are exact; the result names what is approximate or no
        number. For more groups pass next_start_group. Side effects: none.
        """
        corrections = corrections_of(read_as)
        request = AnalysisRequest(tuple(dict.fromkeys(operations)), columns, group_by, filter, sort, top, start_group)
        return await _while(context, lambda run: self._analyze(run, path, corrections, request))

    @tool(_SETTINGS, title="Draw a chart of a table", examples=({"path": "sales.csv", "by": "city"},))
    async def chart_csv(
        self,
        path: PathArgument,
        by: Annotated[str, "Column; date:month is the month of column date (day, week, quarter, year)"],
        context: RequestContext,
        operation: Annotated[Operation, "The height"] = "count",
        column: Annotated[str, "Of this column; needed unless count"] = "",
        kind: Annotated[Literal["bar", "line"], "line for dates"] = "bar",
        filter: FilterArgument = "",
        sort: Annotated[Sort, "First: most rows, largest, by key"] = "key",
        top: Annotated[int, "Most points", Field(ge=1, le=1000)] = 50,
        read_as: ReadAsArgument = NOTHING,
    ) -> Chart | CallToolResult:
        """Draw a chart (图表) of a table file as a PNG: one figure for each value of a column.

        Use when the user wants a picture. Not for figures: use analyze_csv. Side effects: none.
        """
        with needs_extra("chart_csv", "charts"):
            from tooltrue_toolbox.tables.charts import draw  # noqa: PLC0415 - drawing comes with an extra
        corrections = corrections_of(read_as)
        request = AnalysisRequest((operation,) if column else (), [column], [by], filter, sort, top)
        if not column and operation != "count":
            raise ToolError.of(AGGREGATE_COLUMN_REQUIRED, operation=operation)

        def work(run: QueryRun) -> CallToolResult:
            analysis = self._analyze(run, path, corrections, request)
            title = "rows" if operation == "count" and not column else f"{operation} of {column}"
            points = [(group["by"][by] or "", _height(group, column, operation)) for group in analysis["groups"]]
            chart = Chart(
                path=analysis["path"],
                title=f"{title} by {by}",
                shown=len(points),
                group_count=analysis["group_count"],
                rows=analysis["rows"],
            )
            picture = draw(points, kind=kind, title=chart["title"], horizontal=by, vertical=title)
            text = f"{chart['title']}: {chart['shown']} of {chart['group_count']} values, {chart['rows']} rows."
            return CallToolResult([TextContent(text=text), ImageContent.of(picture, "image/png")], dict(chart))

        return await _while(context, work)

    # The work, on a thread

    def _describe(self, run: QueryRun, path: str, corrections: Corrections, start: int) -> Description:
        with self._open_table(run, path, corrections) as source:
            return source.note(self._run_query(run, source, None, partial(describe, source, start)))

    def _query(
        self, run: QueryRun, path: str, corrections: Corrections, columns: Sequence[str], filter: str, order: RowOrder
    ) -> Rows:
        node = parse(filter) if filter else None
        with self._open_table(run, path, corrections) as source:
            order.offset(source.version)  # before the file is read: a cursor of another file is refused
            asking = partial(rows_of, source, columns, node, order, self._limits)
            return source.note(self._run_query(run, source, node, asking))

    def _analyze(self, run: QueryRun, path: str, corrections: Corrections, request: AnalysisRequest) -> Analysis:
        node = parse(request.filter) if request.filter else None
        with self._open_table(run, path, corrections) as source:
            exact = source.size <= self._limits.exact_bytes and source.layout.packing is None
            return source.note(self._run_query(run, source, node, partial(analyze, source, request, node, exact)))

    @contextmanager
    def _open_table(self, run: QueryRun, path: str, corrections: Corrections) -> Generator[OpenTable]:
        target = self._file(path)
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names, target.display_path, "read") as spot,
            spot.file() as fd,
        ):
            status = handles.file_status(fd)
            version = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
            layout = detect_layout(fd, target.display_path, corrections, self._limits)
            yield OpenTable(fd, target.display_path, layout, version, status.st_size, [], run.slices)

    def _file(self, path: str) -> Target:
        target = self._folders.target(path)
        if target is None or path.endswith(("/", "/.")):
            raise is_directory(target, self._folders.labels)
        return target

    def _run_query(
        self, run: QueryRun, source: OpenTable, node: Node | None, ask: Callable[[Query, TableColumns], T]
    ) -> T:
        """The result of ``ask``, repeated with wider columns until their numbers fit."""
        table = self._table(run, source)
        if node is not None:
            for leaf in leaves(node):
                if isinstance(leaf, ColumnSearch) and leaf.how == "matches":
                    check_pattern(leaf.text)
            table = replace(table, shapes=table.widened_shapes(node))
        while True:
            try:
                return self._once(run, source, table, ask)
            except Unfit as unfit:
                name = table.names[unfit.column]
                if name in source.layout.notations.undecided and self._once(
                    run, source, table, partial(_unclear, name)
                ):
                    source.call_ambiguous(name)
                shape = self._once(run, source, table, partial(_widest, name))
                before = table.shapes[name]
                shape = before.wide(shape)
                table = replace(table, shapes={**table.shapes, name: FLOAT if shape == before else shape})
            except TooWide:
                if not any(shape.exact for shape in (*table.shapes.values(), *table.natives.values())):
                    raise ToolError.of(TABLE_UNREADABLE, path=source.display_path) from None
                table = replace(
                    table, shapes=dict.fromkeys(table.shapes, FLOAT), natives=dict.fromkeys(table.natives, FLOAT)
                )

    def _once(
        self, run: QueryRun, source: OpenTable, table: TableColumns, ask: Callable[[Query, TableColumns], T]
    ) -> T:
        """Run ``ask`` over one reading of the file; rows that were left out are noted in the result."""
        with (
            open_feed(source.fd, source.display_path, source.layout, self._limits) as feed,
            open_query(feed, source.layout, source.display_path, self._limits, run) as query,
        ):
            try:
                result = ask(query, table)
            except ToolError:
                feed.check()
                raise
            feed.check()
            rows, first = query.rejected_rows()
            if rows:
                source.skipped[:] = [Skipped(rows=rows, first=[SkippedRow(line=at, problem=why) for at, why in first])]
            return result

    def _table(self, run: QueryRun, source: OpenTable) -> TableColumns:
        if source.layout.format != "parquet":
            columns = source.layout.columns
            notations = source.layout.notations.by_column
            shapes = {c.name: shape_of(c.samples, notations.get(c.name)) for c in columns}
            return TableColumns(tuple(c.name for c in columns), {}, shapes, notations=notations)
        types = self._once(run, source, _NOTHING, _types)
        if len(types) > self._limits.columns:
            raise ToolError.of(
                TABLE_TOO_MANY_COLUMNS, path=source.display_path, columns=len(types), limit=self._limits.columns
            )
        natives = {name: shape for name, kind in types if (shape := _native(kind))}
        texts = {name: Shape(12, 2) for name, kind in types if kind == "VARCHAR"}
        others = frozenset(name for name, _ in types if name not in natives and name not in texts)
        return TableColumns(tuple(name for name, _ in types), natives, texts, others)


async def _while(context: RequestContext, work: Callable[[QueryRun], T]) -> T:
    """Run ``work`` on a thread of its own and report its progress; cancelling the call stops it."""
    run = QueryRun()
    task = asyncio.ensure_future(asyncio.to_thread(work, run))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        while not (await asyncio.wait({task}, timeout=0.1))[0]:
            percent = run.percent()
            if percent > 0:
                context.progress(percent, 100.0)
        context.slices.extend(run.slices)
        return task.result()
    except asyncio.CancelledError:
        run.stop()
        await asyncio.wait({task}, timeout=5)
        raise


# Types


def _native(kind: str) -> Shape | None:
    """The shape of the numbers of a Parquet type."""
    if kind.startswith("DECIMAL("):
        width, scale = map(int, kind[8:-1].split(","))
        return Shape(width - scale, scale)
    if kind in ("FLOAT", "DOUBLE"):
        return FLOAT
    return Shape(38 if "HUGE" in kind else 20) if kind.endswith(("INT", "INTEGER")) else None


_NOTHING = TableColumns((), {}, {})


def _types(query: Query, table: TableColumns) -> list[tuple[str, str]]:
    return query.types()


def _widest(name: str, query: Query, table: TableColumns) -> Shape:
    [(before, behind, exponent)] = query.rows(f"SELECT {table.digits(name)} FROM {table.rows}", len(table.names))
    return FLOAT if exponent else Shape(before or 1, behind or 0)


def _unclear(name: str, query: Query, table: TableColumns) -> bool:
    [(unclear,)] = query.rows(f"SELECT {is_unclear(table.cell(name))} FROM {{table}}", len(table.names))
    return bool(unclear)


def _height(group: Group, column: str, operation: Operation) -> float:
    if not column:
        return float(group["rows"])
    value = group["values"][column][operation]
    return math.nan if value is None else float(value)


def toolset(
    roots: Sequence[Path], *, limits: TableLimits | None = None, rules: PathRules | None = None
) -> LocalToolset:
    """The tables tools over ``roots``, ready to be served. ``ConfigurationError`` for a root that is no folder."""
    tables = Tables(roots, limits=limits, rules=rules)
    tools = LocalToolset()
    add_tools(tools, tables)
    return tools
