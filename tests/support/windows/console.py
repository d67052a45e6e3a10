"""The console of Windows as a terminal of Linux."""

from __future__ import annotations

import os
from typing import Any

from support.windows import function, set_last_error

__all__ = ["get_console_mode"]

_ERROR_INVALID_HANDLE = 6


@function("kernel32", "GetConsoleMode")
def get_console_mode(handle: int, mode: Any) -> bool:
    """Succeeds for a terminal alone; the mode itself is not needed."""
    if os.isatty(handle):
        return True
    set_last_error(_ERROR_INVALID_HANDLE)
    return False
