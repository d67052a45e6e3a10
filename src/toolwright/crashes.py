"""What an author has to see of a crash: the frames of the author's code. Ours around them are counted, and left out.

All frames are shown where the logger ``toolwright`` shows debug messages, or ``TOOLWRIGHT_DEBUG`` is set, which
``toolwright --debug`` does.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType

from toolwright.wording import sentence

__all__ = ["DEBUG", "RemoteCrash", "is_authors", "log_crash", "log_unfit", "place_of", "trace_text", "traced"]

DEBUG = "TOOLWRIGHT_DEBUG"
_OURS = "toolwright"
_BETWEEN = (_OURS, "pydantic")
"""The packages that stand between the event loop and the function of an author."""

_STDLIB = str(Path(os.__file__).parent) + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_log = logging.getLogger("toolwright")


class RemoteCrash(RuntimeError):
    """A crash in another process, whose trace is the text."""


def is_authors(frame: FrameType) -> bool:
    """Whether a frame is neither ours nor of the standard library: an author's, or of a library that they use."""
    return _package(frame) not in _BETWEEN and not _is_stdlib(frame.f_code.co_filename)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _is_stdlib(file: str) -> bool:
    inner = file.removeprefix(_STDLIB)
    return file.startswith("<frozen ") or (inner != file and not inner.startswith(_INSTALLED))


def place_of(top: FrameType) -> str:
    """Where a thread is: the author's innermost line, and the line of the library that it has called."""
    authors = next(filter(is_authors, _outward(top)), top)
    return _line(top) if authors is top else f"{_line(authors)} (in {_line(top)})"


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _line(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}, in {frame.f_code.co_name}"


def traced(error: BaseException) -> tuple[TracebackType | None, int]:
    """The trace of an error from the author's first frame on, and how many frames are left out: those before it, and
    ours after it but for the one that raised. The whole trace where no frame is an author's, or all are wanted."""
    if os.environ.get(DEBUG) or _log.isEnabledFor(logging.DEBUG):
        return error.__traceback__, 0
    whole = list(_inward(error.__traceback__))
    if isinstance(error, RemoteCrash):
        return None, len(whole)
    first = next((place for place, one in enumerate(whole) if is_authors(one.tb_frame)), None)
    if first is None:
        return error.__traceback__, 0
    kept = [one for one in whole[first:] if _package(one.tb_frame) != _OURS or one is whole[-1]]
    return _chained(kept), len(whole) - len(kept)


def _inward(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _chained(kept: Iterable[TracebackType]) -> TracebackType | None:
    trace: TracebackType | None = None
    for one in reversed(list(kept)):
        trace = TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return trace


def trace_text(error: BaseException) -> str:
    """The :func:`traced` frames of an error, and the error, as Python writes them."""
    return "".join(traceback.format_exception(type(error), error, traced(error)[0]))


def log_crash(message: str, *facts: object, error: BaseException) -> None:
    """Log an error with its :func:`traced` frames. Where it is an author's, say how to tell the model."""
    trace, hidden = traced(error)
    hint = (sentence("TW4105", "en", {"hidden": hidden}),) if hidden else ()
    _log.error(message + " %s" * len(hint), *facts, *hint, exc_info=(type(error), error, trace))


def log_unfit(message: str, *facts: object, error: BaseException) -> None:
    """Log that a function returned what it must not. The error says it; frames of ours say no more."""
    shows_all = os.environ.get(DEBUG) or _log.isEnabledFor(logging.DEBUG)
    _log.error(message + ": %s", *facts, error, exc_info=error if shows_all else None)
