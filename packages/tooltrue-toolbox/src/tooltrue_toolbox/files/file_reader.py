"""From an open file to a result: whole lines of text, or bytes as base64, as much as fits."""

from __future__ import annotations

import base64
import codecs
from typing import Literal

from tooltrue.errors import ToolError
from tooltrue.tools.vocabulary import Slice
from tooltrue_toolbox.encodings import HEAD
from tooltrue_toolbox.files.text_codec import TextCodec, text_codec_as, text_codec_of
from tooltrue_toolbox.files.values import (
    CHUNK,
    ContentEncoding,
    FileContent,
    FileLimits,
    ReadEncoding,
    TextEncoding,
    version_of,
)
from tooltrue_toolbox.files.wording import (
    END_LINE_BEFORE_START,
    FILE_ENCODING_MISMATCH,
    FILE_ENCODING_UNKNOWN,
    OFFSET_AND_LINES_COMBINED,
    OFFSET_BEYOND_END,
    OFFSET_WITHIN_CHARACTER,
    START_LINE_BEYOND_COUNTED_BYTES,
    START_LINE_BEYOND_END,
)
from tooltrue_toolbox.platform import handles

__all__ = ["FileReader", "check_range", "read_at"]

AutoEncoding = Literal["auto", TextEncoding]


def check_range(encoding: ReadEncoding, start: int, end: int, offset: int) -> None:
    """Check that the range is consistent, else ``ToolError``. ``end`` and ``offset`` are 0 where they are not given."""
    if (start > 1 or end) and (encoding == "base64" or offset):
        raise ToolError.of(OFFSET_AND_LINES_COMBINED)
    if end and end < start:
        raise ToolError.of(END_LINE_BEFORE_START, start=start, end=end)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """``size`` bytes from ``offset``, fewer only at the end of the file."""
    parts: list[bytes] = []
    while size > 0 and (part := handles.read_at(fd, min(size, CHUNK), offset)):
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


