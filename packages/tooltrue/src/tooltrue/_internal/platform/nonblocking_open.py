"""Opens any path for reading without waiting: neither for the writer of a pipe, nor for a device."""

from __future__ import annotations

import os
from pathlib import Path

from tooltrue._internal.platform.descriptors import BINARY
from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["open_without_waiting"]

if HAS_POSIX:

    def open_without_waiting(path: str | Path) -> int:
        """Open ``path`` and return the descriptor. The caller looks whether it is a regular file before it reads."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

else:

    def open_without_waiting(path: str | Path) -> int:
        """Open ``path`` and return the descriptor. The caller looks whether it is a regular file before it reads."""
        # Opening does not wait on Windows. Without the flag a text would lose its carriage returns.
        return os.open(path, os.O_RDONLY | BINARY)
