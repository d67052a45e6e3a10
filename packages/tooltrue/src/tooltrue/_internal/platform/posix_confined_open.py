"""The way of POSIX: each part is opened below the descriptor of the part before it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath

assert sys.platform != "win32"

__all__ = ["open_beneath", "parts_beneath"]

# A pipe without a writer, or a device, must not hold up the thread.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def parts_beneath(path: str) -> tuple[str, ...] | None:
    """The parts of a relative path; ``None`` if it is empty or absolute, or leads upward."""
    pure = PurePosixPath(path)
    return pure.parts if pure.parts and not pure.is_absolute() and ".." not in pure.parts else None


def open_beneath(root: str, parts: Sequence[str]) -> int:
    """Open ``parts`` below ``root``, and return the descriptor. ``OSError`` if that fails or a part is a link;
    ``ValueError`` for a NUL in a part."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _READ | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _READ, dir_fd=folder)
    finally:
        os.close(folder)
