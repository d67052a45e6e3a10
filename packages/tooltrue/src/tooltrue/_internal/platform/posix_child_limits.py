"""Limits of this process on POSIX: ``RLIMIT_…``."""

from __future__ import annotations

import os
import resource
import sys
import threading

assert sys.platform != "win32"

__all__ = ["limit_cpu", "limit_memory"]

_LOOK_SECONDS = 0.02


def limit_memory(size: int) -> None:
    """Let this process have ``size`` bytes of memory: an allocation beyond them fails, or the process ends. No image of
    it is written when it crashes. ``OSError`` or ``ValueError`` if the limit cannot be set."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "darwin":  # accepts RLIMIT_AS and does not enforce it, or refuses it
        end_beyond(size)
    else:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def limit_cpu(seconds: int) -> None:
    """Let this process compute for ``seconds``; then it is killed."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def end_beyond(size: int) -> None:
    """End this process soon after it has used more than ``size`` bytes of memory.

    A thread looks. A parser that keeps the interpreter to itself holds it up: for that time the size of what is read
    and the limit of computing time bound the memory.
    """
    unit = 1 if sys.platform == "darwin" else 1024

    def look() -> None:
        pause = threading.Event()
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit <= size:
            pause.wait(_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, name="memory", daemon=True).start()
