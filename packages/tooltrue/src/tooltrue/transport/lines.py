"""Splitting of byte chunks into lines of limited length."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["MAX_LINE", "LineSplitter"]

MAX_LINE = 16 * 1024 * 1024


class LineSplitter:
    """Splits bytes into lines. A line longer than ``limit`` bytes is reported as soon as it exceeds the limit, and ends
    the input: later bytes are ignored."""

    def __init__(self, line: Callable[[bytes], None], too_long: Callable[[], object], limit: int = MAX_LINE) -> None:
        self._line = line
        self._too_long = too_long
        self._limit = limit
        self._rest: list[bytes] = []
        self._size = 0
        self._is_cut = False

    def feed(self, data: bytes) -> None:
        if self._is_cut:
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._end(line)
        if rest and not self._is_cut:
            self._keep(rest)

    def end(self) -> None:
        """End the input; a last line without a newline counts."""
        if self._size and not self._is_cut:
            self._end(b"")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._overflow()
        else:
            self._rest.append(part)

    def _overflow(self) -> None:
        self._is_cut = True
        self._rest.clear()
        self._too_long()

    def _end(self, last: bytes) -> None:
        if self._is_cut:
            return
        too_long = self._size + len(last) > self._limit
        line = b"".join((*self._rest, last)) if self._rest else last
        self._rest.clear()
        self._size = 0
        if too_long:
            self._overflow()
        elif line and not line.isspace():
            self._line(line.removesuffix(b"\r"))
