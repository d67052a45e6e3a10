"""Rate limits: a token bucket for each caller and tool, for each caller, and for the whole server.

A call takes one token from each of the three, or is refused and takes none. Lists and pings are free, and so is a later
round of a call, once: a state that is sent again is a new call. Workers share the store of facts. From a store outside
this process, a worker leases as many tokens as it used in the last moment, and spends them itself, so that not every
call needs a round trip. Small bursts are counted one by one, exactly.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from tooltrue.errors import ConfigurationError, StateError, ToolError
from tooltrue.policy.layers.abuse_events import KINDS, AbuseEvent, AbuseEvents
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import (
    LABEL_RATE_RANGE,
    RATE_LIMIT_STORE_UNREACHABLE,
    RATE_LIMITS_UNAVAILABLE,
    TOOL_RATE_LIMIT_EXCEEDED,
)
from tooltrue.protocol.types import Mutable, Value, field
from tooltrue.state.facts import Bucket, Facts, MemoryFacts, Rates, Values
from tooltrue.tools.bounds import Rate
from tooltrue.tools.rounds import Rounds
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
from tooltrue.wording import SETTING_INVALID, Worded, coded_sentence

__all__ = ["RateLimits", "rate"]

_log = logging.getLogger("tooltrue")

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")


# A model makes some dozens of calls in a turn, and a program that it writes goes over a list of some hundred items at
# once: both stay below. A runaway loop makes tens of thousands a second, and is slowed down to a number that a person
# can follow.
_TOOL, _CALLER, _SERVER = Rate(50, 1_000), Rate(200, 4_000), Rate(2_000, 40_000)


class RateLimits(Value, frozen=True):
    """Limits per caller and ``tool``, per ``caller`` for all tools, and of the ``server`` for all callers together.

    A tool's own ``rate`` replaces ``tool``. All reads of resources count as one tool, and so do all prompts, and all
    completions.
    """

    tool: Rate = _TOOL
    caller: Rate = _CALLER
    server: Rate = _SERVER

    def __str__(self) -> str:
        return f"{self.tool}, per caller and tool; {self.caller}, per caller; {self.server}, in all"

    def __post_init__(self) -> None:
        for name, rate in (("tool", self.tool), ("caller", self.caller), ("server", self.server)):
            if not rate.holds:
                requirement = Worded(LABEL_RATE_RANGE, {})
                raise ConfigurationError.of(SETTING_INVALID, name=f"RateLimits({name}=…)", wanted=requirement)

    @classmethod
    def of(cls, setting: Rate | RateLimits) -> RateLimits:
        """Return the limits that one rate stands for: a caller has four times, the server forty times of it."""
        if isinstance(setting, RateLimits):
            return setting
        return cls(setting, _times(setting, 4), _times(setting, 40))


def _times(rate: Rate, times: int) -> Rate:
    return Rate(rate.per_second * times, rate.burst * times)


def rate(limits: RateLimits, facts: Facts, abuse_events: AbuseEvents) -> Callable[[Provider], Provider]:
    """Limit the rate of operations. A refusal says when to come back."""
    taker = facts.taker if isinstance(facts, MemoryFacts) else Leases(facts).taker
    return lambda inner: _RateLimited(inner, limits, taker, facts, abuse_events)


Take: TypeAlias = Callable[[], float | Awaitable[float]]
"""Takes one token from each of its buckets, or returns the seconds until that is possible; it waits for a store
elsewhere."""


_NUMBERS = (int, float)
_MAX_KEPT = 10_000
_SECONDS = 900.0
"""How long a state is known to have been sent, and how long a person has for an answer."""
_Takes: TypeAlias = dict[tuple[str, str], Take]


class _RateLimited(StepLayer, frozen=True):
    """``takes``: those of recent callers of resources and prompts, so that a request makes no keys."""

    limits: RateLimits
    taker: Callable[[tuple[Bucket, ...]], Take]
    states: Values
    abuse_events: AbuseEvents
    takes: _Takes = field(default_factory=_Takes)

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        name = tool.name
        take = self.taker(self._buckets(name, principal.id, tool.rate))

        def before(call: ToolCall) -> Awaitable[None] | None:
            rounds = call.context.rounds
            if rounds is not None and rounds.number:
                return later_round(call, rounds)
            wait = take()
            if not isinstance(wait, _NUMBERS):
                return elsewhere(call, wait)
            if wait:
                raise self._refused(name, call.context, wait)
            return None

        async def elsewhere(call: ToolCall, taking: Awaitable[float]) -> None:
            if wait := await taking:
                raise self._refused(name, call.context, wait)

        async def later_round(call: ToolCall, rounds: Rounds) -> None:
            if not await self._is_paid(rounds):
                await self._pay(name, take, call.context)

        return Step(before)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        context, kind = operation.context, KINDS[type(operation)]
        rounds = context.rounds
        if rounds is None or not rounds.number or not await self._is_paid(rounds):
            key = (context.principal.id, kind)
            take = self.takes.get(key)
            if take is None:
                if len(self.takes) >= _MAX_KEPT:
                    self.takes.clear()
                take = self.takes[key] = self.taker(self._buckets(kind, context.principal.id, None))
            await self._pay(kind, take, context)
        return await proceed(operation)

    async def _pay(self, name: str, take: Take, context: RequestContext) -> None:
        taken = take()
        wait = taken if isinstance(taken, _NUMBERS) else await taken
        if wait:
            raise self._refused(name, context, wait)

    async def _is_paid(self, rounds: Rounds) -> bool:
        """Return whether a later round belongs to a call that has paid. A state that was sent before runs again, and
        pays again."""
        if not rounds.state:  # a state in the running request's memory cannot be sent again
            return True
        try:
            return await self.states.put_if_absent(f"rate paid {rounds.state}", b"1", _SECONDS)
        except StateError as error:
            raise _unknown(error) from None

    def _refused(self, name: str, context: RequestContext, wait: float) -> ToolError:
        self.abuse_events.publish(AbuseEvent("rate", context.principal, name, wait))
        return ToolError.of(TOOL_RATE_LIMIT_EXCEEDED, tool=name, seconds=math.ceil(wait))

    def _buckets(self, name: str, caller: str, own: Rate | None) -> tuple[Bucket, ...]:
        limits = self.limits
        return (
            _bucket(f"rate tool {name} {caller}", own or limits.tool),
            _bucket(f"rate caller {caller}", limits.caller),
            _bucket("rate server", limits.server),
        )


def _unknown(error: StateError) -> ToolError:
    _log.error("%s", coded_sentence(RATE_LIMIT_STORE_UNREACHABLE, "en", {"problem": error}))
    return ToolError.of(RATE_LIMITS_UNAVAILABLE)


def _bucket(key: str, rate: Rate) -> Bucket:
    return Bucket(key, rate.per_second, rate.burst)


class _Lease(Mutable):
    """``remaining`` of ``size`` calls may be made up to ``until``; ``waiting`` counts those that came meanwhile."""

    remaining: int
    until: float
    size: int
    waiting: int = 0


class _PendingLease:
    """A request to the store that is not answered yet, for all calls that need the same."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.waiting = 0
        self.wait = 0.0
        self.error: StateError | None = None


