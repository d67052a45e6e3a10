"""Termination of all child processes when a server ends. Linux only; a no-op elsewhere."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterable, Iterator

from tooltrue._internal.processes import adopt_orphans, descendants, die_with_parent, kill_descendants

__all__ = ["adopt_orphans", "descendants", "die_with_parent", "end_children", "exit_within"]

_GRACE_SECONDS = 0.4


def end_children() -> None:
    """Terminate every descendant, and kill those still running after 0.4 s. Never raises."""
    if not descendants():
        return
    waited = [*_watch(descendants())]
    for process in descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGTERM)
    _wait_for(waited)
    kill_descendants()
    _reap()


def exit_within(seconds: float) -> None:
    """End this process and its children after ``seconds``, even if the event loop is blocked."""

    def leave() -> None:
        end_children()
        os._exit(1)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


def _watch(processes: Iterable[int]) -> Iterator[int]:
    """A descriptor for each process, readable once the process has ended."""
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


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
