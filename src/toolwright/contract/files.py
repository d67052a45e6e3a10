"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from toolwright.errors import ConfigurationError

__all__ = ["write_whole"]


def write_whole(file: Path, text: str, mode: int = 0o666) -> None:
    """Whoever reads it meanwhile has the one before. ``mode``, less the umask, is for a file that is not there yet.

    Behind a link, it is the file that is replaced. What is no file, such as a pipe or ``/dev/stdout``, is written to.
    ``ConfigurationError`` where it cannot be written.
    """
    try:
        if file.exists() and not file.is_file():
            file.write_text(text, "utf-8")
            return
        file = Path(os.path.realpath(file))
        made = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        with contextlib.suppress(FileNotFoundError):
            mode = file.stat().st_mode & 0o777
        handle = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
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
