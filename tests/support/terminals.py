"""A terminal with a person at it: a pseudoterminal, and a console where `make without-posix` hides those.

A person's end is read with :func:`support.reading.read_soon`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Generator, Sequence
from typing import Any, cast

__all__ = ["at_terminal", "open_terminal", "start_at_terminal"]

_HAS_TERMINALS = hasattr(os, "openpty")


def open_terminal() -> tuple[int, int]:
    """The end of the person at a new terminal, and the end that a program has as its standard streams."""
    if _HAS_TERMINALS:
        return os.openpty()
    from support.windows.console import open_console  # noqa: PLC0415 - of one system

    return open_console()


@contextlib.contextmanager
def at_terminal(end: int) -> Generator[None]:
    """Have this process at the terminal while the block runs, which Windows does not tell by its standard streams."""
    if _HAS_TERMINALS:
        yield
        return
    from support.windows.console import attach  # noqa: PLC0415 - of one system

    with attach(end):
        yield


def start_at_terminal(words: Sequence[str], end: int, **options: Any) -> subprocess.Popen[bytes]:
    """Start a program at the terminal, where Ctrl-C reaches it and what it has started."""
    options |= {"stdin": end, "stdout": end, "stderr": end}
    if _HAS_TERMINALS:
        options |= {"start_new_session": True, "preexec_fn": _take_terminal}
    else:
        words = ["setsid", "--ctty", *words]
    return cast("subprocess.Popen[bytes]", subprocess.Popen(words, **options))


def _take_terminal() -> None:
    """Make standard input the terminal of this session."""
    import fcntl  # noqa: PLC0415 - in the process that is about to be another program
    import termios  # noqa: PLC0415 - in the process that is about to be another program

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
