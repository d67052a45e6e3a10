"""The process between us and a program: it confines the program, and ends all processes that the program has started.

::

    us ──control──▶ supervisor ── first ── program ── its descendants
       ◀──status──

Control is the supervisor's standard input: the job as a line of JSON, then nothing. When it is closed, because the call
was cancelled or because our process is gone for any reason, all processes below end. ``first`` is the parent of
orphans, and in a PID namespace process 1, with which the kernel ends them all. Status is a descriptor for lines of JSON
with the confinement of the program, and its outcome. The program itself gets neither; its output is the supervisor's.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"

import errno
import json
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from tooltrue._internal.platform.processes import adopt_orphans, descendants, die_with_parent, kill_descendants
from tooltrue_toolbox.platform.sandbox.linux_machine import (
    DEVICES,
    SYSTEM,
    drop_privileges,
    filter_calls,
    landlock,
    limit,
    own_processes,
    separate,
    usual_signals,
)
from tooltrue_toolbox.platform.sandbox.mechanisms import HOLDS

__all__ = ["main"]

Job = dict[str, Any]

_COUNTED_MS = 20
_PASSES = 50
_FEWEST = 301
"""The smallest ``pid_max`` that Linux accepts."""


def main() -> None:
    """Run the one program of the job, and end when no process of it is left."""
    adopt_orphans()
    job = _job()
    _keep_descriptors()
    job["place"] = os.readlink(f"/proc/self/fd/{job['folder']}")
    job["priority"] = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)  # for root: ahead of the program
    confinement = ["namespaces"] if _holds(lambda: separate(network=job["network"])) else []
    first = os.fork()
    if not first:
        _be_first(job, confinement)
    os.close(job["folder"])
    _wait(first, job)
    _end_all(first, separate=bool(confinement))
    _remove(job["scratch"])


def _job() -> Job:
    line = b""
    while not line.endswith(b"\n"):
        if not (part := os.read(0, 65536)):
            sys.exit(1)  # given up before it began
        line += part
    return json.loads(line)


def _keep_descriptors() -> None:
    """Keep all descriptors from the program but its streams; uvloop leaves more of them open than we pass on."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2:
            with suppress(OSError):  # the one of the listing itself
                os.set_inheritable(descriptor, False)


def _say(job: Job, **facts: Any) -> None:
    with suppress(OSError):  # the reader is gone
        os.write(job["status"], json.dumps(facts).encode() + b"\n")


def _holds(hold: Callable[[], None]) -> bool:
    try:
        hold()
    except OSError:
        return False
    return True


# The supervisor


def _wait(first: int, job: Job) -> None:
    """Wait until the program has ended, the call is given up, or there are too many processes."""
    waited = select.poll()
    waited.register(0, select.POLLIN)
    waited.register(os.pidfd_open(first), select.POLLIN)
    # The kernel counts no processes of root (RLIMIT_NPROC), so we do.
    while not waited.poll(_COUNTED_MS if os.getuid() == 0 else None):
        if len(descendants()) > job["processes"] + 1:
            _say(job, ended="processes")
            return


def _end_all(first: int, *, separate: bool) -> None:
    with suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)
    if separate:
        os.waitpid(first, 0)  # returns when the kernel has ended all that were in its namespace
        return
    for _ in range(_PASSES):
        kill_descendants()
        try:
            while os.waitpid(-1, 0 if not descendants() else os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _remove(folder: str) -> None:
    for here, folders, files in os.walk(folder, topdown=False):
        for name in files:
            with suppress(OSError):
                os.unlink(os.path.join(here, name))
        for name in folders:
            path = os.path.join(here, name)
            with suppress(OSError):
                os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    with suppress(OSError):
        os.rmdir(folder)


# Its child, the first process


def _be_first(job: Job, confinement: list[str]) -> NoReturn:
    die_with_parent()
    adopt_orphans()
    if confinement and _holds(own_processes):  # it shows only processes of the namespace, which the program may see
        job["readable"].append("/proc")
        with suppress(OSError), open("/proc/sys/kernel/pid_max", "w") as file:
            file.write(str(max(job["processes"], _FEWEST)))  # of this namespace, from Linux 6.14
    program = os.fork()
    if not program:
        _become(job, confinement)
    while True:
        pid, status, used = os.wait4(-1, 0)
        if pid == program:
            break
    code = os.waitstatus_to_exitcode(status)
    _say(job, code=code, cpu=round(used.ru_utime + used.ru_stime, 3), memory=used.ru_maxrss * 1024)
    if "namespaces" not in confinement:  # in one, this is process 1, and the kernel does it
        kill_descendants()
    os._exit(0)


# Its child, which becomes the program


def _become(job: Job, confinement: list[str]) -> NoReturn:
    try:
        _prepare(job)
        die_with_parent()
        limits = {**job["limits"], "NPROC": _most_processes(job["processes"], confinement)}
        holds = [name for name in HOLDS if name in confinement or _holds(_ways(job)[name])]
        missing = [name for name in job["required"] if name not in holds]
        _say(job, holds=holds, missing=missing)
        if not missing:
            limit(limits)
            os.execve(job["program"], job["argv"], job["environment"])
    except OSError as error:
        _say(job, failed=error.errno)
    os._exit(127)


def _prepare(job: Job) -> None:
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _enter(job["place"], job["folder"])
    usual_signals()
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # the first process to kill when memory runs out
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, job["priority"])
    drop_privileges()


def _most_processes(processes: int, confinement: list[str]) -> int:
    """The value for RLIMIT_NPROC, which counts all processes of the user: in a namespace ours and the program's,
    otherwise also those elsewhere."""
    if confinement:
        return processes + 2
    user, others = os.getuid(), 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.stat(f"/proc/{process}").st_uid == user:
                others += len(os.listdir(f"/proc/{process}/task"))
    return processes + others


def _enter(place: str, folder: int) -> None:
    """Change to the folder by its path, since a descriptor from another mount namespace has none here, and check that
    it is that folder."""
    os.chdir(place)
    if not os.path.samestat(os.stat("."), os.fstat(folder)):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))


def _ways(job: Job) -> dict[str, Callable[[], None]]:
    def unreachable() -> None:
        raise OSError

    return {
        "namespaces": unreachable,
        "landlock": lambda: landlock(
            (*SYSTEM, *job["readable"]), (*DEVICES, job["scratch"], *job["writable"]), network=job["network"]
        ),
        "seccomp": lambda: filter_calls(network=job["network"], writes=bool(job["writable"])),
    }
