"""The contents of a server that other servers serve: all that it offers, without its pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from tooltrue.protocol import types as wire
from tooltrue.protocol.types import Completion, PromptOutcome, ReadOutcome, ToolOutcome
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Entry,
    Kind,
    LibraryOperation,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
    Unwatch,
)

__all__ = ["Contents"]

ServerT = TypeVar("ServerT")

_KINDS: Final[tuple[Kind, ...]] = ("tools", "prompts", "resources")


class Contents(Generic[ServerT]):
    """The provider of all that a server offers, without its pipeline. It stays the same object while further servers
    are mounted, and its watchers are told.
    """

    def __init__(self, server: ServerT, provider: Provider) -> None:
        self.mounted_server = server
        self.provider = provider
        self._watches: dict[object, tuple[Callable[[ProviderChange], None], Unwatch]] = {}

    def replace(self, provider: Provider) -> None:
        """Offer ``provider`` from now on, and tell the watchers."""
        self.provider = provider
        for key, (changed, unwatch) in tuple(self._watches.items()):
            unwatch()
            self._watches[key] = (changed, self.provider.watch(changed))
            for kind in _KINDS:
                changed(ProviderChange(kind))

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        key = object()
        self._watches[key] = (changed, self.provider.watch(changed))

        def unwatch() -> None:
            if key in self._watches:
                self._watches.pop(key)[1]()

        return unwatch

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.provider.list_tools(context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.provider.find_tool(name, context)

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        return self.provider.known_tool(name, context)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.provider.call_tool(call)

    def offers(self) -> frozenset[str]:
        return self.provider.offers()

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return await self.provider.list_resources(context)

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return await self.provider.list_templates(context)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return await self.provider.list_prompts(context)

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        return await self.provider.find_entries(operation)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        return await self.provider.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await self.provider.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        return await self.provider.complete(get)
