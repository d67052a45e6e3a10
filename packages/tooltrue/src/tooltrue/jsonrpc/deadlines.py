"""Time limits for answers, which can be paused together."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Generator

from tooltrue._internal.deadline import Alarm

__all__ = ["Deadlines", "RequestDeadline"]


class RequestDeadline(Alarm):
    """Calls :meth:`late` of a subclass after ``seconds`` without a sign of life, or after ``total`` in any case.

    It holds from ``start`` to ``end`` of :class:`Deadlines`. Paused time does not count.
    """

    __slots__ = ("_remaining", "_runs", "_seconds", "_since", "_whole")

    def __init__(self, seconds: float, total: float = math.inf) -> None:
        self._whole = self._seconds = seconds
        self._remaining = total
        self._since = 0.0
        self._runs = False

    def late(self, is_total: bool) -> None:
        """The time is over; ``is_total`` tells whether that of ``total`` is."""
        raise NotImplementedError

    def go_on(self) -> None:
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        self._runs = True
        super().__init__(self._remaining if self._remaining < self._seconds else self._seconds, loop)

    def ring(self) -> None:
        self.late(self._remaining < self._seconds)

    def stand_still(self) -> None:
        if self._runs:
            self.end()
            spent = asyncio.get_running_loop().time() - self._since
            self._seconds = max(0.0, self._seconds - spent)
            self._remaining = max(0.0, self._remaining - spent)

    def begin_anew(self) -> None:
        """Restart ``seconds`` after a sign of life from the other end."""
        runs = self._runs
        self.stand_still()
        self._seconds = self._whole
        if runs:
            self.go_on()

    def end(self) -> None:
        if self._runs:
            self._runs = False
            self._line.pop(self, None)  # as in `Alarm`


class Deadlines:
    """The time limits of one end of a connection."""

    def __init__(self) -> None:
        self._limits: set[RequestDeadline] = set()
        self._pauses = 0

    def start(self, limit: RequestDeadline) -> None:
        self._limits.add(limit)
        if not self._pauses:
            limit.go_on()

    def end(self, limit: RequestDeadline) -> None:
        """End a limit, whether it has been started or not: it will not be late."""
        self._limits.discard(limit)
        limit.end()

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Pause all limits while at least one of these contexts is open: the delay is not the other end's."""
        self._pauses += 1
        if self._pauses == 1:
            for limit in self._limits:
                limit.stand_still()
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                for limit in self._limits:
                    limit.go_on()
