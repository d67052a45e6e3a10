"""Concurrency limits for one tool, for one caller and for the whole server, each with a queue.

A call runs when all three have a free slot. Until then it waits and holds none, so that calls which wait for a slow
tool block no others. As many may wait as may run, each for a limited time; further calls are told to come back. The
timeout of a call begins when it runs.

A thread that outlives its call keeps the slot until it ends (``tools/threads.py``).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.policy.layers.abuse_events import KINDS, AbuseEvent, AbuseEvents
from tooltrue.policy.wording import (
    CONCURRENCY_LIMIT_EXCEEDED,
    LABEL_WHOLE_NUMBER_ABOVE_ZERO,
)
from tooltrue.protocol.types import ToolOutcome, Value, field
from tooltrue.tools.threads import HELD, SlotHold
from tooltrue.tools.toolset import Layer, Provider
from tooltrue.tools.vocabulary import CompletionGet, PromptGet, RequestContext, ResourceRead, ToolCall
from tooltrue.wording import LABEL_NUMBER_ABOVE_ZERO, SETTING_INVALID, Worded

__all__ = ["Concurrency", "concurrency"]

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")


class Concurrency(Value, frozen=True):
    """How many calls run at once in this process: of one ``tool``, of one ``caller``, and in the ``server``.
    ``seconds`` is how long a call waits for its slots. A tool's own ``at_once`` replaces ``tool``, and so does its
    share of the threads."""

    tool: int = 100
    caller: int = 200
    server: int = 1_000
    seconds: float = 15.0

    def __str__(self) -> str:
        return f"{self.tool} of a tool, {self.caller} of a caller, {self.server} in all"

    def __post_init__(self) -> None:
        for name, limit in (("tool", self.tool), ("caller", self.caller), ("server", self.server)):
            if not (isinstance(limit, int) and limit >= 1):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigurationError.of(
                    SETTING_INVALID, name=f"Concurrency({name}=…)", wanted=Worded(LABEL_WHOLE_NUMBER_ABOVE_ZERO, {})
                )
        if not 0 < self.seconds < float("inf"):
            raise ConfigurationError.of(
                SETTING_INVALID, name="Concurrency(seconds=…)", wanted=Worded(LABEL_NUMBER_ABOVE_ZERO, {})
            )


def concurrency(limits: Concurrency, abuse_events: AbuseEvents) -> Callable[[Provider], Provider]:
    return lambda inner: _Concurrency(inner, limits, abuse_events, _SlotPool(limits.server))


class _SlotPool:
    """Slots for ``limit`` calls, and the queue of calls that found none free here, in order of arrival.

    ``queued`` counts all waiting calls that need a slot here, wherever they wait.
    """

    __slots__ = ("limit", "queued", "running", "waiting")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0
        self.queued = 0
        self.waiting: deque[_Waiter] = deque()

    @property
    def idle(self) -> bool:
        return not (self.running or self.queued)


_Pools: TypeAlias = tuple[_SlotPool, _SlotPool, _SlotPool]


class _Waiter:
    """A call that waits at a full gate; ``turn`` resolves to whether it got its slots."""

    __slots__ = ("_at", "pools", "turn")

    def __init__(self, pools: _Pools) -> None:
        self.pools = pools
        self.turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._at: _SlotPool | None = None
        for pool in pools:
            pool.queued += 1

    def come_in(self) -> None:
        """Take a slot at every gate, or wait at the first that is full. A call that has given up is skipped."""
        self._at = None
        if self.turn.done():
            return
        self._at = next((pool for pool in self.pools if pool.running >= pool.limit), None)
        if self._at is not None:
            self._at.waiting.append(self)
        else:
            _take_slots(self.pools)
            self.turn.set_result(True)

    def give_up(self) -> None:
        if not self.turn.done():
            self.turn.set_result(False)

    def end(self) -> None:
        for pool in self.pools:
            pool.queued -= 1
        if self._at is not None:
            self._at.waiting.remove(self)


_MAX_KEPT = 10_000


class _Concurrency(Layer, frozen=True):
    limits: Concurrency
    abuse_events: AbuseEvents
    server: _SlotPool
    tools: dict[str, _SlotPool] = field(default_factory=dict[str, _SlotPool])
    callers: dict[str, _SlotPool] = field(default_factory=dict[str, _SlotPool])

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        called = call.tool
        tool, caller, server = pools = self._pools_of(call.name, called and called.at_once, call.context)
        if tool.running < tool.limit and caller.running < caller.limit and server.running < server.limit:
            tool.running += 1
            caller.running += 1
            server.running += 1
        else:
            await self._wait(pools, call.name, call.context)
        if called is None or not called.stoppable:
            return await _holding(pools, call, self.inner.call_tool)
        try:
            return await self.inner.call_tool(call)
        finally:
            tool.running -= 1
            caller.running -= 1
            server.running -= 1
            if server.queued:
                _admit_waiting(pools)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        """Count all reads of resources as one tool, and likewise all prompts, and all completions."""
        kind = KINDS[type(operation)]
        pools = self._pools_of(kind, None, operation.context)
        if any(pool.running >= pool.limit for pool in pools):
            await self._wait(pools, kind, operation.context)
        else:
            _take_slots(pools)
        return await _holding(pools, operation, proceed)

    def _pools_of(self, name: str, at_once: int | None, context: RequestContext) -> _Pools:
        tool = self.tools.get(name)
        if tool is None or (at_once is not None and tool.limit != at_once):
            tool = _made(self.tools, name, at_once or self.limits.tool)
        caller = self.callers.get(context.principal.id)
        if caller is None:
            caller = _made(self.callers, context.principal.id, self.limits.caller)
        return tool, caller, self.server

    async def _wait(self, pools: _Pools, name: str, context: RequestContext) -> None:
        """Wait for a slot at each gate. ``ToolError`` if too many wait, or if it takes too long."""
        _, caller, server = pools
        if caller.queued >= caller.limit or server.queued >= server.limit:
            raise self._busy(pools, name, context)
        waiter = _Waiter(pools)
        waiter.come_in()
        timer = waiter.turn.get_loop().call_later(self.limits.seconds, waiter.give_up)
        try:
            its_turn = await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled() and waiter.turn.result():
                _free_slots(pools)  # it got its slots just as it was cancelled
            raise
        finally:
            timer.cancel()
            waiter.end()
        if not its_turn:
            raise self._busy(pools, name, context)

    def _busy(self, pools: _Pools, name: str, context: RequestContext) -> ToolError:
        seconds = math.ceil(self.limits.seconds)
        self.abuse_events.publish(AbuseEvent("busy", context.principal, name, seconds))
        return ToolError.of(CONCURRENCY_LIMIT_EXCEEDED, tool=name, running=pools[0].running, seconds=seconds)


def _made(pools: dict[str, _SlotPool], key: str, limit: int) -> _SlotPool:
    if len(pools) >= _MAX_KEPT:
        for idle in [key for key, pool in pools.items() if pool.idle]:
            del pools[idle]
    gate = pools.setdefault(key, _SlotPool(limit))
    gate.limit = limit  # the tool may have been replaced by another of its name
    return gate


async def _holding(
    pools: _Pools, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]
) -> OutcomeT:
    """Run an operation. A thread that runs for it keeps the slots until it ends, even if the caller waits no longer."""
    hold = SlotHold(lambda: _free_slots(pools))
    before = HELD.set(hold)
    try:
        return await proceed(operation)
    finally:
        HELD.reset(before)
        hold.let_go()


def _take_slots(pools: _Pools) -> None:
    for pool in pools:
        pool.running += 1


def _free_slots(pools: _Pools) -> None:
    for pool in pools:
        pool.running -= 1
    if pools[-1].queued:
        _admit_waiting(pools)


def _admit_waiting(pools: _Pools) -> None:
    """Admit the next calls at each of these gates. A call that finds another gate full waits there instead."""
    for pool in pools:
        while pool.waiting and pool.running < pool.limit:
            pool.waiting.popleft().come_in()
