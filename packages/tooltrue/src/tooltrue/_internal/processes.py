"""Discovery and termination of child processes. Linux only; elsewhere only the process group is known."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

__all__ = [
    "MARK",
    "adopt_orphans",
    "descendants",
    "die_with_parent",
    "kill_descendants",
    "kill_strays",
    "kill_tree",
    "mark",
    "starts",
]

MARK = "TOOLTRUE_STARTED"
"""The environment variable that identifies the descendants of a program, even after their parent has ended."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 5


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent has ended, so that :func:`descendants` finds them."""
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Have this process signalled when its parent, or the thread that created it, ends in any way. Linux only."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, int(number))


def _prctl(option: int, value: int) -> None:
    import ctypes  # noqa: PLC0415 - few processes start others

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def descendants(parent: int | None = None) -> set[int]:
    """All processes started by ``parent``, or this process, directly or indirectly."""
    # The kernel lists children by the thread that started them. When a thread or a process ends during the scan, its
    # children move to one that has perhaps been read already. Two equal scans show that none moved in between.
    processes = _scan(parent or os.getpid())
    for _ in range(_PASSES):
        before, processes = processes, _scan(parent or os.getpid())
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


def kill_descendants(parent: int | None = None) -> None:
    """Kill the descendants of ``parent``, or this process, which must be adopting orphans. Never raises."""
    killed: set[int] = set()
    for _ in range(_PASSES):
        if not (targets := descendants(parent) - killed):
            break
        for process in targets:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= targets


def mark() -> tuple[str, str]:
    """A new name for processes about to be started, and the value of :data:`MARK` that carries it, after the names
    under which this process itself was started."""
    name = secrets.token_hex(16)
    return name, f"{os.environ.get(MARK, '')}:{name}"


def starts(processes: Iterable[int]) -> dict[int, bytes]:
    """The start time of each process: a process that later reuses the id has a different one."""
    return {process: began for process in processes if (began := _began(process))}


def kill_strays(name: str, start_times: Mapping[int, bytes]) -> None:
    """Kill the processes started under this name (:func:`mark`), and those in ``start_times`` that are still the same
    process, even in their own session or with a dead parent. Linux only. Never raises."""
    killed: set[int] = {os.getpid()}
    for _ in range(_PASSES):
        targets = {
            *_marked(name),
            *(process for process, began in start_times.items() if _began(process) == began),
        } - killed
        if not targets:
            break
        for process in targets:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= targets


def _marked(name: str) -> Iterator[int]:
    encoded_name = name.encode()
    for process in _numbers("/proc"):
        with contextlib.suppress(OSError):  # it belongs to another user, or has ended
            if encoded_name in Path(f"/proc/{process}/environ").read_bytes():
                yield process


def _began(process: int) -> bytes:
    """The start time in clock ticks since boot (proc(5), ``stat``, field 22); empty if the process is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19]
    return b""


def kill_tree(leader: int) -> None:
    """Kill the process group of ``leader`` and its descendants, stopped first so that it starts no more of them.

    The process that started it must still wait for it. Never raises.
    """
    _signal_group(leader, signal.SIGSTOP)
    kill_descendants(leader)
    _signal_group(leader, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
