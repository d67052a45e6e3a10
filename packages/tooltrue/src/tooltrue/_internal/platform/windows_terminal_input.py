"""Typed lines on Windows: the keys of the console, one by one.

The console could edit a line itself, but only for a thread that waits in a call that cannot be cancelled, and it would
add what was typed before a question to its answer. So the keys are taken as they come, and the line is edited here.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import msvcrt
import signal
import unicodedata
from collections.abc import Generator
from typing import TextIO

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

__all__ = ["discard_typed", "is_terminal", "typed_text", "without_echo"]

_LOOK_SECONDS = 0.03
"""Between two looks for a key. No call of Windows waits for a key alone: a moved mouse ends the wait too."""

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.GetConsoleMode.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

_silent: set[int] = set()


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sits at the other end of the stream. ``isatty`` is true for the device NUL as well."""
    try:
        handle = msvcrt.get_osfhandle(stream.fileno())
    except (OSError, ValueError):  # a stream without a descriptor, or a closed one
        return False
    mode = ctypes.c_uint32()
    return bool(_kernel32.GetConsoleMode(handle, ctypes.byref(mode)))


def discard_typed(descriptor: int) -> None:
    """Discard what was typed and not read."""
    while msvcrt.kbhit():
        msvcrt.getwch()


async def typed_text(descriptor: int) -> str:
    """The next line that is typed, with its end; empty at the end of the input. A cancelled read takes no line."""
    line = _TypedLine(echoes=descriptor not in _silent)
    while True:
        while msvcrt.kbhit():
            if line.take(msvcrt.getwch()):
                return line.text
        await asyncio.sleep(_LOOK_SECONDS)


@contextlib.contextmanager
def without_echo(descriptor: int) -> Generator[None]:
    """Turn off the echo of typed characters, and of the end of the line, while the block runs."""
    _silent.add(descriptor)
    try:
        yield
    finally:
        _silent.discard(descriptor)


class _TypedLine:
    """A line that is being typed."""

    def __init__(self, *, echoes: bool) -> None:
        self.text = ""
        self._echoes = echoes
        self._half = ""  # of a character beyond the first plane, which arrives as two keys

    def take(self, key: str) -> bool:
        """Edit the line as the key says; whether the line is complete."""
        match key:
            case "\r" | "\n":
                self._show("\r\n")
                self.text += "\n"
                return True
            case "\x04" | "\x1a":  # Ctrl-D, and Ctrl-Z, the sign of Windows for the end of the input
                return not self.text
            case "\x03":  # Ctrl-C is a key here if it was pressed while a key was read
                signal.raise_signal(signal.SIGINT)
            case "\b" | "\x7f":
                self._erase()
            case "\x1b":
                while self.text:
                    self._erase()
            case "\0" | "\xe0" if msvcrt.kbhit():  # the first half of an arrow or a function key
                msvcrt.getwch()
            case _:
                self._add(key)
        return False

    def _add(self, key: str) -> None:
        if "\ud800" <= key <= "\udbff":
            self._half = key
            return
        character = (self._half + key).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._half = ""
        if unicodedata.category(character) == "Cc":  # another key with Ctrl
            return
        self.text += character
        if character.isprintable():  # a mark of the order of writing has no width, and would reorder the whole line
            self._show(character)

    def _erase(self) -> None:
        """Erase the last character that is seen, with the marks on it."""
        columns = 0
        while self.text and not columns:
            columns = _columns(self.text[-1])
            self.text = self.text[:-1]
        self._show("\b" * columns + " " * columns + "\b" * columns)

    def _show(self, text: str) -> None:
        if self._echoes:
            for character in text:
                for unit in _units(character):
                    msvcrt.putwch(unit)


def _columns(character: str) -> int:
    """The columns that the character takes on the screen."""
    if unicodedata.combining(character) or not character.isprintable():
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _units(character: str) -> str:
    """The character as the console takes it: one beyond the first plane in two halves."""
    data = character.encode("utf-16-le")
    return "".join(data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2))
