"""The OpenAPI description of tools: it is valid, and its schemas accept what those of the tools accept."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tooltrue.protocol.name_rules import DEPRECATED
from tooltrue.protocol.types import Implementation, ToolDefinition
from tooltrue.rest.description import described_tools

INFO = Implementation("shop", "1.0")
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "root": {"$ref": "#/$defs/node"},
        "self": {"$ref": "#"},
        "$ref": {"type": "string"},
        "kind": {"const": {"$ref": "#/$defs/node"}},
    },
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
VALUES: tuple[Any, ...] = (
    {}, {"root": {"name": "a"}}, {"root": {}}, {"root": {"name": "a", "children": [{"name": "b", "children": []}]}},
    {"root": {"name": "a", "children": [{"name": 1}]}}, {"self": {"self": {"root": {"name": "x"}}}},
    {"self": {"self": {"root": {"nam": "x"}}}}, {"$ref": "#/x"}, {"$ref": 1}, {"kind": {"$ref": "#/$defs/node"}},
    {"kind": {"$ref": "#/components"}}, {"other": 1}, [], None,
)  # fmt: skip


def tool(name: str, schema: dict[str, Any], **more: Any) -> ToolDefinition:
    return ToolDefinition(name, schema, **more)


def validator(document: dict[str, Any], component: str) -> Draft202012Validator:
    """The validator of another library for a component of the description."""
    resource: Any = Resource.from_contents(document, default_specification=DRAFT202012)
    registry: Any = Registry().with_resource("urn:description", resource)
    return Draft202012Validator({"$ref": f"urn:description#/components/schemas/{component}"}, registry=registry)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_schema_with_references_accepts_the_same_values_among_the_components(value: Any):
    document = described_tools(INFO, [tool("a", TREE), tool("b", {"type": "object"}, outputSchema=TREE)])
    OpenAPIV31SpecValidator(document).validate()
    expected = Draft202012Validator(TREE).is_valid(value)
    assert validator(document, "a.input").is_valid(value) == expected
    assert validator(document, "b.output").is_valid(value) == expected


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_schema_with_an_address_of_its_own_accepts_the_same_values_without_it(value: Any):
    schema = {**TREE, "$id": "https://shop.example/tree"}
    schema["properties"] = {**TREE["properties"], "self": {"$ref": "https://shop.example/tree#"}}
    document = described_tools(INFO, [tool("a", schema)])
    assert validator(document, "a.input").is_valid(value) == Draft202012Validator(TREE).is_valid(value)


def test_an_operation_has_the_texts_of_its_tool():
    definition = tool("a", {"type": "object"}, title="Add", description="Adds.", meta={DEPRECATED: "b"})
    operation = described_tools(INFO, [definition])["paths"]["/tools/a"]["post"]
    assert (operation["operationId"], operation["summary"], operation["description"]) == ("a", "Add", "Adds.")
    assert operation["deprecated"] is True


@pytest.mark.parametrize("name", ["a/b", "../a", ".", "..", "a b", "", "ä", "a{b}"])
def test_a_tool_whose_name_no_path_can_hold_is_left_out(name: str):
    document = described_tools(INFO, [tool(name, {"type": "object"}), tool("a.b-C_1", {"type": "object"})])
    OpenAPIV31SpecValidator(document).validate()
    assert list(document["paths"]) == ["/tools/a.b-C_1"]


def test_instructions_address_schemes_and_scopes_stand_in_it():
    schemes = {"bearer": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "header", "name": "K"}}
    document = described_tools(
        INFO,
        [tool("a", {"type": "object"})],
        instructions="Ask for prices.",
        security=schemes,
        scopes={"a": ["write"]},
        base="https://shop.example/team",
    )
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"] == {"title": "shop", "version": "1.0", "description": "Ask for prices."}
    assert document["servers"] == [{"url": "https://shop.example/team"}]
    assert document["paths"]["/tools/a"]["post"]["security"] == [{"bearer": ["write"]}, {"key": ["write"]}]
