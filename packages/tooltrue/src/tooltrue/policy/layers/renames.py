"""Notices for calls of renamed and deprecated tools, in the result."""

from __future__ import annotations

from collections.abc import Callable

from tooltrue.policy.wording import TOOL_DEPRECATED, TOOL_RENAMED
from tooltrue.protocol.name_rules import DEPRECATED
from tooltrue.protocol.types import CallToolResult, ToolOutcome, replaced
from tooltrue.tools.toolset import Provider, Wrapper, resolve_call
from tooltrue.tools.vocabulary import Tool, ToolCall
from tooltrue.wording import sentence

__all__ = ["renames"]


def renames(language: str = "en") -> Callable[[Provider], Provider]:
    """Put a notice into the ``_meta`` of a result, never into its content: programs read the same content as before."""
    return lambda inner: _Renames(inner, language)


class _Renames(Wrapper, frozen=True):
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        if (tool := call.tool) is None:
            call, tool = await resolve_call(self.inner, call)
        if not (call.called or tool.deprecated):
            return await self.inner.call_tool(call)
        outcome = await self.inner.call_tool(call)
        if not isinstance(outcome, CallToolResult):
            return outcome
        return replaced(outcome, meta={**(outcome.meta or {}), DEPRECATED: self._notice(call.called, tool)})

    def _notice(self, called: str, tool: Tool) -> str:
        if tool.deprecated:
            return sentence(TOOL_DEPRECATED, self.language, {"name": tool.name, "instead": tool.deprecated})
        return sentence(TOOL_RENAMED, self.language, {"name": called, "now": tool.name})
