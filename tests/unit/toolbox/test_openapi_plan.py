"""The plan of the tools of an API: written to be edited, read with every mistake named, and the verb that writes it."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from services.calling import call
from services.openapi import PETSTORE, Judge
from support.website import Said, running
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.main import cli
from tooltrue.cli.targets import Spec, load_server
from tooltrue.errors import ConfigurationError
from tooltrue.protocol.types import ToolAnnotations
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import EVERYONE, RequestContext, Tool
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.findings import Level
from tooltrue_check.report import judge
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset, within_budget
from tooltrue_toolbox.openapi.operations import read_api
from tooltrue_toolbox.openapi.plan import plan_text
from tooltrue_toolbox.openapi.tool_definition import MAX_NAME

API = load_api(PETSTORE)


def listed(tools: LocalToolset) -> tuple[Tool, ...]:
    return asyncio.run(tools.list_tools(RequestContext(EVERYONE, SILENT)))


def plan_file(folder: Path, text: str) -> Path:
    file = folder / "pets.toml"
    file.write_text(text, "utf-8")
    return file


def one(*, fixed: str = "{}", **more: Any) -> str:
    values = {"operation": "GET /pets", "name": "list_pets", **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(["[[operation]]", *lines, f"fixed = {fixed}", ""])


def test_a_plan_that_nobody_edited_makes_the_same_tools(tmp_path: Path):
    text = plan_text(API, forms_of(API))
    assert forms_of(API, plan=plan_file(tmp_path, text)) == forms_of(API)
    assert "POST /pets/{petId}/picture: its body is none of JSON" in text
    assert "# arguments: X-Request-Id, status, tags," in text


def test_a_plan_holds_any_text(tmp_path: Path):
    strange = "a \"quoted\" \\ text\twith \x7f, 日本 and '''"
    info = {"title": "A\n[[operation]]", "version": "1"}
    operation = {
        "operationId": "a",
        "summary": strange,
        "description": strange,
        "responses": {"200": {"description": "x"}},
    }
    description = ApiDescription({"openapi": "3.0.3", "info": info, "paths": {"/a\"'": {"get": operation}}}, "3.0")
    api = read_api(description)
    text = plan_text(api, forms_of(api))
    assert len(tomllib.loads(text)["operation"]) == 1
    assert forms_of(api, plan=plan_file(tmp_path, text)) == forms_of(api)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("operations = []", "TT6821"),
        ("operation = 1", "TT6822"),
        (one(nme="x"), "TT6821"),
        (one(operation="GET /pet"), "TT6823"),
        (one() + one(), "TT6824"),
        (one() + one(operation="POST /pets"), "TT6824"),
        (one(operation="DELETE /pets/{petId}", effect="read"), "TT6825"),
        (one(operation="PATCH /pets/{petId}", effect="read"), "TT6825"),
        (one(operation="PUT /pets/{petId}/notes", effect="read"), "TT6825"),
        (one(operation="DELETE /pets/{petId}", effect="write"), "TT6825"),
        (one(effect="harmless"), "TT6822"),
        (one(hide=["limits"]), "TT6826"),
        (one(operation="GET /pets/{petId}", hide=["petId"]), "TT6827"),
        (one(fixed="{limit = 1000}"), "TT6828"),
        (one(fixed="{status = ['gone']}"), "TT6828"),
        (one(name="list pets"), "TT6829"),
        (one(operation="POST /pets/{petId}/picture"), "TT6830"),
        (one(title=1), "TT6822"),
        (one(hide="limit"), "TT6822"),
        (one(fields="id"), "TT6822"),
        (one(fields=["owner..id"]), "TT6822"),
        (one(responses="loud"), "TT6822"),
    ],
)
def test_a_mistake_in_a_plan_is_named(tmp_path: Path, text: str, code: str):
    with pytest.raises(ConfigurationError) as caught:
        forms_of(API, plan=plan_file(tmp_path, text))
    assert caught.value.code == "TT6820"
    assert caught.value.facts["problem"].code == code


@pytest.mark.parametrize("text", [None, "[[operation", b"\xff"])
def test_a_plan_that_is_no_file_of_toml_is_refused(tmp_path: Path, text: str | bytes | None):
    file = tmp_path / "pets.toml"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError) as caught:
        forms_of(API, plan=file)
    assert caught.value.code == "TT6820"


def test_post_may_be_declared_to_read_and_a_read_to_do_more(tmp_path: Path):
    text = one(effect="destructive") + one(operation="POST /orders", name="search_orders", effect="read")
    assert [form.effect for form in forms_of(API, plan=plan_file(tmp_path, text))] == ["destructive", "read"]


def test_hidden_arguments_are_not_sent_and_fixed_ones_always_are(tmp_path: Path):
    text = one(
        name="pets", description="List.", hide=["tags", "after", "limit"], fixed="{status = ['sold'], theme = 'dark'}"
    )
    forms = forms_of(API, plan=plan_file(tmp_path, text))
    with running(Judge()) as site:
        tools = toolset(API, forms, ApiSettings(f"{site.url}/v1", {"token": "x"}))
        call(tools, "pets", colours=["red"])
        assert call(tools, "pets", status=["available"]).is_error
        assert call(tools, "pets", limit=3).is_error
    (asked,) = site.asked
    assert (asked.raw_query, asked.headers["cookie"]) == ("status=sold&colours=red", "theme=dark")


PETS = [
    {"id": 1, "name": "Rex", "photo": "…" * 1_000, "owner": {"id": 7, "name": "Ann", "address": "…"}, "tags": []},
    {"id": 2, "name": "Tom", "owner": None, "tags": [{"id": 3, "text": "old"}]},
]


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        (["id", "name"], [{"id": 1, "name": "Rex"}, {"id": 2, "name": "Tom"}]),
        (["owner.name", "owner.id"], [{"owner": {"name": "Ann", "id": 7}}, {"owner": None}]),
        (["tags.text"], [{"tags": []}, {"tags": [{"text": "old"}]}]),
        (["owner.id", "owner"], [{"owner": PETS[0]["owner"]}, {"owner": None}]),
    ],
)
def test_a_plan_names_the_fields_of_an_answer(tmp_path: Path, fields: list[str], kept: object):
    forms = forms_of(API, plan=plan_file(tmp_path, one(name="pets", description="List.", fields=fields)))
    for responses in ("log", "strict", "off"):
        with running(lambda _: Said(200, PETS)) as site:
            tools = toolset(API, forms, ApiSettings(f"{site.url}/v1", {"token": "x"}, responses=responses))
            result = call(tools, "pets")
        assert result.value == kept


def test_an_answer_without_the_fields_of_a_plan_says_so(tmp_path: Path):
    forms = forms_of(API, plan=plan_file(tmp_path, one(name="pets", description="List.", fields=["ids"])))
    for pets, says in ((PETS, True), ([], False)):
        with running(lambda _, pets=pets: Said(200, pets)) as site:
            result = call(toolset(API, forms, ApiSettings(f"{site.url}/v1", {"token": "x"})), "pets")
        assert ("none of the fields that this tool returns: ids" in result.text) == says


def test_a_budget_takes_the_first_tools_that_fit():
    forms = forms_of(API)
    chosen, beyond = within_budget(API, forms, 700)
    assert chosen
    assert beyond
    assert sorted([*chosen, *beyond], key=forms.index) == forms
    assert [form for form in forms if form in chosen] == list(chosen)
    text = plan_text(API, chosen, beyond)
    assert [table["name"] for table in tomllib.loads(text)["operation"]] == [form.name for form in chosen]
    assert f"#   {beyond[0].operation.key}\n" in text
    assert within_budget(API, forms, 1_000_000) == (forms, [])


def extended(method: str = "get", parameters: Sequence[object] = (), **extensions: Any) -> Any:
    operation = {"operationId": "one", "parameters": parameters, "responses": {"200": {"description": "x"}}}
    paths = {"/one": {method: {**operation, **extensions}}}
    info = {"title": "One", "version": "1"}
    return read_api(ApiDescription({"openapi": "3.0.3", "info": info, "paths": paths}, "3.0"))


@pytest.mark.parametrize(
    ("method", "extension", "effect"),
    [
        ("get", "write", "write"),
        ("get", "destructive", "destructive"),
        ("post", "destructive", "destructive"),
        ("post", "read", "write"),
        ("delete", "write", "destructive"),
        ("get", "read", "read"),
    ],
)
def test_an_extension_only_raises_an_effect(tmp_path: Path, method: str, extension: str, effect: str):
    api = extended(method, **{"x-tooltrue-effect": extension})
    assert [form.effect for form in forms_of(api)] == [effect]
    if method == "get" and extension != "read":
        with pytest.raises(ConfigurationError) as caught:
            forms_of(api, plan=plan_file(tmp_path, one(operation="GET /one", effect="read")))
        assert caught.value.facts["problem"].code == "TT6825"


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        ("get", "read"),
        ("head", "read"),
        ("post", "write"),
        ("put", "write"),
        ("patch", "write"),
        ("delete", "destructive"),
    ],
)
def test_each_method_has_its_effect_and_its_hints(method: str, effect: str):
    api = extended(method)
    (tool,) = listed(toolset(api, forms_of(api), ApiSettings("https://one.example")))
    hints = tool.definition.annotations or ToolAnnotations()
    assert (tool.effect, hints.readOnlyHint is True, hints.destructiveHint is True) == (
        effect,
        effect == "read",
        effect == "destructive",
    )
    if effect != "read":
        assert hints.idempotentHint == (method in ("put", "delete"))


def test_no_other_extension_changes_a_tool():
    loosening: dict[str, Any] = {
        "x-tooltrue-confirm": False,
        "x-tooltrue-name": "another",
        "x-readOnlyHint": True,
        "x-effect": "read",
        "x-mcp": {"readOnlyHint": True, "name": "another"},
    }
    assert forms_of(extended("delete", **loosening)) == forms_of(extended("delete"))


def test_an_operation_does_not_lift_the_mark_of_its_path():
    responses = {"200": {"description": "x"}}
    item: dict[str, Any] = {"x-internal": True, "get": {"x-internal": False, "responses": responses}}
    info = {"title": "One", "version": "1"}
    api = read_api(ApiDescription({"openapi": "3.0.3", "info": info, "paths": {"/one": item}}, "3.0"))
    assert [one.problem.code for one in api.left_out] == ["TT6962"]


def test_a_name_fits_the_limit_of_clients_however_often_it_is_given(tmp_path: Path):
    operation = {"operationId": "list" + "Very" * 20 + "Long", "responses": {"200": {"description": "x"}}}
    paths = {f"/{number}": {"get": operation} for number in range(12)}
    info = {"title": "One", "version": "1"}
    api = read_api(ApiDescription({"openapi": "3.0.3", "info": info, "paths": paths}, "3.0"))
    forms = forms_of(api)
    assert len({form.name for form in forms}) == 12
    assert max(len(form.name) for form in forms) <= MAX_NAME
    assert forms_of(api, plan=plan_file(tmp_path, plan_text(api, forms))) == forms


def test_an_operation_that_is_internal_or_has_an_unknown_effect_is_left_out():
    marks: list[tuple[dict[str, Any], str]] = [
        ({"x-internal": True}, "TT6962"),
        ({"x-tooltrue-effect": ["read"]}, "TT6963"),
    ]
    for extension, code in marks:
        api = extended(**extension)
        assert [one.problem.code for one in api.left_out] == [code]
    internal: dict[str, Any] = {"x-internal": False}
    assert extended(**internal).operations


def test_an_internal_parameter_is_not_shown_unless_it_is_required():
    parameters = [
        {"name": name, "in": "query", "required": name == "c", "schema": {"type": "string"}, "x-internal": name != "a"}
        for name in "abc"
    ]
    (operation,) = extended(parameters=parameters).operations
    assert [parameter.name for parameter in operation.parameters] == ["a", "c"]


# --- the command


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, ["--lang", "en", *words])


def test_the_plan_of_the_verb_is_served_as_it_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert run("openapi", "plan", str(PETSTORE), "--operations", "method:get").exit_code == 0
    plan = tmp_path / "petstore.plan.toml"
    choice = '[[tool]]\nname = "look_up"\noperations = ["get_pet_by_id", "find_place"]\n'
    plan.write_text(plan.read_text("utf-8").replace('name = "list_pets"', 'name = "pets"') + choice, "utf-8")
    server = load_server(Spec("openapi", options(api_plan=(str(plan),))))
    context = RequestContext(EVERYONE, SILENT)
    names = {tool.name for tool in asyncio.run(server.provider.list_tools(context))}
    assert {"pets", "look_up"} <= names
    assert not names & {"list_pets", "get_pet_by_id", "find_place"}


def test_the_verb_writes_a_plan_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    result = run("openapi", "plan", str(PETSTORE), "--operations", "tag:orders")
    assert result.exit_code == 0, result.output
    written = tomllib.loads((tmp_path / "petstore.plan.toml").read_text("utf-8"))
    assert [table["name"] for table in written["operation"]] == ["find_place", "search_orders"]
    again = run("openapi", "plan", str(PETSTORE))
    assert again.exit_code != 0
    assert "[TT6941]" in again.output


def test_the_verb_keeps_to_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert run("openapi", "plan", str(PETSTORE), "--budget", "700").exit_code == 0
    text = (tmp_path / "petstore.plan.toml").read_text("utf-8")
    assert 0 < len(tomllib.loads(text)["operation"]) < len(forms_of(API))
    assert "# Operations beyond the budget:" in text


def options(**more: tuple[str, ...]) -> FamilyOptions:
    given = {"--spec": (str(PETSTORE),), "--api-url": ("https://pets.example/v1",)}
    return FamilyOptions({**given, **{f"--{name.replace('_', '-')}": value for name, value in more.items()}})


def test_a_server_of_the_description_has_no_error_of_check():
    for responses in ("log", "strict"):
        sources, unjudged = sources_of(["openapi"], options(api_responses=(responses,)), timeout=30.0)
        assert not unjudged
        found = [(one.tool, one.code) for one in judge(list(sources)).findings if one.level is Level.ERROR]
        assert found == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"spec": ()}, "TT4001"),
        ({"api_url": ()}, "TT6810"),
        ({"api_responses": ("loud",)}, "TT4009"),
        ({"api_secret": ("token",)}, "TT6812"),
        ({"operations": ("tag:none",)}, "TT6805"),
    ],
)
def test_a_wrong_option_is_named(more: dict[str, tuple[str, ...]], code: str):
    with pytest.raises(ConfigurationError) as caught:
        load_server(Spec("openapi", options(**more)))
    assert caught.value.code == code
