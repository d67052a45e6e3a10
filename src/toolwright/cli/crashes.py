"""Crashes of a server that runs in this process, counted by the line of the author where they happened."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import FrameSummary, extract_tb
from typing import Final

__all__ = ["Crashes", "counted_crashes"]

_LOG: Final = logging.getLogger("toolwright")
_OWN: Final = str(Path(__file__).parents[1])


class Crashes(logging.Handler):
    """Keeps the traces out of the way of a report; any other record goes where it would have gone."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._counts[_named(error)] += 1
        elif logging.lastResort is not None and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)

    def lines(self) -> Iterator[str]:
        """Each crash on a line, the most frequent first: how often, what, and where."""
        for name, count in self._counts.most_common():
            yield f"{count} × {name}"


def _named(error: BaseException) -> str:
    frames = extract_tb(error.__traceback__)
    theirs = [one for one in frames if not one.filename.startswith(_OWN)]
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"{said}, {_place(theirs[-1])}" if theirs else said


def _place(frame: FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno} in {frame.name}"


@contextmanager
def counted_crashes() -> Generator[Crashes]:
    """What crashes meanwhile is counted, not printed."""
    crashes, before = Crashes(), _LOG.propagate
    _LOG.addHandler(crashes)
    _LOG.propagate = False
    try:
        yield crashes
    finally:
        _LOG.propagate = before
        _LOG.removeHandler(crashes)
