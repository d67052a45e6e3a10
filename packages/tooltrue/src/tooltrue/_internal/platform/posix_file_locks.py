"""The way of POSIX: ``flock``, on the file or the folder itself."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

assert sys.platform != "win32"

import fcntl  # noqa: E402 - the type checkers stop above

__all__ = ["folder_lock", "lock_within", "try_lock"]

_STEP = 0.005
"""Seconds between two attempts: a release is not signalled."""


def try_lock(fd: int) -> bool:
    """Lock the open file ``fd`` until it is closed. Returns ``False`` if others hold the lock. Raises ``OSError`` if
    the file system has no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_within(fd: int, seconds: float) -> bool:
    """As :func:`try_lock`. Returns ``False`` if others hold the lock for all of ``seconds``."""
    until = time.monotonic() + seconds
    while not try_lock(fd):
        if time.monotonic() >= until:
            return False
        time.sleep(_STEP)
    return True


@contextmanager
def folder_lock(folder: str | Path, seconds: float) -> Generator[bool]:
    """Hold the lock of a folder, and yield ``True``; ``False``, without the lock, if others hold it for all of
    ``seconds``. Raises ``OSError`` if the folder cannot be locked. No file is left in the folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield lock_within(fd, seconds)
    finally:
        os.close(fd)
