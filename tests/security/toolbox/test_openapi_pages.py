"""Group L: next pages that an answer of an API names, for tools that are made of its description."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from services.calling import calls
from services.openapi import api_tools
from support.variants import tried
from support.website import Asked, Said, running
from tooltrue import Client

SECRET = "of-the-operator-4711"


@pytest.fixture
def described(tmp_path: Path) -> Path:
    file = tmp_path / "things.json"
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("page", "limit", "cursor")]
    operation = {"operationId": "listThings", "parameters": parameters, "responses": {"200": {"description": "All"}}}
    file.write_text(
        json.dumps(
            {
                "openapi": "3.0.3",
                "info": {"title": "Things", "version": "1"},
                "security": [{"key": []}],
                "paths": {"/things": {"get": operation}},
                "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}}},
            }
        )
    )
    return file


def followed(file: Path, answer: Said) -> list[Asked]:
    """The requests of a call, and of the call for its next page if the result names one."""

    async def use(client: Client) -> None:
        result = await client.call_tool("list_things", {"limit": "3"})
        if match := re.search(r"next_page (kept:\S+)\.", result.text):
            await client.call_tool("list_things", {"limit": "3", "next_page": match[1]})

    with running(lambda asked: answer) as site:
        calls(api_tools(site, file, secrets={"key": SECRET}), use)
    return site.asked


def targets(other: str) -> list[str]:
    port = other.rpartition(":")[2]
    return [
        f"{other}/v1/things?page=2",
        f"//127.0.0.1:{port}/v1/things?page=2",
        f"http://user@127.0.0.1:{port}/?page=2",
        f"http://localhost:{port}/?page=2",
        f"http://2130706433:{port}/?page=2",
        f"http://[::ffff:127.0.0.1]:{port}/?page=2",
        "http://169.254.169.254/latest/meta-data/?page=2",
        "http://metadata.google.internal/?page=2",
        "https://evil.example/v1/things?page=2",
        "file:///etc/passwd?page=2",
        "gopher://127.0.0.1:6379/?page=2",
        "javascript:alert(1)?page=2",
        "/admin/delete?page=2",
        "../../admin?page=2",
        "/v1/things/../../admin?page=2",
        "?page=2#/admin",
        "?page=2 HTTP/1.1\r\nHost: evil.example",
        "?page=2\r\nx-admin: 1",
        "\\\\127.0.0.1\\x?page=2",
        "?page=2&x=\x00",
    ]


@pytest.mark.variants(80)
def test_l07_a_next_page_stays_at_the_address_and_the_path_of_its_operation(described: Path):
    elsewhere = list[Asked]()

    def note(asked: Asked) -> Said:
        elsewhere.append(asked)
        return Said(200, {})

    seen = list[Asked]()
    with running(note) as other:
        forms: tuple[Any, ...] = (
            lambda target: Said(200, [], (("link", f'<{target}>; rel="next"'),)),
            lambda target: Said(200, {"items": [], "next": target}),
            lambda target: Said(200, {"items": [], "_links": {"next": {"href": target}}}),
            lambda target: Said(200, {"items": [], "next_cursor": target}),
        )
        for (number, target), (kind, form) in itertools.product(enumerate(targets(other.url)), enumerate(forms)):
            tried((number, kind))
            if kind == 0 and not target.isprintable():
                target = target.replace("\r\n", "%0d%0a").replace("\x00", "%00")
            seen += followed(described, form(target))
    assert elsewhere == []
    assert {(one.method, one.path) for one in seen} == {("GET", "/v1/things")}
    assert {one.headers["x-key"] for one in seen} == {SECRET}
    assert not [one for one in seen if "x-admin" in one.headers or "evil" in one.headers["host"]]


def test_l07_twin_a_next_page_at_the_same_address_is_followed(described: Path):
    for answer in (
        Said(200, [], (("link", '</v1/things?page=2>; rel="next"'),)),
        Said(200, {"items": [], "next": "?page=2"}),
        Said(200, {"items": [], "links": {"next": "/v1/things?page=2"}}),
    ):
        _, asked = followed(described, answer)
        assert (asked.path, asked.query["page"]) == ("/v1/things", "2")
