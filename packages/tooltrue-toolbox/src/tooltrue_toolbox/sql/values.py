"""The results of the sql tools, their limits, and the conversion of engine values to JSON.

The conversion is exact: a value that JSON, or a client that reads it, would change becomes text instead.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

__all__ = [
    "Cell",
    "ChangeResult",
    "Column",
    "QueryResult",
    "SqlLimits",
    "TableDescription",
    "TableEntry",
    "TableList",
    "cell_of",
    "size_of",
]

_SAFE = 1 << 53
"""Integers from here on are changed by a client that reads numbers as JavaScript does."""


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Limits of one call. ``value_bytes``: of one value within SQLite; ``memory_bytes``: of all that DuckDB holds."""

    seconds: float = 10.0
    lock_seconds: float = 2.0
    connect_seconds: float = 5.0
    rows: int = 1000
    result_bytes: int = 256 << 10
    cell_bytes: int = 16 << 10
    far: int = 100_000
    """Rows that may be skipped to get to a page."""
    tables: int = 500
    value_bytes: int = 16 << 20
    memory_bytes: int = 512 << 20


class CutText(TypedDict):
    """Text that is too long for a cell: its beginning. Ask for the rest with substr(column, start, length)."""

    text: str
    characters: Annotated[int, Field(description="In the whole text", ge=0)]


class Bytes(TypedDict):
    """Bytes, or text that is not valid; a part of them where size says more."""

    base64: str
    size: Annotated[int, Field(description="Bytes in all", ge=0)]


Cell = str | int | float | bool | None | CutText | Bytes


class Column(TypedDict):
    name: str
    type: NotRequired[Annotated[str, Field(description="As the database calls it")]]


class QueryResult(TypedDict):
    """Rows in the order of the database. Whole numbers beyond 2^53, decimals, dates and NaN come as text, unchanged."""

    columns: list[Column]
    rows: list[list[Cell]]
    note: NotRequired[Annotated[str, Field(description="What to know about these rows")]]
    next_cursor: NotRequired[
        Annotated[str, Field(description="There are more rows: ask again with this as cursor, all else alike")]
    ]


class ChangeResult(TypedDict):
    """What was changed. Either all of it, or nothing."""

    verb: str
    tables: Annotated[list[str], Field(description="Tables written to, by name; triggers of them not counted")]
    affected: Annotated[int | None, Field(description="Rows that were changed; null where the database does not say")]
    committed: Annotated[bool, Field(description="False after a dry run: everything is as it was")]
    columns: NotRequired[list[Column]]
    rows: NotRequired[Annotated[list[list[Cell]], Field(description="What RETURNING gave, its first rows")]]


class TableEntry(TypedDict):
    name: Annotated[str, Field(description="As statements and describe_table take it")]
    kind: Literal["table", "view"]
    rows: NotRequired[Annotated[int, Field(description="About how many, where the database knows without counting")]]


class TableList(TypedDict):
    dialect: Annotated[str, Field(description="The language of statements: sqlite, duckdb, postgres or mysql")]
    tables: list[TableEntry]
    next_cursor: NotRequired[Annotated[str, Field(description="There are more: list again with this as cursor")]]


class TableColumn(TypedDict):
    name: str
    type: Annotated[str, Field(description="As the database calls it")]
    nullable: bool
    default: NotRequired[Annotated[str, Field(description="An expression")]]
    comment: NotRequired[str]


class ForeignKey(TypedDict):
    columns: list[str]
    table: Annotated[str, Field(description="The table that they point to")]
    references: list[str]


class Index(TypedDict):
    name: str
    unique: bool
    columns: list[str]


class TableDescription(TypedDict):
    table: str
    kind: Literal["table", "view"]
    columns: list[TableColumn]
    primary_key: list[str]
    foreign_keys: list[ForeignKey]
    indexes: list[Index]


def cell_of(value: Any, limit: int) -> Cell:
    """``value`` for a result: unchanged where JSON can represent it exactly, otherwise as text, or bytes."""
    match value:
        case None | bool():
            return value
        case int():
            return value if -_SAFE < value < _SAFE else str(value)
        case float():
            return value if math.isfinite(value) else _unusual(value)
        case str():
            return _text(value, limit)
        case bytes():
            return Bytes(base64=base64.b64encode(value[: limit // 4 * 3]).decode("ascii"), size=len(value))
        case bytearray():
            return cell_of(bytes(value), limit)
        case list() | tuple() | dict():
            return _text(json.dumps(value, ensure_ascii=False, default=str), limit)
        case _:
            return _text(str(value), limit)


def _unusual(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _text(value: str, limit: int) -> Cell:
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return cell_of(value.encode("utf-8", "surrogatepass"), limit)
    return value if size <= limit else CutText(text=value[: limit // 4], characters=len(value))


def size_of(row: Sequence[Cell]) -> int:
    """The approximate size of a row in a result, in bytes."""
    return sum(_size(cell) for cell in row) + 2


def _size(cell: Cell) -> int:
    match cell:
        case str():
            return len(cell.encode()) + 4
        case {"text": text}:
            return len(str(text).encode()) + 40
        case {"base64": data}:
            return len(str(data)) + 40
        case _:
            return 20
