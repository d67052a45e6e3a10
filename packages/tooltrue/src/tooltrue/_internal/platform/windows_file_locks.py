"""The way of Windows: a lock on the first byte of a file; for a folder, a file in it that only one process can open.

The file of a folder disappears with its handle, also when the process is killed. A power cut may leave it behind,
unlocked.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

import msvcrt  # noqa: E402 - the type checkers stop above

from tooltrue._internal.platform.windows_handles import (  # noqa: E402 - as above
    ACCESS_DENIED,
    DELETE,
    EXCLUSIVE,
    OPEN_ALWAYS,
    READ,
    SHARING_VIOLATION,
    TEMPORARY,
    Handle,
    close,
    open_file,
)

__all__ = ["folder_lock", "lock_within", "try_lock"]

_STEP = 0.005
"""Seconds between two attempts: a release is not signalled."""

_NAME = ".tooltrue-lock"
_DELETING_SECONDS = 1.0
"""A file that is being deleted cannot be opened, for a moment, with the error of a file without access."""


def try_lock(fd: int) -> bool:
    """Lock the open file ``fd`` until it is closed. Returns ``False`` if others hold the lock. Raises ``OSError`` if
    the file system has no locks. Others cannot read the file meanwhile: it should be a file for the lock alone."""
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLK):
            return False
        raise
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
    handle = _open_within(os.path.join(folder, _NAME), seconds)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            close(handle)


def _open_within(path: str, seconds: float) -> Handle | None:
    began = time.monotonic()
    while True:
        try:
            return open_file(path, READ | DELETE, EXCLUSIVE, OPEN_ALWAYS, TEMPORARY)
        except OSError as error:
            waited = time.monotonic() - began
            if error.winerror != SHARING_VIOLATION and (error.winerror != ACCESS_DENIED or waited > _DELETING_SECONDS):
                raise
            if waited >= seconds:
                return None
        time.sleep(_STEP)
