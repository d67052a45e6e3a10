"""Children of a server that ends: none is left behind. Linux only; elsewhere nothing is done."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["adopt_orphans", "descendants", "end_children", "exit_within"]

_PR_SET_CHILD_SUBREAPER = 36
_GRACE_SECONDS = 0.4


def adopt_orphans() -> None:
    """Make grandchildren ours when their parent ends, so that :func:`end_children` finds them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """Ask every descendant to end, and kill those that have not within 0.4 s. Never raises."""
    if not any(descendants()):
        return
    waited = [*_watch(descendants())]
    _signal_all(signal.SIGTERM)
    _wait_for(waited)
    _signal_all(signal.SIGKILL)
    _reap()


def exit_within(seconds: float) -> None:
    """Whatever blocks the event loop: after ``seconds`` this process is gone, and so are its children."""

    def leave() -> None:
        end_children()
        os._exit(1)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


def _watch(processes: Iterator[int]) -> Iterator[int]:
    """A descriptor for each process, readable once it has ended."""
    for process in processes:
        with contextlib.suppress(OSError):
            yield os.pidfd_open(process)


def _wait_for(watched: list[int]) -> None:
    deadline = time.monotonic() + _GRACE_SECONDS
    for descriptor in watched:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        os.close(descriptor)


def _signal_all(number: int) -> None:
    for process in tuple(descendants()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


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


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
