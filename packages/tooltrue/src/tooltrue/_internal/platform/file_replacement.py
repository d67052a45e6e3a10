"""Puts a file in the place of another, removes it, or reads it, while other processes do the same.

POSIX does each at once. Windows refuses while a process has the file open that does not share it: a virus scanner or an
editor does so for moments, and one that removes the file shares it with those alone that allow its removal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["FileInUse", "read_file", "remove_file", "replace_file"]

T = TypeVar("T")

_SECONDS = 2.0
_STEP = 0.01
_IN_USE = (5, 32, 33)
"""Access denied, sharing violation, lock violation: Windows has the first one for open files, too."""


class FileInUse(PermissionError):
    """Another process has the file open, and did not close it in time; or this user has no access to it."""


if HAS_POSIX:

    def replace_file(source: str | Path, target: str | Path) -> None:
        """Give ``source`` the name ``target``, atomically. :class:`FileInUse` if another process keeps it open."""
        os.replace(source, target)

    def remove_file(path: str | Path) -> None:
        """Remove a file if there is one. :class:`FileInUse` if another process keeps it open."""
        Path(path).unlink(missing_ok=True)

    def read_file(path: str | Path, limit: int = -1) -> bytes:
        """The content of a file, of a larger one the first ``limit`` bytes. Meanwhile others may replace or remove it.
        :class:`FileInUse` if another process keeps it open for itself."""
        with open(path, "rb") as file:
            return file.read(limit)

else:
    from tooltrue._internal.platform.windows_handles import OPEN_EXISTING, READ, SHARED, descriptor_of, open_file

    def replace_file(source: str | Path, target: str | Path) -> None:
        """Give ``source`` the name ``target``, atomically. :class:`FileInUse` if another process keeps it open."""
        _persistently(lambda: os.replace(source, target))

    def remove_file(path: str | Path) -> None:
        """Remove a file if there is one. :class:`FileInUse` if another process keeps it open."""
        _persistently(lambda: Path(path).unlink(missing_ok=True))

    def read_file(path: str | Path, limit: int = -1) -> bytes:
        """The content of a file, of a larger one the first ``limit`` bytes. Meanwhile others may replace or remove it.
        :class:`FileInUse` if another process keeps it open for itself."""
        handle = _persistently(lambda: open_file(os.path.realpath(path), READ, SHARED, OPEN_EXISTING))
        with open(descriptor_of(handle, os.O_RDONLY), "rb") as file:
            return file.read(limit)

    def _persistently(work: Callable[[], T]) -> T:
        until = time.monotonic() + _SECONDS
        while True:
            try:
                return work()
            except OSError as error:
                if getattr(error, "winerror", None) not in _IN_USE:
                    raise
                if time.monotonic() >= until:
                    raise FileInUse(*error.args[:2], error.filename) from None
            time.sleep(_STEP)
