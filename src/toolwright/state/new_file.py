"""Files with a secret, which are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

__all__ = ["write_new"]


def write_new(path: Path, text: str) -> None:
    """A file for its owner alone. FileExistsError where there is one; any other OSError, and there is none."""
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(made, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(made)
