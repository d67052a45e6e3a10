"""Families of processes: the start of a program, its descendants, and their end.

POSIX has process groups and a table of all processes; Windows has job objects, which no process leaves.
"""

from __future__ import annotations

import os
import threading

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_processes import (
        adopt_orphans,
        close_in_forks,
        descendants,
        die_with_parent,
        end_children,
        figures,
        is_alive,
        kill_descendants,
        kill_tree,
        start_program,
    )
else:
    from tooltrue._internal.platform.windows_processes import (
        adopt_orphans,
        close_in_forks,
        descendants,
        die_with_parent,
        end_children,
        figures,
        is_alive,
        kill_descendants,
        kill_tree,
        start_program,
    )

__all__ = [
    "adopt_orphans",
    "close_in_forks",
    "descendants",
    "die_with_parent",
    "end_children",
    "exit_within",
    "figures",
    "is_alive",
    "kill_descendants",
    "kill_tree",
    "start_program",
]


def exit_within(seconds: float) -> None:
    """End this process and its children after ``seconds``, even if the event loop is blocked."""

    def leave() -> None:
        end_children()
        os._exit(1)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()
