"""Forks of this process that share its work."""

from __future__ import annotations

import os
import sys

__all__ = ["cores_for_forks"]


def cores_for_forks() -> int:
    """The cores on which forks of this process can run, itself included. One alone where a fork is not safe: macOS
    loads frameworks that break in a fork, and Windows has none."""
    if sys.platform == "linux" and hasattr(os, "fork"):
        return len(os.sched_getaffinity(0))
    return 1
