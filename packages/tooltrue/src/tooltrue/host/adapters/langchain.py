"""A toolset as tools of LangChain. Owns ``langchain_core``."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, ToolException

from tooltrue.host.adapters.offered_tools import OfferedTool, offered
from tooltrue.host.models.model import ToolReply
from tooltrue.tools.toolset import Toolset

__all__ = ["langchain_tools"]


async def langchain_tools(toolset: Toolset, **settings: Any) -> list[BaseTool]:
    """The tools, for ``create_agent(model, tools)`` and other code that takes tools of LangChain. ``settings`` are
    ``hooks``, ``context`` and ``fit``, as for :func:`tooltrue.host.run.run`. They are ``async`` only."""
    return [
        _Tool(name=one.name, description=one.description, args_schema=one.schema, handle_tool_error=True, offered=one)
        for one in await offered(toolset, **settings)
    ]


class _Tool(BaseTool):
    offered: OfferedTool

    def _run(self, *args: Any, **arguments: Any) -> Any:
        raise NotImplementedError("await tool.ainvoke(…)")

    # Without parameter names of its own, so that an argument may have any name.
    async def _arun(self, /, **arguments: Any) -> Any:
        reply = await self.offered.call(self.name, arguments)
        if reply.is_error:
            raise ToolException(reply.text)
        return _content(reply)


def _content(reply: ToolReply) -> Any:
    if all(isinstance(part, str) for part in reply.parts):
        return reply.text
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "base64": part.data, "mime_type": part.mime_type}
        for part in reply.parts
    ]
