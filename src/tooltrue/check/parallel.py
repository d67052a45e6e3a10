"""Work shared among forked copies of this process, on systems that can fork."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Final, TypeVar

from tooltrue._internal.processes import die_with_parent

__all__ = ["map_in_processes", "process_count"]

_MOST: Final = 8

T = TypeVar("T")
R = TypeVar("R")


def process_count() -> int:
    """The number of processes to share work: one per core. One alone if a fork is not safe: on other systems than
    Linux, and if this process has several threads, which a fork would not have."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return min(_MOST, len(os.sched_getaffinity(0)))


def map_in_processes(function: Callable[[T], R], shares: Sequence[T], processes: int) -> Iterator[R]:
    """Yield ``function`` of each share, in order, computed by forked copies of this process.

    A fork has all data of this process; only results are sent between processes. If a fork is killed, or the system
    cannot start one, this process computes the remaining results.
    """
    done = 0
    try:
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (function, shares)) as pool:
            for result in pool.map(_of_share, range(len(shares))):
                yield result
                done += 1
    except (BrokenProcessPool, OSError):
        yield from map(function, shares[done:])


_inherited: list[Any] = []


def _begin(function: Callable[[Any], Any], shares: Sequence[Any]) -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a fork silently
    _inherited[:] = [function, shares]


def _of_share(number: int) -> Any:
    function, shares = _inherited
    return function(shares[number])
