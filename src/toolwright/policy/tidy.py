"""What leaves: a value that fits the output schema and the size limit, or else nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolwright.errors import InvalidParams, InvalidResult, ToolError
from toolwright.jsonrpc.messages import encode
from toolwright.protocol.types import (
    UNSET,
    CallToolResult,
    Completion,
    PromptOutcome,
    PromptResult,
    ReadOutcome,
    ReadResourceResult,
    TextContent,
    ToolOutcome,
)
from toolwright.tools.toolset import CompletionGet, PromptGet, Provider, ResourceRead, Tool, ToolCall, Wrapper, found

__all__ = ["tidy"]


def tidy(max_bytes: int) -> Callable[[Provider], Provider]:
    return lambda inner: _Tidy(inner, max_bytes)


@dataclass(frozen=True)
class _Tidy(Wrapper):
    max_bytes: int

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await found(self.inner, call)
        outcome = await self.inner.call_tool(call)
        if isinstance(outcome, CallToolResult):
            if not outcome.isError:
                _check_output(tool, outcome)
            _check_size(tool, outcome, tool.max_bytes or self.max_bytes)
        return outcome

    async def read_resource(self, read: ResourceRead) -> ReadOutcome:
        outcome = await self.inner.read_resource(read)
        if isinstance(outcome, ReadResourceResult):
            self._limit(read.uri, sum(map(_size, outcome.contents)))
        return outcome

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        outcome = await self.inner.get_prompt(get)
        if isinstance(outcome, PromptResult):
            self._limit(get.name, sum(_size(message.content) for message in outcome.messages))
        return outcome

    async def complete(self, get: CompletionGet) -> Completion:
        completion = await self.inner.complete(get)
        self._limit(get.name, _size(completion))
        return completion

    def _limit(self, name: str, size: int) -> None:
        if size > self.max_bytes:
            raise InvalidParams.of("TW2006", tool=name, size=size, limit=self.max_bytes)


def _check_output(tool: Tool, result: CallToolResult) -> None:
    if tool.output is None:
        return
    if result.structuredContent is UNSET:
        raise InvalidResult("an output schema is declared but no structured content was returned")
    if not tool.output.accepts(result.structuredContent):
        problem = tool.output.problems(result.structuredContent)[0]
        raise InvalidResult(str(problem))


def _check_size(tool: Tool, result: CallToolResult, limit: int) -> None:
    # Structured content has a copy as text; what is said twice is counted once.
    size = max(sum(map(_size, result.content)), len(result.encoded or b""))
    if size > limit:
        raise ToolError.of("TW2006", tool=tool.name, size=size, limit=limit)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidResult("the result is not JSON: a lone surrogate") from error


def _size(block: object) -> int:
    """How many bytes a block has: of text, the text alone; of all others, the whole block."""
    if isinstance(block, TextContent):
        return len(block.text) if block.text.isascii() else len(_utf8(block.text))
    return len(encode(block))