class FileReader:
    """An open file on its way into a result."""

    def __init__(self, fd: int, display_path: str, limits: FileLimits, slices: list[Slice]) -> None:
        self._slices = slices
        self._fd = fd
        self._display_path = display_path
        self._limits = limits
        self._status = handles.file_status(fd)

    def as_base64(self, offset: int) -> FileContent:
        self._check_offset(offset)
        # Three bytes become four characters; whole groups need no padding before the end.
        data = read_at(self._fd, max(self._limits.read_bytes // 4, 1) * 3, offset)
        digits = base64.b64encode(data).decode("ascii")
        self._cut(digits, offset, data, None)
        return self._result("base64", digits, offset + len(data))

    def as_text(self, encoding: AutoEncoding, offset: int) -> FileContent:
        self._check_offset(offset)
        codec = self._codec(encoding)
        self._check_begin(codec, offset)
        text, end = self._decoded(read_at(self._fd, self._limits.read_bytes, offset), codec, offset)
        return self._text(codec, text, end)

    def as_lines(self, encoding: AutoEncoding, start: int, end: int) -> FileContent:
        codec = self._codec(encoding)
        begin = self._line(start, codec)
        data = read_at(self._fd, self._limits.read_bytes + 1, begin)
        if end:
            data = data[: codec.after_lines(data, end - start + 1)]
        if len(data) > (limit := self._limits.read_bytes):
            data = codec.whole_lines(data[:limit]) or data[:limit]
        text, behind = self._decoded(data, codec, begin)
        result = self._text(codec, text, behind)
        whole = text.endswith("\n")
        lines = text.count("\n") + (text != "" and not whole)
        result["start_line"], result["end_line"] = start, start + lines - 1
        if "next_offset" in result and whole:
            result["next_start_line"] = start + lines
        return result

    def _codec(self, encoding: AutoEncoding) -> TextCodec:
        """The codec of the text: the one the caller names, or the detected one. ``ToolError`` for bytes that are not
        text."""
        head = read_at(self._fd, HEAD, 0)
        codec = text_codec_of(head) if encoding == "auto" else text_codec_as(encoding, head)
        if codec is None:
            raise ToolError.of(FILE_ENCODING_UNKNOWN, path=self._display_path)
        return codec

    def _text(self, codec: TextCodec, content: str, behind: int) -> FileContent:
        result = self._result(codec.encoding, content, behind)
        if codec.encoding not in ("utf-8", "ascii"):
            result["encoding_from"] = codec.how
        return result

    def _result(self, encoding: ContentEncoding, content: str, behind: int) -> FileContent:
        size = self._status.st_size
        result = FileContent(
            path=self._display_path, encoding=encoding, content=content, size=size, version=version_of(self._status)
        )
        if content and behind < size:
            result["next_offset"] = behind
        return result

    def _check_offset(self, offset: int) -> None:
        if offset > self._status.st_size:
            raise ToolError.of(OFFSET_BEYOND_END, path=self._display_path, size=self._status.st_size)

    def _check_begin(self, codec: TextCodec, offset: int) -> None:
        """``ToolError`` for an offset within a character."""
        if cut := codec.cut_off(codec.aligned(self._before(offset))):
            raise ToolError.of(
                OFFSET_WITHIN_CHARACTER,
                path=self._display_path,
                offset=offset,
                encoding=codec.encoding,
                near=offset - cut,
            )

    def _before(self, offset: int) -> bytes:
        """The bytes before an offset, up to ``Slice.BEFORE`` of them, aligned to a UTF-16 unit."""
        begin = max(0, offset - Slice.BEFORE) & ~1
        return read_at(self._fd, offset - begin, begin)

    def _decoded(self, data: bytes, codec: TextCodec, offset: int) -> tuple[str, int]:
        """The text of ``data`` and the offset after it. A character that is cut off at the end is left out, and so is
        the byte order mark of UTF-16."""
        final = offset + len(data) >= self._status.st_size
        decoder = codecs.getincrementaldecoder(codec.name)()
        try:
            text = decoder.decode(data, final)
        except UnicodeDecodeError as error:
            raise self._no_text(codec) from error
        if "\0" in text:
            raise self._no_text(codec)
        data = data[: len(data) - len(decoder.getstate()[0])]
        if codec.is_wide and offset == 0:
            text = text.removeprefix("\ufeff")
        self._cut(text, offset, data, codec)
        return text, offset + len(data)

    def _no_text(self, codec: TextCodec) -> ToolError:
        return ToolError.of(FILE_ENCODING_MISMATCH, path=self._display_path, encoding=codec.encoding)

    def _cut(self, text: str, offset: int, data: bytes, codec: TextCodec | None) -> None:
        """Record the bytes around the slice, unless it is the whole file."""
        if offset == 0 and len(data) >= self._status.st_size:
            return
        before = self._before(offset)
        behind = read_at(self._fd, Slice.BEHIND, offset + len(data))
        if codec is None:
            self._slices.append(Slice(text, before, data, behind, None))
        else:
            self._slices.append(Slice(text, codec.aligned(before), data, behind, codec.name))

    def _line(self, start: int, codec: TextCodec) -> int:
        """The offset at which line ``start`` begins."""
        ahead, offset, whole = start - 1, 0, True
        while ahead and (chunk := read_at(self._fd, CHUNK, offset)):
            here = codec.lines(chunk)
            if here >= ahead:
                ahead, offset, whole = 0, offset + codec.after_lines(chunk, ahead), True
                break
            ahead, offset, whole = ahead - here, offset + len(chunk), codec.ends_line(chunk)
            if offset >= self._limits.scan_bytes:
                raise ToolError.of(
                    START_LINE_BEYOND_COUNTED_BYTES, path=self._display_path, start=start, limit=self._limits.scan_bytes
                )
        if ahead or (start > 1 and offset >= self._status.st_size):
            raise ToolError.of(START_LINE_BEYOND_END, path=self._display_path, lines=start - 1 - ahead + (not whole))
        return offset
