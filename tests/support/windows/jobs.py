"""Job objects, handles of processes, and the events of a console, made of /proc and signals.

A job holds the processes that were added, those that they have started, and all of their process groups. A process
whose parent has gone becomes a child of the process that has made the job, by which it is still recognized. When the
process that has made a job for itself is killed, only its own children end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Any

from support.windows import function, new_handle, set_last_error

_ACCESS_DENIED, _INVALID_HANDLE, _INVALID_PARAMETER, _MORE_DATA = 5, 6, 87, 234
_WAIT_TIMEOUT, _WAIT_FAILED = 0x102, 0xFFFF_FFFF
_KILL_ON_JOB_CLOSE = 0x2000
_BREAK = signal.SIGHUP
_PASSES = 10


class _Job:
    def __init__(self) -> None:
        self.members: dict[int, str] = {}
        """Each process that has been seen in it, and the time of its start."""
        self.kills_on_close = False
        self.rules: Any = None
        """The structure that was set last."""

    def add(self, process: int) -> None:
        self.members[process] = _stat(process)[19]

    def processes(self) -> set[int]:
        table = {process: stat for process in _numbers() if (stat := _stat(process))}
        found = {process for process, start in self.members.items() if process in table and table[process][19] == start}
        known = {process for job in _jobs.values() for process in job.members}
        found |= {process for process, stat in table.items() if _is_orphan(stat) and process not in known}
        groups = {process for process in self.members if process != os.getpid()}
        more = found
        while more:
            more = {
                process
                for process, stat in table.items()
                if process not in found and (int(stat[1]) in found or int(stat[2]) in groups)
            }
            found |= more
        self.members.update((process, table[process][19]) for process in found)
        return {process for process in found if table[process][0] != "Z"}

    def kill(self) -> None:
        for _ in range(_PASSES):
            others = self.processes() - {os.getpid()}
            for process in others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            if not others:
                return


def ends_its_children() -> bool:
    """Whether this process is in a job that ends with it."""
    return any(job.kills_on_close and os.getpid() in job.members for job in _jobs.values())


def end_with_parent() -> None:
    """Called in a new process: it is killed when its parent has ended."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


_jobs: dict[int, _Job] = {}
_processes: dict[int, int] = {}
_ITSELF = ctypes.c_void_p(-1).value or 0


def rules_of_jobs() -> list[Any]:
    """What was set for each open job, in the order of their creation."""
    return [job.rules for job in _jobs.values()]


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(process: int) -> list[str]:
    """The fields of proc(5), ``stat``, from the state on; empty if the process is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _is_orphan(stat: list[str]) -> bool:
    """Whether this process has adopted it: its own children that are in no job are of its own group."""
    return int(stat[1]) == os.getpid() and int(stat[2]) != os.getpgrp()


def process_of(handle: int) -> int | None:
    """The process of a handle, if it is one of a process."""
    return os.getpid() if handle == _ITSELF else _processes.get(handle)


def _failed(code: int) -> bool:
    set_last_error(code)
    return False


@function("kernel32", "CreateJobObjectW")
def create_job(attributes: object, name: object) -> int:
    handle = new_handle()
    _jobs[handle] = _Job()
    return handle


@function("kernel32", "SetInformationJobObject")
def set_information(job: int, kind: int, limits: Any, size: int) -> bool:
    assert kind == 9, "JobObjectExtendedLimitInformation"
    given = limits._obj
    assert ctypes.sizeof(given) == size == 144, "of 64 bits"
    _jobs[job].rules = type(given).from_buffer_copy(given)
    _jobs[job].kills_on_close = bool(given.BasicLimitInformation.LimitFlags & _KILL_ON_JOB_CLOSE)
    return True


@function("kernel32", "AssignProcessToJobObject")
def assign(job: int, process: int) -> bool:
    number = process_of(process)
    if job not in _jobs or number is None:
        return _failed(_INVALID_HANDLE)
    if not _stat(number):
        return _failed(_ACCESS_DENIED)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    _jobs[job].add(number)
    return True


@function("kernel32", "QueryInformationJobObject")
def query_information(job: int, kind: int, buffer: Any, size: int, length: object) -> bool:
    assert kind == 3, "JobObjectBasicProcessIdList"
    target = buffer._obj
    room = size // ctypes.sizeof(ctypes.c_size_t) - 1
    processes = sorted(_jobs[job].processes())
    target[0] = len(processes) | (min(room, len(processes)) << 32)
    target[1 : 1 + min(room, len(processes))] = processes[:room]
    return len(processes) <= room or _failed(_MORE_DATA)


@function("kernel32", "TerminateJobObject")
def terminate_job(job: int, code: int) -> bool:
    _jobs[job].kill()
    return True


@function("kernel32", "IsProcessInJob")
def is_in_job(process: int, job: int, result: Any) -> bool:
    result._obj.value = process_of(process) in _jobs[job].processes()
    return True


@function("kernel32", "OpenProcess")
def open_process(access: int, inherits: bool, process: int) -> int | None:
    if process <= 0 or not (stat := _stat(process)) or (stat[0] == "Z" and int(stat[1]) != os.getpid()):
        set_last_error(_INVALID_PARAMETER)
        return None
    handle = new_handle()
    _processes[handle] = process
    return handle


@function("kernel32", "GetCurrentProcess")
def current_process() -> int:
    return _ITSELF


@function("kernel32", "CloseHandle")
def close_handle(handle: int) -> bool:
    job = _jobs.pop(handle, None)
    if job is not None:
        if job.kills_on_close:
            job.kill()
        return True
    if _processes.pop(handle, None) is not None:
        return True
    try:
        os.close(handle)
    except OSError:
        return _failed(_INVALID_HANDLE)
    return True


@function("kernel32", "TerminateProcess")
def terminate_process(process: int, code: int) -> bool:
    number = process_of(process)
    assert number is not None
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return _failed(_ACCESS_DENIED)
    return True


@function("kernel32", "WaitForSingleObject")
def wait_for(process: int, milliseconds: int) -> int:
    number = process_of(process)
    if number is None:
        set_last_error(_INVALID_HANDLE)
        return _WAIT_FAILED
    deadline = time.monotonic() + milliseconds / 1000
    while (stat := _stat(number)) and stat[0] != "Z":
        if time.monotonic() >= deadline:
            return _WAIT_TIMEOUT
        time.sleep(0.005)
    return 0


@function("kernel32", "GetProcessHandleCount")
def handle_count(process: int, result: Any) -> bool:
    result._obj.value = len(os.listdir(f"/proc/{process_of(process)}/fd"))
    return True


@function("kernel32", "GenerateConsoleCtrlEvent")
def console_event(event: int, group: int) -> bool:
    assert event == 1, "CTRL_BREAK_EVENT: Ctrl-C reaches no single group"
    try:
        os.killpg(group, _BREAK)
    except ProcessLookupError:
        return _failed(_INVALID_PARAMETER)
    return True


@function("kernel32", "GetConsoleWindow")
def console_window() -> int:
    return new_handle()


@function("kernel32", "SetConsoleCtrlHandler")
def set_console_handler(handler: object, adds: bool) -> bool:
    _console_handlers.append(handler)
    return True


_console_handlers: list[Any] = []


@function("ntdll", "NtResumeProcess")
def resume(process: int) -> int:
    """No-op: a process is not created suspended here."""
    return 0
