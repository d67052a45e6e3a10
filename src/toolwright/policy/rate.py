"""How often: a burst and a pace for each caller and tool, for all that one caller does, and for the whole server.

A call takes one from each of the three, or is refused and takes from none. Lists and pings cost nothing, and neither
does a later round of a call, once: who sends the same state again calls again. What workers share is the store of
facts; on one that is not in this process a worker takes several at once and spends them itself, so that not every call
has to go there. That never grants more than the limit.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from toolwright.errors import ConfigurationError, StateError, ToolError
from toolwright.policy.signals import KINDS, Sign, Signals
from toolwright.protocol.types import ToolOutcome
from toolwright.state.facts import Bucket, Facts, MemoryFacts, Rates, Values
from toolwright.tools.bounds import Rate
from toolwright.tools.rounds import Rounds
from toolwright.tools.toolset import (
    CompletionGet,
    Layer,
    PromptGet,
    Provider,
    RequestContext,
    ResourceRead,
    ToolCall,
)
from toolwright.wording import sentence

__all__ = ["RateLimits", "rate"]

_log = logging.getLogger("toolwright")

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")


# A model makes some dozens of calls in a turn, and a program that it writes goes over a list of some hundred things at
# once: both stay below. What runs wild makes tens of thousands a second, and is brought down to what a person can see.
_TOOL, _CALLER, _SERVER = Rate(50, 1_000), Rate(200, 4_000), Rate(2_000, 40_000)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """``tool``: one caller and one tool. ``caller``: one caller, all tools. ``server``: everybody together.

    A tool's own ``rate`` takes the place of ``tool``. All reading of resources counts as one tool, and so do all
    prompts, and all completions.
    """

    tool: Rate = _TOOL
    caller: Rate = _CALLER
    server: Rate = _SERVER

    def __post_init__(self) -> None:
        for name, said in (("tool", self.tool), ("caller", self.caller), ("server", self.server)):
            if not said.holds:
                wanted = "a Rate of more than 0 a second and a burst of 1 or more"
                raise ConfigurationError.of("TW4009", name=f"RateLimits({name}=…)", wanted=wanted)

    @classmethod
    def of(cls, said: Rate | RateLimits) -> RateLimits:
        """The limits that one figure stands for: a caller has four times, the server forty times of it."""
        if isinstance(said, RateLimits):
            return said
        return cls(said, _times(said, 4), _times(said, 40))


def _times(rate: Rate, times: int) -> Rate:
    return Rate(rate.per_second * times, rate.burst * times)


def rate(limits: RateLimits, facts: Facts, signals: Signals) -> Callable[[Provider], Provider]:
    """What is refused says when to come back."""
    take = _here(facts) if isinstance(facts, MemoryFacts) else Leases(facts).take
    return lambda inner: _Rate(inner, limits, take, facts, signals)


Take: TypeAlias = Callable[[tuple[Bucket, ...]], Awaitable[float]]
"""One from each bucket, or the seconds until that could be."""


def _here(facts: MemoryFacts) -> Take:
    async def take(buckets: tuple[Bucket, ...]) -> float:
        return facts.take_now(buckets)

    return take


_MAX_KEPT = 10_000
_SECONDS = 900.0
"""For so long a state is known to have been sent; so long a person has for an answer."""
_Known: TypeAlias = dict[tuple[str, str], tuple[Rate | None, tuple[Bucket, ...]]]


@dataclass(frozen=True)
class _Rate(Layer):
    """``known``: the buckets of those who have called lately, so that a call makes no keys."""

    limits: RateLimits
    take: Take
    states: Values
    signals: Signals
    known: _Known = field(default_factory=_Known, repr=False)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        context = call.context
        rounds = context.rounds
        if rounds is None or not rounds.number or not await self._is_paid(rounds):
            own = None if call.tool is None else call.tool.rate
            known = self.known.get((context.principal.id, call.name))
            if known is None or known[0] is not own:
                known = self._learn(context.principal.id, call.name, own)
            if wait := await self.take(known[1]):
                raise self._refused(call.name, context, wait)
        return await self.inner.call_tool(call)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        context, kind = operation.context, KINDS[type(operation)]
        rounds = context.rounds
        if rounds is None or not rounds.number or not await self._is_paid(rounds):
            known = self.known.get((context.principal.id, kind)) or self._learn(context.principal.id, kind, None)
            if wait := await self.take(known[1]):
                raise self._refused(kind, context, wait)
        return await proceed(operation)

    async def _is_paid(self, rounds: Rounds) -> bool:
        """A later round is the same call, but for one whose state has been sent before: that one runs again."""
        if not rounds.state:  # what the running request remembers cannot be sent again
            return True
        try:
            return await self.states.put_if_absent(f"rate paid {rounds.state}", b"1", _SECONDS)
        except StateError as error:
            raise _unknown(error) from None

    def _refused(self, name: str, context: RequestContext, wait: float) -> ToolError:
        self.signals.tell(Sign("rate", context.principal, name, wait))
        return ToolError.of("TW2100", tool=name, seconds=math.ceil(wait))

    def _learn(self, caller: str, name: str, own: Rate | None) -> tuple[Rate | None, tuple[Bucket, ...]]:
        if len(self.known) >= _MAX_KEPT:
            self.known.clear()
        limits = self.limits
        buckets = (
            _bucket(f"rate tool {name} {caller}", own or limits.tool),
            _bucket(f"rate caller {caller}", limits.caller),
            _bucket("rate server", limits.server),
        )
        self.known[caller, name] = known = (own, buckets)
        return known


def _unknown(error: StateError) -> ToolError:
    _log.error("%s [TW4100]", sentence("TW4100", "en", {"problem": error}))
    return ToolError.of("TW2101")


def _bucket(key: str, rate: Rate) -> Bucket:
    return Bucket(key, rate.per_second, rate.burst)


class Leases:
    """Takes from facts elsewhere, a fiftieth of a burst at a time; what is left of that is spent here.

    A lease ends when its calls would have come back anyway, so that nothing is saved up.
    """

    def __init__(self, facts: Rates, clock: Callable[[], float] = time.monotonic) -> None:
        self._facts = facts
        self._clock = clock
        self._left: dict[str, tuple[int, float]] = {}

    async def take(self, buckets: tuple[Bucket, ...]) -> float:
        """The narrowest first: who has used up what is theirs takes nothing of what is everybody's. What was taken
        before a refusal is kept for the next call.

        ``ToolError`` where the facts fail: nobody can say how often it was called, so it is not called.
        """
        taken: list[Bucket] = []
        try:
            for bucket in buckets:
                if wait := await self._take(bucket):
                    self._give_back(taken)
                    return wait
                taken.append(bucket)
        except StateError as error:
            self._give_back(taken)
            raise _unknown(error) from None
        return 0.0

    async def _take(self, bucket: Bucket) -> float:
        now = self._clock()
        left, until = self._left.get(bucket.key, (0, 0.0))
        if left and now < until:
            self._left[bucket.key] = (left - 1, until)
            return 0.0
        size = max(1, bucket.burst // 50)
        if size > 1 and not await self._ask(bucket, size):
            self._keep(bucket.key, size - 1, now + size / bucket.per_second, now)
            return 0.0
        return await self._ask(bucket, 1)

    def _give_back(self, taken: list[Bucket]) -> None:
        now = self._clock()
        for bucket in taken:
            left, until = self._left.get(bucket.key, (0, 0.0))
            if now < until:
                self._left[bucket.key] = (left + 1, until)
            else:
                self._keep(bucket.key, 1, now + 1 / bucket.per_second, now)

    async def _ask(self, bucket: Bucket, cost: int) -> float:
        return await self._facts.take(bucket.key, per_second=bucket.per_second, burst=bucket.burst, cost=cost)

    def _keep(self, key: str, left: int, until: float, now: float) -> None:
        if len(self._left) >= _MAX_KEPT:
            self._left = {key: lease for key, lease in self._left.items() if lease[1] > now}
        self._left[key] = (left, until)
