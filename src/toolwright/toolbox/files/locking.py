"""One change of a directory at a time, in whichever process: several servers may serve one folder, or parts of it.

The lock is the kernel's, on the directory itself, so nothing is left of it when a process is killed. It is for those
who go by it: an editor beside us does not, and what it has changed is seen by the version of the file.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress

from toolwright.errors import ToolError
from toolwright.locking import locked
from toolwright.toolbox.confined import Spot

__all__ = ["alone"]


@contextmanager
def alone(*spots: Spot, seconds: float) -> Generator[None]:
    """Nobody else who goes by this changes what is at ``spots`` meanwhile. ``ToolError`` when others do not let go for
    so long. A directory that cannot be locked, on a file system that has no locks, is used without."""
    with ExitStack() as opened:
        # In one order, so that no two moves wait for each other; and each directory once.
        for _, (fd, spot) in sorted({_identity(fd): (fd, spot) for fd, spot in _directories(spots, opened)}.items()):
            with suppress(OSError):
                if not locked(fd, seconds):
                    raise ToolError.of("TW6084", path=spot.shown, seconds=seconds)
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
