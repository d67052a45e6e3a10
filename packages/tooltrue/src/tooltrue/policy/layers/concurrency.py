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
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import (
    CONCURRENCY_LIMIT_EXCEEDED,
    LABEL_WHOLE_NUMBER_ABOVE_ZERO,
)
from tooltrue.protocol.types import ToolOutcome, Value, field
from tooltrue.tools.threads import HELD, SlotHold
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Principal,
    PromptGet,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
)
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
        return f"{self.tool} per tool, {self.caller} per caller, {self.server} in all"

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

    __slots__ = ("is_dropped", "limit", "queued", "running", "waiting")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0
        self.queued = 0
        self.waiting: deque[_Waiter] = deque()
        self.is_dropped = False

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
_TASK_SECONDS = 86_400.0


class _Concurrency(StepLayer, frozen=True):
    limits: Concurrency
    abuse_events: AbuseEvents
    server: _SlotPool
    tools: dict[str, _SlotPool] = field(default_factory=dict[str, _SlotPool])
    callers: dict[str, _SlotPool] = field(default_factory=dict[str, _SlotPool])

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        return _Slots(self, tool, principal).step()

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        """Count all reads of resources as one tool, and likewise all prompts, and all completions."""
        kind = KINDS[type(operation)]
        pools = self.pools_of(kind, None, operation.context.principal)
        if any(pool.running >= pool.limit for pool in pools):
            await self.wait(pools, kind, operation.context)
        else:
            _take_slots(pools)
        return await _holding(pools, operation, proceed)

    def pools_of(self, name: str, at_once: int | None, principal: Principal) -> _Pools:
        tool = self.tools.get(name)
        if tool is None or (at_once is not None and tool.limit != at_once):
            tool = _made(self.tools, name, at_once or self.limits.tool)
        caller = self.callers.get(principal.id)
        if caller is None:
            caller = _made(self.callers, principal.id, self.limits.caller)
        return tool, caller, self.server

    async def wait(self, pools: _Pools, name: str, context: RequestContext) -> None:
        """Wait for a slot at each gate. ``ToolError`` if too many wait, or if it takes too long."""
        _, caller, server = pools
        rounds = context.rounds
        is_patient = (
            rounds is not None and rounds.of_task
        )  # nobody waits for the answer of a task, and tasks are limited
        if not is_patient and (caller.queued >= caller.limit or server.queued >= server.limit):
            raise self._busy(pools, name, context)
        waiter = _Waiter(pools)
        waiter.come_in()
        seconds = _TASK_SECONDS if is_patient else self.limits.seconds
        loop = waiter.turn.get_loop()
        began, timer = loop.time(), loop.call_later(seconds, waiter.give_up)
        try:
            its_turn = await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled() and waiter.turn.result():
                _free_slots(pools)  # it got its slots just as it was cancelled
            raise
        finally:
            timer.cancel()
            waiter.end()
            if (trail := context.trail) is not None:
                trail.queued = loop.time() - began
        if not its_turn:
            raise self._busy(pools, name, context)

    def _busy(self, pools: _Pools, name: str, context: RequestContext) -> ToolError:
        seconds = math.ceil(self.limits.seconds)
        self.abuse_events.publish(AbuseEvent("busy", context.principal, name, seconds))
        return ToolError.of(CONCURRENCY_LIMIT_EXCEEDED, tool=name, running=pools[0].running, seconds=seconds)


class _Slots:
    """The slots of one tool for one caller. While a call has slots, its pools stay in use, so that it gives them back
    to the pools that it has taken them from."""

    __slots__ = ("layer", "pools", "principal", "tool")

    def __init__(self, layer: _Concurrency, tool: Tool, principal: Principal) -> None:
        self.layer = layer
        self.tool = tool
        self.principal = principal
        self.pools = layer.pools_of(tool.name, tool.at_once, principal)

    def step(self) -> Step:
        return (
            Step(self.take, self.free_after, self.free_failed)
            if self.tool.stoppable
            else Step(self.hold, self.let_go_after, self.let_go_failed)
        )

    def take(self, call: ToolCall) -> Awaitable[None] | None:
        tool, caller, server = pools = self.pools
        if tool.is_dropped or caller.is_dropped:  # while no call was in them
            self.pools = self.layer.pools_of(self.tool.name, self.tool.at_once, self.principal)
            tool, caller, server = pools = self.pools
        if tool.running < tool.limit and caller.running < caller.limit and server.running < server.limit:
            tool.running += 1
            caller.running += 1
            server.running += 1
            return None
        return self.layer.wait(pools, self.tool.name, call.context)

    def free_after(self, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        tool, caller, server = self.pools
        tool.running -= 1
        caller.running -= 1
        server.running -= 1
        if server.queued:
            _admit_waiting(self.pools)
        return outcome

    def free_failed(self, call: ToolCall, error: BaseException) -> BaseException:
        _free_slots(self.pools)
        return error

    def hold(self, call: ToolCall) -> Awaitable[None] | None:
        """A thread that runs for the call keeps the slots until it ends, even if the caller waits no longer."""
        if (waiting := self.take(call)) is not None:
            return self._hold_later(call, waiting)
        self._hold(call)
        return None

    async def _hold_later(self, call: ToolCall, waiting: Awaitable[None]) -> None:
        await waiting
        self._hold(call)

    def _hold(self, call: ToolCall) -> None:
        pools = self.pools
        hold = SlotHold(lambda: _free_slots(pools))
        call.keep(_HOLD, (hold, HELD.set(hold)))

    def let_go_after(self, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        self._let_go(call)
        return outcome

    def let_go_failed(self, call: ToolCall, error: BaseException) -> BaseException:
        self._let_go(call)
        return error

    def _let_go(self, call: ToolCall) -> None:
        hold, before = call.recall(_HOLD)
        HELD.reset(before)
        hold.let_go()


_HOLD = "concurrency"


def _made(pools: dict[str, _SlotPool], key: str, limit: int) -> _SlotPool:
    if len(pools) >= _MAX_KEPT:
        for idle in [key for key, pool in pools.items() if pool.idle]:
            pools.pop(idle).is_dropped = True
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
