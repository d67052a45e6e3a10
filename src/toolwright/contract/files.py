"""Files that are written as a whole or not at all, and by one at a time where what was read decides what is written."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Generator
from pathlib import Path

from toolwright.errors import ConfigurationError
from toolwright.locking import locked

__all__ = ["alone", "write_whole"]

_ALONE_SECONDS = 10.0


@contextlib.contextmanager
def alone(file: Path, *, seconds: float = _ALONE_SECONDS) -> Generator[None]:
    """Nobody else who goes by this, in whatever process, changes ``file`` meanwhile: for who reads it and writes it.

    ``ConfigurationError`` where others do not let go for so long. A folder that cannot be locked is used without.
    """
    with contextlib.ExitStack() as opened:
        # The lock is the kernel's, on the folder: the file itself is replaced, and nothing is left of it.
        with contextlib.suppress(OSError):
            folder = os.open(os.path.dirname(os.path.realpath(file)), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, folder)
            if not locked(folder, seconds):
                problem = f"another process has had hold of its folder for {seconds:g} s"
                raise ConfigurationError.of("TW9009", file=str(file), problem=problem)
        yield


def write_whole(file: Path, text: str, mode: int = 0o666) -> None:
    """Whoever reads it meanwhile has the one before, whose mode and, where we may give it away, owner it keeps.
    ``mode``, less the umask, is for a file that is not there yet.

    Behind a link, it is the file that is replaced. What is no file, such as a pipe or ``/dev/stdout``, is written to.
    ``ConfigurationError`` where it cannot be written.
    """
    try:
        if file.exists() and not file.is_file():
            file.write_text(text, "utf-8")
            return
        file = Path(os.path.realpath(file))
        made = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        before = None
        with contextlib.suppress(FileNotFoundError):
            before = file.stat()
        handle = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if before else mode)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
                if before is not None:
                    _make_like(handle, before)
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            os.replace(made, file)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(made)
            raise
    except OSError as error:
        raise ConfigurationError.of("TW9009", file=str(file), problem=error.strerror) from None


def _make_like(handle: int, before: os.stat_result) -> None:
    """As far as this user may, and the file system knows of it."""
    with contextlib.suppress(OSError):
        os.fchown(handle, before.st_uid, before.st_gid)
    with contextlib.suppress(OSError):
        os.fchmod(handle, before.st_mode & 0o777)
