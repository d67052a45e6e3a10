"""The kernel's lock on an open file or directory: nothing is left of it when a process is killed."""

from __future__ import annotations

import fcntl
import time

__all__ = ["locked"]

_STEP = 0.005
"""Seconds between two tries: who lets go tells nobody."""


def locked(fd: int, seconds: float) -> bool:
    """Lock ``fd`` until it is closed. ``False`` where others do not let go of it for so long. ``OSError`` where the
    file system has no locks."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_STEP)
