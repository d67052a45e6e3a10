"""Retries of calls whose transport failed, if a repetition is harmless: reads, and tools that may be repeated.

The operator, the effect, or an author in this process declares that a call may be repeated; a server never does so for
itself. Other failures are final: it is unknown whether the call has run.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tooltrue.errors import ConfigurationError, ToolError, TransportError, Unreachable
from tooltrue.policy.rules.globs import Globs
from tooltrue.policy.tasks.budget import with_note
from tooltrue.policy.wording import CONNECTION_RETRIES_EXHAUSTED, LABEL_RETRY_RANGE, RETRY_EFFECT_UNKNOWN
from tooltrue.protocol.types import ToolOutcome, Value
from tooltrue.tools.toolset import Provider, Wrapper, resolve_call
from tooltrue.tools.vocabulary import Tool, ToolCall
from tooltrue.wording import SETTING_INVALID, Worded

__all__ = ["Retry", "Sleep", "retry"]

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class Retry(Value, frozen=True):
    """At most ``attempts`` in all, the first ``pause`` seconds apart, then twice as long each time, up to ``longest``.
    ``idempotent`` are tools that may be repeated although they change something."""

    attempts: int = 3
    pause: float = 0.5
    longest: float = 5.0
    idempotent: Globs | None = None

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 < self.pause <= self.longest < float("inf"):
            raise ConfigurationError.of(SETTING_INVALID, name="Retry(…)", wanted=Worded(LABEL_RETRY_RANGE, {}))

    def may_repeat(self, tool: Tool) -> bool:
        if tool.effect == "read" or (self.idempotent is not None and self.idempotent.match(tool.name)):
            return True
        hints = tool.definition.annotations
        return not tool.server and hints is not None and hints.idempotentHint is True


def retry(settings: Retry, sleep: Sleep = asyncio.sleep) -> Callable[[Provider], Provider]:
    """Repeat a call whose transport failed, where it may be; otherwise tell the model that the outcome is unknown."""
    return lambda inner: _Retried(inner, settings, sleep)


class _Retried(Wrapper, frozen=True):
    settings: Retry
    sleep: Sleep

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await resolve_call(self.inner, call)
        attempts = self.settings.attempts if self.settings.may_repeat(tool) else 1
        pause = self.settings.pause
        for attempt in range(1, attempts + 1):
            try:
                return await self.inner.call_tool(call)
            except (TransportError, Unreachable) as error:
                with_note(call, f"attempt {attempt}: {error.code or type(error).__name__}")
                if attempt == attempts:
                    raise _failure(call, tool, attempts, error) from error
            await self.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, self.settings.longest)
        raise AssertionError("the last attempt returns or raises")


def _failure(call: ToolCall, tool: Tool, attempts: int, error: TransportError | Unreachable) -> ToolError:
    if isinstance(error, Unreachable):
        return error
    return ToolError.of(
        CONNECTION_RETRIES_EXHAUSTED if tool.effect == "read" else RETRY_EFFECT_UNKNOWN,
        tool=call.name,
        attempts=attempts,
    )
