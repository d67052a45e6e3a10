"""The plan of the tools of an API: written to be edited, read with every mistake named, and the verb that writes it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from services.calling import call
from services.openapi import PETSTORE, Judge
from support.website import running
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.main import cli
from tooltrue.cli.targets import Spec, load_server
from tooltrue.errors import ConfigurationError
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.findings import Level
from tooltrue_check.report import judge
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset
from tooltrue_toolbox.openapi.operations import read_api
from tooltrue_toolbox.openapi.plan import plan_text

API = load_api(PETSTORE)


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
        (one(effect="harmless"), "TT6822"),
        (one(hide=["limits"]), "TT6826"),
        (one(operation="GET /pets/{petId}", hide=["petId"]), "TT6827"),
        (one(fixed="{limit = 1000}"), "TT6828"),
        (one(fixed="{status = ['gone']}"), "TT6828"),
        (one(name="list pets"), "TT6829"),
        (one(operation="POST /pets/{petId}/picture"), "TT6830"),
        (one(title=1), "TT6822"),
        (one(hide="limit"), "TT6822"),
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


# --- the command


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, ["--lang", "en", *words])


def test_the_verb_writes_a_plan_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    result = run("openapi", "plan", str(PETSTORE), "--operations", "tag:orders")
    assert result.exit_code == 0, result.output
    written = tomllib.loads((tmp_path / "petstore.plan.toml").read_text("utf-8"))
    assert [table["name"] for table in written["operation"]] == ["find_place", "search_orders"]
    again = run("openapi", "plan", str(PETSTORE))
    assert again.exit_code != 0
    assert "[TT6941]" in again.output


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
