"""Access: one decision function, asked about the tool before anything else, and about the arguments that will run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolwright.errors import ToolError, UnknownTool
from toolwright.policy.rules import Allow, Ask, Decide, Deny, allow_all
from toolwright.protocol.types import ToolOutcome
from toolwright.tools.toolset import Provider, RequestContext, Tool, ToolCall, Wrapper, found

__all__ = ["authorize", "authorize_arguments"]


def authorize(decide: Decide) -> Callable[[Provider], Provider]:
    """Who may use which tool. What is denied as hidden is not listed, and reads like an unknown tool."""
    return lambda inner: _Authorize(inner, decide)


def authorize_arguments(decide: Decide) -> Callable[[Provider], Provider]:
    """Whether these arguments may run; comes after they have been checked and defaults have been filled in."""
    return lambda inner: _AuthorizeArguments(inner, decide)


@dataclass(frozen=True)
class _Authorize(Wrapper):
    decide: Decide

    def _visible(self, tool: Tool, context: RequestContext) -> bool:
        verdict = self.decide(tool, context, None)
        return not (isinstance(verdict, Deny) and verdict.hidden)

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        tools = await self.inner.list_tools(context)
        if self.decide is allow_all:
            return tools  # the same object, so that the list stays encoded
        return tuple(tool for tool in tools if self._visible(tool, context))

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        tool = await self.inner.find_tool(name, context)
        if not self._visible(tool, context):
            raise UnknownTool(name)
        return tool

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await found(self.inner, call)
        if isinstance(verdict := self.decide(tool, call.context, None), Deny):
            raise _refused(verdict, call.name)
        return await self.inner.call_tool(call)


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
