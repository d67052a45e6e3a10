"""What a server never lets out, and what looks alike and passes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import Field

from toolwright import BlobResource, Client, Context, Form, QuestionLimits, RpcError, Server, ToolError
from toolwright.client.client import Result
from toolwright.errors import InvalidAnswer
from toolwright.protocol.types import CallToolResult, TextContent
from toolwright.tools.rounds import MAX_ROUNDS


def call(
    function: Callable[..., Any], *, elicit: Any = None, questions: QuestionLimits | None = None, **settings: Any
) -> Result:
    """What a client of a server with this one tool is told."""

    async def ask() -> Any:
        server = Server("t", version="1")
        server.add_tool(function, name="tool", effect="read", **settings)
        async with Client(server, elicit=elicit, questions=questions) as client:
            return await client.call_tool("tool")

    return asyncio.run(ask())


def text(result: Result) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def small() -> Annotated[int, Field(le=1)]:
    return 1


def test_c13_twin_a_result_at_the_limit_leaves_whole():
    async def tool() -> str:
        return "x" * 1000

    assert text(call(tool, max_bytes=1000)) == "x" * 1000


def test_c15_twin_a_value_at_the_edge_of_its_schema_leaves():
    result = call(small)
    assert (result.is_error, result.structured) == (False, 1)


def test_c16_an_error_has_the_limit_of_every_result():
    async def tool() -> str:
        raise ToolError("x" * 100_000)

    result = call(tool)
    assert result.is_error
    assert len(text(result)) <= 20_000


def test_c16_twin_an_error_says_all_that_fits():
    async def tool() -> str:
        raise ToolError("no such city: " + "x" * 1000)

    assert text(call(tool)) == "no such city: " + "x" * 1000


def test_c17_a_value_that_was_promised_and_is_not_there_is_an_error():
    async def tool() -> Annotated[int, Field(le=1)]:
        return CallToolResult([TextContent(text="1")])  # type: ignore[return-value]

    result = call(tool)
    assert result.is_error
    assert "1" not in [block.text for block in result.content if isinstance(block, TextContent)]


def test_c17_twin_a_value_that_is_null_is_there():
    async def tool() -> int | None:
        return None

    result = call(tool)
    assert (result.is_error, result.structured) == (False, None)


def test_c27_who_asks_without_end_is_ended():
    asked = 0

    def answer(*_: Any) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"action": "accept", "content": {}}

    async def tool(context: Context) -> str:
        for number in range(10_000):
            context.ask(Form("Again?"), key=str(number))
        return "done"

    assert call(tool, elicit=answer, questions=QuestionLimits(per_minute=1_000)).is_error
    assert asked == MAX_ROUNDS - 1
    asked = 0
    with pytest.raises(InvalidAnswer, match="asks too often"):  # a client of its own accord ends it earlier
        call(tool, elicit=answer)
    assert asked == QuestionLimits().per_minute


def test_c27_twin_several_questions_in_turn_are_answered():
    async def tool(context: Context) -> str:
        for number in range(3):
            context.ask(Form("Again?"), key=str(number))
        return "done"

    assert text(call(tool, elicit=lambda *_: {"action": "accept", "content": {}})) == "done"


def read(blob: str) -> list[Any]:
    async def ask() -> list[Any]:
        server = Server("t", version="1")
        server.add_resource("a:b", lambda: [BlobResource(uri="a:b", blob=blob)])
        async with Client(server) as client:
            return list(await client.read_resource("a:b"))

    return asyncio.run(ask())


@pytest.mark.parametrize("blob", ["not base64!", "AAA", "AA\nAA"])
def test_c20_what_is_no_base64_is_not_a_blob(blob: str):
    with pytest.raises(RpcError, match="nternal error"):
        read(blob)


def test_c20_twin_bytes_of_any_kind_are():
    data = bytes(range(256))
    assert read(base64.b64encode(data).decode())[0].blob == base64.b64encode(data).decode()


def test_c28_twin_the_largest_number_that_json_has_leaves():
    async def tool() -> float:
        return 1.7976931348623157e308

    assert call(tool).structured == 1.7976931348623157e308
