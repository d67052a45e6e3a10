"""Null objects: a channel without a client, a library without tools, and a toolset without resources and prompts."""

from __future__ import annotations

from typing import Any

from tooltrue.errors import UnknownTool
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import Completion, PromptOutcome, ReadOutcome, ToolOutcome
from tooltrue.tools.toolset import unknown
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Entry,
    LibraryOperation,
    PromptGet,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
)

__all__ = ["SILENT", "NoLibrary", "NoTools"]


class _Silent:
    """The channel of a request that asked for neither progress nor logs."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


SILENT = _Silent()


class NoTools:
    """Mixin for a library without tools."""

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return ()

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        raise UnknownTool(name)

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        raise UnknownTool(name)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        raise UnknownTool(call.name)


class NoLibrary:
    """Mixin for a toolset without resources and prompts."""

    def offers(self) -> frozenset[str]:
        return frozenset()

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return ()

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return ()

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return ()

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        raise unknown(operation)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        raise unknown(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        raise unknown(get)

    async def complete(self, get: CompletionGet) -> Completion:
        raise unknown(get)
