"""One change of a directory at a time, in whichever process: several servers may serve one folder, or parts of it.

The lock is the kernel's, on the directory itself, so nothing is left of it when a process is killed. It is for those
who go by it: an editor beside us does not, and what it has changed is seen by the version of the file.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from toolwright.errors import ToolError
from toolwright.toolbox.confined import Spot

__all__ = ["alone"]

_STEP = 0.005
"""Seconds between two tries."""


@contextmanager
def alone(*spots: Spot, seconds: float) -> Generator[None]:
    """Nobody else who goes by this changes what is at ``spots`` meanwhile. ``ToolError`` when others do not let go for
    so long. A directory that cannot be locked, on a file system that has no locks, is used without."""
    with ExitStack() as opened:
        # In one order, so that no two moves wait for each other; and each directory once.
        for _, (fd, spot) in sorted({_identity(fd): (fd, spot) for fd, spot in _directories(spots, opened)}.items()):
            _lock(fd, spot.shown, seconds)
        yield


def _directories(spots: tuple[Spot, ...], opened: ExitStack) -> Generator[tuple[int, Spot]]:
    for spot in spots:
        try:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=spot.fd)
        except PermissionError:
            continue  # it may be written, and not be read
        opened.callback(os.close, fd)
        yield fd, spot


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _lock(fd: int, shown: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise ToolError.of("TW6084", path=shown, seconds=seconds) from None
            time.sleep(_STEP)
        except OSError:
            return None
