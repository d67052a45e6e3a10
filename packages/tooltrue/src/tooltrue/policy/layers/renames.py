"""Notices for calls of renamed and deprecated tools, in the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import TOOL_DEPRECATED, TOOL_RENAMED
from tooltrue.protocol.name_rules import DEPRECATED
from tooltrue.protocol.types import CallToolResult, ToolOutcome, replaced
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Principal, Tool, ToolCall
from tooltrue.wording import sentence

__all__ = ["renames"]


def renames(language: str = "en") -> Callable[[Provider], Provider]:
    """Put a notice into the ``_meta`` of a result, never into its content: programs read the same content as before."""
    return lambda inner: _Renames(inner, language)


class _Renames(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    language: str

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        if not (tool.replaces or tool.deprecated):
            return None

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
            if not isinstance(outcome, CallToolResult) or not (call.called or tool.deprecated):
                return outcome
            return replaced(outcome, meta={**(outcome.meta or {}), DEPRECATED: self._notice(call.called, tool)})

        return Step(after=after)

    def _notice(self, called: str, tool: Tool) -> str:
        if tool.deprecated:
            return sentence(TOOL_DEPRECATED, self.language, {"name": tool.name, "instead": tool.deprecated})
        return sentence(TOOL_RENAMED, self.language, {"name": called, "now": tool.name})
