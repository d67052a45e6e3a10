"""Several operations as one tool: each call is that of the chosen operation, with its arguments and no others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from services.calling import calls
from services.openapi import PETSTORE, Judge
from support.website import Asked, Said, Site, running
from tooltrue import Client, Server
from tooltrue.cli.families import FamilyOptions
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.protocol.types import Implementation, ToolAnnotations
from tooltrue.rest.description import described_tools
from tooltrue.testing.generate import samples_of
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import EVERYONE, RequestContext, Tool
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.findings import Level
from tooltrue_check.report import judge
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset, within_budget
from tooltrue_toolbox.openapi.operation_choice import ChoiceForm
from tooltrue_toolbox.openapi.operations import DescribedApi, read_api
from tooltrue_toolbox.openapi.plan import plan_text
from tooltrue_toolbox.openapi.validation import first_problem

API = load_api(PETSTORE)
KEYS = {
    "list_pets": "GET /pets",
    "get_pet": "GET /pets/{petId}",
    "add_pet": "POST /pets",
    "change_pet": "PATCH /pets/{petId}",
    "delete_pet": "DELETE /pets/{petId}",
    "find_place": "GET /places/{plain}/{labels}/{point}",
    "search_orders": "POST /orders",
}


def operations(*names: str, **more: str) -> str:
    """The tables of these operations. ``more``: further lines by name."""
    return "".join(
        f'[[operation]]\noperation = "{KEYS[name]}"\nname = "{name}"\n{more.get(name, "")}\n' for name in names
    )


def tool(name: str, *names: str, more: str = "") -> str:
    return f'[[tool]]\nname = "{name}"\noperations = {json.dumps(names)}\n{more}\n'


PLAN = operations(*KEYS) + tool("manage_pets", *KEYS)


def plan_file(folder: Path, text: str) -> Path:
    file = folder / "pets.toml"
    file.write_text(text, "utf-8")
    return file


def tools_of(folder: Path, text: str, url: str = "https://pets.example/v1", api: DescribedApi = API) -> LocalToolset:
    secrets = {name: f"{name}:of-the-test" for name in api.schemes}
    return toolset(api, forms_of(api, plan=plan_file(folder, text)), ApiSettings(url, secrets, "off"))


def definitions(tools: LocalToolset) -> dict[str, Tool]:
    return {tool.name: tool for tool in asyncio.run(tools.list_tools(RequestContext(EVERYONE, SILENT)))}


# --- calls


def requests_of(tools: LocalToolset, site: Site, calls_to_make: list[tuple[str, dict[str, Any]]]) -> list[Asked]:
    before = len(site.asked)

    async def use(client: Client) -> None:
        for name, arguments in calls_to_make:
            await client.call_tool(name, arguments)

    calls(tools, use)
    return site.asked[before:]


def essence(asked: Asked) -> tuple[object, ...]:
    return asked.method, asked.path, asked.raw_query, asked.headers, asked.body


def test_a_call_is_sent_as_that_of_the_chosen_operation(tmp_path: Path):
    site_judge = Judge()
    with running(site_judge) as site:
        alone = tools_of(tmp_path, operations(*KEYS), f"{site.url}/v1")
        samples = [
            (name, {key: value for key, value in sample.value.items() if key != "next_page"})
            for name, single in definitions(alone).items()
            for sample in samples_of(single.definition.inputSchema, seed=11, count=6).valid
        ]
        chosen = [
            (
                "manage_pets",
                {
                    "operation": name,
                    **{f"{name}_body" if key == "body" else key: value for key, value in arguments.items()},
                },
            )
            for name, arguments in samples
        ]
        expected = requests_of(alone, site, samples)
        sent = requests_of(tools_of(tmp_path, PLAN, f"{site.url}/v1"), site, chosen)
    assert [essence(one) for one in sent] == [essence(one) for one in expected]
    assert {one.method for one in sent} == {"GET", "POST", "PATCH", "DELETE"}
    assert site_judge.faults == []


def called(tools: LocalToolset, **arguments: Any) -> Result:
    return calls(tools, lambda client: client.call_tool("manage_pets", arguments))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "$.operation is required"),
        ({"operation": "drop_pet"}, '"list_pets", "get_pet", "add_pet"'),
        ({"operation": "delete_pet"}, "$.petId is required: a string; it means: The number or the name of the pet"),
        (
            {"operation": "delete_pet", "petId": "7", "status": ["sold"]},
            "$.status is an unknown property; known: operation, petId",
        ),
        (
            {"operation": "add_pet", "change_pet_body": {"name": "Rex"}},
            "$.change_pet_body is an unknown property; known: operation, X-Request-Id, add_pet_body",
        ),
        ({"operation": "add_pet", "add_pet_body": {"name": 1}}, "$.add_pet_body.name must be a string"),
        ({"operation": "list_pets", "limit": 1000}, "$.limit must be at most 100"),
    ],
)
def test_arguments_of_another_operation_do_not_pass(tmp_path: Path, arguments: dict[str, Any], says: str):
    with running(Judge()) as site:
        result = called(tools_of(tmp_path, PLAN, f"{site.url}/v1"), **arguments)
        assert result.is_error
        assert says in result.text
        assert site.asked == []


def test_a_default_is_that_of_its_operation_alone(tmp_path: Path):
    with running(Judge()) as site:
        tools = tools_of(tmp_path, PLAN, f"{site.url}/v1")
        called(tools, operation="list_pets")
        called(tools, operation="delete_pet", petId="7")
    assert [(one.method, one.raw_query) for one in site.asked] == [("GET", "limit=20"), ("DELETE", "")]


def test_hidden_and_fixed_arguments_are_those_of_each_operation(tmp_path: Path):
    own = operations("list_pets", "get_pet", list_pets='hide = ["tags"]\nfixed = {limit = 3}')
    with running(Judge()) as site:
        tools = tools_of(tmp_path, own + tool("manage_pets", "list_pets", "get_pet"), f"{site.url}/v1")
        called(tools, operation="list_pets")
        assert called(tools, operation="list_pets", tags=["x"]).is_error
    assert [one.raw_query for one in site.asked] == ["limit=3"]


def test_a_next_page_is_asked_for_with_the_tool_and_its_operation(tmp_path: Path):
    answer = Said(200, [], (("link", '</v1/pets?after=p2>; rel="next"'),))
    with running(lambda _: answer) as site:
        tools = tools_of(tmp_path, PLAN, f"{site.url}/v1")

        async def use(client: Client) -> Result:
            first = await client.call_tool("manage_pets", {"operation": "list_pets"})
            assert "Call manage_pets again with the same arguments and next_page kept:" in first.text
            page = first.text.rpartition("next_page ")[2].rstrip(".")
            return await client.call_tool("manage_pets", {"operation": "list_pets", "next_page": page})

        assert not calls(tools, use).is_error
    assert [one.raw_query for one in site.asked] == ["limit=20", "after=p2"]


# --- the definition


def test_the_argument_says_what_each_operation_does_and_needs(tmp_path: Path):
    (merged,) = definitions(tools_of(tmp_path, PLAN)).values()
    schema = merged.definition.inputSchema
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["operation"]["enum"] == [*KEYS]
    text = schema["properties"]["operation"]["description"]
    assert "add_pet (write): Add a pet. Needs add_pet_body. Takes X-Request-Id." in text
    assert "delete_pet (destructive): Delete a pet. Needs petId." in text


def test_the_schema_of_the_tool_accepts_what_that_of_the_operation_accepts(tmp_path: Path):
    """Judged by another validator than ours."""
    (merged,) = definitions(tools_of(tmp_path, PLAN)).values()
    judged = Draft202012Validator(merged.definition.inputSchema)
    for name, single in definitions(tools_of(tmp_path, operations(*KEYS))).items():
        samples = samples_of(single.definition.inputSchema, seed=3, count=20)
        for sample in (*samples.valid, *(one for one in samples.invalid if isinstance(one.value, dict))):
            own = {f"{name}_body" if key == "body" else key: value for key, value in sample.value.items()}
            is_valid = Draft202012Validator(single.definition.inputSchema).is_valid(sample.value)
            assert judged.is_valid({"operation": name, **own}) == is_valid, (name, own)


def test_the_effect_is_the_strongest_of_the_operations(tmp_path: Path):
    text = (
        operations(*KEYS)
        + tool("read_pets", "list_pets", "get_pet")
        + tool("write_pets", "add_pet", "change_pet", "find_place")
        + tool("end_pets", "delete_pet", "search_orders")
    )
    made = definitions(tools_of(tmp_path, text))
    assert {name: one.effect for name, one in made.items()} == {
        "read_pets": "read",
        "write_pets": "write",
        "end_pets": "destructive",
    }
    hints = {name: one.definition.annotations or ToolAnnotations() for name, one in made.items()}
    assert hints["read_pets"].readOnlyHint is True
    assert (hints["end_pets"].destructiveHint, hints["end_pets"].idempotentHint) == (True, False)


def test_rules_and_approvals_see_the_tool_and_the_argument(tmp_path: Path):
    rules = tmp_path / "tooltrue.toml"
    rules.write_text(
        """
