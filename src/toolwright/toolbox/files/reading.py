"""From an open file to a result: whole lines of text, or bytes as base64, as much as fits."""

from __future__ import annotations

import base64
import codecs
import os

from toolwright.errors import ToolError
from toolwright.toolbox.files.values import CHUNK, Encoding, FileContent, FileLimits, version_of
from toolwright.tools.toolset import Slice

__all__ = ["Source", "check_range", "read_at"]


def check_range(encoding: Encoding, start: int | None, end: int | None, offset: int | None) -> None:
    if (start or end) and (encoding == "base64" or offset is not None):
        raise ToolError.of("TW6043")
    if end is not None and end < (start or 1):
        raise ToolError.of("TW6042", start=start or 1, end=end)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """``size`` bytes from ``offset``, fewer only at the end of the file."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(fd, min(size, CHUNK), offset)):
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


class Source:
    """An open file on its way into a result."""

    def __init__(self, fd: int, shown: str, limits: FileLimits, slices: list[Slice]) -> None:
        self._slices = slices
        self._fd = fd
        self._shown = shown
        self._limits = limits
        self._found = os.fstat(fd)

    def as_base64(self, offset: int) -> FileContent:
        self._check_offset(offset)
        # Four characters stand for three bytes; whole groups need no padding before the end.
        data = read_at(self._fd, max(self._limits.read_bytes // 4, 1) * 3, offset)
        digits = base64.b64encode(data).decode("ascii")
        self._cut(digits, offset, data, is_text=False)
        return self._result("base64", digits, offset + len(data))

    def as_text(self, encoding: Encoding, offset: int) -> FileContent:
        self._check_offset(offset)
        text, end = self._decoded(read_at(self._fd, self._limits.read_bytes, offset), encoding, offset)
        return self._result(encoding, text, end)

    def as_lines(self, encoding: Encoding, start: int, end: int | None) -> FileContent:
        begin = self._line(start)
        data = read_at(self._fd, self._limits.read_bytes + 1, begin)
        if end is not None:
            data = data[: _after_lines(data, end - start + 1)]
        data = _fitting(data, self._limits.read_bytes)
        text, behind = self._decoded(data, encoding, begin)
        result = self._result(encoding, text, behind)
        whole = text.endswith("\n")
        lines = text.count("\n") + (text != "" and not whole)
        result["start_line"], result["end_line"] = start, start + lines - 1
        if "next_offset" in result and whole:
            result["next_start_line"] = start + lines
        return result

    def _result(self, encoding: Encoding, content: str, behind: int) -> FileContent:
        size = self._found.st_size
        result = FileContent(
            path=self._shown, encoding=encoding, content=content, size=size, version=version_of(self._found)
        )
        if content and behind < size:
            result["next_offset"] = behind
        return result

    def _check_offset(self, offset: int) -> None:
        if offset > self._found.st_size:
            raise ToolError.of("TW6044", path=self._shown, size=self._found.st_size)

    def _decoded(self, data: bytes, encoding: Encoding, offset: int) -> tuple[str, int]:
        """The text of ``data`` and the offset behind it; a character that is cut off at the end is left out."""
        final = offset + len(data) >= self._found.st_size
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(data, final)
        except UnicodeDecodeError as error:
            raise ToolError.of("TW6040", path=self._shown, encoding=encoding) from error
        if "\0" in text:
            raise ToolError.of("TW6040", path=self._shown, encoding=encoding)
        self._cut(text, offset, text.encode(encoding), is_text=True)
        return text, offset + len(data) - len(decoder.getstate()[0])

    def _cut(self, shown: str, offset: int, data: bytes, *, is_text: bool) -> None:
        """Says what stands around it, unless it is all of the file."""
        if offset == 0 and len(data) >= self._found.st_size:
            return
        begin = max(0, offset - Slice.BEFORE) & ~1  # UTF-16 has letters of two bytes
        before = read_at(self._fd, offset - begin, begin)
        behind = read_at(self._fd, Slice.BEHIND, offset + len(data))
        self._slices.append(Slice(shown, before, data, behind, is_text))

    def _line(self, start: int) -> int:
        """The offset at which line ``start`` begins."""
        ahead, offset, last = start - 1, 0, b"\n"
        while ahead and (chunk := read_at(self._fd, CHUNK, offset)):
            here = chunk.count(b"\n")
            if here >= ahead:
                ahead, offset, last = 0, offset + _after_lines(chunk, ahead), b"\n"
                break
            ahead, offset, last = ahead - here, offset + len(chunk), chunk[-1:]
            if offset >= self._limits.scan_bytes:
                raise ToolError.of("TW6045", path=self._shown, start=start, limit=self._limits.scan_bytes)
        if ahead or (start > 1 and offset >= self._found.st_size):
            raise ToolError.of("TW6041", path=self._shown, lines=start - 1 - ahead + (last != b"\n"))
        return offset


def _after_lines(data: bytes, lines: int) -> int:
    """The index behind the first ``lines`` lines of ``data``; its length when it has fewer."""
    behind = 0
    for _ in range(lines):
        behind = data.find(b"\n", behind) + 1
        if not behind:
            return len(data)
    return behind


def _fitting(data: bytes, limit: int) -> bytes:
    """The whole lines of ``data`` that fit into ``limit`` bytes; a part of the first when not even that fits."""
    if len(data) <= limit:
        return data
    return data[: data.rfind(b"\n", 0, limit) + 1 or limit]
