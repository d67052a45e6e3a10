"""How long answers are waited for: limits of time that can be made to stand still, all of them together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator

__all__ = ["Limit", "Patience"]


class Limit:
    """Calls ``late`` after so many seconds, those not counted in which it stood still, unless it is ended before."""

    __slots__ = ("_late", "_limits", "_seconds", "_timer")

    def __init__(self, seconds: float, late: Callable[[], None], limits: set[Limit]) -> None:
        self._seconds = seconds
        self._late = late
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        limits.add(self)

    def go_on(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._late)

    def stand_still(self) -> None:
        if self._timer is not None:
            self._seconds = max(0.0, self._timer.when() - asyncio.get_running_loop().time())
            self._timer.cancel()

    def end(self) -> None:
        self._limits.discard(self)
        if self._timer is not None:
            self._timer.cancel()


class Patience:
    """The limits of one end of a conversation."""

    def __init__(self) -> None:
        self._limits: set[Limit] = set()
        self._pauses = 0

    def limit(self, seconds: float, late: Callable[[], None]) -> Limit:
        limit = Limit(seconds, late, self._limits)
        if not self._pauses:
            limit.go_on()
        return limit

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """While this is open anywhere, no limit runs out: it is not the other end that takes its time."""
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
