"""Owner of ``duckdb``: one query over one open file, in an engine that can reach no other resource.

Each query has a database of its own, in memory. It opens the one path that it was given; no other file, no network, no
extension, no other database, and its settings are locked. Its memory is bounded, and it does not spill to disk: a query
that needs more fails.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from tooltrue.errors import ToolError
from tooltrue.tools.vocabulary import Slice
from tooltrue_toolbox.tables.feed import Feed
from tooltrue_toolbox.tables.layout import Layout, TableLimits
from tooltrue_toolbox.tables.wording import (
    FILTER_PATTERN_INVALID,
    JSON_LINE_NOT_OBJECT,
    TABLE_LINE_NOT_UTF8,
    TABLE_MEMORY_LIMIT_EXCEEDED,
    TABLE_QUOTE_MISPLACED,
    TABLE_ROW_TOO_LONG,
    TABLE_UNREADABLE,
)

__all__ = ["Query", "QueryRun", "Stopped", "TooWide", "Unfit", "check_pattern", "open_query"]


class Unfit(Exception):
    """A number does not fit the type with which its column was read; ``column`` is the column's number."""

    def __init__(self, column: int) -> None:
        super().__init__(column)
        self.column = column


class TooWide(Exception):
    """A result of exact arithmetic has more digits than a decimal holds."""


class Stopped(Exception):
    """The call was cancelled."""


