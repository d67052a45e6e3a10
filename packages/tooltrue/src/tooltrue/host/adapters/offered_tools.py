"""Common code of the adapters: the offered tools, each with a function that calls it for a model."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from tooltrue.host.calls import Hooks, ToolCaller
from tooltrue.host.exposed_tools import Fit, exposed
from tooltrue.host.models.model import ToolReply, ToolUse
from tooltrue.host.run import MakeContext, local
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import Value
from tooltrue.tools.toolset import Toolset

__all__ = ["OfferedTool", "offered"]


class OfferedTool(Value, frozen=True):
    """``call(name, arguments)`` never fails: an error is a reply with ``is_error``, for the model."""

    name: str
    description: str
    schema: dict[str, Json]
    call: Callable[[str, dict[str, Any]], Awaitable[ToolReply]]


async def offered(
    toolset: Toolset, *, hooks: Hooks | None = None, context: MakeContext = local, fit: Fit | None = None
) -> list[OfferedTool]:
    """The tools as they are now. Tools that no provider accepts are left out."""
    tools = await toolset.list_tools(context())
    exposed_tools = exposed((tool.definition for tool in tools), "plain", fit)

    async def call(name: str, arguments: dict[str, Any]) -> ToolReply:
        caller = ToolCaller(toolset, hooks or Hooks(), context(), "en")
        return await caller.call(ToolUse(f"call_{secrets.token_hex(8)}", name, arguments), exposed_tools.names)

    return [OfferedTool(one["name"], one["description"], one["parameters"], call) for one in exposed_tools.tools]
