"""Tracebacks for authors: the frames of the author's code. Our own frames around them are counted and left out.

All frames are shown if the logger ``tooltrue`` shows debug messages, or if ``TOOLTRUE_DEBUG`` is set, as
``tooltrue --debug`` does.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType

from tooltrue.wording import HINT_CRASH_TRACEBACK_SHORTENED, sentence

__all__ = [
    "DEBUG",
    "RemoteCrash",
    "is_authors",
    "last_place",
    "log_crash",
    "log_unfit",
    "place_of",
    "trace_text",
    "traced",
]

DEBUG = "TOOLTRUE_DEBUG"
_OURS = ("tooltrue", "tooltrue_check", "tooltrue_console", "tooltrue_toolbox")
_BETWEEN = (*_OURS, "pydantic")
"""The packages between the event loop and an author's function."""

_STDLIB = str(Path(os.__file__).parent) + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_log = logging.getLogger("tooltrue")


class RemoteCrash(RuntimeError):
    """A crash in another process, with its traceback as the text."""


def is_authors(frame: FrameType) -> bool:
    """Whether a frame belongs to the author or to one of the author's libraries: not to us or the standard library."""
    return _package(frame) not in _BETWEEN and not _is_stdlib(frame.f_code.co_filename)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _is_stdlib(file: str) -> bool:
    inner = file.removeprefix(_STDLIB)
    return file.startswith("<frozen ") or (inner != file and not inner.startswith(_INSTALLED))


def place_of(top: FrameType) -> str:
    """The position of a thread: the author's innermost line, and the line of the library that it has called."""
    authors = next(filter(is_authors, _outward(top)), top)
    return _line(top) if authors is top else f"{_line(authors)} (in {_line(top)})"


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _line(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}, in {frame.f_code.co_name}"


def traced(error: BaseException) -> tuple[TracebackType | None, int]:
    """The traceback of an error from the author's first frame on, and the number of frames left out: those before it,
    and ours after it except the one that raised. The whole traceback if it has no author's frame, or in debug mode."""
    if os.environ.get(DEBUG) or _log.isEnabledFor(logging.DEBUG):
        return error.__traceback__, 0
    whole = list(_inward(error.__traceback__))
    if isinstance(error, RemoteCrash):
        return None, len(whole)
    first = next((place for place, one in enumerate(whole) if is_authors(one.tb_frame)), None)
    if first is None:
        return error.__traceback__, 0
    frames = [one for one in whole[first:] if _package(one.tb_frame) not in _OURS or one is whole[-1]]
    return _chained(frames), len(whole) - len(frames)


def last_place(error: BaseException) -> tuple[str, int] | None:
    """The file and line of the author's innermost frame, or of the innermost frame of all if none is the author's."""
    frames = list(_inward(error.__traceback__))
    authors = [one for one in frames if is_authors(one.tb_frame)]
    last = next(reversed(authors or frames), None)
    return None if last is None else (last.tb_frame.f_code.co_filename, last.tb_lineno)


def _inward(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _chained(frames: Iterable[TracebackType]) -> TracebackType | None:
    trace: TracebackType | None = None
    for one in reversed(list(frames)):
        trace = TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return trace


def trace_text(error: BaseException) -> str:
    """The :func:`traced` frames of an error, and the error, formatted like Python's own."""
    return "".join(traceback.format_exception(type(error), error, traced(error)[0]))


def log_crash(message: str, *facts: object, error: BaseException) -> None:
    """Log an error with its :func:`traced` frames. If it is the author's, add a hint on how to inform the model."""
    trace, hidden = traced(error)
    hint = (sentence(HINT_CRASH_TRACEBACK_SHORTENED, "en", {"hidden": hidden}),) if hidden else ()
    _log.error(message + " %s" * len(hint), *facts, *hint, exc_info=(type(error), error, trace))


def log_unfit(message: str, *facts: object, error: BaseException) -> None:
    """Log that a function returned an invalid value. The error says it all; our own frames would add no information."""
    shows_all = os.environ.get(DEBUG) or _log.isEnabledFor(logging.DEBUG)
    _log.error(message + ": %s", *facts, error, exc_info=error if shows_all else None)
