"""The console of Windows: a terminal of Linux whose keys come one by one, and are not shown when they are typed.

A console edits and shows a line only for a program that reads its standard input as a file. That is missing here: such
a program reads what is typed, up to its end of line, and nothing is shown.
"""

from __future__ import annotations

import contextlib
import os
import termios
from collections.abc import Generator
from typing import Any

from support.windows import function, set_last_error

__all__ = ["attach", "get_console_mode", "of_this_process", "open_console"]

_ERROR_INVALID_HANDLE = 6
_LOCAL_FLAGS, _KEYS = 3, 6

_attached: list[int] = []


def open_console() -> tuple[int, int]:
    """The end of the person at a new console, and the end that a program has as its standard streams."""
    person, end = os.openpty()
    mode = termios.tcgetattr(end)
    for key in (termios.VSUSP, termios.VQUIT):  # Ctrl-C alone is more than a key
        mode[_KEYS][key] = b"\0"
    mode[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(end, termios.TCSANOW, mode)
    return person, end


@contextlib.contextmanager
def attach(end: int) -> Generator[None]:
    """Make this the console of this process while the block runs."""
    _attached.append(end)
    try:
        yield
    finally:
        _attached.remove(end)


@contextlib.contextmanager
def of_this_process() -> Generator[int]:
    """The console that was attached; else the terminal of a standard stream, or of the session."""
    for stream in (*_attached[-1:], 0, 1, 2):
        if os.isatty(stream):
            yield stream
            return
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    try:
        yield terminal
    finally:
        os.close(terminal)


@function("kernel32", "GetConsoleMode")
def get_console_mode(handle: int, mode: Any) -> bool:
    """Succeeds for a terminal alone; the mode itself is not needed."""
    if os.isatty(handle):
        return True
    set_last_error(_ERROR_INVALID_HANDLE)
    return False
