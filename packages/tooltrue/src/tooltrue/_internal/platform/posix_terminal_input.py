"""Typed lines on POSIX: the terminal edits and echoes a line, and makes it readable at its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Generator
from typing import TextIO

assert sys.platform != "win32"

__all__ = ["discard_typed", "is_terminal", "typed_text", "without_echo"]


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sits at the other end of the stream."""
    return stream.isatty()


def discard_typed(descriptor: int) -> None:
    """Discard what was typed and not read."""
    termios.tcflush(descriptor, termios.TCIFLUSH)


async def typed_text(descriptor: int) -> str:
    """The next line that is typed, with its end; empty at the end of the input. A cancelled read takes no line."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()
    loop.add_reader(descriptor, _take, descriptor, line)
    try:
        return (await line).decode(errors="replace")
    finally:
        loop.remove_reader(descriptor)


def _take(descriptor: int, line: asyncio.Future[bytes]) -> None:
    if line.done():
        return
    try:
        line.set_result(os.read(descriptor, 65_536))
    except OSError:  # the terminal is gone
        line.set_result(b"")


@contextlib.contextmanager
def without_echo(descriptor: int) -> Generator[None]:
    """Turn off the echo of typed characters, and of the end of the line, while the block runs."""
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
