"""A job object around a program, its descendants and its supervisor, with the limits that a job has.

The supervisor puts itself into the job before it starts the program, so no process is ever outside of it, and it holds
the only handle: the system ends the job with the supervisor, whatever ends that.
"""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

import ctypes
import os
import subprocess
from collections.abc import Mapping
from typing import Any, NoReturn

from tooltrue._internal.platform.windows_jobs import Job, JobLimits
from tooltrue_toolbox.platform.sandbox.mechanisms import LimitedBy

__all__ = [
    "ENDED_BY",
    "JobEnclosure",
    "entrance",
    "environment_of_program",
    "environment_of_supervisor",
    "start_options",
]

ENDED_BY: LimitedBy = "job object"
"""The mechanism that ends the processes of a program."""

_NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
_FIRST_ERROR_STATUS = 0xC0000000
_LONGEST_PATH = 32_768

_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.GetFinalPathNameByHandleW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_uint32)
_kernel.GetFinalPathNameByHandleW.restype = ctypes.c_uint32


def entrance(folder: int) -> int | str:
    """How the supervisor reaches the working directory: the path of the open handle, which keeps the folder in its
    place."""
    buffer = ctypes.create_unicode_buffer(_LONGEST_PATH)
    length = _kernel.GetFinalPathNameByHandleW(folder, buffer, _LONGEST_PATH, 0)
    if not 0 < length < _LONGEST_PATH:
        raise ctypes.WinError(ctypes.get_last_error())
    return buffer.value.removeprefix("\\\\?\\")


def start_options(folder: int) -> dict[str, Any]:
    """How the supervisor is started: without a window."""
    return {"creationflags": _NO_WINDOW}


def environment_of_supervisor() -> dict[str, str]:
    """The variables without which no program starts."""
    return {name: os.environ[name] for name in ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR") if name in os.environ}


def environment_of_program(scratch: str) -> dict[str, str]:
    """The variables that name a folder of the program's own, and those without which no program starts."""
    own = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "TMPDIR"), scratch)
    # Without the second, a program that is looked for by name is taken from the working directory first.
    return {**environment_of_supervisor(), **own, "NODEFAULTCURRENTDIRECTORYINEXEPATH": "1"}


class JobEnclosure:
    """The job object of this process, and of all that it starts; no process can leave it.

    Of ``limits``, by the names of POSIX, a job has those of CPU time and memory. ``processes`` is their number at the
    same time.
    """

    def __init__(self, limits: Mapping[str, int], processes: int) -> None:
        self._job = Job(
            JobLimits(
                cpu_seconds=limits["CPU"],
                memory=limits["AS"],
                processes=processes + 1,  # and this one
                ends_crashed=True,
            )
        )
        self._job.add_self()

    def start_options(self, folder: str) -> dict[str, Any]:
        """How the program is started: in that folder, and without a window."""
        return {"cwd": folder, "creationflags": _NO_WINDOW}

    def outcome(self, code: int) -> dict[str, Any]:
        """The end of a program with that exit code; a status of an error, such as an access violation, counts as a
        signal."""
        code &= 0xFFFFFFFF
        return {"code": -code if code >= _FIRST_ERROR_STATUS else code}

    def end(self) -> NoReturn:
        """End all processes in it, this one included."""
        self._job.kill()
        os._exit(1)
