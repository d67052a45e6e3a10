"""The entries for the registry of MCP servers, against its schema, which the linter skillsaw brings along."""

from __future__ import annotations

import json
import re
import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from release.registry import FOLDER, README, SCHEMA, entries, readme

from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, load_server
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox import families


def schema() -> dict[str, Any]:
    version = SCHEMA.split("/")[-2].replace("-", "_")
    place = resources.files("skillsaw") / "schemas" / "mcp_registry" / f"v{version}" / "server.schema.json"
    read = json.loads(place.read_text("utf-8"))
    assert read["$id"] == SCHEMA
    return read


@pytest.mark.parametrize("name", entries())
def test_an_entry_is_up_to_date_and_valid(name: str):
    written = json.loads((FOLDER / name).read_text("utf-8"))
    assert written == entries()[name], "run python -m release.registry"
    assert [error.message for error in Draft7Validator(schema()).iter_errors(written)] == []


def test_the_schema_refuses_an_entry_without_a_version():
    broken = {key: value for key, value in entries()["files.json"].items() if key != "version"}
    assert [error.message for error in Draft7Validator(schema()).iter_errors(broken)]


def test_no_file_is_left_over():
    assert {path.name for path in FOLDER.glob("*.json")} == entries().keys()


def test_every_family_has_an_entry():
    assert {name.removesuffix(".json") for name in entries()} == {name.lower() for name in families.__all__}


def test_the_readme_of_the_package_names_each_entry_once():
    text = README.read_text("utf-8")
    assert readme(text) == text, "run python -m release.registry"
    assert re.findall(r"mcp-name: (\S+) ", text) == [one["name"] for one in entries().values()]


VALUES = {
    "--root": "served",
    "--commands": "commands.toml",
    "--repo": "octo-org/octo-repo",
    "--smtp": "smtp://localhost",
    "--mail-from": "bot@acme.example",
    "--mail-to": "@acme.example",
    "--store": "settings.db",
    "--spec": "pets.yaml",
    "--api-url": "http://127.0.0.1:8080/v1",
    "--translate-url": "http://127.0.0.1:5000",
    "TOOLTRUE_DATABASE": "sqlite:///sample.db",
}
COMMANDS = f"""
[commands."show version"]
run = [{json.dumps(sys.executable)}, "--version"]
description = "Show the version"
effect = "read"
"""


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("commands.toml").write_text(COMMANDS, "utf-8")
    Path("sample.db").touch()
    shutil.copy(Path(__file__).parents[2] / "examples" / "pets.yaml", "pets.yaml")
    Path("served").mkdir()


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("entry", entries().values(), ids=entries())
def test_a_family_starts_with_what_its_entry_requires_and_not_without(
    entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    package = entry["packages"][0]
    arguments = package["packageArguments"]
    serve, family = (one["value"] for one in arguments if one["type"] == "positional")
    assert (serve, entry["name"].split("/")[1]) == ("serve", family)
    options = [one["name"] for one in arguments if one.get("isRequired")]
    variables = [one["name"] for one in package["environmentVariables"] if one["isRequired"]]
    for missing in (None, *options, *variables):
        for name in variables:
            monkeypatch.setenv(name, "" if name == missing else VALUES[name])
        given = FamilyOptions({name: (VALUES[name],) for name in options if name != missing})
        spec = Spec.of(family, given)
        if missing is None:
            assert load_server(spec).name == family
        else:
            with pytest.raises(ConfigurationError):
                load_server(spec)