[[rules]]
name = "no deletions"
tools = "manage_pets"
arguments = { properties.operation.const = "delete_pet" }
then = "deny"
reason = "Pets stay."

[[rules]]
name = "all else"
effect = "destructive"
then = "allow"
""",
        "utf-8",
    )
    asked = list[str]()

    async def use(tools: LocalToolset) -> tuple[Result, Result]:
        server = Server("pets", toolsets=[tools], rules=rules)
        async with Client(server, elicit=lambda question: bool(asked.append(question.message)) or True) as client:
            denied = await client.call_tool("manage_pets", {"operation": "delete_pet", "petId": "7"})
            return denied, await client.call_tool("manage_pets", {"operation": "get_pet", "petId": "7"})

    with running(Judge()) as site:
        denied, got = asyncio.run(use(tools_of(tmp_path, PLAN, f"{site.url}/v1")))
    assert "Pets stay." in denied.text
    assert not got.is_error
    assert len(asked) == 1
    assert '"get_pet"' in asked[0]
    assert [one.method for one in site.asked] == ["GET"]


def described(*parameters: list[dict[str, Any]]) -> DescribedApi:
    """An API with an operation for each of these lists of parameters: ``GET /0``, ``GET /1``, …"""
    paths = {
        f"/{number}": {
            "get": {
                "operationId": f"get{number}",
                "summary": f"Get {number}",
                "parameters": given,
                "responses": {"200": {"description": "It"}},
            }
        }
        for number, given in enumerate(parameters)
    }
    info = {"title": "Numbers", "version": "1"}
    return read_api(ApiDescription({"openapi": "3.1.0", "info": info, "paths": paths}, "3.1"))


NUMBERS = """
[[operation]]
operation = "GET /0"
name = "none"

