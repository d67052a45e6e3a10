"""Answers that differ from their description: what clients are told to expect, and what happens to such an answer."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from services.calling import call
from services.openapi import PETSTORE, api_tools
from support.website import Said, Site, running
from tooltrue import Client, Server
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import EVERYONE, RequestContext
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset
from tooltrue_toolbox.openapi.response_shape import ResponseShapes

PET = {"id": 7, "name": "Rex"}


def output_of(tools: LocalToolset, name: str) -> Any:
    return asyncio.run(tools.find_tool(name, RequestContext(EVERYONE, SILENT))).definition.outputSchema


def answered(said: Said, name: str = "get_pet_by_id", responses: str = "log", **arguments: Any) -> Result:
    """The result of a call. The client refuses one that does not fit the output schema of the tool."""
    with running(lambda _: said) as site:

        async def use() -> Result:
            async with Client(Server("pets", toolsets=[api_tools(site, responses=responses)])) as client:
                await client.list_tools()
                return await client.call_tool(name, arguments or {"petId": "7"})

        return asyncio.run(use())


SHAPE = {
    "type": "object",
    "properties": {
        "id": {"type": ["number", "string", "null"]},
        "name": {"type": ["string", "number", "null"]},
        "nickname": {"type": ["string", "number", "null"]},
        "status": {"type": ["string", "number", "null"]},
        "weight": {"type": ["number", "string", "null"]},
        "parents": {
            "type": ["array", "null"],
            "items": {
                "type": ["object", "null"],
                "properties": {
                    "id": {"type": ["number", "string", "null"]},
                    "name": {"type": ["string", "number", "null"]},
                    "nickname": {"type": ["string", "number", "null"]},
                    "status": {"type": ["string", "number", "null"]},
                    "weight": {"type": ["number", "string", "null"]},
                    "parents": {"type": ["array", "null"]},
                },
            },
        },
    },
}


def test_the_published_schema_is_a_shape_the_description_or_none():
    with running(lambda _: Said()) as site:
        outputs = {
            mode: output_of(api_tools(site, responses=mode), "get_pet_by_id") for mode in ("log", "strict", "off")
        }
    assert outputs["log"] == SHAPE
    assert outputs["strict"] == {"$ref": "#/$defs/pet", "$defs": outputs["strict"]["$defs"]}
    assert outputs["strict"]["$defs"]["pet"]["required"] == ["id", "name"]
    assert outputs["off"] is None


LIES: dict[str, dict[str, Any]] = {
    "null": {"id": 7, "name": None},
    "missing": {"id": 7},
    "unknown member of an enum": {**PET, "status": "lost"},
    "another property": {**PET, "colour": "red"},
    "text for a number": {**PET, "id": "7"},
    "number for a text": {**PET, "name": 12},
    "fraction": {**PET, "id": 7.5},
    "length": {**PET, "name": "x" * 101},
    "bound": {**PET, "weight": -1},
    "many": {**PET, "parents": [PET] * 3},
    "below": {**PET, "parents": [{"id": None}, None]},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_strict_client_takes_an_answer_that_differs(lie: str, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "tooltrue"):
        assert answered(Said(200, LIES[lie])).value == LIES[lie]
    assert ("[TT6930]" in caplog.text) == (lie != "another property")


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie != "another property"])
def test_strict_refuses_what_does_not_fit(lie: str):
    result = answered(Said(200, LIES[lie]), responses="strict")
    assert result.is_error
    assert result.text.endswith("[TT6975]")


def test_an_answer_of_another_kind_is_text_of_an_error(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "tooltrue"):
        result = answered(Said(200, [PET, PET]))
    assert result.is_error
    assert '[{"id":7,"name":"Rex"},{"id":7,"name":"Rex"}]' in result.text
    assert "GET /pets/{petId} succeeded with status 200" in result.text
    assert "$: type" in caplog.text
    words = answered(Said(200, "Rex, the dog", (("content-type", "text/plain"),)))
    assert words.is_error
    assert "Rex, the dog" in words.text
    assert answered(Said(200, [PET, PET]), responses="off").value == [PET, PET]


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        (Said(204), "Done, with status 204"),
        (Said(200, b"\x89PNG\0", (("content-type", "image/png"),)), "The answer, status 200, is image/png of 5 bytes"),
    ],
)
def test_an_answer_without_a_value_has_an_empty_one(said: Said, begins: str):
    one = answered(said)
    assert (one.structured, one.text.startswith(begins)) == ({}, True)
    several = answered(said, "list_pets", limit=3)
    assert (several.structured, several.is_error) == ([], False)
    refused = answered(said, responses="strict")
    assert refused.is_error
    assert refused.text.endswith("[TT6918]")


def test_a_shape_has_the_fields_of_a_plan(tmp_path: Path):
    plan = tmp_path / "pets.toml"
    plan.write_text('[[operation]]\noperation = "GET /pets"\nname = "pets"\nfields = ["id", "parents.id"]\n', "utf-8")
    api = load_api(PETSTORE)
    forms = forms_of(api, plan=plan)
    settings = ApiSettings("https://pets.example/v1", {"token": "x"})
    assert output_of(toolset(api, forms, settings), "pets") == {
        "type": "array",
        "items": {
            "type": ["object", "null"],
            "properties": {
                "id": {"type": ["number", "string", "null"]},
                "parents": {"type": ["array", "null"], "items": {"type": ["object", "null"]}},
            },
        },
    }


def of_plan(folder: Path, text: str, site: Site, responses: Any = "log") -> LocalToolset:
    plan = folder / "pets.toml"
    plan.write_text(text, "utf-8")
    api = load_api(PETSTORE)
    return toolset(api, forms_of(api, plan=plan), ApiSettings(f"{site.url}/v1", {"token": "x"}, responses=responses))


ONE = '[[operation]]\noperation = "GET /pets/{petId}"\nname = "get_pet"\n'


@pytest.mark.parametrize(
    ("declared", "setting", "is_refused"), [("strict", "log", True), ("log", "strict", False), ("off", "strict", False)]
)
def test_a_plan_declares_what_happens_for_one_operation(
    tmp_path: Path, declared: str, setting: str, is_refused: bool, caplog: pytest.LogCaptureFixture
):
    with running(lambda _: Said(200, LIES["missing"])) as site, caplog.at_level(logging.WARNING, "tooltrue"):
        tools = of_plan(tmp_path, f'{ONE}responses = "{declared}"\n', site, setting)
        assert (output_of(tools, "get_pet") is None) == (declared == "off")
        assert call(tools, "get_pet", petId="7").is_error == is_refused
    assert ("[TT6930]" in caplog.text) == (declared == "log")


def test_strict_holds_where_no_schema_is_published(tmp_path: Path):
    two = f'{ONE}fields = ["id"]\n[[operation]]\noperation = "GET /pets"\nname = "list_pets"\n'
    choice = '[[tool]]\nname = "pets"\noperations = ["get_pet", "list_pets"]\n'
    with running(lambda _: Said(200, LIES["missing"])) as site:
        reduced = of_plan(tmp_path, two, site, "strict")
        assert output_of(reduced, "get_pet") is None
        assert call(reduced, "get_pet", petId="7").text.endswith("[TT6975]")
        several = of_plan(tmp_path, two + choice, site, "strict")
        assert output_of(several, "pets") is None
        assert call(several, "pets", operation="get_pet", petId="7").text.endswith("[TT6975]")


def test_a_server_of_a_program_declares_what_happens():
    with running(lambda _: Said(200, {"id": 7})) as site:

        async def use(**more: Any) -> Result:
            server = Server.from_openapi("pets", PETSTORE, url=f"{site.url}/v1", api_secrets={"token": "x"}, **more)
            async with Client(server) as client:
                return await client.call_tool("get_pet_by_id", petId="7")

        assert asyncio.run(use()).value == {"id": 7}
        assert asyncio.run(use(responses="strict")).is_error
    with pytest.raises(ConfigurationError) as caught:
        Server.from_openapi("pets", PETSTORE, url="https://pets.example", responses=cast("Any", "loud"))
    assert caught.value.code == "TT4009"


# --- the shape


def shape(schema: dict[str, Any], **schemas: Any) -> Any:
    description = ApiDescription({"openapi": "3.0.3", "components": {"schemas": schemas}}, "3.0")
    made = ResponseShapes(description).shape([schema])
    compile_schema(made, bounds=OWN)
    return made


NUMBER = {"type": ["number", "string", "null"]}
TEXT = {"type": ["string", "number", "null"]}
CAT = {"type": "object", "properties": {"id": {"type": "integer"}, "claws": {"type": "integer"}}}
DOG = {"type": "object", "properties": {"id": {"type": "integer"}, "walks": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({}, {}),
        ({"type": "object"}, {"type": "object"}),
        ({"type": "object", "nullable": True}, {"type": ["object", "null"]}),
        ({"type": "string", "enum": ["a"], "maxLength": 3, "format": "date"}, {"type": ["string", "number"]}),
        (
            {"type": "array", "items": {"type": "boolean"}},
            {"type": "array", "items": {"type": ["boolean", "number", "string", "null"]}},
        ),
        ({"type": "array", "prefixItems": [{}], "items": {"type": "string"}}, {"type": "array"}),
        ({"$ref": "#/components/schemas/None"}, {}),
        ({"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}}, {"type": "object"}),
        ({"allOf": [CAT, DOG]}, {"type": "object", "properties": {"id": NUMBER, "walks": NUMBER, "claws": NUMBER}}),
        ({"oneOf": [CAT, DOG]}, {"type": "object", "properties": {"id": NUMBER, "claws": {}, "walks": {}}}),
        (
            {"oneOf": [CAT, {"type": "string"}]},
            {"type": ["object", "string", "number"], "properties": {"id": NUMBER, "claws": NUMBER}},
        ),
        ({"oneOf": [CAT, {}]}, {"properties": {"id": {}, "claws": {}}}),
    ],
)
def test_a_shape_has_names_and_kinds(schema: dict[str, Any], made: dict[str, Any]):
    assert shape(schema) == made


def test_a_shape_ends_at_the_third_level_or_earlier_where_it_is_large():
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(6):
        nested = {"type": "object", "properties": {"below": nested}}
    assert str(shape(nested)).count("below") == 3
    wide = {"type": "object", "properties": {f"p{number}": CAT for number in range(30)}}
    made = shape(wide)
    assert [*made["properties"]] == [*wide["properties"]]
    assert made["properties"]["p1"] == {"type": ["object", "null"]}
    recursive = {"type": "object", "properties": {"parent": {"$ref": "#/components/schemas/Node"}}}
    assert str(shape({"$ref": "#/components/schemas/Node"}, Node=recursive)).count("parent") == 3
    assert shape({"$ref": "#/components/schemas/Node"}, Node={"allOf": [{"$ref": "#/components/schemas/Node"}]}) == {}


def test_operations_share_the_shape_of_a_schema_that_they_share():
    reference = {"$ref": "#/components/schemas/Cat"}
    shapes = ResponseShapes(ApiDescription({"openapi": "3.0.3", "components": {"schemas": {"Cat": CAT}}}, "3.0"))
    assert shapes.shape([reference]) == shapes.shape([reference, reference]) == shape(CAT)
    assert shapes.shape([reference], ["claws"])["properties"] == {"claws": NUMBER}
    assert shapes.shape([reference, DOG])["properties"] == {"id": NUMBER, "claws": {}, "walks": {}}
