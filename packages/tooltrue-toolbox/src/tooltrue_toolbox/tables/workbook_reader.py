"""Owner of ``openpyxl``: the process that reads one sheet of one workbook, and nothing else.

The workbook is standard input, a file. Standard output starts with a line of JSON, with the properties of the sheet or
the reason why it cannot be read, followed by the rows as CSV; where reading ends before the sheet does, the exit status
shows it. A workbook is an untrusted archive of XML: the system limits memory and time, sizes are checked before the
archive is unpacked, and ``defusedxml`` refuses entities.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, time
from itertools import islice
from typing import Any

import openpyxl

from tooltrue._internal.platform.child_limits import limit_cpu, limit_memory
from tooltrue_toolbox.tables.wording import (
    TABLE_DECOMPRESSION_BOMB,
    TABLE_FORMAT_EXTRA_MISSING,
    TABLE_FORMAT_NOT_SUPPORTED,
    UNKNOWN_SHEET,
    WORKBOOK_UNREADABLE,
)

__all__ = ["answer"]

_CPU_SECONDS = 240
_ENTRIES = 10_000
_ROWS = 1 << 20
"""The limit of Excel."""
_BEGINNING = 2000
"""Rows that are examined for the width of the table, and for the columns with numbers."""
_SHEETS = 50

Values = Sequence[Any]


class _Refusal(Exception):
    """The answer in place of rows: the ``code`` of a sentence, and its facts."""

    def __init__(self, code: str, **facts: Any) -> None:
        super().__init__(code)
        self.reply = {"code": code, "facts": facts}


def answer() -> None:
    """Read standard input and write standard output. The arguments are the name of a sheet, and the bounds of an
    archive."""
    job = json.loads(sys.argv[1])
    limit_memory(job["memory"])
    limit_cpu(_CPU_SECONDS)
    warnings.simplefilter("ignore")  # of parts of a workbook that are not read
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", errors="replace", newline="", write_through=False)
    try:
        _check_size(job)
        head, rows = _sheet(job["sheet"])
    except _Refusal as refused:
        head, rows = refused.reply, iter(())
    except Exception as error:  # noqa: BLE001 - a stranger's archive: whatever is wrong with it, it cannot be read
        head, rows = {"code": WORKBOOK_UNREADABLE, "facts": {"problem": type(error).__name__}}, iter(())
    out.write(json.dumps(head) + "\n")
    csv.writer(out, lineterminator="\n").writerows(rows)
    out.flush()


def _check_size(job: dict[str, Any]) -> None:
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        entries = archive.infolist()
        size, packed = sum(each.file_size for each in entries), max(sum(each.compress_size for each in entries), 1)
    if len(entries) > _ENTRIES or size > job["size"] or size > job["free"] + job["ratio"] * packed:
        raise _Refusal(TABLE_DECOMPRESSION_BOMB, size=size, packed=packed)


def _sheet(sheet_name: str | None) -> tuple[dict[str, Any], Iterator[list[str]]]:
    """The properties and rows of the sheet ``sheet_name``, by default of the first one that is not hidden."""
    if not openpyxl.DEFUSEDXML:
        raise _Refusal(TABLE_FORMAT_EXTRA_MISSING, what="xlsx", extra="xlsx")
    try:
        book = openpyxl.load_workbook(sys.stdin.buffer, read_only=True, data_only=True, keep_links=False)
    except (OSError, KeyError) as error:  # an archive of another kind
        raise _Refusal(TABLE_FORMAT_NOT_SUPPORTED) from error
    sheets = list(book.worksheets)
    names = [sheet.title for sheet in sheets]
    candidates = [
        sheet for sheet in sheets if (sheet.title == sheet_name if sheet_name else sheet.sheet_state == "visible")
    ]
    if not candidates:
        raise _Refusal(UNKNOWN_SHEET, sheet=str(sheet_name)[:100], sheets=", ".join(names[:_SHEETS]))
    candidates[0].reset_dimensions()  # the size that a file states may be wrong
    rows = _filled_rows(candidates[0].iter_rows(values_only=True))
    beginning = list(islice(rows, _BEGINNING))
    width = max(map(len, beginning), default=0)
    body = beginning[1:]
    typed = [at for at in range(width) if any(_is_number(row[at]) for row in body if at < len(row))]
    head = {"sheet": candidates[0].title, "sheets": names[:_SHEETS], "typed": typed}
    return head, (_text(row, width) for part in (beginning, rows) for row in part)


def _filled_rows(rows: Iterable[Values]) -> Iterator[Values]:
    """The rows that are not empty, up to their last cell."""
    for number, row in enumerate(rows, 1):
        if number > _ROWS:
            raise ValueError("more rows than a sheet has")
        width = max((at for at, value in enumerate(row, 1) if value is not None), default=0)
        if width:
            yield row[:width]


def _text(row: Values, width: int) -> list[str]:
    return [*map(_cell, row), *[""] * (width - len(row))]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: object) -> str:
    """The text of a cell: numbers as computers write them, dates and times in ISO 8601."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(timespec="auto")
        case time():
            return value.isoformat()
        case _:
            return str(value)


if __name__ == "__main__":
    answer()
