"""The way of POSIX: the owner and the mode. Functions that open a file return its descriptor."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

assert sys.platform != "win32"

__all__ = [
    "create_beside",
    "create_private_file",
    "ensure_private_file",
    "is_private",
    "make_private_folder",
    "move_new",
    "open_private_file",
    "open_private_log",
    "read_private_file",
    "restrict_folder",
]

_OTHERS = 0o077


def create_private_file(path: str | Path) -> int:
    """Create a file, open for writing. ``FileExistsError`` if there is one."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def open_private_file(path: str | Path) -> int:
    """Open a file for reading and writing; a missing one is created. ``OSError`` for a symbolic link.

    An existing file stays as it is: :func:`is_private` tells whether others have access."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def read_private_file(path: str | Path) -> int:
    """Open an existing file for reading. ``OSError`` for a symbolic link."""
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)


def ensure_private_file(path: str | Path) -> None:
    """Create the file if it is missing. An existing one, and the target of a symbolic link, stays as it is."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def open_private_log(path: str | Path) -> int:
    """Open a file for reading and appending; a missing one is created. One write appends as a whole. Symbolic links
    are followed."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def create_beside(path: str | Path, before: str | Path, mode: int) -> int:
    """Create a file that is to take the place of ``before``, open for writing: with its mode and, where permitted, its
    owner. If there is no such file, a new one has ``mode``, less the umask."""
    status = None
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(before)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600 if status else mode)
    if status is not None:
        with contextlib.suppress(OSError):
            os.fchown(fd, status.st_uid, status.st_gid)
        with contextlib.suppress(OSError):
            os.fchmod(fd, status.st_mode & 0o777)
    return fd


def is_private(fd: int) -> bool:
    """Whether an open file is this user's, and no other has access."""
    status = os.fstat(fd)
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS


def make_private_folder(path: str | Path) -> None:
    """Create a folder, and missing ones above it, for this user alone. Existing ones stay as they are."""
    path = Path(path)
    for folder in reversed([path, *(folder for folder in path.parents if not folder.exists())]):
        folder.mkdir(0o700, exist_ok=True)


def restrict_folder(path: str | Path) -> None:
    """Take access to an existing folder from others."""
    if os.stat(path).st_mode & _OTHERS:
        os.chmod(path, 0o700)


def move_new(source: str | Path, target: str | Path) -> None:
    """Give a file its final name. ``FileExistsError`` if there is one of that name; it stays as it is."""
    os.link(source, target)
    os.unlink(source)
