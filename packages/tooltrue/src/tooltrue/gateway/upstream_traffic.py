"""The operations at one server: how many run at once, whether the server answers, and what the metrics say of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final, TypeVar

from tooltrue._internal.deadline import is_late
from tooltrue.client.call_results import Result
from tooltrue.errors import (
    AuthorizationFailed,
    InvalidAnswer,
    RequestTimeout,
    RpcError,
    ToolError,
    ToolTimeout,
    TransportError,
    Unreachable,
)
from tooltrue.gateway.circuit_breaker import CircuitBreaker
from tooltrue.gateway.fair_slots import FairSlots, NoSlot
from tooltrue.gateway.wording import UPSTREAM_BUSY
from tooltrue.host.upstream_calls import CallerRefused
from tooltrue.host.wording import REMOTE_REQUEST_REFUSED, REMOTE_RESPONSE_UNUSABLE, REMOTE_RESULT_UNUSABLE
from tooltrue.observe.meter import Series
from tooltrue.protocol.types import InputRequiredResult, Value

__all__ = ["UpstreamLimits", "UpstreamTraffic"]

T = TypeVar("T")

_MOST_BREAKERS: Final = 1_000
_ANSWERED: Final = (RpcError, CallerRefused, InvalidAnswer)
"""Errors by which a server has answered."""
_ANSWERED_CODES: Final = frozenset({REMOTE_REQUEST_REFUSED, REMOTE_RESPONSE_UNUSABLE, REMOTE_RESULT_UNUSABLE})
"""The codes of the same errors, as the supervisor passes them on for its programs."""


class UpstreamLimits(Value, frozen=True):
    """Limits on the operations at one server: ``at_once`` run, and of each caller ``waiting`` wait, for at most
    ``waiting_seconds``. After ``failures`` in a row without an answer, none is sent for ``pause_seconds``."""

    at_once: int = 100
    waiting: int = 100
    waiting_seconds: float = 15.0
    failures: int = 5
    pause_seconds: float = 10.0


class UpstreamTraffic:
    """All operations of callers at the server ``label``.

    Callers that share a connection share a circuit breaker. A caller with a connection of its own has a breaker of its
    own, so that it cannot have the server refused to the others. ``clock`` is that of the breakers and durations.
    """

    def __init__(self, label: str, limits: UpstreamLimits, clock: Callable[[], float] = monotonic) -> None:
        self._label = label
        self._limits = limits
        self._clock = clock
        self._breakers: dict[str | None, CircuitBreaker] = {}
        self.slots = FairSlots(limits.at_once, limits.waiting, limits.waiting_seconds)
        self.series = Series()

    @property
    def open_breakers(self) -> int:
        return sum(breaker.is_open for breaker in self._breakers.values())

    async def run(self, caller: str, work: Callable[[], Awaitable[T]], *, is_common: bool) -> T:
        """Run one round of an operation, over the common connection or over one of the caller. Raises ``ToolError`` if
        the server is busy or does not answer at present."""
        began = self._clock()
        key = None if is_common else caller
        breaker = self._breakers.get(key) or self._new_breaker(key)
        outcome, is_trial = "refused", False
        try:
            if not self.slots.try_take():
                breaker.check()  # an operation that would be refused does not wait
                await self._wait(caller)
            try:
                is_trial = breaker.admit()
                result = await work()
                breaker.answered()
                outcome = _outcome(result)
                return result
            except BaseException as error:
                outcome = _failure(error)
                if outcome in ("lost", "timeout"):
                    breaker.failed(is_trial=is_trial)
                elif _is_answer(error):
                    breaker.answered()
                else:
                    breaker.given_up(is_trial=is_trial)
                raise
            finally:
                self.slots.free()
        except asyncio.CancelledError as error:  # also in the queue
            outcome = _failure(error)
            raise
        finally:
            self.series.count(outcome, self._clock() - began)

    async def _wait(self, caller: str) -> None:
        try:
            await self.slots.wait(caller)
        except NoSlot:
            seconds = math.ceil(self._limits.waiting_seconds)
            raise ToolError.of(UPSTREAM_BUSY, server=self._label, running=self.slots.running, seconds=seconds) from None

    def _new_breaker(self, caller: str | None) -> CircuitBreaker:
        if len(self._breakers) >= _MOST_BREAKERS:
            del self._breakers[next(iter(self._breakers))]
        limits = self._limits
        breaker = CircuitBreaker(self._label, limits.failures, limits.pause_seconds, self._clock)
        self._breakers[caller] = breaker
        return breaker


def _outcome(result: Any) -> str:
    if isinstance(result, InputRequiredResult):
        return "asked"
    return "error" if isinstance(result, Result) and result.is_error else "ok"


def _is_answer(error: BaseException) -> bool:
    return isinstance(error, _ANSWERED) or (isinstance(error, ToolError) and error.code in _ANSWERED_CODES)


def _failure(error: BaseException) -> str:
    match error:
        case asyncio.CancelledError():
            return "timeout" if is_late(error) else "cancelled"
        case RequestTimeout() | ToolTimeout():
            return "timeout"
        case Unreachable():  # a program of the supervisor
            return "lost"
        case ToolError() if not _is_answer(error):
            return "refused"
        case TransportError() if not isinstance(error, InvalidAnswer | AuthorizationFailed):
            return "lost"
        case _:
            return "error"
