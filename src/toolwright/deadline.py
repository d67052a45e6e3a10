"""A time limit on what the current task does next. Costs a fraction of ``asyncio.timeout``, which every call would pay.

Most calls have the same limit, and end long before it: so those of one length stand in a line, nearest first, and share
a timer.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

__all__ = ["Deadline"]


class Deadline:
    """Cancels the current task after ``seconds``, unless :meth:`end` comes first.

    Whoever catches the cancellation, or anything that was made of it, asks :meth:`was_the_reason`.
    """

    __slots__ = ("_before", "_fired", "_line", "_task")

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task that could be cancelled")
        self._task = task
        self._before = task.cancelling()
        self._fired = False
        self._line = _line(seconds)
        self._line.add(self)

    def fire(self) -> None:
        self._fired = True
        self._task.cancel()

    def was_the_reason(self) -> bool:
        """Whether it was this deadline, and nobody else, that cancelled the task; if so, that is undone."""
        return self._fired and self._task.uncancel() <= self._before

    def end(self) -> None:
        self._line.waiting.pop(self, None)


class _Line:
    """The deadlines of one length on one loop. Its timer is that of the first, or of one that has ended since."""

    __slots__ = ("_is_armed", "_seconds", "loop", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self.loop = loop
        self.waiting: OrderedDict[Deadline, float] = OrderedDict()
        self._seconds = seconds
        self._is_armed = False

    def add(self, deadline: Deadline) -> None:
        at = self.waiting[deadline] = self.loop.time() + self._seconds
        if not self._is_armed:
            self._arm(at)

    def _arm(self, at: float) -> None:
        self._is_armed = True
        self.loop.call_at(at, self._ring, at)

    def _ring(self, at: float) -> None:
        self._is_armed = False
        while self.waiting:
            first = next(iter(self.waiting))
            if self.waiting[first] > max(at, self.loop.time()):
                self._arm(self.waiting[first])
                return
            del self.waiting[first]
            first.fire()


_MAX_KEPT = 64
_lines: dict[float, _Line] = {}


def _line(seconds: float) -> _Line:
    """Where deadlines of this length stand. One that is forgotten goes on for those who stand there."""
    loop = asyncio.get_running_loop()
    line = _lines.get(seconds)
    if line is None or line.loop is not loop:
        if len(_lines) >= _MAX_KEPT:
            _lines.clear()
        line = _lines[seconds] = _Line(loop, seconds)
    return line
