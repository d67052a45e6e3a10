"""Work shared among forked copies of this process, on systems that can fork."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from multiprocessing.connection import Connection, wait
from typing import Any, Final, TypeVar

from tooltrue._internal.platform.forks import cores_for_forks, forked
from tooltrue._internal.platform.processes import die_with_parent

__all__ = ["map_in_processes", "process_count"]

_MOST: Final = 8
_WIDTH: Final = 4
"""The bytes of the number of a share in a queue."""

T = TypeVar("T")
R = TypeVar("R")


def process_count() -> int:
    """The number of processes to share work: one per core. One alone if a fork is not safe: on other systems than
    Linux, and if this process has several threads, which a fork would not have."""
    return 1 if threading.active_count() > 1 else min(_MOST, cores_for_forks())


def map_in_processes(function: Callable[[T], R], groups: Sequence[Sequence[T]], processes: int) -> list[R]:
    """Return ``function`` of each share of each group, in order, computed by forked copies of this process.

    Shares that load the same data are one group: a process takes all shares of one group before it helps with another.
    A fork has all data of this process; only results are sent between processes. This process computes the shares of a
    fork that was killed or met an error, and all of them if the system cannot start a process.
    """
    shares = [share for group in groups for share in group]
    results: dict[int, R] = {}
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        queues = [stack.enter_context(_queue(numbers)) for numbers in _numbered(groups)]
        readers: list[Connection] = []
        for number in range(processes):
            first = number % len(queues)
            readers.append(
                stack.enter_context(forked(partial(_work, function, shares, [*queues[first:], *queues[:first]])))
            )
        while readers:
            for reader in [one for one in wait(readers) if isinstance(one, Connection)]:
                try:
                    number, result = reader.recv()
                    results[number] = result
                except (EOFError, OSError):  # it has ended
                    readers.remove(reader)
    return [results[number] if number in results else function(share) for number, share in enumerate(shares)]


@contextlib.contextmanager
def _queue(numbers: Iterable[int]) -> Generator[int]:
    """A pipe from which each process takes the number of its next share, until none is left."""
    queue, entrance = os.pipe()
    try:
        with open(entrance, "wb") as stream:
            stream.writelines(number.to_bytes(_WIDTH, "big") for number in numbers)
        yield queue
    finally:
        os.close(queue)


def _numbered(groups: Sequence[Sequence[Any]]) -> Iterator[Sequence[int]]:
    """The numbers of the shares of each group."""
    ends = [*accumulate(map(len, groups), initial=0)]
    return (range(start, end) for start, end in pairwise(ends))


def _work(function: Callable[[Any], Any], shares: Sequence[Any], queues: Sequence[int], writer: Connection) -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a fork silently
    with contextlib.suppress(Exception):  # the first process computes the share again, and meets the error too
        for queue in queues:
            while taken := os.read(queue, _WIDTH):
                number = int.from_bytes(taken, "big")
                writer.send((number, function(shares[number])))
