"""Splitting of byte chunks into lines of limited length."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["LINES_PER_SECOND", "MAX_LINE", "InputPace", "LineSplitter"]

MAX_LINE = 16 * 1024 * 1024
LINES_PER_SECOND = 5_000.0
"""The pace at which a client takes the messages of one server."""
_BYTES_OF_A_LINE = 32 * 1024  # they take about as long as a message: 5,000 a second are 160 MB


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
        if not self._rest and data.find(b"\n") == len(data) - 1:  # one whole line, as a client waits for its answer
            self._take(data[:-1])
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
        if self._rest:
            last = b"".join((*self._rest, last))
            self._rest.clear()
            self._size = 0
        self._take(last)

    def _take(self, line: bytes) -> None:
        if len(line) > self._limit:
            self._overflow()
        elif line and not line.isspace():
            self._line(line.removesuffix(b"\r"))


class InputPace:
    """How fast the lines of one input are taken, so that it leaves the event loop to others, however much it has:
    ``per_second``, and those of a second at once. Each 32 KiB count as a line too. Lines that are expected, as answers,
    count for nothing."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._taken = 0.0  # negative while more lines are expected than have come
        self._at = 0.0

    def expect(self) -> None:
        """Note that a line is expected."""
        self._taken = max(self._taken - 1.0, -self._per_second)

    def take(self, lines: int, size: int, now: float) -> float:
        """Note lines that have been taken. Returns for how many seconds no more are to be taken."""
        if self._taken > 0.0:
            self._taken = max(0.0, self._taken - (now - self._at) * self._per_second)
        self._at = now
        self._taken += lines + size / _BYTES_OF_A_LINE
        return max(0.0, self._taken / self._per_second - 1.0)
