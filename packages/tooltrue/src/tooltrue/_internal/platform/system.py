"""Which of the two families of systems this is. The type checkers are told by their configuration."""

from __future__ import annotations

import importlib
from typing import Final

__all__ = ["HAS_POSIX"]


def _is_there(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


HAS_POSIX: Final = _is_there("fcntl")
"""Whether the modules and calls of POSIX are there: on Linux and macOS, not on Windows."""