class QueryRun:
    """A call in progress; :meth:`stop` cancels it, from any thread, in whichever query it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._feed: Feed | None = None
        self._stopped = False
        self.slices: list[Slice] = []
        """The cells of which only the beginning is shown."""

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._connection is not None:
                self._connection.interrupt()

    def percent(self) -> float:
        """The progress of the query in percent; below 0 where it is unknown."""
        with self._lock:
            if self._connection is None or self._feed is None:
                return -1.0
            piped = self._feed.bytes_read
            return 100 * piped / max(self._feed.size, 1) if piped else self._connection.query_progress()

    def check(self) -> None:
        if self._stopped:
            raise Stopped

    @contextmanager
    def using(self, connection: duckdb.DuckDBPyConnection, feed: Feed) -> Generator[None]:
        with self._lock:
            self.check()
            self._connection, self._feed = connection, feed
        try:
            yield
        finally:
            with self._lock:
                self._connection = None


class Query:
    """An engine over one file."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        feed: Feed,
        layout: Layout,
        display_path: str,
        limits: TableLimits,
        run: QueryRun,
    ) -> None:
        self._connection = connection
        self._feed = feed
        self._layout = layout
        self._display_path = display_path
        self._limits = limits
        self._run = run

    def types(self) -> list[tuple[str, str]]:
        """The columns of a Parquet file, and their types."""
        with self._engine_errors():
            rows = self._connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [self._feed.path]).fetchall()
        return [(row[0], row[1]) for row in rows]

    def rows(self, sql: str, columns: int, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of ``sql``, in which ``{table}`` stands for the file; its columns are c0, c1, …"""
        names = ", ".join(f"c{n}" for n in range(columns))
        text = sql.replace("{table}", f"(SELECT * FROM {self._source(columns)} AS t({names}))")
        with self._run.using(self._connection, self._feed), self._engine_errors():
            return self._connection.execute(text, list(values)).fetchall()

    def _source(self, columns: int) -> str:
        layout = self._layout
        path = _quoted(self._feed.path)
        if layout.format == "parquet":
            return f"read_parquet({path})"
        if layout.format == "json lines":
            kinds = ", ".join(f"{_quoted(column.name)}: 'VARCHAR'" for column in layout.columns)
            return (
                f"read_json({path}, format='newline_delimited', auto_detect=false, columns={{{kinds}}}, "
                f"maximum_object_size={self._limits.row_bytes}, compression='uncompressed')"
            )
        kinds = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(columns))
        quote = "'\"'" if layout.quotes else "''"
        return (
            f"read_csv({path}, auto_detect=false, header={str(layout.header).lower()}, "
            f"delim={_quoted(layout.delimiter)}, "
            f"quote={quote}, escape={quote}, columns={{{kinds}}}, strict_mode=true, compression='none', "
            f"skip={layout.empty_lines}, max_line_size={self._limits.row_bytes}, "
            f"buffer_size={max(8 * self._limits.row_bytes, 8 << 20)}, "
            "store_rejects=true, rejects_limit=0)"
        )

    def rejected_rows(self) -> tuple[int, list[tuple[int, str]]]:
        """The number of rows that were left out for having too many or too few cells, and the first of them.
        ``ToolError`` for an error that makes everything after it uncertain."""
        if self._layout.format != "delimited":
            return 0, []
        with self._run.using(self._connection, self._feed), self._engine_errors():
            try:  # one for each error: a row may have many
                fatal = self._connection.execute(
                    "SELECT line, error_type FROM reject_errors WHERE list_contains(?, error_type::VARCHAR) "
                    "ORDER BY line LIMIT 1",
                    [list(_FATAL)],
                ).fetchone()
            except duckdb.CatalogException:
                return 0, []  # the table exists only after a row was rejected
            if fatal is not None:
                line, kind = fatal
                raise ToolError.of(_FATAL[kind], path=self._display_path, line=line, limit=self._limits.row_bytes)
            counted = self._connection.execute("SELECT count(DISTINCT line) FROM reject_errors").fetchone() or (0,)
            first = self._connection.execute(
                "SELECT line, lower(min(error_type)) FROM reject_errors GROUP BY line ORDER BY line LIMIT 5"
            ).fetchall()
        return counted[0], first

    @contextmanager
    def _engine_errors(self) -> Generator[None]:
        try:
            yield
        except duckdb.InterruptException as error:
            raise Stopped from error
        except duckdb.OutOfMemoryException as error:
            raise ToolError.of(TABLE_MEMORY_LIMIT_EXCEEDED, limit=self._limits.memory_mib) from error
        except duckdb.OutOfRangeException as error:
            raise TooWide from error
        except duckdb.Error as error:
            raise self._problem(str(error)) from error

    def _problem(self, message: str) -> Exception:
        if unfit := re.search(r"\bunfit c(\d+) ", message):
            return Unfit(int(unfit[1]))
        if "Overflow" in message or "out of range" in message or "Casting value" in message:
            return TooWide(message)
        line = re.search(r"[Ll]ine (\d+)|record/value (\d+)", message)
        if line is not None and self._layout.format == "json lines":
            return ToolError.of(JSON_LINE_NOT_OBJECT, path=self._display_path, line=int(line[1] or line[2]))
        return ToolError.of(TABLE_UNREADABLE, path=self._display_path)


_FATAL = {
    "UNQUOTED VALUE": TABLE_QUOTE_MISPLACED,
    "LINE SIZE OVER MAXIMUM": TABLE_ROW_TOO_LONG,
    "INVALID ENCODING": TABLE_LINE_NOT_UTF8,
    "CAST": TABLE_UNREADABLE,
    "INVALID STATE": TABLE_QUOTE_MISPLACED,
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def check_pattern(pattern: str) -> None:
    """``ToolError`` for a pattern that RE2, which takes linear time, does not support."""
    with duckdb.connect(":memory:") as connection:
        try:
            connection.execute("SELECT regexp_matches('', CAST(? AS VARCHAR))", [pattern]).fetchall()
        except duckdb.Error as error:
            raise ToolError.of(FILTER_PATTERN_INVALID) from error


@contextmanager
def open_query(feed: Feed, layout: Layout, display_path: str, limits: TableLimits, run: QueryRun) -> Generator[Query]:
    """An engine that can open the path of ``feed`` alone."""
    connection = duckdb.connect(
        ":memory:", config={"threads": str(limits.threads), "memory_limit": f"{limits.memory_mib}MiB"}
    )
    try:
        for setting in (
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "allow_community_extensions = false",
            "temp_directory = ''",
            "enable_external_file_cache = false",
            "enable_progress_bar = true",
            "enable_progress_bar_print = false",
            f"allowed_paths = [{_quoted(feed.path)}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        yield Query(connection, feed, layout, display_path, limits, run)
    finally:
        connection.close()
