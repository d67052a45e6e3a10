"""Job objects of Windows, which hold a process with all that it starts; no process leaves one.

(Job Objects, https://learn.microsoft.com/windows/win32/procthread/job-objects)
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

__all__ = ["Job", "JobLimits", "is_alive", "open_handles", "resume", "send_break", "shares_console", "wait_for"]

_PROCESS_TERMINATE = 0x0001
_PROCESS_SET_QUOTA = 0x0100
_PROCESS_QUERY_LIMITED_INFORMATION = 0x1000
_PROCESS_SUSPEND_RESUME = 0x0800
_SYNCHRONIZE = 0x0010_0000
_BASIC_PROCESS_ID_LIST = 3
_EXTENDED_LIMIT_INFORMATION = 9
_LIMIT_PROCESS_TIME = 0x0002
_LIMIT_ACTIVE_PROCESS = 0x0008
_LIMIT_PROCESS_MEMORY = 0x0100
_LIMIT_DIE_ON_UNHANDLED_EXCEPTION = 0x0400
_LIMIT_KILL_ON_JOB_CLOSE = 0x2000
_TICKS = 10_000_000
"""In a second: times are given in units of 100 nanoseconds."""
_WAIT_TIMEOUT = 0x102
_ERROR_MORE_DATA = 234
_CTRL_BREAK_EVENT = 1
_KILLED = 1
"""The exit code of a process that is killed."""

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_ntdll = ctypes.WinDLL("ntdll")

_handle, _number, _flag = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int

_kernel32.CreateJobObjectW.restype = _handle
_kernel32.CreateJobObjectW.argtypes = [_handle, ctypes.c_wchar_p]
_kernel32.SetInformationJobObject.argtypes = [_handle, _flag, _handle, _number]
_kernel32.QueryInformationJobObject.argtypes = [_handle, _flag, _handle, _number, _handle]
_kernel32.AssignProcessToJobObject.argtypes = [_handle, _handle]
_kernel32.TerminateJobObject.argtypes = [_handle, _number]
_kernel32.IsProcessInJob.argtypes = [_handle, _handle, _handle]
_kernel32.OpenProcess.restype = _handle
_kernel32.OpenProcess.argtypes = [_number, _flag, _number]
_kernel32.GetCurrentProcess.restype = _handle
_kernel32.TerminateProcess.argtypes = [_handle, _number]
_kernel32.WaitForSingleObject.argtypes = [_handle, _number]
_kernel32.WaitForSingleObject.restype = _number
_kernel32.GetProcessHandleCount.argtypes = [_handle, _handle]
_kernel32.CloseHandle.argtypes = [_handle]
_kernel32.GenerateConsoleCtrlEvent.argtypes = [_number, _number]
_kernel32.GetConsoleWindow.restype = _handle
_ntdll.NtResumeProcess.argtypes = [_handle]


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class _ProcessHandle:
    """A handle of a running process, closed at the end of the block. ``OSError`` if there is no such process."""

    def __init__(self, process: int, access: int) -> None:
        self._handle: int | None = _kernel32.OpenProcess(access, False, process)
        if not self._handle:
            raise _failure()

    def __enter__(self) -> int:
        assert self._handle is not None
        return self._handle

    def __exit__(self, *error: object) -> None:
        _kernel32.CloseHandle(self._handle)


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The rules of a job; a limit of None is none."""

    cpu_seconds: int | None = None
    """Computing time of each process; then it is ended."""
    memory: int | None = None
    """Bytes of each process: an allocation beyond them fails."""
    processes: int | None = None
    """Processes that run at the same time."""
    ends_crashed: bool = False
    """Whether a process that crashes ends at once, without a dialog that waits for a person."""
    kills_on_close: bool = True
    """Whether all processes are killed when the job is closed, or when the process that has made it ends."""

    def structure(self) -> _ExtendedLimits:
        """These rules as the system reads them."""
        rules = _ExtendedLimits()
        basic = rules.BasicLimitInformation
        flags = 0
        if self.cpu_seconds is not None:
            flags |= _LIMIT_PROCESS_TIME
            basic.PerProcessUserTimeLimit = self.cpu_seconds * _TICKS
        if self.memory is not None:
            flags |= _LIMIT_PROCESS_MEMORY
            rules.ProcessMemoryLimit = self.memory
        if self.processes is not None:
            flags |= _LIMIT_ACTIVE_PROCESS
            basic.ActiveProcessLimit = self.processes
        if self.ends_crashed:
            flags |= _LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        if self.kills_on_close:
            flags |= _LIMIT_KILL_ON_JOB_CLOSE
        basic.LimitFlags = flags
        return rules


