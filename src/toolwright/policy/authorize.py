"""Access: one decision function, asked about what is used first of all, and about the arguments that will run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolwright.errors import InvalidParams, RpcError, ToolError, UnknownTool
from toolwright.policy.rules import Allow, Ask, Decide, Deny, Subject, allow_all
from toolwright.protocol import types as wire
from toolwright.protocol.types import PromptResult, ReadResourceResult, ToolOutcome
from toolwright.tools.toolset import PromptGet, Provider, RequestContext, ResourceRead, Tool, ToolCall, Wrapper, found
from toolwright.tools.views import filtered

__all__ = ["authorize", "authorize_arguments"]


def authorize(decide: Decide) -> Callable[[Provider], Provider]:
    """Who may use what. What is denied as hidden is not listed, and reads like what does not exist."""
    if decide is allow_all:
        return Wrapper

    def visible(subject: Subject, context: RequestContext) -> bool:
        verdict = decide(subject, context, None)
        return not (isinstance(verdict, Deny) and verdict.hidden)

    return lambda inner: _Authorize(inner, decide, filtered(inner, visible))


def authorize_arguments(decide: Decide) -> Callable[[Provider], Provider]:
    """Whether these arguments may run; comes after they have been checked and defaults have been filled in."""
    return Wrapper if decide is allow_all else lambda inner: _AuthorizeArguments(inner, decide)


@dataclass(frozen=True)
class _Authorize(Wrapper):
    """``shown`` is what may be seen of ``inner``; a call is decided about once, here."""

    decide: Decide
    shown: Provider

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.shown.list_tools(context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.shown.find_tool(name, context)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await found(self.inner, call)
        if isinstance(verdict := self.decide(tool, call.context, None), Deny):
            raise _refused(verdict, call.name)
        return await self.inner.call_tool(call)

    async def list_resources(self, context: RequestContext) -> tuple[wire.Resource, ...]:
        return tuple(one for one in await self.inner.list_resources(context) if not self._hides(one, context))

    async def read_resource(self, read: ResourceRead) -> ReadResourceResult:
        subject = wire.Resource(uri=read.uri, name=read.uri)
        self._require(subject, read.context, read.uri, InvalidParams.of("TW1025", uri=read.uri))
        return await self.inner.read_resource(read)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return tuple(one for one in await self.inner.list_prompts(context) if not self._hides(one, context))

    async def get_prompt(self, get: PromptGet) -> PromptResult:
        subject = wire.Prompt(name=get.name)
        self._require(subject, get.context, get.name, InvalidParams.of("TW1026", name=get.name))
        return await self.inner.get_prompt(get)

    def _hides(self, subject: Subject, context: RequestContext) -> bool:
        verdict = self.decide(subject, context, None)
        return isinstance(verdict, Deny) and verdict.hidden

    def _require(self, subject: Subject, context: RequestContext, name: str, missing: RpcError) -> None:
        match self.decide(subject, context, None):
            case Allow():
                return
            case Deny(hidden=True):
                raise missing
            case Deny(reason):
                raise InvalidParams.of("TW1029", subject=name, reason=reason)
            case Ask():
                raise InvalidParams.of("TW1029", subject=name, reason="a person has to agree, and cannot be asked yet")


@dataclass(frozen=True)
class _AuthorizeArguments(Wrapper):
    decide: Decide

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await found(self.inner, call)
        match self.decide(tool, call.context, call.arguments):
            case Deny() as verdict:
                raise _refused(verdict, call.name)
            case Ask():
                # Nobody can be asked yet, so nobody has said yes.
                raise ToolError.of("TW2008", tool=call.name)
            case Allow():
                return await self.inner.call_tool(call)


def _refused(verdict: Deny, name: str) -> UnknownTool | ToolError:
    return UnknownTool(name) if verdict.hidden else ToolError.of("TW2007", tool=name, reason=verdict.reason)
