"""Data frames of pandas, polars and pyarrow as tables: columns and rows for programs, CSV for the model.

A table shows its first rows, within a budget; the whole is stored for the caller as CSV. Cells are text, numbers,
booleans or null: a missing value (NaN, NaT, NA) is null, dates are in ISO 8601, and any other value is its text.
"""

from __future__ import annotations

import base64
import csv
import enum
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, cast

from tooltrue.errors import InvalidResult
from tooltrue.protocol.types import CallToolResult, TextContent
from tooltrue.tools.content import encoded_value
from tooltrue.tools.foreign_types import kind_of
from tooltrue.tools.wording import TABLE_CELL_INFINITE, TABLE_OF_NO_FRAME, TABLE_TRUNCATED, TABLE_TRUNCATED_TWICE
from tooltrue.wording import sentence

if TYPE_CHECKING:
    from tooltrue.tools.vocabulary import RequestContext

__all__ = ["Table", "cells_of", "table_result"]

MAX_ROWS: Final = 200
MAX_BYTES: Final = 32_768
STORED_BYTES: Final = 16_777_216
"""The most bytes of CSV that are stored for the caller."""


class Table:
    """A data frame with a budget of its own: at most ``max_rows`` rows, and about ``max_bytes`` bytes of CSV.

    ``name`` is that of the CSV file which the whole is stored as, if it is larger.
    """

    def __init__(
        self, frame: Any, *, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES, name: str = "table.csv"
    ) -> None:
        if kind_of(frame) != "frame":
            raise InvalidResult.of(TABLE_OF_NO_FRAME, type=f"{type(frame).__module__}.{type(frame).__qualname__}")
        self._frame = frame
        self.max_rows = max_rows
        self.max_bytes = max_bytes
        self.name = name

    def read(self) -> Frame:
        frame = self._frame
        return Frame(frame.collect() if type(frame).__name__ == "LazyFrame" else frame)


class Frame:
    """The columns and rows of a data frame. The index of pandas counts as columns if it has names."""

    def __init__(self, frame: Any) -> None:
        if kind_of(frame) == "frame" and hasattr(frame, "iloc"):
            index: list[Any] = list(frame.index.names)
            frame = frame.reset_index() if any(name is not None for name in index) else frame
        self._frame = frame
        self.columns: list[str] = [_column_name(name) for name in _names(frame)]
        self.count: int = frame.num_rows if hasattr(frame, "num_rows") else len(frame)

    def rows(self, most: int) -> Iterator[list[Any]]:
        """Yield up to ``most`` rows of cells."""
        for start in range(0, min(self.count, most), _BATCH):
            stop = min(start + _BATCH, self.count, most)
            for number, row in enumerate(zip(*_columns(self._frame, start, stop), strict=True), start):
                yield [_cell(value, self.columns[at], number) for at, value in enumerate(row)]


_BATCH = 1000


def _names(frame: Any) -> Iterable[Any]:
    return frame.column_names if hasattr(frame, "column_names") else frame.columns


def _column_name(name: Any) -> str:
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _columns(frame: Any, start: int, stop: int) -> list[Sequence[Any]]:
    """Return the values of each column, from one row up to another."""
    if hasattr(frame, "iloc"):  # pandas
        part = frame.iloc[start:stop]
        return [part.iloc[:, at].tolist() for at in range(part.shape[1])]
    part = frame.slice(start, stop - start)
    if hasattr(part, "column_names"):  # pyarrow
        return [column.to_pylist() for column in part.columns]
    return [column.to_list() for column in part.get_columns()]


def _cell(value: Any, column: str, row: int) -> Any:
    kind = cast("type[object]", type(value))
    if value is None or kind in (str, bool, int):
        return value
    if kind is float:
        if math.isinf(value):
            raise InvalidResult.of(TABLE_CELL_INFINITE, column=column, row=row)
        return value if value == value else None
    return _other_cell(value, column, row)


def _other_cell(value: Any, column: str, row: int) -> Any:
    if kind_of(value) == "scalar":
        value = value.item()
        return _cell(value, column, row) if type(value) in (str, bool, int, float) else _text(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, enum.Enum):
        return _cell(value.value, column, row)
    return _text(value)


def _text(value: Any) -> str:
    """Return the text of a cell: dates in ISO 8601, bytes in base64, lists and objects as JSON."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if kind_of(value) in ("array", "column"):
        return _json(value.tolist() if hasattr(value, "tolist") else value.to_list())
    return _json(value) if isinstance(value, timedelta | list | tuple | dict) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def _json(value: Any) -> str:
    from tooltrue.tools.binding.return_values import json_text  # noqa: PLC0415 - few tables have such cells

    return json_text(value).strip('"')


def cells_of(column: Any) -> list[Any]:
    """Return the values of one column, as cells of a table."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [_cell(value, str(getattr(column, "name", None) or ""), number) for number, value in enumerate(values)]


def table_result(value: Any, context: RequestContext) -> CallToolResult:
    """Return the result of a data frame or ``Table``: the first rows, and a link to the whole if there are more."""
    table, frame, shown, texts = _shown(value)
    structured = {
        "columns": frame.columns,
        "rows": shown,
        "total_rows": frame.count,
        "truncated": len(shown) < frame.count,
    }
    content: list[Any] = [TextContent(text=texts)]
    if len(shown) < frame.count:
        content += _continued(table, frame, len(shown), context)
    return CallToolResult(content, structured, encoded=encoded_value(structured))


def _shown(value: Any) -> tuple[Table, Frame, list[list[Any]], str]:
    table = value if isinstance(value, Table) else Table(value)
    frame = table.read()
    lines = _CsvLines(frame.columns)
    shown: list[list[Any]] = []
    for row in frame.rows(table.max_rows):
        if not lines.add(row, table.max_bytes):
            break
        shown.append(row)
    return table, frame, shown, lines.text


def _continued(table: Table, frame: Frame, shown: int, context: RequestContext) -> list[Any]:
    lines = _CsvLines(frame.columns)
    stored = sum(1 for _ in takewhile(lambda row: lines.add(row, STORED_BYTES), frame.rows(frame.count)))
    link = context.keep(lines.text, table.name, mime_type="text/csv")
    code = TABLE_TRUNCATED if stored == frame.count else TABLE_TRUNCATED_TWICE
    facts = {"shown": shown, "total": frame.count, "stored": stored, "size": link.size, "uri": link.uri}
    return [TextContent(text=sentence(code, context.language, facts)), link]


class _CsvLines:
    """CSV that is written line by line, up to a number of bytes."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._file = io.StringIO()
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(columns)
        self._size = len(self._file.getvalue().encode(errors="replace"))
        self._is_full = False

    def add(self, row: Sequence[Any], most: int) -> bool:
        """Add a row; ``False``, for this row and all that follow, if it is more than ``most`` bytes in all."""
        before = self._file.tell()
        self._writer.writerow([_BOOLEANS.get(cell, cell) if type(cell) is bool else cell for cell in row])
        self._file.seek(before)
        self._size += len(self._file.read().encode(errors="replace"))
        if self._is_full or self._size > most:
            self._is_full = True
            self._file.truncate(before)
            self._file.seek(before)
        return not self._is_full

    @property
    def text(self) -> str:
        return self._file.getvalue()


_BOOLEANS = {True: "true", False: "false"}
