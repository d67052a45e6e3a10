"""The contract of a layer, as a check for its author: what it lists, finds and calls is the same, and a call can be
cancelled.

The layer is tried alone, around tools that only note their calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from tooltrue.errors import RpcError, ToolError, UnknownTool
from tooltrue.policy.placing import AuthorLayer, around_each
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TextContent, ToolOutcome
from tooltrue.testing.report import Finding, failed
from tooltrue.testing.wording import (
    FINDING_LAYER_CALLS_UNLISTED,
    FINDING_LAYER_DEFINITIONS_DIFFER,
    FINDING_LAYER_FINDS_UNLISTED,
    FINDING_LAYER_LIST_UNSORTED,
    FINDING_LAYER_REFUSES_LISTED,
    FINDING_LAYER_RETURNED_NO_OUTCOME,
    FINDING_LAYER_SWALLOWS_CANCELLATION,
)
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.rounds import InputRequired, Rounds
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import LOCAL, RequestContext, Tool, ToolCall

__all__ = ["check_layer", "layer_findings"]

_SECONDS = 10.0


async def check_layer(layer: AuthorLayer, toolset: Provider | None = None) -> None:
    """Check the contract of a layer. Raises AssertionError that lists each breach.

    The layer is put around the tools of ``toolset``, or around three examples without it; none of them runs.
    """
    tools = toolset or _examples()
    arguments = {tool.name: dict[str, Any]() for tool in await tools.list_tools(_context())}
    findings = [finding async for finding in layer_findings(tools, (layer,), arguments)]
    assert not findings, "\n".join(f"{finding.tool}: {finding.say()}" for finding in findings)


def _examples() -> Provider:
    tools = LocalToolset()
    for effect in ("read", "write", "destructive"):
        tools.add(lambda: "", name=effect, description=f"A tool with the effect {effect}.", effect=effect)
    return tools


async def layer_findings(
    provider: Provider,
    layers: Iterable[AuthorLayer],
    arguments: Mapping[str, dict[str, Any]],
    seconds: float = _SECONDS,
) -> AsyncIterator[Finding]:
    """The breaches of each layer. Calls are tried for the tools that ``arguments`` names, with these."""
    tools = _Noted(provider)
    for name, layer in around_each(tools, layers):
        async for finding in _breaches(name, layer, tools, arguments, seconds):
            yield finding


def _context() -> RequestContext:
    return RequestContext(LOCAL, SILENT, rounds=Rounds())


class _Noted(Wrapper, frozen=True):
    """The same tools, which note their calls in place of running. ``held`` keeps the next call from ending."""

    calls: list[str] = []  # noqa: RUF012 - each instance has its own
    held: list[asyncio.Event] = []  # noqa: RUF012 - each instance has its own

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        self.calls.append(call.name)
        if self.held:
            self.held.pop().set()
            await asyncio.Event().wait()
        return CallToolResult([TextContent(text="")])


async def _breaches(
    name: str, layer: Provider, tools: _Noted, arguments: Mapping[str, dict[str, Any]], seconds: float
) -> AsyncIterator[Finding]:
    below, listed = await tools.list_tools(_context()), await layer.list_tools(_context())
    if list(listed) != sorted(listed, key=lambda tool: tool.name):
        yield failed(FINDING_LAYER_LIST_UNSORTED, None, layer=name)
    for tool in listed:
        found = await _found(layer, tool.name)
        if found is None:
            yield failed(FINDING_LAYER_REFUSES_LISTED, tool.name, layer=name)
        elif found.definition != tool.definition:
            yield failed(FINDING_LAYER_DEFINITIONS_DIFFER, tool.name, layer=name)
        elif tool.name in arguments:
            async for finding in _called(name, layer, tools, found, arguments[tool.name], seconds):
                yield finding
    hidden = {tool.name: tool for tool in below}.keys() - {tool.name for tool in listed}
    for tool in (tool for tool in below if tool.name in hidden):
        if await _found(layer, tool.name) is not None:
            yield failed(FINDING_LAYER_FINDS_UNLISTED, tool.name, layer=name)
        tools.calls.clear()
        if isinstance(await _end_of(layer, ToolCall(tool.name, {}, _context())), CallToolResult) and tools.calls:
            yield failed(FINDING_LAYER_CALLS_UNLISTED, tool.name, layer=name)


async def _found(layer: Provider, name: str) -> Tool | None:
    try:
        return await layer.find_tool(name, _context())
    except UnknownTool:
        return None


async def _end_of(layer: Provider, call: ToolCall) -> object:
    """Call a tool through the layer, and return the outcome, or the error."""
    try:
        return await layer.call_tool(call)
    except (RpcError, ToolError, InputRequired) as error:
        return error


async def _called(
    name: str, layer: Provider, tools: _Noted, tool: Tool, arguments: dict[str, Any], seconds: float
) -> AsyncIterator[Finding]:
    """Call a listed tool twice: once to its end, and once until it is cancelled."""
    end = await _end_of(layer, ToolCall(tool.name, dict(arguments), _context(), tool))
    if isinstance(end, UnknownTool):
        yield failed(FINDING_LAYER_REFUSES_LISTED, tool.name, layer=name)
    elif not isinstance(end, CallToolResult | InputRequiredResult | BaseException):
        yield failed(FINDING_LAYER_RETURNED_NO_OUTCOME, tool.name, layer=name, returned=type(end).__name__)
    if not await _can_be_cancelled(layer, tools, tool, arguments, seconds):
        yield failed(FINDING_LAYER_SWALLOWS_CANCELLATION, tool.name, layer=name)


async def _can_be_cancelled(
    layer: Provider, tools: _Noted, tool: Tool, arguments: dict[str, Any], seconds: float
) -> bool:
    """Cancel a call that has reached the tools; return whether it ends cancelled. A call that does not reach them, as
    one that is answered from a cache, counts as one that can be."""
    is_there = asyncio.Event()
    tools.held[:] = [is_there]
    call = asyncio.ensure_future(_end_of(layer, ToolCall(tool.name, dict(arguments), _context(), tool)))
    there = asyncio.ensure_future(is_there.wait())
    try:
        await asyncio.wait((call, there), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not is_there.is_set():
            return True
        call.cancel()
        await asyncio.wait((call,), timeout=seconds)
        return call.cancelled()
    finally:
        tools.held.clear()
        for task in (call, there):
            task.cancel()
