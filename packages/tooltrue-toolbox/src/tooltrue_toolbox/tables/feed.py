"""A file as the engine reads it: under a name that leads to one open descriptor and nowhere else.

A plain UTF-8 file is read by the engine itself, in parallel. Any other file goes through a pipe: a thread of ours
unpacks, decodes and writes UTF-8 with line feeds into it, no further than it is read; on Windows it is written to a
file first. Two errors that the engine does
not notice, an unclosed quote and a carriage return between line feeds, are searched for here, in one quick pass.
"""

from __future__ import annotations

import codecs
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from tooltrue.errors import ToolError
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.platform.engine_files import CAN_STREAM, name_of, new_pipe, written_file
from tooltrue_toolbox.tables.arrays import lines_of
from tooltrue_toolbox.tables.decompression import unpack
from tooltrue_toolbox.tables.layout import Layout, TableLimits
from tooltrue_toolbox.tables.wording import (
    JSON_LINE_TOO_LONG,
    TABLE_ENCODING_MISMATCH,
    TABLE_FORMAT_NOT_SUPPORTED,
    TABLE_QUOTE_COUNT_ODD,
)
from tooltrue_toolbox.tables.workbooks import Sheet, sheet_of

__all__ = ["Feed", "open_feed"]

CHUNK = 1 << 20


@dataclass(slots=True)
class Feed:
    """``path`` is the path for the engine to open. Call ``check`` after reading: it raises the first error of the
    writing thread."""

    path: str
    size: int
    bytes_read: int = 0
    errors: list[Exception] = field(default_factory=list[Exception])

    def check(self) -> None:
        if self.errors:
            raise self.errors[0]


@contextmanager
def open_feed(fd: int, display_path: str, layout: Layout, limits: TableLimits) -> Generator[Feed]:
    """The file ``fd`` for one reading from its beginning to its end."""
    if layout.format == "parquet" or (layout.plain and not _needs_work(fd, display_path, layout, limits)):
        with name_of(fd) as name:
            yield Feed(name, handles.file_status(fd).st_size)
        return
    if layout.sheet is not None and layout.content is None:
        with (
            sheet_of(fd, layout.sheet, display_path, limits.bounds, limits.memory_mib) as sheet,
            _pipe_feed(fd, display_path, layout, limits, sheet) as feed,
        ):
            yield feed
        return
    with _pipe_feed(fd, display_path, layout, limits, None) as feed:
        yield feed


@contextmanager
def _pipe_feed(fd: int, display_path: str, layout: Layout, limits: TableLimits, sheet: Sheet | None) -> Generator[Feed]:
    if not CAN_STREAM:
        with _file_feed(fd, display_path, layout, limits, sheet) as feed:
            yield feed
        return
    read, write = new_pipe(CHUNK)
    with name_of(read) as name:
        feed = Feed(name, handles.file_status(fd).st_size)
    thread = threading.Thread(target=_write, args=(feed, fd, write, display_path, layout, limits, sheet), daemon=True)
    try:
        thread.start()
    except Exception:  # the system has no thread left
        os.close(read)
        os.close(write)
        raise
    try:
        yield feed
    finally:
        os.close(read)  # this ends the thread, if it still writes
        if sheet is not None:
            sheet.stop()
        thread.join()


@contextmanager
def _file_feed(fd: int, display_path: str, layout: Layout, limits: TableLimits, sheet: Sheet | None) -> Generator[Feed]:
    """The whole text in a file, written before it is read."""
    feed = Feed("", handles.file_status(fd).st_size)

    def write(file: int) -> None:
        _write(feed, fd, file, display_path, layout, limits, sheet)

    try:
        with written_file(write) as name:
            feed.path = name
            yield feed
    finally:
        if sheet is not None:
            sheet.stop()


@dataclass(slots=True)
class _Lengths:
    """Limits the objects of JSON Lines to ``limit`` bytes, part by part: the engine's own bound is far above a small
    limit. Rows of CSV and of arrays are limited elsewhere."""

    limit: int
    display_path: str
    lines: int = 0
    open: int = 0
    """Bytes since the last line end."""

    def check(self, part: bytes) -> None:
        at = 0
        while len(part) - at + self.open > self.limit:
            end = part.rfind(b"\n", at, at + self.limit - self.open + 1)
            if end < 0:
                line = self.lines + part.count(b"\n", 0, at) + 1
                raise ToolError.of(JSON_LINE_TOO_LONG, path=self.display_path, line=line, limit=self.limit)
            at, self.open = end + 1, 0
        self.lines += part.count(b"\n")
        last = part.rfind(b"\n", at)
        self.open = self.open + len(part) - at if last < 0 else len(part) - last - 1


