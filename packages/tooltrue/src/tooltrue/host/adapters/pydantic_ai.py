"""A toolset for agents of Pydantic AI. Owns ``pydantic_ai``."""

from __future__ import annotations

import base64
from typing import Any

from pydantic_ai import BinaryContent, FunctionToolset, Tool, ToolFailed

from tooltrue.host.adapters.offered_tools import OfferedTool, offered
from tooltrue.host.models.model import Part
from tooltrue.tools.toolset import Toolset

__all__ = ["pydantic_ai_toolset"]


async def pydantic_ai_toolset(toolset: Toolset, **settings: Any) -> FunctionToolset[Any]:
    """A toolset for ``Agent(model, toolsets=[…])``. ``settings`` are ``hooks``, ``context`` and ``fit``, as for
    :func:`tooltrue.host.run.run`."""
    return FunctionToolset([_tool(one) for one in await offered(toolset, **settings)])


def _tool(one: OfferedTool) -> Tool[Any]:
    async def call(**arguments: Any) -> Any:
        reply = await one.call(one.name, arguments)
        if reply.is_error:
            raise ToolFailed(reply.text)
        first, *others = map(_content, reply.parts)
        return [first, *others] if others else first

    return Tool[Any].from_schema(call, one.name, one.description, one.schema)


def _content(part: Part) -> str | BinaryContent:
    return part if isinstance(part, str) else BinaryContent(base64.b64decode(part.data), media_type=part.mime_type)
