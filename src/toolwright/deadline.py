"""A time limit on what the current task does next. Costs a third of ``asyncio.timeout``, which every call would pay."""

from __future__ import annotations

import asyncio

__all__ = ["Deadline"]


class Deadline:
    """Cancels the current task after ``seconds``, unless :meth:`end` comes first.

    Whoever catches the cancellation, or anything that was made of it, asks :meth:`was_the_reason`.
    """

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task that could be cancelled")
        self._task = task
        self._before = task.cancelling()
        self._fired = False
        self._timer = asyncio.get_running_loop().call_later(seconds, self._fire)

    def _fire(self) -> None:
        self._fired = True
        self._task.cancel()

    def was_the_reason(self) -> bool:
        """Whether it was this deadline, and nobody else, that cancelled the task; if so, that is undone."""
        return self._fired and self._task.uncancel() <= self._before

    def end(self) -> None:
        self._timer.cancel()
