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

WINDOWS = """
import os, sys
os.environ["TOOLTRUE_TESTS_SYSTEM"] = "windows"
import support.without_posix
"""
"""As on Windows: without the modules and calls of POSIX, with stand-ins for those of Windows."""

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
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        start_new_session=True,  # a program signals its group, which only some systems make for it
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
