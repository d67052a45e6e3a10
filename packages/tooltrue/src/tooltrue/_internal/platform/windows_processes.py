"""Families of processes on Windows: each program that is started has a job object of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tooltrue._internal.platform import windows_jobs as jobs
from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

__all__ = [
    "Program",
    "adopt_orphans",
    "close_in_forks",
    "descendants",
    "die_with_parent",
    "end_children",
    "figures",
    "is_alive",
    "kill_descendants",
    "kill_tree",
    "start_program",
]

_CREATE_SUSPENDED = 0x0000_0004
_CREATE_NEW_PROCESS_GROUP = 0x0000_0200
_CREATE_NO_WINDOW = 0x0800_0000
_PASSES = 5
_GRACE_SECONDS = 0.4

is_alive = jobs.is_alive

_programs: weakref.WeakValueDictionary[int, Program] = weakref.WeakValueDictionary()
_own_job: jobs.Job | None = None


class Program(subprocess.Popen[bytes]):
    """A program in a job of its own from its first instruction on. What it leaves behind ends with this object."""

    def __init__(self, command: Sequence[str] | str, **options: Any) -> None:
        self.job = jobs.Job()
        flags = _CREATE_SUSPENDED | _CREATE_NEW_PROCESS_GROUP
        if not jobs.shares_console():
            flags |= _CREATE_NO_WINDOW
        super().__init__(command, creationflags=flags, **options)
        try:
            self.job.add(self.pid)
            jobs.resume(self.pid)
        except OSError:
            self.kill()
            self.wait()
            self.job.close()
            raise
        _programs[self.pid] = self
        weakref.finalize(self, self.job.close).atexit = False  # then, the system closes it


def start_program(
    command: Sequence[str] | str,
    *,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
) -> Program:
    """Start the program as the leader of a family of its own, for :func:`kill_tree`. Ctrl-C does not reach it."""
    return Program(command, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd)


def adopt_orphans() -> None:
    """Put this process into a job, so that :func:`descendants` finds all that it starts from now on, and nothing of it
    outlives this process. Does nothing where the system refuses that."""
    global _own_job
    if _own_job is None:
        with contextlib.suppress(OSError):
            job = jobs.Job()
            job.add_self()
            _own_job = job


def die_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """No-op: the job of a program ends with the process that has started it."""


def close_in_forks(descriptor: int) -> None:
    """No-op: there are no forks."""


def _job_of(parent: int | None) -> jobs.Job | None:
    if parent is None or parent == os.getpid():
        return _own_job
    program = _programs.get(parent)
    return None if program is None else program.job


def descendants(parent: int | None = None) -> set[int]:
    """All processes started by ``parent``, or this process, directly or indirectly. Empty if ``parent`` is no program
    of this process (:func:`start_program`), or this process does not adopt orphans."""
    job = _job_of(parent)
    return set() if job is None else job.processes() - {parent or os.getpid()}


def kill_descendants(parent: int | None = None) -> None:
    """Kill the descendants of ``parent``, or this process, which must be adopting orphans. Never raises."""
    if (job := _job_of(parent)) is None:
        return
    for _ in range(_PASSES):
        if not (targets := descendants(parent)):
            break
        for process in targets:
            job.kill_one(process)


def end_children() -> None:
    """Kill every descendant, and wait up to 0.4 s for their ends. Never raises."""
    if not (family := descendants()):
        return
    kill_descendants()
    deadline = time.monotonic() + _GRACE_SECONDS
    for process in family:
        jobs.wait_for(process, deadline - time.monotonic())


def kill_tree(leader: int) -> None:
    """Kill ``leader``, a program of this process (:func:`start_program`), and its descendants.

    Another child of this process is killed as well, and with it all that is in a job of which it has the only handle.
    The process that started it must still wait for it. Never raises.
    """
    if (program := _programs.get(leader)) is not None:
        program.job.kill()
    else:
        with contextlib.suppress(OSError):
            os.kill(leader, signal.SIGTERM)  # at once, as every signal but those of the console


def figures(process: int) -> dict[str, int]:
    """The number of open handles; zero if the process is gone."""
    return {"descriptors": jobs.open_handles(process)}
