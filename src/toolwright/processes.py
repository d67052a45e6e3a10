"""What a process has started, and the end of it. Linux only; elsewhere a process group is all that is known."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["adopt_orphans", "descendants", "kill_descendants", "kill_tree"]

_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 5


def adopt_orphans() -> None:
    """Make grandchildren ours when their parent ends, so that :func:`descendants` finds them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(parent: int | None = None) -> Iterator[int]:
    """Every process that ``parent``, or this one, has started, and those that these have started."""
    for child in _children(parent or os.getpid()):
        yield child
        yield from descendants(child)


def _children(parent: int) -> list[int]:
    found: list[int] = []
    for listing in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, listing.read_text().split())
    return found


def kill_descendants(parent: int | None = None) -> None:
    """Kill what ``parent``, or this process, has started; it needs to be adopting orphans. Never raises."""
    killed: set[int] = set()
    for _ in range(_PASSES):
        if not (found := set(descendants(parent)) - killed):
            break
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= found


def kill_tree(leader: int) -> None:
    """Kill the process group of ``leader`` and all that ``leader`` has started. Stopped first, it starts nothing more.

    Whoever started it still has to wait for it. Never raises.
    """
    _signal_group(leader, signal.SIGSTOP)
    kill_descendants(leader)
    _signal_group(leader, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
