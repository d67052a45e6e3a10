"""The number of descriptors, or of handles on Windows, that this process has open: for tests that count them."""

from __future__ import annotations

import psutil

__all__ = ["open_descriptors"]


def open_descriptors() -> int:
    process = psutil.Process()
    return process.num_handles() if psutil.WINDOWS else process.num_fds()
