"""An advisory lock on directories, across processes: several servers may serve one folder, or parts of it.

The kernel holds the lock, on the directory itself or, on Windows, on a file of ours that stands for it; so it
disappears when a process is killed. Only our own servers take it; a change by an editor is noticed through the version
of the file instead.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress

from tooltrue._internal.platform.file_locks import lock_within
from tooltrue.errors import ToolError
from tooltrue_toolbox.files.wording import DIRECTORY_LOCK_TIMEOUT
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import Spot

__all__ = ["directory_locks"]


@contextmanager
def directory_locks(*spots: Spot, seconds: float) -> Generator[None]:
    """Hold the advisory locks of the directories of ``spots`` for a change. ``ToolError`` when another process keeps
    one longer than ``seconds``. A directory on a file system without locks is used unlocked."""
    with ExitStack() as opened:
        # In a fixed order, so that two moves cannot deadlock; and each directory once.
        directories = {_identity(fd): (fd, spot) for fd, spot in _directories(spots, opened)}
        for _, (fd, spot) in sorted(directories.items()):
            with suppress(OSError):
                if not lock_within(fd, seconds):
                    raise ToolError.of(DIRECTORY_LOCK_TIMEOUT, path=spot.display_path, seconds=seconds)
        yield


def _directories(spots: tuple[Spot, ...], opened: ExitStack) -> Generator[tuple[int, Spot]]:
    for spot in spots:
        try:
            fd = handles.lock_file(spot.parent)
        except PermissionError:
            continue  # a directory may be writable without being readable
        opened.callback(os.close, fd)
        yield fd, spot


def _identity(fd: int) -> tuple[int, int]:
    status = handles.file_status(fd)
    return status.st_dev, status.st_ino
