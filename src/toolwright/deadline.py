"""Time limits that every call pays for: a fraction of what ``asyncio.timeout``, or a timer each, would cost.

Most calls have the same limit, and end long before it: so those of one length stand in a line, nearest first, and share
a timer.
"""

from __future__ import annotations

import asyncio
from asyncio import current_task

__all__ = ["Alarm", "Deadline"]


class Alarm:
    """Calls :meth:`ring` of a subclass after ``seconds``, once, unless :meth:`end` comes first."""

    __slots__ = ("_line",)

    def __init__(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        line = _lines.get(seconds)
        if line is None or line.loop is not loop:
            line = _begun(loop, seconds)
        self._line = line.waiting
        ends = line.waiting[self] = line.now() + seconds
        if not line.is_armed:
            line.arm(ends)

    def ring(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self._line.pop(self, None)


class Deadline(Alarm):
    """Cancels the current task after ``seconds``, unless :meth:`end` comes first.

    Whoever catches the cancellation, or anything that was made of it, asks :meth:`was_the_reason`.
    """

    __slots__ = ("_before", "_fired", "_task")

    def __init__(self, seconds: float) -> None:
        task = current_task()
        if task is None:
            raise RuntimeError("there is no task that could be cancelled")
        self._task = task
        self._before = task.cancelling()
        self._fired = False
        Alarm.__init__(self, seconds, task.get_loop())

    def ring(self) -> None:
        self._fired = True
        self._task.cancel()

    def was_the_reason(self) -> bool:
        """Whether it was this deadline, and nobody else, that cancelled the task; if so, that is undone."""
        return self._fired and self._task.uncancel() <= self._before


class _Line:
    """The alarms of one length on one loop. Its timer is that of the first, or of one that has ended since."""

    __slots__ = ("is_armed", "loop", "now", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.now = loop.time
        self.waiting: dict[Alarm, float] = {}
        self.is_armed = False

    def arm(self, ends: float) -> None:
        self.is_armed = True
        self.loop.call_at(ends, self._ring, ends)

    def _ring(self, ends: float) -> None:
        self.is_armed = False
        # A timer may come a tick of its clock too early, and is on time then.
        now, due = max(ends, self.now()), list[Alarm]()
        for alarm, its_end in self.waiting.items():
            if its_end > now:
                self.arm(its_end)
                break
            due.append(alarm)
        for alarm in due:
            if self.waiting.pop(alarm, None) is not None:
                alarm.ring()


_MAX_KEPT = 64
_lines: dict[float, _Line] = {}


def _begun(loop: asyncio.AbstractEventLoop, seconds: float) -> _Line:
    """Where alarms of this length stand. One that is forgotten goes on for those who stand there."""
    if len(_lines) >= _MAX_KEPT:
        _lines.clear()
    line = _lines[seconds] = _Line(loop)
    return line
