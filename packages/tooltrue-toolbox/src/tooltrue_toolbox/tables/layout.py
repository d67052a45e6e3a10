"""The layout of a table file: its format, compression, encoding, delimiter and columns, detected in its beginning.

Everything is decided from at most :data:`HEAD` bytes and stated in the result (:class:`ReadAs`), so that a wrong guess
is visible, and can be overruled by an argument. Every cell stays the text that it is in the file;
:mod:`tooltrue_toolbox.tables.notation` detects the notation of a column's numbers, and cells become numbers where one
is needed (:mod:`tooltrue_toolbox.tables.sql`).
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated, Any, BinaryIO, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from tooltrue.errors import ToolError
from tooltrue.wording import Worded
from tooltrue_toolbox.encodings import HEAD, DetectedEncoding, Encoding, How, decodes, encoding_of
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.tables.arrays import Array, Elements, array_of
from tooltrue_toolbox.tables.decompression import Packing, UnpackingBounds, packing_of, unpack
from tooltrue_toolbox.tables.notation import Cells, Decimal, Notations, NumbersRead, notations_of
from tooltrue_toolbox.tables.wording import (
    JSON_LINE_NOT_OBJECT,
    LABEL_NO_SHEETS,
    SHEET_EMPTY,
    TABLE_CELL_TOO_LONG,
    TABLE_ENCODING_MISMATCH,
    TABLE_FILE_EMPTY,
    TABLE_FORMAT_NOT_SUPPORTED,
    TABLE_KEYS_INVALID,
    TABLE_TOO_MANY_COLUMNS,
    UNKNOWN_SHEET,
    WORKBOOK_FORMAT_NOT_SUPPORTED,
)
from tooltrue_toolbox.tables.workbooks import sheet_of

__all__ = ["Corrections", "Encoding", "Layout", "ReadAs", "Renamed", "TableLimits", "detect_layout"]

SAMPLED = 2000
"""Rows of the beginning that are examined."""

Format = Literal["delimited", "json lines", "json array", "xlsx", "parquet"]
Delimiter = Literal[",", ";", "tab", "|"]
DELIMITERS: dict[Delimiter, str] = {",": ",", ";": ";", "tab": "\t", "|": "|"}

_ZIP = b"PK\x03\x04"
_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
"""Also the container of a workbook with a password."""
_ARCHIVES = (_ZIP, b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ")


@dataclass(frozen=True, slots=True)
class TableLimits:
    """Limits of one call."""

    columns: int = 2000
    row_bytes: int = 1 << 20
    """Of one row, and so of one cell."""
    memory_mib: int = 256
    """Of the engine, for one call."""
    threads: int = 2
    cell_characters: int = 2000
    """Of one cell in a result."""
    result_bytes: int = 128 << 10
    groups: int = 1000
    exact_bytes: int = 64 << 20
    """In a larger file quantiles are estimated."""
    bounds: UnpackingBounds = field(default_factory=UnpackingBounds)


class Renamed(TypedDict):
    """A column that had no name of its own."""

    position: Annotated[int, Field(description="Counted from 1", ge=1)]
    found: Annotated[str, Field(description="What stands in the header")]
    name: Annotated[str, Field(description="What it is called here")]


class ReadAs(TypedDict):
    """How the file was read. An argument corrects a member that is wrong."""

    format: Format
    compression: NotRequired[Packing]
    encoding: NotRequired[Encoding]
    encoding_from: NotRequired[Annotated[How, Field(description="How it is known; a guess may be wrong")]]
    key: NotRequired[Annotated[str, Field(description="Of the object in which the array stands")]]
    sheet: NotRequired[str]
    sheets: NotRequired[Annotated[list[str], Field(description="Those that there are; read_as.sheet chooses one")]]
    delimiter: NotRequired[Delimiter]
    header: NotRequired[Annotated[bool, Field(description="Whether the first row names the columns")]]
    renamed: NotRequired[Annotated[list[Renamed], Field(description="Columns whose names were missing or not unique")]]
    numbers: NotRequired[
        Annotated[
            list[NumbersRead], Field(description="Columns whose numbers are not like 1234.5; cells stay as they are")
        ]
    ]


@dataclass(frozen=True, slots=True)
class Corrections:
    """Properties of a file that the caller has set; ``None`` for one that is to be detected."""

    encoding: Encoding | None = None
    delimiter: Delimiter | None = None
    header: bool = True
    quotes: bool = True
    decimal: Decimal | None = None
    sheet: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a file. ``plain``: the engine can read the file itself, without conversion."""

    format: Format
    columns: tuple[Cells, ...]
    """Empty for Parquet, which names and types its columns itself."""
    read_as: ReadAs
    packing: Packing | None = None
    encoding: Encoding = "utf-8"
    delimiter: str = ","
    quotes: bool = True
    header: bool = True
    plain: bool = True
    empty_lines: int = 0
    """Before the first row."""
    array: Array | None = None
    """An array that is turned into JSON Lines on the way to the engine."""
    sheet: str | None = None
    """Of a workbook, which reaches the engine as CSV."""
    content: bytes | None = None
    """The whole sheet as CSV, if it is small."""
    notations: Notations = field(default_factory=Notations)


