"""The processes of a system of POSIX without /proc, as :mod:`proc_table` tells it on Linux. Owns psutil.

A process whose parent has ended is nobody's descendant here: it is found by the environment that it was started with.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator

import psutil

assert sys.platform != "win32"

__all__ = ["began", "descendants", "figures", "is_alive", "marked", "watch"]


def descendants(parent: int) -> set[int]:
    """All processes started by ``parent`` directly or indirectly, without those whose own parent has ended."""
    with contextlib.suppress(psutil.Error):
        return {process.pid for process in psutil.Process(parent).children(recursive=True)}
    return set()


def marked(mark: str) -> Iterator[int]:
    """The processes with this text in the environment that they were started with."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # it belongs to another user, or has ended
            if any(mark in value for value in process.environ().values()):
                yield process.pid


def began(process: int) -> bytes:
    """The start time; empty if the process is gone."""
    with contextlib.suppress(psutil.Error):
        return repr(psutil.Process(process).create_time()).encode()
    return b""


def is_alive(process: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent does not."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    return False


def figures(process: int) -> dict[str, int]:
    """The numbers of open descriptors and threads; zeros if the process is gone."""
    with contextlib.suppress(psutil.Error):
        subject = psutil.Process(process)
        return {"descriptors": subject.num_fds(), "threads": subject.num_threads()}
    return {"descriptors": 0, "threads": 0}


def watch(processes: Iterable[int]) -> Callable[[float], None]:
    """A function that returns once all these processes have ended, or after so many seconds. Call it once."""
    watched: list[psutil.Process] = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            watched.append(psutil.Process(process))

    def wait(seconds: float) -> None:
        psutil.wait_procs(watched, timeout=seconds)

    return wait
