"""Nested calls: a call that a tool makes with its own context is a call of its own.

It needs its own approval, and its questions are asked and answered under keys of its own.
"""

from __future__ import annotations

from typing import ClassVar

from tooltrue.contract.digests import digest
from tooltrue.policy.plan import Step
from tooltrue.protocol.types import ToolOutcome, replaced
from tooltrue.tools.rounds import Rounds
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import Principal, RequestContext, Tool, ToolCall

__all__ = ["nested_calls"]


def nested_calls(inner: Provider) -> Provider:
    return _NestedCalls(inner)


class _NestedCalls(Wrapper, frozen=True):
    same_for_all: ClassVar[bool] = True

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        context = _own_context(call)
        return await self.inner.call_tool(call if context is call.context else replaced(call, context=context))

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        def before(call: ToolCall) -> None:
            rounds = call.context.rounds
            if rounds is None or rounds.is_taken or call.context.agreed:
                call.context = _own_context(call)
            else:
                rounds.is_taken = True

        return Step(before)


def _own_context(call: ToolCall) -> RequestContext:
    """Return the context of a call, with rounds of its own and without the consent to the call that makes it."""
    context = call.context
    rounds = context.rounds
    if rounds is not None:
        rounds = _rounds_within(call, rounds) if rounds.is_taken else rounds
        rounds.is_taken = True
    if context.agreed or rounds is not context.rounds:
        return replaced(context, rounds=rounds, agreed=False)
    return context


def _rounds_within(call: ToolCall, rounds: Rounds) -> Rounds:
    # The same key in each round, whatever the order of a tool's calls. The identical call again gets the same answers,
    # and an approval among them was good for one run.
    return rounds.within(f"{call.name}:{digest([call.name, dict(call.arguments)])[:16]}/")
