"""Forks of this process that share its work."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from multiprocessing import get_context
from multiprocessing.connection import Connection, Pipe

__all__ = ["cores_for_forks", "forked"]


def cores_for_forks() -> int:
    """The cores on which forks of this process can run, itself included. One alone where a fork is not safe: macOS
    loads frameworks that break in a fork, and Windows has none."""
    if sys.platform == "linux" and hasattr(os, "fork"):
        return len(os.sched_getaffinity(0))
    return 1


@contextlib.contextmanager
def forked(work: Callable[[Connection], object]) -> Generator[Connection]:
    """A fork of this process that runs ``work`` with one end of a connection, and the other end. The fork is killed at
    the end of the block. ``OSError`` on a system without forks."""
    if sys.platform == "win32":
        raise OSError("this system cannot fork")
    reader, writer = Pipe(duplex=False)
    with reader:
        with writer:
            fork = get_context("fork").Process(target=work, args=(writer,), daemon=True)
            fork.start()
        try:
            yield reader
        finally:
            fork.kill()
            fork.join()