class Leases:
    """Leases tokens from a store elsewhere, as many as were used lately, a fiftieth of a burst at most, and spends them
    here.

    A lease ends after a tenth of a second, or later, when its tokens would have been refilled anyway. Tokens that are
    left then are lost to all workers: so a lease grows only if it was spent before its end, and shrinks to the number
    that was used. Of concurrent calls one asks, and the others share the lease. In any time, no more is granted than
    the limit allows in it, and the tokens that were on lease when it began.
    """

    def __init__(self, facts: Rates, clock: Callable[[], float] = time.monotonic) -> None:
        self._facts = facts
        self._clock = clock
        self._leases: dict[str, _Lease] = {}
        self._pending: dict[str, _PendingLease] = {}

    def taker(self, buckets: tuple[Bucket, ...]) -> Take:
        """Return a function that takes one token from each of these buckets, at once where all of them are on lease."""
        keys = tuple(bucket.key for bucket in buckets)

        def take() -> float | Awaitable[float]:
            now, leases = self._clock(), list[_Lease]()
            for key in keys:
                lease = self._leases.get(key)
                if lease is None or not lease.remaining or now >= lease.until:
                    return self.take(buckets)
                leases.append(lease)
            for lease in leases:
                lease.remaining -= 1
            return 0.0

        return take

    async def take(self, buckets: tuple[Bucket, ...]) -> float:
        """Take one token from each bucket, the narrowest first: a caller that is over its own limit takes no token of
        the server's. Tokens taken before a refusal are kept for the next call.

        ``ToolError`` where the store fails: a call that cannot be counted is not made.
        """
        charged: list[Bucket] = []
        try:
            for bucket in buckets:
                if wait := await self._take(bucket):
                    self._give_back(charged)
                    return wait
                charged.append(bucket)
        except StateError as error:
            self._give_back(charged)
            raise _unknown(error) from None
        return 0.0

    async def _take(self, bucket: Bucket) -> float:
        most = bucket.burst // _PARTS
        while not self._use_token(bucket.key):
            if most < 2:
                return await self._ask(bucket, 1)
            pending = self._pending.get(bucket.key)
            if pending is None:
                return await self._renew(bucket, most)
            pending.waiting += 1
            await pending.done.wait()
            if pending.error is not None:
                raise pending.error
            if pending.wait:
                return pending.wait
        return 0.0

    def _use_token(self, key: str) -> bool:
        """Spend a leased token, and return whether there was one."""
        lease = self._leases.get(key)
        if lease is None or not lease.remaining or self._clock() >= lease.until:
            return False
        lease.remaining -= 1
        return True

    async def _renew(self, bucket: Bucket, most: int) -> float:
        """Take a lease and spend its first token, also on behalf of other calls that need one."""
        now, pending = self._clock(), _PendingLease()
        size = _next_size(self._leases.get(bucket.key), now, most)
        self._pending[bucket.key] = pending
        try:
            if size > 1 and await self._ask(bucket, size):
                size = 1  # the bucket cannot grant all of it
            if size == 1:
                pending.wait = await self._ask(bucket, 1)
            if not pending.wait:
                self._keep(bucket, size - 1, size, now, pending.waiting)
            return pending.wait
        except StateError as error:
            pending.error = error
            raise
        finally:
            del self._pending[bucket.key]
            pending.done.set()

    def _give_back(self, buckets: list[Bucket]) -> None:
        now = self._clock()
        for bucket in buckets:
            lease = self._leases.get(bucket.key)
            if lease is not None and now < lease.until:
                lease.remaining += 1
            else:
                self._keep(bucket, 1, 1, now)

    async def _ask(self, bucket: Bucket, cost: int) -> float:
        return await self._facts.take(bucket.key, per_second=bucket.per_second, burst=bucket.burst, cost=cost)

    def _keep(self, bucket: Bucket, remaining: int, size: int, now: float, waiting: int = 0) -> None:
        if len(self._leases) >= _MAX_KEPT:
            self._leases = {key: lease for key, lease in self._leases.items() if lease.until > now}
        until = now + max(_MOMENT, size / bucket.per_second)
        self._leases[bucket.key] = _Lease(remaining, until, size, waiting)


_PARTS = 50
_MOMENT = 0.1


def _next_size(lease: _Lease | None, now: float, most: int) -> int:
    if lease is None:
        return 1
    used = lease.size - lease.remaining
    return max(1, min(most, max(2 * used if now < lease.until else used, lease.waiting)))
