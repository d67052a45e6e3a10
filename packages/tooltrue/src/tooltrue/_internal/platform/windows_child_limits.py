"""Limits of this process on Windows: a job object that holds the process alone.

(Job Objects, https://learn.microsoft.com/windows/win32/procthread/job-objects)
"""

from __future__ import annotations

import ctypes

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

__all__ = ["limit_cpu", "limit_memory"]

_EXTENDED_LIMIT_INFORMATION = 9
_LIMIT_PROCESS_TIME = 0x0000_0002
_LIMIT_PROCESS_MEMORY = 0x0000_0100
_LIMIT_DIE_ON_UNHANDLED_EXCEPTION = 0x0000_0400
_TICKS = 10_000_000
"""In a second: times are given in units of 100 nanoseconds."""

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_handle, _number, _flag = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
_kernel32.CreateJobObjectW.restype = _handle
_kernel32.CreateJobObjectW.argtypes = [_handle, ctypes.c_wchar_p]
_kernel32.SetInformationJobObject.argtypes = [_handle, _flag, _handle, _number]
_kernel32.AssignProcessToJobObject.argtypes = [_handle, _handle]
_kernel32.GetCurrentProcess.restype = _handle


class _ChildLimits(ctypes.Structure):
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


class _ExtendedChildLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _ChildLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def limit_memory(size: int) -> None:
    """Let this process have ``size`` bytes of memory: an allocation beyond them fails. No dialog waits for a person
    when it crashes. ``OSError`` if the limit cannot be set."""
    limits = _ExtendedChildLimits()
    limits.ProcessMemoryLimit = size
    _limit(limits, _LIMIT_PROCESS_MEMORY | _LIMIT_DIE_ON_UNHANDLED_EXCEPTION)


def limit_cpu(seconds: int) -> None:
    """Let this process compute for ``seconds``; then it is ended."""
    limits = _ExtendedChildLimits()
    limits.BasicLimitInformation.PerProcessUserTimeLimit = seconds * _TICKS
    _limit(limits, _LIMIT_PROCESS_TIME)


def _limit(limits: _ExtendedChildLimits, flags: int) -> None:
    """Put this process into a new job with these limits, within those that it is in. The job lives as long as it."""
    limits.BasicLimitInformation.LimitFlags = flags
    job: int | None = _kernel32.CreateJobObjectW(None, None)
    size = ctypes.sizeof(limits)
    if (
        not job
        or not _kernel32.SetInformationJobObject(job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), size)
        or not _kernel32.AssignProcessToJobObject(job, _kernel32.GetCurrentProcess())
    ):
        raise ctypes.WinError(ctypes.get_last_error())