def detect_layout(fd: int, display_path: str, corrections: Corrections, limits: TableLimits) -> Layout:
    """Detect how to read the file ``fd``. ``ToolError`` when it holds no table that can be read."""
    layout = _layout_of(fd, display_path, corrections, limits)
    # A semicolon divides cells where a comma divides decimals.
    notations = notations_of(layout.columns, "," if layout.delimiter == ";" else ".", corrections.decimal)
    if notations.notes:
        layout.read_as["numbers"] = notations.notes
    return replace(layout, notations=notations)


def _layout_of(fd: int, display_path: str, corrections: Corrections, limits: TableLimits) -> Layout:
    start = handles.read_at(fd, HEAD, 0)
    if start.startswith(_OLD_WORKBOOK):
        raise ToolError.of(WORKBOOK_FORMAT_NOT_SUPPORTED, path=display_path)
    if start.startswith(_ZIP) and (b"[Content_Types].xml" in start or b"xl/" in start):
        return _workbook(fd, display_path, corrections, limits)
    if corrections.sheet is not None:
        raise ToolError.of(
            UNKNOWN_SHEET, path=display_path, sheet=corrections.sheet[:100], sheets=Worded(LABEL_NO_SHEETS, {})
        )
    if start.startswith(b"PAR1"):
        return Layout("parquet", (), ReadAs(format="parquet"))
    if start.startswith(_ARCHIVES):
        raise ToolError.of(TABLE_FORMAT_NOT_SUPPORTED, path=display_path)
    packing = packing_of(start)
    head = _head(fd, packing, display_path, limits.bounds) if packing else start
    read_as = ReadAs(format="delimited")
    if packing:
        read_as["compression"] = packing
    encoding = _encoding(head, display_path, corrections, read_as)
    text = _text(head, encoding, display_path)
    if not text.strip():
        raise ToolError.of(TABLE_FILE_EMPTY, path=display_path)
    whole = len(head) < HEAD
    if re.match(r"\s*(\[\s*)?\{", text):
        return _json(text, whole, display_path, Layout("json lines", (), read_as, packing, encoding), limits)
    delimiter = corrections.delimiter or _delimiter(text, corrections.quotes, display_path)
    read_as["delimiter"], read_as["header"] = delimiter, corrections.header
    columns = _columns(text, whole, display_path, corrections, DELIMITERS[delimiter], limits, read_as)
    return Layout(
        "delimited",
        columns,
        read_as,
        packing,
        encoding,
        DELIMITERS[delimiter],
        corrections.quotes,
        corrections.header,
        _plain(packing, encoding),
        len(text[: len(text) - len(text.lstrip("\r\n"))].splitlines()),
    )


def _workbook(fd: int, display_path: str, corrections: Corrections, limits: TableLimits) -> Layout:
    """The layout of a sheet; a small one is stored in it, so that it is read once."""
    head = b""
    with sheet_of(fd, corrections.sheet, display_path, limits.bounds, limits.memory_mib) as sheet:
        for part in sheet.parts():
            head += part
            if len(head) >= HEAD:
                break
    whole = len(head) < HEAD
    text = _text(head[:HEAD], "utf-8", display_path)
    read_as = ReadAs(format="xlsx", sheet=sheet.name, sheets=sheet.names, header=corrections.header)
    if not text.strip():
        raise ToolError.of(SHEET_EMPTY, path=display_path, sheet=sheet.name, sheets=", ".join(sheet.names))
    columns = _columns(text, whole, display_path, replace(corrections, quotes=True), ",", limits, read_as)
    columns = tuple(replace(column, typed=at in sheet.typed) for at, column in enumerate(columns))
    content = head if whole else None
    return Layout(
        "delimited", columns, read_as, header=corrections.header, plain=False, sheet=sheet.name, content=content
    )


def _plain(packing: Packing | None, encoding: Encoding) -> bool:
    return packing is None and encoding == "utf-8"


def _head(fd: int, packing: Packing, display_path: str, bounds: UnpackingBounds) -> bytes:
    parts: list[bytes] = []
    size = 0
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        for part in unpack(cast(BinaryIO, file), packing, display_path, bounds):
            parts.append(part)
            size += len(part)
            if size >= HEAD:
                break
    return b"".join(parts)[:HEAD]


# Encoding


def _encoding(head: bytes, display_path: str, corrections: Corrections, read_as: ReadAs) -> Encoding:
    detection = DetectedEncoding(corrections.encoding, "argument") if corrections.encoding else encoding_of(head)
    if detection is None:
        raise ToolError.of(TABLE_FORMAT_NOT_SUPPORTED, path=display_path)
    read_as["encoding"], read_as["encoding_from"] = detection.encoding, detection.how
    return detection.encoding


def _text(head: bytes, encoding: Encoding, display_path: str) -> str:
    text = decodes(head, encoding)
    if text is None:
        raise ToolError.of(TABLE_ENCODING_MISMATCH, path=display_path, encoding=encoding)
    if "\0" in text:  # such as UTF-32, whose mark begins like that of UTF-16
        raise ToolError.of(TABLE_FORMAT_NOT_SUPPORTED, path=display_path)
    return text.removeprefix("\ufeff")


