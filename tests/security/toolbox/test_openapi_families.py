"""Group L: attacks on tools that are made of the description of an API, by arguments, descriptions and answers."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from services.calling import calls
from services.openapi import api_tools
from support.variants import tried
from support.website import Asked, Said, running
from tooltrue import Client
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.openapi.document import UnusablePart
from tooltrue_toolbox.openapi.openapi_tools import forms_of, load_api
from tooltrue_toolbox.openapi.operations import DescribedApi, OmittedOperation
from tooltrue_toolbox.openapi.tool_definition import input_schema

SECRET = "of-the-operator-4711"

DESCRIPTION: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Users", "version": "1"},
    "security": [{"key": []}],
    "paths": {
        "/users/{id}": {
            "get": {
                "operationId": "getUser",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "x-note", "in": "header", "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "The user"}},
            }
        },
        "/users/{id}/delete": {
            "post": {
                "operationId": "deleteUser",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "Deleted"}},
            }
        },
    },
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}}},
}


@pytest.fixture
def described(tmp_path: Path) -> Path:
    file = tmp_path / "users.json"
    file.write_text(json.dumps(DESCRIPTION))
    return file


def answers(file: Path, arguments: list[dict[str, Any]], answer: Said | None = None) -> tuple[list[str], list[Asked]]:
    """The texts of calls of ``get_user``, and the requests that came."""

    async def each(client: Client) -> list[str]:
        return [(await client.call_tool("get_user", one)).text for one in arguments]

    with running(lambda asked: answer or Said(200, {"path": asked.path})) as site:
        texts = calls(api_tools(site, file, secrets={"key": SECRET}), each)
    return texts, site.asked


# -- L01: a path parameter that reaches another path (CVE-2026-32871) --------------------------------------------------

_DOTS = ("..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..;x=1", ".. ")
_SLASHES = ("/", "\\", "%2f", "%5c", "%252f", "%2F")
CLIMBING = [*_DOTS, *(f"1{slash}{dots}{slash}admin" for dots, slash in itertools.product(_DOTS, _SLASHES))]
ELSEWHERE = [
    "1/delete",
    "1/delete?",
    "1?admin=true",
    "1#",
    "//evil.example/",
    "http://evil.example/",
    "@evil.example",
    "1%00",
    "1\x00",
    "1\r\nHost: evil.example",
    "",
    ".",
    "%2e",
    "{id}",
    "1;delete",
    "1%2fdelete",
]


@pytest.mark.variants(60)
def test_l01_no_value_leaves_its_segment(described: Path):
    values = [*CLIMBING, *ELSEWHERE]
    texts, asked = answers(described, [{"id": value} for value in values])
    for value in values:
        tried(value)
    refused = [text for text in texts if text.endswith(("[TT6900]", "[TT2001]"))]
    assert len(refused) + len(asked) == len(values)
    assert {(one.method, one.path.count("/"), one.raw_query) for one in asked} == {("GET", 3, "")}
    assert not [one.path for one in asked if ".." in one.path or "%2e" in one.path.lower()]
    climbed = [text for value, text in zip(values, texts, strict=True) if value in CLIMBING]
    assert [text for text in climbed if not text.endswith("[TT6900]")] == []


@pytest.mark.parametrize(
    "value", ["42", "a.b", "..a", "a..", "ann@example.com", "group/project", "100%", "日本", "a b", "-"]
)
def test_l01_twin_an_ordinary_value_reaches_its_segment(described: Path, value: str):
    _, (asked,) = answers(described, [{"id": value}])
    assert asked.path.startswith("/v1/users/")


# -- L02: headers ------------------------------------------------------------------------------------------------------

BREAKS = [
    "\r\n",
    "\n",
    "\r",
    "\n ",
    "\r\n\t",
    "\x00",
    "\x0b",
    "\x0c",
    "\x85",
    "\u2028",
    "\u2029",
    "é",
    "\x7f",
    "\x1b[31m",
]


@pytest.mark.variants(28)
def test_l02_no_value_makes_a_second_header(described: Path):
    values = [f"a{sign}{more}" for sign in BREAKS for more in ("x-admin: 1", "\r\nGET /admin HTTP/1.1")]
    texts, asked = answers(described, [{"id": "1", "x-note": value} for value in values])
    for value in values:
        tried(value)
    assert [text for text in texts if not text.endswith("[TT6901]")] == []
    assert asked == []


@pytest.mark.parametrize("value", ["plain", "two words", "a, b; c=1", '"quoted"', "~!#$%&'*+-.^_`|"])
def test_l02_twin_an_ordinary_value_is_sent_as_it_is(described: Path, value: str):
    _, (asked,) = answers(described, [{"id": "1", "x-note": value}])
    assert asked.headers["x-note"] == value


# -- L03: other files and addresses ------------------------------------------------------------------------------------

KEYWORDS = ("$ref", "$dynamicRef", "$id", "$schema")


def described_with(schema: Any) -> dict[str, Any]:
    """A description whose one operation has a body of this schema."""
    body = {"content": {"application/json": {"schema": {"allOf": [schema]}}}}
    post = {"operationId": "addUser", "requestBody": body, "responses": {"200": {"description": "Added"}}}
    return {**DESCRIPTION, "openapi": "3.1.0", "paths": {**DESCRIPTION["paths"], "/users": {"post": post}}}


@pytest.mark.variants(40)
def test_l03_no_description_opens_an_address_or_a_file_beyond_its_folder(tmp_path: Path):
    reached = list[str]()

    def note(asked: Asked) -> Said:
        reached.append(asked.path)
        return Said(200, {"type": "object"})

    folder = tmp_path / "described"
    folder.mkdir()
    for name in ("outside.json", "outside-folder/a.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"type": "object"}')
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    (folder / "linked").symlink_to(tmp_path / "outside-folder")
    with running(note) as site:
        targets = [
            f"{site.url}/a.json",
            f"{site.url}/a.json#/x",
            f"//{site.url.partition('//')[2]}/a.json",
            "../outside.json",
            "%2e%2e/outside.json",
            "a/../../outside.json",
            str(tmp_path / "outside.json"),
            "file:///etc/passwd",
            "link.json",
            "linked/a.json",
        ]
        for keyword, target in itertools.product(KEYWORDS, targets):
            tried((keyword, target))
            file = folder / "api.json"
            file.write_text(json.dumps(described_with({keyword: target})))
            api = load_api(file)
            if keyword != "$schema":
                assert [one.key for one in omitted_in(api)] == ["POST /users"], (keyword, target)
    assert reached == []


def omitted_in(api: DescribedApi) -> list[OmittedOperation]:
    """The operations that are left out, those whose schemas cannot be converted too."""
    left_out = list(api.left_out)
    for form in forms_of(api):
        try:
            input_schema(api.description, form, patterns=True)
        except UnusablePart as error:
            left_out.append(OmittedOperation(form.operation.key, error.problem))
    return left_out


def test_l03_twin_a_file_in_the_folder_of_the_description_is_followed(tmp_path: Path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "user.yaml").write_text(
        "User:\n  type: object\n  properties:\n    role: {$ref: '../roles.yml#/Role'}\n"
        "    friend: {$ref: '#/User'}\n    own: {$ref: '../api.json#/components/schemas/Own'}\n"
    )
    (tmp_path / "roles.yml").write_text("Role: {type: string, enum: [admin, guest]}\n")
    described = described_with({"$ref": "models/user.yaml#/User"})
    described["components"] = {**DESCRIPTION["components"], "schemas": {"Own": {"type": "integer"}}}
    file = tmp_path / "api.json"
    file.write_text(json.dumps(described))
    api = load_api(file)
    assert api.left_out == ()
    (form,) = [form for form in forms_of(api) if form.name == "add_user"]
    assert input_schema(api.description, form, patterns=True)["$defs"] == {
        "user": {
            "type": "object",
            "properties": {
                "role": {"type": "string", "enum": ["admin", "guest"]},
                "friend": {"$ref": "#/$defs/user"},
                "own": {"type": "integer"},
            },
        }
    }


def test_l03_twin_a_reference_within_the_file_is_followed(tmp_path: Path):
    components = {
        **DESCRIPTION["components"],
        "schemas": {"A": {"allOf": [{"$ref": "#/components/schemas/B"}]}, "B": {}},
    }
    file = tmp_path / "api.json"
    file.write_text(json.dumps({**DESCRIPTION, "openapi": "3.1.0", "components": components}))
    assert len(load_api(file).operations) == 2


# -- L04: descriptions that fill the memory ----------------------------------------------------------------------------


def _bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


BOMBS = [
    *(_bomb(levels, width) for levels, width in itertools.product((10, 20, 40), (9, 30, 100))),
    *(sign * depth for sign, depth in itertools.product(("[", "{a: ", "- "), (200, 5_000, 100_000))),
    *('{"a":' * depth for depth in (200, 100_000)),
]


@pytest.mark.variants(20)
def test_l04_a_description_is_refused_before_it_fills_the_memory(tmp_path: Path):
    for bomb in BOMBS:
        tried((len(bomb), bomb[:80]))
        file = tmp_path / "api.yaml"
        file.write_text(bomb)
        with pytest.raises(ConfigurationError) as caught:
            load_api(file)
        assert caught.value.code == "TT6800"


def test_l04_twin_aliases_are_read_where_they_are_few(tmp_path: Path):
    file = tmp_path / "api.yaml"
    file.write_text(
        "openapi: 3.0.3\ninfo: {title: T, version: '1'}\n"
        "paths:\n  /a: {get: &one {responses: {'200': {description: ok}}}, post: *one}\n"
    )
    assert [operation.key for operation in load_api(file).operations] == ["GET /a", "POST /a"]


# -- L05: secrets ------------------------------------------------------------------------------------------------------


@pytest.mark.variants(24)
def test_l05_a_secret_stays_with_the_api(described: Path):
    elsewhere = list[Asked]()

    def note(asked: Asked) -> Said:
        elsewhere.append(asked)
        return Said(200, {})

    with running(note) as other:
        for status, place in itertools.product((301, 302, 303, 307, 308), ("/", "/login", "//x")):
            tried((status, place))
            moved = Said(status, "", (("location", f"{other.url}{place}"),))
            texts, asked = answers(described, [{"id": "1"}], moved)
            assert texts[0].endswith("[TT6917]")
            assert len(asked) == 1
    assert elsewhere == []
    for status, form in itertools.product((200, 400, 500), ({"key": SECRET}, f"your key {SECRET}", {SECRET: [SECRET]})):
        tried((status, form))
        texts, _ = answers(described, [{"id": "1"}], Said(status, form))
        assert SECRET not in texts[0]


def test_l05_twin_the_secret_reaches_the_api_and_its_answer_is_whole(described: Path):
    texts, (asked,) = answers(described, [{"id": "1"}], Said(200, {"key": "of-the-operator"}))
    assert asked.headers["x-key"] == SECRET
    assert json.loads(texts[0]) == {"key": "of-the-operator"}
