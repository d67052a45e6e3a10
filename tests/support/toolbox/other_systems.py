"""The command tools in a process in which the ways of other systems are chosen, by what that process lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.sources import SOURCES
from tooltrue.testing.state import LIMIT

__all__ = ["MAC", "WINDOWS", "printed_on"]

_PATHS = [str(Path(__file__).parents[2]), *(str(source.parent) for source in SOURCES)]

MAC = "import os\ndel os.pidfd_open\n"
"""As on macOS: POSIX, without what the sandbox of Linux needs."""

WINDOWS = '''
import asyncio.subprocess, ctypes, os, sys
sys.modules["fcntl"] = sys.modules["resource"] = None

class Kernel:
    """The few calls of kernel32 that an enclosure makes: a job is a session, and a handle is a descriptor."""

    class Call:
        argtypes = restype = None

        def __init__(self, call):
            self.call = call

        def __call__(self, *arguments):
            return self.call(*arguments)

    def __init__(self, name, use_last_error=False):
        def final_path(handle, buffer, size, flags):
            buffer.value = "\\\\\\\\?\\\\" + os.readlink(f"/proc/self/fd/{handle}")
            return len(buffer.value)

        self.CreateJobObjectW = self.Call(lambda attributes, name: 1)
        self.SetInformationJobObject = self.Call(lambda job, kind, rules, size: 1)
        self.AssignProcessToJobObject = self.Call(lambda job, process: os.setsid() or 1)
        self.TerminateJobObject = self.Call(lambda job, code: os.killpg(0, 9))
        self.GetCurrentProcess = self.Call(lambda: -1)
        self.GetFinalPathNameByHandleW = self.Call(final_path)

    def __getattr__(self, name):  # declared by a module, and called by no enclosure
        return self.Call(None)

ctypes.WinDLL = Kernel
ctypes.get_last_error = lambda: 0
ctypes.WinError = lambda code: OSError(code, "Windows error")
'''
"""As on Windows: without the modules of POSIX, with stand-ins for a few calls of kernel32."""

_SUPERVISOR = """
from tooltrue_toolbox.platform.sandbox import unconfined_programs
def supervisor_command(module, *, site):
    main = f"import sys; sys.path[:0] = {sys.path!r}\\n{PREAMBLE}\\nfrom {module} import main; main()"
    return [sys.executable, "-I", "-c", main]
unconfined_programs.supervisor_command = supervisor_command
"""


def printed_on(system: str, text: str, *words: str, supervisor: bool = False) -> list[str]:
    """The lines that a program prints with the modules that ``system`` has. ``supervisor``: also its supervisors."""
    begin = f"import sys\nsys.path[:0] = {_PATHS!r}\nPREAMBLE = {system!r}\n{system}\n"
    program = begin + (_SUPERVISOR if supervisor else "") + text
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
