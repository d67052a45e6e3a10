"""A layer that breaks the contract is found: by ``tooltrue test`` in a server, and by ``check_layer`` alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrue import (
    CallToolResult,
    Layer,
    Provider,
    Server,
    Step,
    StepLayer,
    TextContent,
    ToolError,
    UnknownTool,
    filtered,
    placed,
)
from tooltrue.protocol.types import replaced
from tooltrue.testing import Plan, check_layer, examine
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, Tool, ToolCall

PLAN = Plan(calls=2, in_flight=1, seconds=60.0)


class Passes(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        return await proceed(operation)


class Denies(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        raise ToolError("Not today.")


class Ends(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        return CallToolResult([TextContent(text="x")])


class Steps(StepLayer, frozen=True):
    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return Step(lambda call: None, lambda call, outcome: outcome, lambda call, error: error)


class RefusesListed(Layer, frozen=True):
    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        raise UnknownTool(name)


class RefusesCalls(Layer, frozen=True):
    async def call_tool(self, call: ToolCall) -> Any:
        raise UnknownTool(call.name)


class HidesFromListsOnly(Layer, frozen=True):
    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return (await self.inner.list_tools(context))[:1]


class HidesFromCallsNot(HidesFromListsOnly, frozen=True):
    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        for tool in await self.list_tools(context):
            if tool.name == name:
                return tool
        raise UnknownTool(name)


class Describes(Layer, frozen=True):
    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        tools = await self.inner.list_tools(context)
        return tuple(replaced(tool, definition=replaced(tool.definition, description="New.")) for tool in tools)


class Reverses(Layer, frozen=True):
    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return (await self.inner.list_tools(context))[::-1]


class SwallowsCancellation(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        try:
            return await proceed(operation)
        except asyncio.CancelledError:
            return CallToolResult([TextContent(text="gone")])


class TriesAgain(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        try:
            return await proceed(operation)
        except BaseException:  # noqa: BLE001 - the fault
            return await proceed(operation)


class ForgetsToReturn(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        await proceed(operation)


def hidden(inner: Provider) -> Provider:
    return filtered(inner, lambda tool, context: tool.name != "one")


FAULTS: dict[Any, set[str]] = {
    RefusesListed: {"TT8341"},
    RefusesCalls: {"TT8341"},
    HidesFromListsOnly: {"TT8342", "TT8343"},
    HidesFromCallsNot: {"TT8343"},
    Describes: {"TT8344"},
    Reverses: {"TT8348"},
    SwallowsCancellation: {"TT8346"},
    TriesAgain: {"TT8346"},
    ForgetsToReturn: {"TT8347"},
}
SOUND = [Passes, Denies, Ends, Steps, hidden, lambda inner: inner]


def server_with(*layers: Any, **settings: Any) -> Server:
    server = Server("s", layers=layers, audit=False, **settings)
    for name in ("one", "two"):
        server.tool(lambda: "x", name=name, description="Do.", effect="read")
    return server


def codes(server: Server) -> set[str]:
    report = asyncio.run(examine(server, PLAN))
    return {finding.code for finding in report.failures if finding.check == "listed tools"}


@pytest.mark.parametrize("layer", FAULTS, ids=lambda layer: layer.__name__)
def test_a_fault_of_a_layer_is_found_in_a_server(layer: Any):
    assert codes(server_with(layer)) >= FAULTS[layer]


@pytest.mark.parametrize("layer", FAULTS, ids=lambda layer: layer.__name__)
def test_a_fault_of_a_layer_is_found_by_itself(layer: Any):
    with pytest.raises(AssertionError) as caught:
        asyncio.run(check_layer(layer))
    assert {code for code in FAULTS[layer] if code in str(caught.value)} == FAULTS[layer]


@pytest.mark.parametrize("layer", SOUND)
def test_a_sound_layer_has_no_findings(layer: Any):
    asyncio.run(check_layer(layer))
    assert codes(server_with(layer)) == set()


def test_a_tool_that_a_layer_lists_and_refuses_is_found_over_the_wire_too():
    assert {"TT8340", "TT8341"} <= codes(server_with(RefusesCalls))
    assert codes(server_with(placed(RefusesCalls, after="audit"))) >= {"TT8340", "TT8341"}


def test_each_layer_is_tried_alone_and_no_tool_runs():
    ran: list[str] = []
    tools = LocalToolset()
    tools.add(lambda: ran.append("x"), name="wipe", description="Wipe.", effect="destructive")
    asyncio.run(check_layer(Passes, tools))
    assert ran == []


def test_an_equal_list_of_a_layer_is_the_same_object():
    class Copies(Layer, frozen=True):
        async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
            return (*await self.inner.list_tools(context),)

    async def lists() -> list[tuple[Tool, ...]]:
        provider, context = server_with(Copies).provider, RequestContext(LOCAL, SILENT)
        return [await provider.list_tools(context) for _ in range(2)]

    first, second = asyncio.run(lists())
    assert first is second
