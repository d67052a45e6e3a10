"""Families of processes on Linux and macOS: process groups, and what a table of all processes tells.

Linux knows more than macOS: there orphans find a new parent in the process that started their ancestors, and a process
can be signalled when its parent ends.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

assert sys.platform != "win32"

if sys.platform == "linux" and Path("/proc/self/stat").exists():
    from tooltrue._internal.platform import proc_table as table
else:
    from tooltrue._internal.platform import psutil_table as table

__all__ = [
    "MARK",
    "adopt_orphans",
    "close_in_forks",
    "descendants",
    "die_with_parent",
    "end_children",
    "figures",
    "is_alive",
    "kill_descendants",
    "kill_strays",
    "kill_tree",
    "mark",
    "signal_group",
    "start_program",
    "starts",
]

MARK = "TOOLTRUE_STARTED"
"""The environment variable that identifies the descendants of a program, even after their parent has ended."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 5
_GRACE_SECONDS = 0.4

is_alive = table.is_alive
figures = table.figures


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent has ended, so that :func:`descendants` finds them. Linux only."""
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Have this process signalled when its parent, or the thread that created it, ends in any way. Linux only."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, int(number))


def _prctl(option: int, value: int) -> None:
    """No-op where the C library has no such function."""
    import ctypes  # noqa: PLC0415 - few processes start others

    if (call := getattr(ctypes.CDLL(None), "prctl", None)) is not None:
        call(option, value, 0, 0, 0)


def close_in_forks(descriptor: int) -> None:
    """Close the descriptor in each forked copy of this process."""
    os.register_at_fork(after_in_child=lambda: os.close(descriptor))


def start_program(
    command: Sequence[str], *, stdin: int | None = None, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """Start the program as the leader of a family of its own, for :func:`kill_tree`. Ctrl-C does not reach it."""
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, start_new_session=True)


def descendants(parent: int | None = None) -> set[int]:
    """All processes started by ``parent``, or this process, directly or indirectly."""
    return table.descendants(parent or os.getpid())


def kill_descendants(parent: int | None = None) -> None:
    """Kill the descendants of ``parent``, or this process, which must be adopting orphans. Never raises."""
    killed: set[int] = set()
    for _ in range(_PASSES):
        if not (targets := descendants(parent) - killed):
            break
        for process in targets:
            _signal(process, signal.SIGKILL)
        killed |= targets


def end_children() -> None:
    """Terminate every descendant, and kill those still running after 0.4 s. Never raises."""
    if not descendants():
        return
    wait = table.watch(descendants())
    for process in descendants():
        _signal(process, signal.SIGTERM)
    wait(_GRACE_SECONDS)
    kill_descendants()
    _reap()


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def mark() -> tuple[str, str]:
    """A new name for processes about to be started, and the value of :data:`MARK` that carries it, after the names
    under which this process itself was started."""
    name = secrets.token_hex(16)
    return name, f"{os.environ.get(MARK, '')}:{name}"


def starts(processes: Iterable[int]) -> dict[int, bytes]:
    """The start time of each process: a process that later reuses the id has a different one."""
    return {process: began for process in processes if (began := table.began(process))}


def kill_strays(name: str, start_times: Mapping[int, bytes]) -> None:
    """Kill the processes started under this name (:func:`mark`), and those in ``start_times`` that are still the same
    process, even in their own session or with a dead parent. Never raises."""
    killed: set[int] = {os.getpid()}
    for _ in range(_PASSES):
        targets = {
            *table.marked(name),
            *(process for process, began in start_times.items() if table.began(process) == began),
        } - killed
        if not targets:
            break
        for process in targets:
            _signal(process, signal.SIGKILL)
        killed |= targets


def kill_tree(leader: int) -> None:
    """Kill the process group of ``leader`` and its descendants, stopped first so that it starts no more of them.

    The process that started it must still wait for it. Never raises.
    """
    signal_group(leader, signal.SIGSTOP)
    kill_descendants(leader)
    signal_group(leader, signal.SIGKILL)


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send the signal to the process group of ``leader``, if there is one. Never raises."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _signal(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)
