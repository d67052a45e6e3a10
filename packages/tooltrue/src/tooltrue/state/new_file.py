"""Atomic creation of files with secrets: a file is complete or absent."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

__all__ = ["write_new"]


def write_new(path: Path, text: str) -> None:
    """Create a file for its owner alone. FileExistsError if it exists; after any other OSError there is no file."""
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
