"""The entries for the registry of MCP servers, against its schema, which the linter skillsaw brings along."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft7Validator
from release.registry import FOLDER, SCHEMA, entries


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
