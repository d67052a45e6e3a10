"""Toolsets in third-party agent loops: the definitions and results for their models, and arguments of any name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tooltrue import ImageContent, LocalToolset, ToolError
from tooltrue.host.adapters.langchain import langchain_tools
from tooltrue.host.adapters.pydantic_ai import pydantic_ai_toolset

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
NAMES = ("self", "config", "run_manager", "ctx", "name", "callbacks")


def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


def toolset() -> LocalToolset:
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @tools.tool(effect="read")
    async def draw() -> ImageContent:
        """Draw a dot."""
        return ImageContent(data=PIXEL, mimeType="image/png")

    @tools.tool(effect="read")
    async def fail() -> str:
        """Fail."""
        raise ToolError("The shelf is empty.")

    schema = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}, "required": [*NAMES]}
    tools.add_raw("echo", schema, echo, description="Echo.", effect="read")
    return tools


async def langchain(name: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
    tools = {tool.name: tool for tool in await langchain_tools(toolset())}
    said = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
    assert isinstance(said, ToolMessage)
    return said.content, said.status == "error"


async def pydantic_ai(name: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart(name, arguments)])

    agent = Agent(FunctionModel(model), toolsets=[await pydantic_ai_toolset(toolset())])
    done = await agent.run("go")
    [part] = [part for message in done.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    return part.content, part.outcome == "failed"


every_loop = pytest.mark.parametrize("loop", [langchain, pydantic_ai])


@every_loop
def test_a_tool_is_called_and_its_result_comes_back(loop: Any):
    assert asyncio.run(loop("add", {"a": 1, "b": 2})) == ("3", False)


@every_loop
def test_an_adapter_marks_a_failed_call_and_passes_on_the_reason(loop: Any):
    assert asyncio.run(loop("fail", {})) == ("The shelf is empty.", True)


@every_loop
def test_a_picture_comes_through(loop: Any):
    content, failed = asyncio.run(loop("draw", {}))
    assert not failed
    assert PIXEL in str(content) or getattr(content, "base64", "") == PIXEL


@every_loop
def test_arguments_may_have_any_name(loop: Any):
    content, failed = asyncio.run(loop("echo", {name: name.upper() for name in NAMES}))
    assert not failed
    assert all(f'"{name}":"{name.upper()}"' in content for name in NAMES)


@every_loop
def test_arguments_that_do_not_fit_reach_nothing_and_the_model_is_told(loop: Any):
    content, failed = asyncio.run(loop("add", {"a": "one", "b": 2}))
    assert failed
    assert "$.a" in content


def test_the_model_sees_the_whole_definition():
    [add] = [tool for tool in asyncio.run(langchain_tools(toolset())) if tool.name == "add"]
    assert add.description == "Add two numbers."
    assert add.args == {"a": {"type": "integer"}, "b": {"type": "integer"}}
