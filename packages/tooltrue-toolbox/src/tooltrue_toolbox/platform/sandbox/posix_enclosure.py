"""A process group around a program, its descendants and its supervisor, and the limits of each process in it."""

from __future__ import annotations

import sys

assert sys.platform != "win32"

import os
import resource
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from tooltrue._internal.platform.processes import kill_descendants
from tooltrue_toolbox.platform.sandbox.mechanisms import LimitedBy

__all__ = [
    "ENDED_BY",
    "GroupEnclosure",
    "entrance",
    "environment_of_program",
    "environment_of_supervisor",
    "start_options",
]

ENDED_BY: LimitedBy = "process group"
"""The mechanism that ends the processes of a program."""

_SENT_TO_GROUPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def entrance(folder: int) -> int | str:
    """How the supervisor reaches the working directory: the descriptor, which it inherits."""
    return folder


def start_options(folder: int) -> dict[str, Any]:
    """How the supervisor is started: as the leader of a group of its own, with the descriptor of the folder."""
    return {"pass_fds": (folder,), "start_new_session": True}


def environment_of_supervisor() -> dict[str, str]:
    """The variables that the supervisor needs."""
    return {}


def environment_of_program(scratch: str) -> dict[str, str]:
    """The variables that name a folder of the program's own."""
    return {"HOME": scratch, "TMPDIR": scratch}


class GroupEnclosure:
    """The process group of this process, and of all that it starts; a process may leave it for a group of its own.

    ``limits`` are those of each process of the program, by the names of POSIX; ``processes`` is not limited, since
    the systems count all processes of the user.
    """

    def __init__(self, limits: Mapping[str, int], processes: int) -> None:
        self._limits = limits
        for number in _SENT_TO_GROUPS:  # a script that signals its group must not end the supervisor
            signal.signal(number, signal.SIG_IGN)

    def start_options(self, folder: int) -> dict[str, Any]:
        """How the program is started: in that folder, with the usual signals and its limits."""

        def prepare() -> None:
            os.fchdir(folder)
            for number in _SENT_TO_GROUPS:
                signal.signal(number, signal.SIG_DFL)
            for name, value in {**self._limits, "CORE": 0}.items():
                with suppress(OSError, ValueError):  # macOS refuses some limits of memory
                    _limit(getattr(resource, f"RLIMIT_{name}"), value)

        return {"preexec_fn": prepare}

    def outcome(self, code: int) -> dict[str, Any]:
        """The end of a program with that return code, and what it has used."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"code": code, "cpu": round(used.ru_utime + used.ru_stime, 3), "memory": used.ru_maxrss * _MAXRSS_UNIT}

    def end(self) -> NoReturn:
        """End all processes in it, this one included, and those that have left it while their parent lives."""
        kill_descendants()
        os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _limit(number: int, value: int) -> None:
    _, most = resource.getrlimit(number)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(number, (value, value))
