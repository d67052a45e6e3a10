"""The path of a file that is open, by what /proc says of its descriptor."""

from __future__ import annotations

import os
from typing import Any

from support.windows import function, set_last_error

__all__ = ["final_path"]

_ERROR_INVALID_HANDLE = 6

_readlink = os.readlink


@function("kernel32", "GetFinalPathNameByHandleW")
def final_path(handle: int, buffer: Any, size: int, flags: int) -> int:
    """Writes the path with the prefix that Windows gives it; the length that is needed where it does not fit."""
    try:
        path = "\\\\?\\" + _readlink(f"/proc/self/fd/{handle}")
    except OSError:
        set_last_error(_ERROR_INVALID_HANDLE)
        return 0
    if len(path) >= size:
        return len(path) + 1
    buffer.value = path
    return len(path)
