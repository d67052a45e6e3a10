"""Which of the two families of systems this is. The type checkers are told by their configuration."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["HAS_POSIX", "PLATFORM"]


def _has_posix() -> bool:
    try:
        import fcntl  # noqa: PLC0415 - asked for, not used
    except ImportError:
        return False
    return bool(fcntl)


HAS_POSIX: Final = _has_posix()
"""Whether the modules and calls of POSIX are there: on Linux and macOS, not on Windows."""

PLATFORM: Final[str] = sys.platform
"""The name of the system, as Python has it."""
