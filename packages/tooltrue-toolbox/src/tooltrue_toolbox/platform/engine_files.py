"""Open files for a library that opens files by their names only.

Linux and macOS have a name for each open descriptor. Windows has none: the library gets a private copy, since the name
of the file itself could mean another file by the time it is opened.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from tooltrue._internal.platform.descriptors import BINARY
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue_toolbox.platform import handles

__all__ = ["CAN_STREAM", "name_of", "new_pipe", "written_file"]

_CHUNK = 1 << 20

if HAS_POSIX:
    import fcntl

    CAN_STREAM: Final = True
    """Whether the library can read a pipe by its name."""

    _DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"

    def new_pipe(size: int) -> tuple[int, int]:
        """A pipe, to read and to write, that holds ``size`` bytes if the system can do that."""
        read, write = os.pipe()
        if sys.platform == "linux":
            with suppress(OSError):  # a user may have reached the system's limit
                fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, size)
        return read, write

    @contextmanager
    def name_of(fd: int) -> Generator[str]:
        """A name by which the open file can be opened."""
        yield f"{_DESCRIPTORS}/{fd}"

else:
    CAN_STREAM: Final = False

    def new_pipe(size: int) -> tuple[int, int]:
        raise NotImplementedError

    @contextmanager
    def name_of(fd: int) -> Generator[str]:
        with written_file(partial(_copy, fd)) as name:
            yield name


def _copy(fd: int, copy: int) -> None:
    offset = 0
    with os.fdopen(copy, "wb") as file:
        while part := handles.read_at(fd, _CHUNK, offset):
            offset += len(part)
            file.write(part)


@contextmanager
def written_file(write: Callable[[int], None]) -> Generator[str]:
    """The name of a new file of this user's alone. ``write`` gets it as a descriptor, fills it and closes it; it is
    removed at the end."""
    with tempfile.TemporaryDirectory(prefix="tooltrue-") as folder:
        path = Path(folder, "table")
        write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600))
        yield path.as_posix()
