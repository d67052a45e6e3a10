"""Atomic file replacement, and an advisory lock for read-modify-write."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Generator
from pathlib import Path

from tooltrue._internal.platform.file_locks import folder_lock
from tooltrue._internal.platform.file_replacement import FileInUse, replace_file
from tooltrue._internal.platform.private_files import create_beside
from tooltrue.contract.wording import FILE_NOT_WRITABLE, REASON_FOLDER_LOCKED
from tooltrue.errors import ConfigurationError
from tooltrue.wording import REASON_FILE_IN_USE, Worded

__all__ = ["alone", "write_whole"]

_ALONE_SECONDS = 30.0
"""The holder of the lock writes its file to the disk, which a busy disk delays by seconds."""


@contextlib.contextmanager
def alone(file: Path, *, seconds: float = _ALONE_SECONDS) -> Generator[None]:
    """Hold a cross-process advisory lock on ``file``, for a read-modify-write.

    ``ConfigurationError`` if other processes hold it for longer than ``seconds``. If the folder cannot be locked, the
    block runs without a lock.
    """
    with contextlib.ExitStack() as held:
        # A kernel lock on the folder, since the file itself is replaced; no lock file is left behind.
        with contextlib.suppress(OSError):
            if not held.enter_context(folder_lock(os.path.dirname(os.path.realpath(file)), seconds)):
                problem = Worded(REASON_FOLDER_LOCKED, {"seconds": seconds})
                raise ConfigurationError.of(FILE_NOT_WRITABLE, file=str(file), problem=problem)
        yield


def write_whole(file: Path, text: str, mode: int = 0o666) -> None:
    """Replace a file atomically: readers see the old content or the new. An existing file keeps its mode and, where
    permitted, its owner. ``mode``, less the umask, applies to a new file;
    0o600 is for the owner alone, on every system.

    A symbolic link is followed and its target replaced. A path that is not a regular file, such as a pipe or
    ``/dev/stdout``, is written to directly. ``ConfigurationError`` if the file cannot be written.
    """
    try:
        if file.exists() and not file.is_file():
            file.write_text(text, "utf-8", newline="")
            return
        file = Path(os.path.realpath(file))
        temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        handle = create_beside(temporary, file, mode)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            replace_file(temporary, file)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        problem = Worded(REASON_FILE_IN_USE, {}) if isinstance(error, FileInUse) else error.strerror
        raise ConfigurationError.of(FILE_NOT_WRITABLE, file=str(file), problem=problem) from None
