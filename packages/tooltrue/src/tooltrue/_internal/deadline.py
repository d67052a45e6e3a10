"""Time limits for every call, at a fraction of the cost of ``asyncio.timeout`` or of separate timers.

Most calls have the same limit and end long before it, so alarms of one length share a timer, and queue up
nearest first.
"""

from __future__ import annotations

import asyncio
from asyncio import current_task
from typing import Any, Final

__all__ = ["Alarm", "Deadline", "is_late"]

_LATE: Final = "the time is over"


class Alarm:
    """Calls :meth:`ring` of a subclass once after ``seconds``, unless :meth:`end` is called first."""

    __slots__ = ("_line",)

    def __init__(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        line = _lines.get(seconds)
        if line is None or line.loop is not loop:
            line = _new_line(loop, seconds)
        self._line = line.waiting
        ends = line.waiting[self] = line.now() + seconds
        if not line.is_armed:
            line.arm(ends)

    def ring(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self._line.pop(self, None)


class Deadline(Alarm):
    """Cancels the current task after ``seconds``, unless :meth:`end` is called first.

    Code that catches the cancellation, or an exception derived from it, must call :meth:`was_the_reason`. Code below
    tells it from a cancellation by the caller with :func:`is_late`.
    """

    __slots__ = ("_before", "_fired", "_task")

    def __init__(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        task = current_task(loop)
        if task is None:
            raise RuntimeError("there is no task that could be cancelled")
        self._task: asyncio.Task[Any] | None = task
        self._before = task.cancelling()
        self._fired = False
        # As in `Alarm`, whose call would cost as much as all of this.
        line = _lines.get(seconds)
        if line is None or line.loop is not loop:
            line = _new_line(loop, seconds)
        self._line = line.waiting
        ends = line.waiting[self] = line.now() + seconds
        if not line.is_armed:
            line.arm(ends)

    def ring(self) -> None:
        if self._task is not None:
            self._fired = True
            self._task.cancel(_LATE)

    def end(self) -> None:
        self._line.pop(self, None)
        if not self._fired:
            self._task = None  # the task may hold the call that holds this: such a cycle waits for a collection

    def end_late(self) -> bool:
        """End it, and return whether it was the reason."""
        self.end()
        return self._fired and self.was_the_reason()

    def was_the_reason(self) -> bool:
        """Whether this deadline, and no other cause, cancelled the task; if so, undo the cancellation."""
        return self._fired and self._task is not None and self._task.uncancel() <= self._before


def is_late(error: asyncio.CancelledError) -> bool:
    """Whether a :class:`Deadline` has cancelled the task."""
    return error.args == (_LATE,)


class _Line:
    """The alarms of one length on one loop. Its timer is set for the first alarm, or for one that has ended since."""

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
        # A timer may fire a clock tick too early; it then counts as on time.
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


def _new_line(loop: asyncio.AbstractEventLoop, seconds: float) -> _Line:
    """A new queue for alarms of this length. A queue that is dropped from the table still serves its alarms."""
    if len(_lines) >= _MAX_KEPT:
        _lines.clear()
    line = _lines[seconds] = _Line(loop)
    return line
