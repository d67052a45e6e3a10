"""The processes of Linux: their children, start times, environments and ends, read from /proc."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

assert sys.platform != "win32"

__all__ = ["began", "descendants", "figures", "is_alive", "marked", "watch"]

_PASSES = 5


def descendants(parent: int) -> set[int]:
    """All processes started by ``parent`` directly or indirectly."""
    # The kernel lists children by the thread that started them. When a thread or a process ends during the scan, its
    # children move to one that has perhaps been read already. Two equal scans show that none moved in between.
    processes = _scan(parent)
    for _ in range(_PASSES):
        before, processes = processes, _scan(parent)
        if processes == before:
            break
    return processes


def _scan(parent: int) -> set[int]:
    processes: set[int] = set()
    unread = [parent]
    while unread:  # at any depth: each may have started the next
        children = _children(unread.pop())
        unread += (child for child in children if child not in processes)
        processes.update(children)
    return processes


def _children(parent: int) -> list[int]:
    children: list[int] = []
    for thread in _numbers(f"/proc/{parent}/task"):
        with contextlib.suppress(OSError):
            children += map(int, Path(f"/proc/{parent}/task/{thread}/children").read_text().split())
    return children


def _numbers(folder: str) -> list[int]:
    """The ids of the processes or threads in the folder; empty if it cannot be opened or is gone, for which
    ``Path.glob`` would sometimes raise."""
    try:
        return list(map(int, filter(str.isdigit, os.listdir(folder))))
    except OSError:
        return []


def marked(mark: str) -> Iterator[int]:
    """The processes with this text in the environment that they were started with."""
    encoded_mark = mark.encode()
    for process in _numbers("/proc"):
        with contextlib.suppress(OSError):  # it belongs to another user, or has ended
            if encoded_mark in Path(f"/proc/{process}/environ").read_bytes():
                yield process


def began(process: int) -> bytes:
    """The start time in clock ticks since boot (proc(5), ``stat``, field 22); empty if the process is gone."""
    return _stat(process)[19]


def is_alive(process: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent does not."""
    return _stat(process)[0] not in (b"", b"Z")


def _stat(process: int) -> list[bytes]:
    """The fields of proc(5), ``stat``, from the third on; empty texts if the process is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    return [b""] * 20


def figures(process: int) -> dict[str, int]:
    """The numbers of open descriptors and threads; zeros if the process is gone."""
    return {"descriptors": len(_numbers(f"/proc/{process}/fd")), "threads": len(_numbers(f"/proc/{process}/task"))}


def watch(processes: Iterable[int]) -> Callable[[float], None]:
    """A function that returns once all these processes have ended, or after so many seconds. Call it once."""
    watched = [*_descriptors(processes)]

    def wait(seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for descriptor in watched:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            os.close(descriptor)

    return wait


def _descriptors(processes: Iterable[int]) -> Iterator[int]:
    """A descriptor for each process that runs now, readable once the process has ended."""
    if sys.platform == "linux":
        for process in processes:
            with contextlib.suppress(OSError):
                yield os.pidfd_open(process)
