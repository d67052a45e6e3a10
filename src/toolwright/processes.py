"""What a process has started, and the end of it. Linux only; elsewhere a process group is all that is known."""

from __future__ import annotations

import contextlib
import ctypes
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

MARK = "TOOLWRIGHT_STARTED"
"""The variable by whose value all that a program has started is known again, whoever is its parent by now."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 5


def adopt_orphans() -> None:
    """Make grandchildren ours when their parent ends, so that :func:`descendants` finds them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """This process gets the signal once its parent, or the thread of it that made this one, ends, however that comes.
    Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def descendants(parent: int | None = None) -> Iterator[int]:
    """Every process that ``parent``, or this one, has started, and those that these have started."""
    found = _children(parent or os.getpid())
    while found:  # however deep: each may have started the next
        child = found.pop()
        yield child
        found += _children(child)


def _children(parent: int) -> list[int]:
    found: list[int] = []
    for thread in _numbers(f"/proc/{parent}/task"):
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{parent}/task/{thread}/children").read_text().split())
    return found


def _numbers(folder: str) -> list[int]:
    """The processes or threads that have a folder there. None where that has gone, which ``Path.glob`` would raise in
    some moments, or cannot be opened."""
    try:
        return list(map(int, filter(str.isdigit, os.listdir(folder))))
    except OSError:
        return []


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


def mark() -> tuple[str, str]:
    """A new name for what is about to be started, and the value of :data:`MARK` that says it; the names of those that
    this process was started by remain in it."""
    name = secrets.token_hex(16)
    return name, f"{os.environ.get(MARK, '')}:{name}"


def starts(processes: Iterable[int]) -> dict[int, bytes]:
    """When each of them began: a number that another process gets later began at another time."""
    return {process: began for process in processes if (began := _began(process))}


def kill_strays(name: str, seen: Mapping[int, bytes]) -> None:
    """Kill what has been started under this name (:func:`mark`), and what is still the same as when it was ``seen``,
    wherever it stands: in a session of its own, or with a parent that has gone. Linux only. Never raises."""
    killed: set[int] = {os.getpid()}
    for _ in range(_PASSES):
        found = {*_marked(name), *(process for process, began in seen.items() if _began(process) == began)} - killed
        if not found:
            break
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= found


def _marked(name: str) -> Iterator[int]:
    wanted = name.encode()
    for process in _numbers("/proc"):
        with contextlib.suppress(OSError):  # it is somebody else's, or has ended
            if wanted in Path(f"/proc/{process}/environ").read_bytes():
                yield process


def _began(process: int) -> bytes:
    """The time since the system began, in its own ticks (proc(5), ``stat``, field 22); nothing where it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19]
    return b""


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
