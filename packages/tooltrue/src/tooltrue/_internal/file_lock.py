"""The kernel's lock on an open file or directory, which is released when the process is killed."""

from __future__ import annotations

import fcntl
import time

__all__ = ["locked"]

_STEP = 0.005
"""Seconds between two attempts: a release is not signalled."""


def locked(fd: int, seconds: float) -> bool:
    """Lock ``fd`` until it is closed. Returns ``False`` if others hold the lock for all of ``seconds``. Raises
    ``OSError`` if the file system has no locks."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_STEP)
