"""The number of descriptors, or of handles on Windows, that this process has open: for tests that count them."""

from __future__ import annotations

from collections.abc import Callable

import psutil

__all__ = ["open_descriptors"]


def open_descriptors() -> int:
    process = psutil.Process()
    count: Callable[[], int] = getattr(process, "num_handles", None) or process.num_fds
    return count()
