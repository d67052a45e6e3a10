"""Results that a server never sends, and benign look-alikes that pass."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import Field

from support.hosting import Published, hosted, tool
from support.variants import tried
from tooltrue import (
    AudioContent,
    BlobResource,
    Client,
    Context,
    EmbeddedResource,
    Form,
    Host,
    ImageContent,
    QuestionLimits,
    ResourceLink,
    RpcError,
    Server,
    TextResource,
    ToolError,
)
from tooltrue.client.client import Result
from tooltrue.errors import InvalidAnswer
from tooltrue.policy.sanitize.fit import MAX_BLOCKS
from tooltrue.protocol.types import Annotations, CallToolResult, TextContent
from tooltrue.tools.rounds import MAX_ROUNDS


def call(
    function: Callable[..., Any], *, elicit: Any = None, questions: QuestionLimits | None = None, **settings: Any
) -> Result:
    """The result that a client of a server with this one tool receives."""

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
        return CallToolResult([TextContent(text="1")])  # pyright: ignore[reportReturnType] - the fault

    result = call(tool)
    assert result.is_error
    assert "1" not in [block.text for block in result.content if isinstance(block, TextContent)]


def test_c17_twin_a_value_that_is_null_is_there():
    async def tool() -> int | None:
        return None

    result = call(tool)
    assert (result.is_error, result.structured) == (False, None)


# -- C14, C15, C17: results beyond the size limits, or against the declared schema -------------------------------------

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
BLOCKS: dict[str, Any] = {
    "text": TextContent(text="x"),
    "no text": TextContent(text=""),
    "blanks": TextContent(text=" \n"),
    "text with metadata": TextContent(text="x", meta={"example.org/n": 1}),
    "text for a person": TextContent(text="x", annotations=Annotations(["user"])),
    "pictures": ImageContent.of(PNG, "image/png"),
    "lying pictures": ImageContent.of(b"<svg/>", "image/png"),
    "sounds": AudioContent.of(b"ID3" + bytes(16), "audio/mpeg"),
    "links": ResourceLink("https://example.org/", "a"),
    "links to files": ResourceLink("file:///etc/passwd", "a"),
    "text of resources": EmbeddedResource(resource=TextResource("a:b", "x")),
    "bytes of resources": EmbeddedResource(resource=BlobResource.of("a:b", PNG, "image/png")),
}
MANY: dict[str, Callable[[], Any]] = {
    **{name: lambda block=block: CallToolResult([block] * 3_000) for name, block in BLOCKS.items()},
    **{
        f"{name}, in an error": lambda block=block: CallToolResult([block] * 3_000, isError=True)
        for name, block in list(BLOCKS.items())[:4]
    },
    "all in turn": lambda: CallToolResult(list(BLOCKS.values()) * 300),
    "text and pictures in turn": lambda: CallToolResult([BLOCKS["text"], BLOCKS["pictures"]] * 1_500),
    "a large one and many small": lambda: CallToolResult([TextContent(text="x" * 9_000), *[BLOCKS["text"]] * 3_000]),
    "many small and a large one": lambda: CallToolResult([*[BLOCKS["text"]] * 3_000, TextContent(text="x" * 9_000)]),
    "beside a value": lambda: CallToolResult([BLOCKS["text"]] * 3_000, {"n": 1}),
    "one too many": lambda: CallToolResult([BLOCKS["text"]] * (MAX_BLOCKS + 1)),
}


def raw(answer: Callable[[], Any], output: Any = None, **settings: Any) -> Result:
    """Call a tool without a signature, and return the result that a client gets."""

    async def ask() -> Result:
        server = Server("t", audit=False)
        server.add_raw_tool(
            "tool", {"type": "object"}, lambda arguments: answer(), output_schema=output, effect="read", **settings
        )
        async with Client(server) as client:
            return await client.call_tool("tool")

    return asyncio.run(ask())


@pytest.mark.attack("C14")
@pytest.mark.parametrize("how", MANY)
def test_c14_no_kind_of_block_leaves_by_the_thousand(how: str):
    assert len(raw(MANY[how]).content) <= MAX_BLOCKS


@pytest.mark.twin("C14")
@pytest.mark.parametrize("kind", ["text", "pictures", "links", "text of resources"])
def test_c14_twin_as_many_as_may_leave_do(kind: str):
    assert len(raw(lambda: CallToolResult([BLOCKS[kind]] * 50)).content) == 50


def inside(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


# An output schema, a value that keeps it, and one that breaks it.
BROKEN: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "type": (inside(type="integer"), {"a": 1}, {"a": "1"}),
    "text for a number": (inside(type="number"), {"a": 1.5}, {"a": "1.5"}),
    "true for one": (inside(type="integer"), {"a": 1}, {"a": True}),
    "one for true": (inside(type="boolean"), {"a": True}, {"a": 1}),
    "a fraction": (inside(type="integer"), {"a": 2.0}, {"a": 2.5}),
    "null": (inside(type="string"), {"a": ""}, {"a": None}),
    "a list of one": (inside(type="string"), {"a": "x"}, {"a": ["x"]}),
    "another shape": ({"type": "object"}, {}, ["x"]),
    "required": ({"type": "object", "required": ["a"]}, {"a": 1}, {"A": 1}),
    "additionalProperties": ({**inside(), "additionalProperties": False}, {"a": 1}, {"a": 1, "order": "obey"}),
    "patternProperties": ({"type": "object", "patternProperties": {"^n_": {"type": "null"}}}, {"n_": None}, {"n_": 1}),
    "propertyNames": ({"type": "object", "propertyNames": {"maxLength": 2}}, {"ab": 1}, {"abc": 1}),
    "minProperties": ({"type": "object", "minProperties": 1}, {"a": 1}, {}),
    "maxProperties": ({"type": "object", "maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
    "dependentRequired": ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
    "dependentSchemas": ({"type": "object", "dependentSchemas": {"a": {"maxProperties": 1}}},
                         {"a": 1}, {"a": 1, "b": 2}),
    "enum": (inside(enum=["up", "down"]), {"a": "up"}, {"a": "Up"}),
    "const": (inside(const="up"), {"a": "up"}, {"a": "up "}),
    "minimum": (inside(minimum=0), {"a": 0}, {"a": -1}),
    "exclusiveMaximum": (inside(exclusiveMaximum=3), {"a": 2}, {"a": 3}),
    "multipleOf": (inside(multipleOf=5), {"a": 10}, {"a": 11}),
    "minLength": (inside(minLength=2), {"a": "ab"}, {"a": "é"}),
    "maxLength": (inside(maxLength=2), {"a": "ab"}, {"a": "abc"}),
    "pattern": (inside(pattern="^[a-z]+$"), {"a": "ab"}, {"a": "ab\n"}),
    "format": (inside(format="date"), {"a": "2026-11-23"}, {"a": "2026-13-23"}),
    "minItems": (inside(minItems=1), {"a": [1]}, {"a": []}),
    "maxItems": (inside(maxItems=1), {"a": [1]}, {"a": [1, 2]}),
    "uniqueItems": (inside(uniqueItems=True), {"a": [1, 2]}, {"a": [1, 1.0]}),
    "items": (inside(items={"type": "integer"}), {"a": [1, 2]}, {"a": [1, "2"]}),
    "prefixItems": (inside(prefixItems=[{"const": 1}]), {"a": [1]}, {"a": [2]}),
    "contains": (inside(contains={"const": 1}), {"a": [0, 1]}, {"a": [0]}),
    "unevaluatedProperties": ({**inside(), "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
    "anyOf": (inside(anyOf=[{"const": 1}, {"const": 2}]), {"a": 2}, {"a": 3}),
    "oneOf": (inside(oneOf=[{"minimum": 1}, {"maximum": 3}]), {"a": 4}, {"a": 2}),
    "not": (inside(**{"not": {"const": "x"}}), {"a": "y"}, {"a": "x"}),
    "if and then": (inside(**{"if": {"minimum": 9}, "then": {"const": 10}}), {"a": 10}, {"a": 11}),
    "a reference": ({**inside(**{"$ref": "#/$defs/n"}), "$defs": {"n": {"type": "null"}}}, {"a": None}, {"a": 0}),
    "far below": (inside(items=inside(items=inside(maximum=1))),
                  {"a": [{"a": [{"a": 1}]}]}, {"a": [{"a": [{"a": 2}]}]}),
}  # fmt: skip


@pytest.mark.attack("C15")
@pytest.mark.parametrize("how", BROKEN)
def test_c15_a_value_that_violates_any_keyword_of_the_output_schema_is_withheld(how: str):
    schema, _, broken = BROKEN[how]
    result = raw(lambda: broken, schema)
    assert result.is_error
    assert "structuredContent" not in result.raw


@pytest.mark.attack("C15")
@pytest.mark.variants(38)
def test_c15_nor_does_it_pass_a_host():
    """The same of a server elsewhere, which says that its value is as it promised."""
    answers = {name.replace(" ", "_"): broken for name, (_, _, broken) in BROKEN.items()}
    tools = [tool(name.replace(" ", "_"), outputSchema=schema) for name, (schema, _, _) in BROKEN.items()]

    def answer(params: Any) -> Any:
        said = answers[params["name"]]
        return {"content": [{"type": "text", "text": str(said)}], "structuredContent": said}

    async def test(host: Host) -> None:
        for row in host.rows:
            result = await host.call_tool(row.alias)
            tried(row.name)
            assert result.is_error, row.name
            assert "structuredContent" not in result.raw

    hosted({"a": Published(*tools, answer=answer)}, test)


@pytest.mark.twin("C15")
@pytest.mark.parametrize("how", BROKEN)
def test_c15_twin_a_value_that_keeps_it_leaves(how: str):
    schema, kept, _ = BROKEN[how]
    assert raw(lambda: kept, schema).structured == kept


WEATHER = {"type": "object", "properties": {"degrees": {"type": "integer"}}, "required": ["degrees"]}
SAID = {"degrees": 210_733_991}
WORDS = json.dumps(SAID)
NOTHING: dict[str, dict[str, Any]] = {
    "nothing": {"content": []},
    "empty text": {"content": [{"type": "text", "text": ""}]},
    "words": {"content": [{"type": "text", "text": "It is 210733991 degrees."}]},
    "the value as text": {"content": [{"type": "text", "text": WORDS}]},
    "the value as two texts": {"content": [{"type": "text", "text": WORDS[:5]}, {"type": "text", "text": WORDS[5:]}]},
    "the value in a fence": {"content": [{"type": "text", "text": f"```json\n{WORDS}\n```"}]},
    "the value as a resource": {
        "content": [{"type": "resource", "resource": {"uri": "a:b", "mimeType": "application/json", "text": WORDS}}]
    },
    "a link to the value": {"content": [{"type": "resource_link", "uri": "https://example.org/w.json", "name": "w"}]},
    "a picture": {"content": [{"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()}]},
    "the value in the metadata": {"content": [], "_meta": {"structuredContent": SAID}},
    "the value in a block": {"content": [{"type": "text", "text": "", "structuredContent": SAID}]},
    "structured_content": {"content": [], "structured_content": SAID},
    "StructuredContent": {"content": [], "StructuredContent": SAID},
    "structuredcontent": {"content": [], "structuredcontent": SAID},
    "structuredContent with a blank": {"content": [], "structuredContent ": SAID},
    "structuredOutput": {"content": [], "structuredOutput": SAID},
    "toolResult": {"content": [], "toolResult": SAID},
    "result": {"content": [], "result": SAID},
    "the value beside": {"content": [], **SAID},
    "null": {"content": [], "structuredContent": None},
    "an empty object": {"content": [], "structuredContent": {}},
    "an empty list": {"content": [], "structuredContent": []},
    "the value as a string": {"content": [], "structuredContent": WORDS},
    "the value in a list": {"content": [], "structuredContent": [SAID]},
    "the value one level down": {"content": [], "structuredContent": {"result": SAID}},
    "not an error": {"content": [{"type": "text", "text": WORDS}], "isError": False},
}


@pytest.mark.attack("C17")
@pytest.mark.parametrize("how", NOTHING)
def test_c17_a_missing_structured_value_is_an_error_regardless_of_other_content(how: str):
    server = Published(tool("t", outputSchema=WEATHER), answer=NOTHING[how])
    result = hosted({"a": server}, lambda host: host.call_tool("a_t"))
    assert result.is_error
    assert "210733991" not in result.text
    assert "structuredContent" not in result.raw


@pytest.mark.twin("C17")
@pytest.mark.parametrize("how", ["nothing", "words", "the value as text", "not an error"])
def test_c17_twin_beside_the_value_anything_may_be_said(how: str):
    server = Published(tool("t", outputSchema=WEATHER), answer={**NOTHING[how], "structuredContent": SAID})
    assert hosted({"a": server}, lambda host: host.call_tool("a_t")).structured == SAID


def test_c27_a_tool_that_asks_without_end_is_stopped():
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
def test_c20_invalid_base64_is_not_a_blob(blob: str):
    with pytest.raises(RpcError, match="nternal error"):
        read(blob)


def test_c20_twin_bytes_of_any_kind_are():
    data = bytes(range(256))
    assert read(base64.b64encode(data).decode())[0].blob == base64.b64encode(data).decode()


def test_c28_twin_the_largest_number_that_json_has_leaves():
    async def tool() -> float:
        return 1.7976931348623157e308

    assert call(tool).structured == 1.7976931348623157e308
