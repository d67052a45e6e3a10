"""Stops sending operations to a server that does not answer them, and tries again with one."""

from __future__ import annotations

import math
from collections.abc import Callable

from tooltrue.errors import ToolError
from tooltrue.gateway.wording import UPSTREAM_PAUSED

__all__ = ["CircuitBreaker"]

_LONGEST_SECONDS = 300.0


class CircuitBreaker:
    """The circuit breaker of the server ``label``.

    After ``failures`` failed operations in a row it is open: operations are refused for ``pause`` seconds. Then one
    operation is sent as a trial. If that fails, the next pause is twice as long, up to five minutes. An operation that
    is answered closes it.
    """

    __slots__ = ("_clock", "_failed", "_failures", "_first_pause", "_has_trial", "_label", "_pause", "_paused_until")

    def __init__(self, label: str, failures: int, pause: float, clock: Callable[[], float]) -> None:
        self._label = label
        self._failures = failures
        self._first_pause = self._pause = pause
        self._clock = clock
        self._failed = 0
        self._paused_until: float | None = None
        self._has_trial = False

    @property
    def is_open(self) -> bool:
        return self._paused_until is not None

    def check(self) -> None:
        """Raise ``ToolError``, with the time after which to try again, if an operation would be refused now."""
        if self._paused_until is None:
            return
        remaining = self._paused_until - self._clock()
        if remaining > 0 or self._has_trial:
            raise ToolError.of(UPSTREAM_PAUSED, server=self._label, seconds=max(1, math.ceil(remaining)))

    def admit(self) -> bool:
        """Admit an operation, and return whether it is a trial. Raises what :meth:`check` raises."""
        if self._paused_until is None:
            return False
        self.check()
        self._has_trial = True
        return True

    def answered(self) -> None:
        """Note that the server has answered an operation."""
        self._failed, self._paused_until, self._has_trial, self._pause = 0, None, False, self._first_pause

    def failed(self, *, is_trial: bool) -> None:
        """Note that an operation got no answer. While it is open, only a trial counts: the others began before."""
        if is_trial:
            self._has_trial = False
            self._pause = min(2 * self._pause, _LONGEST_SECONDS)
        elif self.is_open:
            return
        self._failed += 1
        if is_trial or self._failed >= self._failures:
            self._paused_until = self._clock() + self._pause

    def given_up(self, *, is_trial: bool) -> None:
        """Note that the caller has given an operation up, which says nothing of the server."""
        if is_trial:
            self._has_trial = False
