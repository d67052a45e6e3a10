"""Signs of abuse: bursts of refusals, guesses at names, and the same invalid call repeated.

Each sign has a token bucket in the shared facts, so that all workers count together. A caller that empties one is
paused: every operation is refused, for longer each time. A model that makes a mistake, reads the answer and corrects it
never triggers this.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from tooltrue.errors import (
    ConfigurationError,
    InvalidArguments,
    StateError,
    ToolError,
    TooltrueError,
    UnknownEntry,
    UnknownTool,
)
from tooltrue.jsonrpc.messages import canonical, encode
from tooltrue.policy.layers.abuse_events import KINDS, AbuseEvent, AbuseEvents
from tooltrue.policy.plan import Step
from tooltrue.policy.wording import (
    ABUSIVE_CALLER_PAUSED,
    CALLER_PAUSED,
    LABEL_ABOVE_ZERO_UP_TO_LONGEST,
    LABEL_RATE_RANGE,
    RATE_LIMIT_STORE_UNREACHABLE,
    RATE_LIMITS_UNAVAILABLE,
    REFUSED_BY_DEFAULT,
    REFUSED_BY_RULE,
    REFUSED_BY_RULE_WITH_REASON,
    SUBJECT_REFUSED_WITH_REASON,
    TOOL_CALL_REFUSED,
    TOOL_RATE_LIMIT_EXCEEDED,
)
from tooltrue.protocol.types import ToolOutcome, Value, field
from tooltrue.state.facts import Facts
from tooltrue.tools.bounds import Rate
from tooltrue.tools.toolset import Layer, Provider
from tooltrue.tools.vocabulary import CompletionGet, Principal, PromptGet, RequestContext, ResourceRead, Tool, ToolCall
from tooltrue.wording import SETTING_INVALID, Worded, coded_sentence

__all__ = ["Abuse", "abuse"]

_log = logging.getLogger("tooltrue")

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")

# Refusals that count against the caller, besides unknown names and invalid arguments. A tool that fails, times out or
# is busy is not the caller's doing.
_REFUSALS = frozenset(
    {
        SUBJECT_REFUSED_WITH_REASON,
        TOOL_CALL_REFUSED,
        TOOL_RATE_LIMIT_EXCEEDED,
        REFUSED_BY_RULE_WITH_REASON,
        REFUSED_BY_RULE,
        REFUSED_BY_DEFAULT,
    }
)

_REFUSED, _UNKNOWN, _REPEATED = Rate(1, 200), Rate(0.2, 50), Rate(0.1, 10)


class Abuse(Value, frozen=True):
    """How much of each sign one caller may give: ``refusals`` of all kinds, ``unknown`` names, and the same invalid
    call ``repeated``. Beyond that the caller is paused for ``pause`` seconds, twice as long each time, up to
    ``longest``."""

    refusals: Rate = _REFUSED
    unknown: Rate = _UNKNOWN
    repeated: Rate = _REPEATED
    pause: float = 5.0
    longest: float = 300.0

    def __str__(self) -> str:
        return (
            f"pauses a caller with too many refusals for {self.pause:g} s, longer each time, up to {self.longest:g} s"
        )

    def __post_init__(self) -> None:
        for name, rate in (("refusals", self.refusals), ("unknown", self.unknown), ("repeated", self.repeated)):
            if not rate.holds:
                requirement = Worded(LABEL_RATE_RANGE, {})
                raise ConfigurationError.of(SETTING_INVALID, name=f"Abuse({name}=…)", wanted=requirement)
        if not 0 < self.pause <= self.longest < float("inf"):
            raise ConfigurationError.of(
                SETTING_INVALID, name="Abuse(pause=…)", wanted=Worded(LABEL_ABOVE_ZERO_UP_TO_LONGEST, {})
            )


def abuse(
    limits: Abuse, facts: Facts, abuse_events: AbuseEvents, clock: Callable[[], float] = time.time
) -> Callable[[Provider], Provider]:
    """Pause callers that show signs of abuse. ``clock`` is one that all workers share."""
    return lambda inner: _Abuse(inner, _Watcher(limits, facts, abuse_events, clock))


class _Abuse(Layer, frozen=True):
    watcher: _Watcher

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        watcher, caller = self.watcher, principal.id
        clock, clear, require = watcher.clock, watcher.clear, watcher.require

        def before(call: ToolCall) -> Awaitable[None] | None:
            return require(principal) if clock() >= clear.get(caller, 0.0) else None

        def failed(call: ToolCall, error: BaseException) -> BaseException | Awaitable[BaseException]:
            return note(call, error) if isinstance(error, TooltrueError) else error

        async def note(call: ToolCall, error: TooltrueError) -> BaseException:
            await watcher.note(error, call.context, call.name, call.own_text)
            return error

        return Step(before, failed=failed)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        watcher, principal = self.watcher, call.context.principal
        if watcher.clock() >= watcher.clear.get(principal.id, 0.0):
            await watcher.require(principal)
        try:
            return await self.inner.call_tool(call)
        except TooltrueError as error:
            await watcher.note(error, call.context, call.name, partial(canonical, call.arguments))
            raise

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        watcher, principal = self.watcher, operation.context.principal
        if watcher.clock() >= watcher.clear.get(principal.id, 0.0):
            await watcher.require(principal)
        try:
            return await proceed(operation)
        except TooltrueError as error:
            await watcher.note(error, operation.context, KINDS[type(operation)], _no_arguments)
            raise


_Kind: TypeAlias = Literal["repeated", "unknown", "refusals"]
_MAX_KEPT = 10_000
_CLEAR_SECONDS = 1.0
_REMEMBERED_SECONDS = 900.0


class _Watcher(Value, frozen=True):
    """``clear`` maps a caller to the time until which it need not be looked up again; a pause reaches the other workers
    within that time."""

    limits: Abuse
    facts: Facts
    abuse_events: AbuseEvents
    clock: Callable[[], float]
    clear: dict[str, float] = field(default_factory=dict[str, float])

    async def require(self, principal: Principal) -> None:
        """Raise ``ToolError`` while this caller is paused, or when the store cannot be read."""
        try:
            ends = await self.facts.get(f"abuse pause {principal.id}")
        except StateError as error:
            _log.error("%s", coded_sentence(RATE_LIMIT_STORE_UNREACHABLE, "en", {"problem": error}))
            raise ToolError.of(RATE_LIMITS_UNAVAILABLE) from None
        if ends is not None and (seconds := float(ends) - self.clock()) > 0:
            raise ToolError.of(CALLER_PAUSED, seconds=math.ceil(seconds))
        if len(self.clear) >= _MAX_KEPT:
            self.clear.clear()
        self.clear[principal.id] = self.clock() + _CLEAR_SECONDS

    async def note(
        self, error: TooltrueError, context: RequestContext, name: str, arguments: Callable[[], bytes]
    ) -> None:
        """Count a refusal. If the store fails, the failure is logged and the refusal stands."""
        try:
            if isinstance(error, InvalidArguments):
                await self._count("repeated", self.limits.repeated, context, name, _digest(name, arguments()))
            elif isinstance(error, UnknownTool | UnknownEntry):
                await self._count("unknown", self.limits.unknown, context, name)
            elif error.code not in _REFUSALS:
                return
            await self._count("refusals", self.limits.refusals, context, name)
        except StateError as trouble:
            _log.error("%s", coded_sentence(RATE_LIMIT_STORE_UNREACHABLE, "en", {"problem": trouble}))

    async def _count(self, kind: _Kind, rate: Rate, context: RequestContext, name: str, of: str = "") -> None:
        key = f"abuse {kind} {of} {context.principal.id}"
        if await self.facts.take(key, per_second=rate.per_second, burst=rate.burst):
            await self._pause(kind, context, name)

    async def _pause(self, kind: _Kind, context: RequestContext, name: str) -> None:
        """Pause the caller, twice as long as last time if that was recent. Of concurrent calls, one sets the pause."""
        principal, trail = context.principal, context.trail
        before = await self.facts.get(f"abuse times {principal.id}")
        times = 0 if before is None else int(before)
        seconds = min(self.limits.pause * 2.0**times, self.limits.longest)
        ends = str(self.clock() + seconds).encode()
        if not await self.facts.put_if_absent(f"abuse pause {principal.id}", ends, seconds):
            return
        self.clear.pop(principal.id, None)
        if trail is not None:
            trail.paused, trail.rule = math.ceil(seconds), f"abuse: {kind}"
        await self.facts.put(f"abuse times {principal.id}", b"%d" % min(times + 1, 30), seconds + _REMEMBERED_SECONDS)
        _log.warning(
            "%s",
            coded_sentence(ABUSIVE_CALLER_PAUSED, "en", {"who": principal.id, "seconds": seconds, "sign": kind}),
        )
        self.abuse_events.publish(AbuseEvent(kind, principal, name, seconds))


def _no_arguments() -> bytes:
    return b"null"


def _digest(name: str, arguments: bytes) -> str:
    return hashlib.sha256(b"[%b,%b]" % (encode(name), arguments)).hexdigest()[:32]