def _lengths(display_path: str, layout: Layout, limits: TableLimits) -> _Lengths | None:
    is_open = layout.format == "json lines" and layout.array is None
    return _Lengths(limits.row_bytes, display_path) if is_open else None


def _needs_work(fd: int, display_path: str, layout: Layout, limits: TableLimits) -> bool:
    """Whether a plain file has carriage returns. ``ToolError`` when a quote is left open, an object is too long, or the
    file is not text."""
    lengths = _lengths(display_path, layout, limits)
    returns = False
    quotes = 0
    offset = 0
    while part := handles.read_at(fd, CHUNK, offset):
        offset += len(part)
        if b"\0" in part:
            raise ToolError.of(TABLE_FORMAT_NOT_SUPPORTED, path=display_path)
        if lengths is not None:
            lengths.check(part)
        returns = returns or b"\r" in part
        quotes += part.count(b'"')
    _check_quotes(quotes, layout, display_path)
    return returns


def _check_quotes(quotes: int, layout: Layout, display_path: str) -> None:
    if quotes % 2 and layout.quotes and layout.format == "delimited":
        raise ToolError.of(TABLE_QUOTE_COUNT_ODD, path=display_path)


def _write(
    feed: Feed, fd: int, write: int, display_path: str, layout: Layout, limits: TableLimits, sheet: Sheet | None
) -> None:
    lengths = _lengths(display_path, layout, limits)
    quotes = 0
    with os.fdopen(write, "wb", buffering=0) as pipe:
        try:
            with os.fdopen(fd, "rb", buffering=0, closefd=False) as file:
                for part in _text(cast(BinaryIO, file), feed, display_path, layout, limits, sheet):
                    if lengths is not None:
                        lengths.check(part)
                    quotes += part.count(b'"')
                    rest = memoryview(part)
                    while rest:
                        rest = rest[pipe.write(rest) :]
            _check_quotes(quotes, layout, display_path)
        except BrokenPipeError:
            pass  # the reader has stopped: enough rows were found, or the call has ended
        except Exception as error:  # noqa: BLE001 - whatever it is: to the engine, the file ends here
            feed.errors.append(error)


def _text(
    file: BinaryIO, feed: Feed, display_path: str, layout: Layout, limits: TableLimits, sheet: Sheet | None
) -> Iterator[bytes]:
    if layout.content is not None:
        return _lines(iter((layout.content,)))
    if sheet is not None:
        return _lines(sheet.parts())
    parts = _as_utf8(_raw(file, feed, display_path, layout, limits), display_path, layout)
    return lines_of(parts, layout.array, display_path, limits.row_bytes) if layout.array else _lines(parts)


def _raw(file: BinaryIO, feed: Feed, display_path: str, layout: Layout, limits: TableLimits) -> Iterator[bytes]:
    file.seek(0)
    parts = (
        unpack(file, layout.packing, display_path, limits.bounds)
        if layout.packing
        else iter(lambda: file.read(CHUNK), b"")
    )
    for part in parts:
        feed.bytes_read = file.tell()
        yield part


def _as_utf8(parts: Iterator[bytes], display_path: str, layout: Layout) -> Iterator[bytes]:
    """UTF-8 without a byte order mark; the engine validates input that is UTF-8 already."""
    if layout.encoding == "utf-8":
        first = True
        for part in parts:
            if b"\0" in part:
                raise ToolError.of(TABLE_FORMAT_NOT_SUPPORTED, path=display_path)
            yield part.removeprefix(codecs.BOM_UTF8) if first else part
            first = False
        return
    decoder = codecs.getincrementaldecoder(layout.encoding)()
    try:
        for part in parts:
            text = decoder.decode(part).encode()
            if b"\0" in text:
                raise ToolError.of(TABLE_FORMAT_NOT_SUPPORTED, path=display_path)
            yield text
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise ToolError.of(TABLE_ENCODING_MISMATCH, path=display_path, encoding=layout.encoding) from error


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The text with line feeds for every kind of line end."""
    pending = b""
    for part in parts:
        part = pending + part
        pending = b"\r" if part.endswith(b"\r") else b""
        if b"\r" in part:
            part = part[: len(part) - len(pending)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield part
    if pending:
        yield b"\n"