[[operation]]
operation = "GET /1"
name = "one"

[[tool]]
name = "manage_pets"
operations = ["none", "one"]
"""


def query(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


def test_an_argument_of_the_same_name_and_another_schema_has_the_name_of_its_operation(tmp_path: Path):
    api = described(
        [query("id", type="integer"), query("kind", type="string", description="A")],
        [query("id", type="string", default="x"), query("kind", type="string", description="B")],
    )
    with running(lambda _: Said(200, {})) as site:
        tools = tools_of(tmp_path, NUMBERS, site.url, api)
        (merged,) = definitions(tools).values()
        properties = merged.definition.inputSchema["properties"]
        assert [*properties] == ["operation", "none_id", "one_id", "kind"]
        assert properties["kind"] == {"type": "string", "minLength": 1, "description": "A / B"}
        called(tools, operation="none", none_id=7)
        called(tools, operation="one", kind="c")
        assert called(tools, operation="one", none_id=7).is_error
    assert [(one.path, one.raw_query) for one in site.asked] == [("/0", "id=7"), ("/1", "id=x&kind=c")]


def test_an_argument_that_is_called_operation_stays(tmp_path: Path):
    api = described(
        [query("operation", type="string"), query("none_id", type="string"), query("id")], [query("id", type="integer")]
    )
    with running(lambda _: Said(200, {})) as site:
        tools = tools_of(tmp_path, NUMBERS, site.url, api)
        (merged,) = definitions(tools).values()
        assert [*merged.definition.inputSchema["properties"]] == [
            "operation_2",
            "operation",
            "none_id",
            "none_id_2",
            "one_id",
        ]
        called(tools, operation_2="none", operation="plus", none_id="a", none_id_2="b")
    assert [one.raw_query for one in site.asked] == ["operation=plus&none_id=a&id=b"]


def test_the_exported_description_of_the_tool_is_valid_and_says_the_same(tmp_path: Path):
    (merged,) = definitions(tools_of(tmp_path, PLAN)).values()
    document = described_tools(Implementation("pets", "1"), [merged.definition])
    assert first_problem(document, "3.1") is None
    (name,) = [name for name in document["components"]["schemas"] if name.endswith(".input")]
    exported = compile_schema({"$ref": f"#/components/schemas/{name}", **document}, bounds=OWN)
    for arguments, fits in (
        ({"operation": "delete_pet", "petId": "7"}, True),
        ({"operation": "delete_pet"}, False),
        ({"operation": "delete_pet", "petId": "7", "status": ["sold"]}, False),
        ({"operation": "add_pet", "add_pet_body": {"name": "Rex"}}, True),
        ({"operation": "add_pet", "petId": "7"}, False),
    ):
        assert exported.accepts(arguments) == fits


# --- the plan


def test_a_plan_with_tools_of_several_operations_is_written_and_read(tmp_path: Path):
    text = operations(*KEYS) + tool(
        "read_pets", "list_pets", "get_pet", more='title = "Read"\ndescription = "Read pets."'
    )
    forms = forms_of(API, plan=plan_file(tmp_path, text))
    (choice,) = [form for form in forms if isinstance(form, ChoiceForm)]
    assert (choice.title, choice.description) == ("Read", "Read pets.")
    assert [form.name for form in forms] == [name for name in KEYS if name not in ("list_pets", "get_pet")] + [
        "read_pets"
    ]
    assert forms_of(API, plan=plan_file(tmp_path, plan_text(API, forms))) == forms


def test_patterns_select_operations_within_a_tool(tmp_path: Path):
    file = plan_file(tmp_path, PLAN)
    (choice,) = forms_of(API, ["method:GET", "method:DELETE"], plan=file)
    assert isinstance(choice, ChoiceForm)
    assert [one.name for one in choice.operations] == ["list_pets", "get_pet", "delete_pet", "find_place"]
    assert choice.effect == "destructive"
    assert forms_of(API, ["tag:none"], plan=file) == []


def test_a_budget_counts_a_tool_of_several_operations(tmp_path: Path):
    forms = forms_of(API, plan=plan_file(tmp_path, PLAN))
    assert within_budget(API, forms, 10_000) == (forms, [])
    chosen, beyond = within_budget(API, forms, 300)
    assert (chosen, beyond) == ([], forms)
    assert f"#   {KEYS['list_pets']}\n" in plan_text(API, chosen, beyond)


LISTED = operations("list_pets", "get_pet", "add_pet")


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (LISTED + tool("pets", "list_pets", "get_pets"), "TT6972", 15),
        (LISTED + tool("pets", "list_pets", "get_pet") + tool("more", "get_pet", "add_pet"), "TT6973", 19),
        (LISTED + tool("pets", "list_pets"), "TT6974", 15),
        (LISTED + tool("pets"), "TT6974", 15),
        (LISTED + tool("pets", "list_pets", "list_pets"), "TT6824", 15),
        (LISTED + tool("add_pet", "list_pets", "get_pet"), "TT6824", 14),
        (LISTED + tool("my pets", "list_pets", "get_pet"), "TT6829", 14),
        (LISTED + tool("pets", "list_pets", "get_pet", more='effect = "read"'), "TT6821", 16),
        (LISTED + "[tool]\n", "TT6822", 13),
        (LISTED + '[[tool]]\nname = "pets"\n', "TT6974", 13),
        (LISTED + '[[operation]]\noperation = "GET /pet"\nname = "x"\n', "TT6823", 14),
        (operations("get_pet", get_pet='description = """\n[[operation]]\n"""\nhide = ["petId"]'), "TT6827", 7),
    ],
)
def test_a_mistake_in_a_plan_has_a_line(tmp_path: Path, text: str, code: str, line: int):
    file = plan_file(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        forms_of(API, plan=file)
    assert (caught.value.facts["problem"].code, caught.value.facts["file"]) == (code, f"{file}:{line}")


def test_check_has_no_error_of_a_tool_of_several_operations(tmp_path: Path):
    given = {
        "--spec": (str(PETSTORE),),
        "--api-url": ("https://pets.example/v1",),
        "--api-plan": (str(plan_file(tmp_path, PLAN)),),
    }
    sources, unjudged = sources_of(["openapi"], FamilyOptions(given), timeout=30.0)
    assert not unjudged
    assert [one.code for one in judge(list(sources)).findings if one.level is Level.ERROR] == []
