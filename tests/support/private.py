"""Whether a file is its user's alone, by the way of each system."""

from __future__ import annotations

import os
from pathlib import Path

from tooltrue._internal.platform.private_files import is_private, read_private_file

__all__ = ["is_private_at"]


def is_private_at(path: Path) -> bool:
    """Whether no other user can open the file."""
    fd = read_private_file(path)
    try:
        return is_private(fd)
    finally:
        os.close(fd)
