"""The ledger: what tasks did, in the order in which it happened, whichever process did it.

It is a pipe, so that each line outlives the process that wrote it, and is an event for its reader.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

__all__ = ["Ledger", "Line", "opened_ledger"]


@dataclass(frozen=True)
class Line:
    """``begins``: a run of the function. ``ran``: the effect of a step. ``confirmed``: the step is stored. ``returns``:
    the end of the function."""

    pid: int
    task: str
    verb: str
    step: str = "-"
    value: str = "-"

    @classmethod
    def decoded(cls, text: str) -> Line:
        pid, *words = text.split()
        return cls(int(pid), *words)


class Ledger:
    """All lines so far. Workers write to the descriptor ``pipe``."""

    def __init__(self, reader: int, pipe: int) -> None:
        self.pipe = pipe
        self.lines: list[Line] = []
        self._reader = reader
        self._rest = b""
        self._came = asyncio.Event()

    def take(self) -> None:
        """Take the lines that have come."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._reader, 1 << 16):
                *whole, self._rest = (self._rest + data).split(b"\n")
                self.lines += [Line.decoded(line.decode()) for line in whole]
        self._came.set()

    async def until(self, wanted: Callable[[Line], bool], after: int = 0) -> Line:
        """The first such line among those from number ``after`` on, now or later."""
        while True:
            for line in self.lines[after:]:
                if wanted(line):
                    return line
            after = len(self.lines)
            self._came.clear()
            await self._came.wait()

    def of(self, task: str) -> Sequence[Line]:
        """The lines of a task."""
        return [line for line in self.lines if line.task == task]


@contextlib.contextmanager
def opened_ledger() -> Generator[Ledger]:
    """A ledger that reads on the running loop."""
    reader, pipe = os.pipe()
    os.set_blocking(reader, False)
    ledger, loop = Ledger(reader, pipe), asyncio.get_running_loop()
    loop.add_reader(reader, ledger.take)
    try:
        yield ledger
    finally:
        loop.remove_reader(reader)
        os.close(reader)
        os.close(pipe)
