"""Atomic creation of files with secrets: a file is complete or absent."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from tooltrue._internal.platform.private_files import create_private_file, move_new

__all__ = ["write_new"]


def write_new(path: Path, text: str) -> None:
    """Create a file for its owner alone. FileExistsError if it exists; after any other OSError there is no file."""
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(create_private_file(made), "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        move_new(made, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(made)
