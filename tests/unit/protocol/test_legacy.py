"""The legacy wires: the newest shape, said in the words of each revision."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tooltrue.protocol import versions
from tooltrue.protocol.legacy import Projection
from tooltrue.protocol.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    Icon,
    ImageContent,
    Implementation,
    ResourceLink,
    TextContent,
    TextResource,
    ToolAnnotations,
    ToolDefinition,
)

R11, R03, R06, R25_11 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"

FULL = ToolDefinition(
    "wipe",
    {"type": "object"},
    title="Wipe",
    description="Wipes.",
    outputSchema={"type": "object", "properties": {}},
    annotations=ToolAnnotations(destructiveHint=True),
    icons=[Icon(src="https://x/i.png")],
    meta={"a": 1},
)


def tool(revision: str, definition: ToolDefinition = FULL) -> dict[str, Any]:
    return json.loads(Projection(versions.BY_NAME[revision]).page("tools", [definition], None))["tools"][0]


def call(revision: str, result: CallToolResult) -> dict[str, Any]:
    return json.loads(Projection(versions.BY_NAME[revision]).call(result))


@pytest.mark.requirement("LIFE-12")
@pytest.mark.parametrize(
    ("revision", "members"),
    [
        (R11, {"name", "inputSchema", "description"}),
        (R03, {"name", "inputSchema", "description", "annotations"}),
        (R06, {"name", "inputSchema", "description", "annotations", "title", "outputSchema", "_meta"}),
        (R25_11, {"name", "inputSchema", "description", "annotations", "title", "outputSchema", "_meta", "icons"}),
    ],
)
def test_a_tool_has_the_members_that_its_revision_knows(revision: str, members: set[str]):
    assert set(tool(revision)) == members


def test_a_title_goes_where_2025_03_26_has_one():
    assert tool(R03)["annotations"] == {"title": "Wipe", "destructiveHint": True}
    assert tool(R03, ToolDefinition("a", {"type": "object"}, title="A"))["annotations"] == {"title": "A"}
    assert "annotations" not in tool(R03, ToolDefinition("a", {"type": "object"}))


@pytest.mark.requirement("CALL-05")
@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize(
    ("schema", "wrapped"),
    [
        ({"type": "integer"}, {"properties": {"result": {"type": "integer"}}}),
        ({"anyOf": [{"type": "object"}, {}]}, {"properties": {"result": {"anyOf": [{"type": "object"}, {}]}}}),
        (
            {"$schema": "s", "$defs": {"a": {"$ref": "#"}}, "items": {"$ref": "#/$defs/a"}, "not": {"$ref": "#/items"}},
            {
                "$schema": "s",
                "$defs": {"a": {"$ref": "#/properties/result"}},
                "properties": {
                    "result": {"items": {"$ref": "#/$defs/a"}, "not": {"$ref": "#/properties/result/items"}},
                },
            },
        ),
        (
            {"enum": [{"$ref": "#/a"}], "$ref": "#anchor"},
            {"properties": {"result": {"enum": [{"$ref": "#/a"}], "$ref": "#anchor"}}},
        ),
        (
            {"$id": "https://e.x/s", "items": {"$ref": "#/$defs/a"}, "not": {"$ref": "s#/items"}, "$defs": {"a": True}},
            {
                "$id": "https://e.x/s",
                "$defs": {"a": True},
                "properties": {
                    "result": {"items": {"$ref": "#/$defs/a"}, "not": {"$ref": "s#/properties/result/items"}}
                },
            },
        ),
        (
            {"$id": "urn:a", "$defs": {"b": {"$id": "urn:b", "items": {"$ref": "#/x"}, "not": {"$ref": "urn:a"}}}},
            {
                "$id": "urn:a",
                "$defs": {"b": {"$id": "urn:b", "items": {"$ref": "#/x"}, "not": {"$ref": "urn:a#/properties/result"}}},
                "properties": {"result": {}},
            },
        ),
        (
            {"items": {"properties": {"default": {"$ref": "#/items"}, "$ref": {"enum": [{"$ref": "#/items"}]}}}},
            {
                "properties": {
                    "result": {
                        "items": {
                            "properties": {
                                "default": {"$ref": "#/properties/result/items"},
                                "$ref": {"enum": [{"$ref": "#/items"}]},
                            }
                        }
                    }
                }
            },
        ),
        (
            {"$defs": {"a b": True}, "items": {"$ref": "#/%24defs/a%20b"}, "not": {"$ref": "#/$defsx"}},
            {
                "$defs": {"a b": True},
                "properties": {
                    "result": {"items": {"$ref": "#/%24defs/a%20b"}, "not": {"$ref": "#/properties/result/$defsx"}}
                },
            },
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "#a", "items": {"$ref": "#", "$id": "b"}},
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"result": {"$id": "#a", "items": {"$ref": "#/properties/result", "$id": "b"}}},
            },
        ),
    ],
)
def test_an_output_schema_without_an_object_at_its_root_is_wrapped_into_one(
    schema: dict[str, Any], wrapped: dict[str, Any]
):
    said = tool(R25_11, ToolDefinition("a", {"type": "object"}, outputSchema=schema))["outputSchema"]
    assert said == {"type": "object", "required": ["result"], **wrapped}


@pytest.mark.parametrize("value", [1, None, [1], {"a": 1}])
def test_a_value_with_an_output_schema_of_several_types_is_wrapped_like_its_schema(value: Any):
    said = json.loads(
        Projection(versions.BY_NAME[R25_11]).call(CallToolResult([], value), {"type": ["object", "integer"]})
    )
    assert said["structuredContent"] == {"result": value}


@pytest.mark.parametrize("revision", [R11, R03])
def test_structured_content_is_omitted_for_a_revision_without_it(revision: str):
    said = call(revision, CallToolResult([TextContent(text="{}")], {"a": 1}))
    assert said == {"content": [{"type": "text", "text": "{}"}], "isError": False}


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("value", [1, "a", [1], None, True])
def test_structured_content_that_is_no_object_is_said_as_text_only(value: Any):
    assert "structuredContent" not in call(R25_11, CallToolResult([], value))


def test_an_object_is_structured_content_since_2025_06_18():
    for revision in (R06, R25_11):
        assert call(revision, CallToolResult([], {"a": 1}, isError=True, meta={"m": 1})) == {
            "content": [],
            "structuredContent": {"a": 1},
            "isError": True,
            "_meta": {"m": 1},
        }


def test_blocks_that_a_revision_does_not_know_become_text():
    result = CallToolResult(
        [
            AudioContent(data="eA==", mimeType="audio/wav"),
            ResourceLink(uri="file:///a", name="a", title="The file"),
            ImageContent(data="eA==", mimeType="image/png", meta={"m": 1}),
            EmbeddedResource(resource=TextResource(uri="file:///b", text="t")),
        ]
    )
    types = {name: [block["type"] for block in call(name, result)["content"]] for name in versions.LEGACY}
    assert types == {
        R11: ["text", "text", "image", "resource"],
        R03: ["audio", "text", "image", "resource"],
        R06: ["audio", "resource_link", "image", "resource"],
        R25_11: ["audio", "resource_link", "image", "resource"],
    }
    assert call(R11, result)["content"][1]["text"] == "The file: file:///a"
    assert "_meta" not in call(R03, result)["content"][2]
    assert call(R06, result)["content"][2]["_meta"] == {"m": 1}


@pytest.mark.parametrize("revision", versions.LEGACY)
def test_a_legacy_client_receives_no_modern_fields(revision: str):
    said = json.dumps([tool(revision), call(revision, CallToolResult([], {"a": 1}))])
    for word in ("resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol"):
        assert word not in said


def test_the_initialize_result_has_only_the_fields_of_its_revision():
    info = Implementation(name="d", version="1", title="D", description="x", websiteUrl="https://x")
    known = {
        name: set(json.loads(Projection(versions.BY_NAME[name]).initialized(info, {}, "Use it."))["serverInfo"])
        for name in versions.LEGACY
    }
    plain = {"name", "version"}
    assert known == {
        R11: plain,
        R03: plain,
        R06: plain | {"title"},
        R25_11: plain | {"title", "description", "websiteUrl"},
    }