# Delimited text


def _rows(text: str, delimiter: str, quotes: bool, display_path: str, most: int) -> Iterator[list[str]]:
    """At most ``most`` rows of ``text``; the csv module refuses a cell of more than 131,072 characters."""
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)):
            if number >= most:
                return
            yield row
    except csv.Error as error:
        raise ToolError.of(TABLE_CELL_TOO_LONG, path=display_path) from error


def _delimiter(text: str, quotes: bool, display_path: str) -> Delimiter:
    """The delimiter that divides most of the first rows into the same number of cells; a comma if there is no such
    one."""
    best: Delimiter = ","
    most = (0.0, 0)
    for name, delimiter in DELIMITERS.items():
        try:
            widths = [len(row) for row in _rows(text[: HEAD // 16], delimiter, quotes, display_path, 50) if row]
        except ToolError:
            continue
        usual = max(set(widths), key=widths.count) if widths else 1
        alike = (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)
        if alike > most:
            best, most = name, alike
    return best


def _columns(
    text: str,
    whole: bool,
    display_path: str,
    corrections: Corrections,
    delimiter: str,
    limits: TableLimits,
    read_as: ReadAs,
) -> tuple[Cells, ...]:
    rows = [row for row in _rows(text, delimiter, corrections.quotes, display_path, SAMPLED) if row]
    if not whole and len(rows) > 1:
        rows.pop()  # it may be cut off
    first = rows[0]
    if len(first) > limits.columns or (not whole and len(rows) == 1):
        raise ToolError.of(TABLE_TOO_MANY_COLUMNS, path=display_path, columns=len(first), limit=limits.columns)
    names, renamed = _column_names(first if corrections.header else [""] * len(first))
    if renamed and corrections.header:
        read_as["renamed"] = renamed
    cells = rows[1:] if corrections.header else rows
    return tuple(
        Cells(name, tuple(row[at] for row in cells if at < len(row) and row[at])) for at, name in enumerate(names)
    )


def _column_names(header: Sequence[str]) -> tuple[list[str], list[Renamed]]:
    """A name for each column, unique even without regard to case; and the list of changed names."""
    names: list[str] = []
    renamed: list[Renamed] = []
    # A header cell that can stay unchanged has the first claim to its name.
    names_in_use: set[str] = set()
    header_names = {cell.strip() for cell in header}
    for position, cell in enumerate(header, 1):
        plain = "".join(c for c in cell.strip() if c.isprintable())[:200]
        base = plain or f"column_{position}"
        name, number = base, 2
        while name.casefold() in names_in_use or (name != cell.strip() and name in header_names):
            name, number = f"{base}_{number}", number + 1
        names_in_use.add(name.casefold())
        names.append(name)
        if name != cell.strip():
            renamed.append(Renamed(position=position, found=cell[:200], name=name))
    return names, renamed


# JSON


def _json(text: str, whole: bool, display_path: str, layout: Layout, limits: TableLimits) -> Layout:
    array = array_of(text, whole, display_path)
    if array is None:
        lines = text.split("\n")
        columns = _keys(lines if whole else lines[:-1], display_path, limits)
        layout.read_as["format"] = "json lines"
        return replace(layout, columns=columns, plain=_plain(layout.packing, layout.encoding))
    layout.read_as["format"] = "json array"
    if array.key is not None:
        layout.read_as["key"] = array.key
    columns = _keys(list(islice(Elements(array, display_path, HEAD).feed(text), SAMPLED)), display_path, limits)
    return replace(layout, columns=columns, array=array, plain=False)


def _keys(lines: Sequence[str], display_path: str, limits: TableLimits) -> tuple[Cells, ...]:
    samples: dict[str, list[str]] = {}
    typed: set[str] = set()
    for number, line in enumerate(lines[:SAMPLED], 1):
        if not line.strip():
            continue
        for key, value in _object(line, number, display_path).items():
            cells = samples.setdefault(key, [])
            if value is not None:
                cells.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            if isinstance(value, _Literal):
                typed.add(key)
    if not samples or len(samples) > limits.columns:
        raise ToolError.of(TABLE_TOO_MANY_COLUMNS, path=display_path, columns=len(samples), limit=limits.columns)
    if "" in samples or len({key.lower() for key in samples}) < len(samples):
        raise ToolError.of(TABLE_KEYS_INVALID, path=display_path)
    return tuple(Cells(name, tuple(cells), name in typed) for name, cells in samples.items())


class _Literal(str):
    """A number of JSON, digit by digit."""

    __slots__ = ()


def _object(line: str, number: int, display_path: str) -> dict[str, Any]:
    try:
        value: object = json.loads(line, parse_int=_Literal, parse_float=_Literal)
    except (ValueError, RecursionError) as error:
        raise ToolError.of(JSON_LINE_NOT_OBJECT, path=display_path, line=number) from error
    if not isinstance(value, dict):
        raise ToolError.of(JSON_LINE_NOT_OBJECT, path=display_path, line=number)
    return cast("dict[str, Any]", value)
