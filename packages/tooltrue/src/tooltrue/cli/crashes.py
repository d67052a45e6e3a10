"""Crashes of a server in this process, counted by the line of the author's code."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType
from typing import Final

from tooltrue.crashes import is_authors

__all__ = ["Crashes", "counted_crashes"]

_LOG: Final = logging.getLogger("tooltrue")


class Crashes(logging.Handler):
    """Keeps tracebacks out of a report. Other records go to the default handler."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._counts[_error_place(error)] += 1
        elif logging.lastResort is not None and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)

    def lines(self) -> Iterator[str]:
        """One line per crash, the most frequent first: count, error and place."""
        for name, count in self._counts.most_common():
            yield f"{count} × {name}"


def _error_place(error: BaseException) -> str:
    """The error, and the innermost line of the author's code."""
    authors = [(frame, line) for frame, line in walk_tb(error.__traceback__) if is_authors(frame)]
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"{text}, {_place(*authors[-1])}" if authors else text


def _place(frame: FrameType, line: int) -> str:
    return f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"


@contextmanager
def counted_crashes() -> Generator[Crashes]:
    """Count crashes within the block, and do not print their tracebacks."""
    crashes, before = Crashes(), _LOG.propagate
    _LOG.addHandler(crashes)
    _LOG.propagate = False
    try:
        yield crashes
    finally:
        _LOG.propagate = before
        _LOG.removeHandler(crashes)