class Job:
    """A job object. It is not closed with this object, as its own process may be in it. A closed job has no
    processes."""

    def __init__(self, limits: JobLimits = JobLimits()) -> None:
        self._handle: int | None = _kernel32.CreateJobObjectW(None, None)
        if not self._handle:
            raise _failure()
        rules = limits.structure()
        _check(
            _kernel32.SetInformationJobObject(
                self._handle, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(rules), ctypes.sizeof(rules)
            )
        )

    def add(self, process: int) -> None:
        """Add the process, and with it all that it starts from now on."""
        with _ProcessHandle(process, _PROCESS_SET_QUOTA | _PROCESS_TERMINATE) as handle:
            _check(_kernel32.AssignProcessToJobObject(self._handle, handle))

    def add_self(self) -> None:
        """Add this process, and with it all that it starts from now on."""
        _check(_kernel32.AssignProcessToJobObject(self._handle, _kernel32.GetCurrentProcess()))

    def processes(self) -> set[int]:
        """The processes that run in the job."""
        if self._handle is None:  # without a handle, the system would tell of the job of this process
            return set()
        room = 64
        while True:
            # JOBOBJECT_BASIC_PROCESS_ID_LIST: two counters of 32 bits, then the ids, each as large as a pointer.
            room *= 4
            buffer = (ctypes.c_size_t * (room + 2))()
            size = ctypes.sizeof(buffer)
            if not _kernel32.QueryInformationJobObject(
                self._handle, _BASIC_PROCESS_ID_LIST, ctypes.byref(buffer), size, None
            ):
                if ctypes.get_last_error() == _ERROR_MORE_DATA:
                    continue
                return set()
            assigned, listed = (ctypes.c_uint32 * 2).from_buffer(buffer)
            if listed < assigned:
                continue
            begin = 8 // ctypes.sizeof(ctypes.c_size_t)
            return set(buffer[begin : begin + listed])

    def kill(self) -> None:
        """Kill all its processes. Never raises."""
        if self._handle is not None:
            _kernel32.TerminateJobObject(self._handle, _KILLED)

    def kill_one(self, process: int) -> None:
        """Kill the process if it is in the job: its id may be that of another one by now. Never raises."""
        if self._handle is None:
            return
        try:
            with _ProcessHandle(process, _PROCESS_TERMINATE | _PROCESS_QUERY_LIMITED_INFORMATION) as handle:
                is_in_job = ctypes.c_int(0)
                _kernel32.IsProcessInJob(handle, self._handle, ctypes.byref(is_in_job))
                if is_in_job.value:
                    _kernel32.TerminateProcess(handle, _KILLED)
        except OSError:  # it has ended
            pass

    def close(self) -> None:
        """Kill all its processes, and forget the job."""
        handle, self._handle = self._handle, None
        if handle:
            _kernel32.CloseHandle(handle)


def resume(process: int) -> None:
    """Let a process run that was created suspended."""
    with _ProcessHandle(process, _PROCESS_SUSPEND_RESUME) as handle:
        if _ntdll.NtResumeProcess(handle) < 0:
            raise _failure()


def send_break(group: int) -> bool:
    """Send CTRL_BREAK to the console process group; return whether it was sent: only within one console."""
    return bool(_kernel32.GenerateConsoleCtrlEvent(_CTRL_BREAK_EVENT, group))


def shares_console() -> bool:
    """Whether this process has a console window, in which a program that it starts appears too."""
    return bool(_kernel32.GetConsoleWindow())


def is_alive(process: int) -> bool:
    """Whether the process runs."""
    try:
        with _ProcessHandle(process, _SYNCHRONIZE) as handle:
            return _kernel32.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT
    except OSError:
        return False


def wait_for(process: int, seconds: float) -> None:
    """Return once the process has ended, or after ``seconds``."""
    try:
        with _ProcessHandle(process, _SYNCHRONIZE) as handle:
            _kernel32.WaitForSingleObject(handle, int(max(0.0, seconds) * 1000))
    except OSError:
        pass


def open_handles(process: int) -> int:
    """The number of handles that the process has open; 0 if it is gone."""
    count = ctypes.c_uint32(0)
    try:
        with _ProcessHandle(process, _PROCESS_QUERY_LIMITED_INFORMATION) as handle:
            _kernel32.GetProcessHandleCount(handle, ctypes.byref(count))
    except OSError:
        pass
    return count.value


def _check(done: int) -> None:
    if not done:
        raise _failure()


def _failure() -> OSError:
    return ctypes.WinError(ctypes.get_last_error())
