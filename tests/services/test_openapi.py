"""Tools of a described API, on the wire: each request is judged by another library, and each answer is one for a
model."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.calling import call
from services.openapi import PETSTORE, Judge, api_tools
from support.website import Asked, Said, running
from tooltrue import Client, Server
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, load_server
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue.testing.generate import samples_of
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import EVERYONE, RequestContext, Tool
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, secrets_from, toolset

PET = {"id": 7, "name": "Rex"}


def ask(tool: str, *, answer: Said | None = None, **arguments: Any) -> tuple[Result, Asked]:
    judge = Judge()
    judge.answer = lambda asked: answer or Said(200, PET)
    with running(judge) as site:
        result = call(api_tools(site), tool, **arguments)
    assert judge.faults == []
    return result, site.asked[-1]


def tools_in(tools: LocalToolset) -> dict[str, Tool]:
    listed = asyncio.run(tools.list_tools(RequestContext(EVERYONE, SILENT)))
    return {tool.name: tool for tool in listed}


@pytest.fixture(scope="module")
def petstore() -> dict[str, Tool]:
    api = load_api(PETSTORE)
    return tools_in(toolset(api, forms_of(api), ApiSettings("https://pets.example/v1")))


# --- requests


def test_each_parameter_stands_where_the_description_wants_it():
    _, asked = ask(
        "list_pets",
        status=["available", "sold"],
        tags=["a b", "c&d,e"],
        colours=["red", "bl|ue"],
        sizes=["x", "y z"],
        born={"from": "2020-01-01"},
        after="p/1?x&y=#",
        theme="dark",
        **{"X-Request-Id": "r-1"},
        answer=Said(200, [PET]),
    )
    assert asked.path == "/v1/pets"
    assert asked.raw_query.split("&") == [
        "status=available,sold",
        "tags=a%20b",
        "tags=c%26d%2Ce",
        "colours=red%7Cbl%7Cue",
        "sizes=x%20y%20z",
        "born%5Bfrom%5D=2020-01-01",
        "limit=20",
        "after=p/1?x%26y%3D%23",
    ]
    assert (asked.headers["cookie"], asked.headers["x-request-id"]) == ("theme=dark", "r-1")
    assert asked.headers["authorization"] == "Bearer token:of-the-test"


@pytest.mark.parametrize(
    ("tool", "body", "media_type", "sent"),
    [
        ("create_pet", {"name": "Rex", "nickname": None}, "application/json", b'{"name":"Rex","nickname":null}'),
        (
            "change_pet",
            {"name": "A&B=c", "tags": ["x", "y z"]},
            "application/x-www-form-urlencoded",
            b"name=A%26B%3Dc&tags=x&tags=y%20z",
        ),
        ("set_notes", "héllo\nline", "text/plain", "héllo\nline".encode()),
    ],
)
def test_a_body_has_the_media_type_of_the_description(tool: str, body: Any, media_type: str, sent: bytes):
    arguments = {"body": body} if tool == "create_pet" else {"petId": "7", "body": body}
    _, asked = ask(tool, **arguments)
    assert (asked.headers["content-type"], asked.body) == (media_type, sent)


def test_a_path_is_written_in_the_styles_of_its_parameters():
    _, asked = ask("find_place", plain=[1, 2], labels=["a", "b c"], point={"x": 1, "y": -2})
    assert asked.path == "/v1/places/1,2/.a.b%20c/;x=1;y=-2"


def test_generated_arguments_of_every_operation_make_requests_that_the_judge_accepts(petstore: dict[str, Tool]):
    judge = Judge()
    judge.answer = lambda asked: Said(200, PET)
    count = 0
    with running(judge) as site:
        tools = api_tools(site, responses="off")
        for name, tool in petstore.items():
            for sample in samples_of(tool.definition.inputSchema, seed=7, count=12).valid:
                # No next page can be made up.
                result = call(tools, name, **{key: one for key, one in sample.value.items() if key != "next_page"})
                assert not result.is_error or result.text.endswith(("[TT6900]", "[TT6901]")), result.text
                count += 1
    assert judge.faults == []
    assert len(site.asked) > count / 2
    assert {asked.method for asked in site.asked} == {"GET", "POST", "PUT", "PATCH", "DELETE"}


@pytest.mark.parametrize(
    ("tool", "arguments", "header", "value"),
    [
        ("delete_pet", {"petId": "7"}, "authorization", "Basic bG9naW46b2YtdGhlLXRlc3Q="),
        ("search_orders", {}, "api_key", "key:of-the-test"),
        ("get_pet_by_id", {"petId": "7"}, "authorization", "Bearer token:of-the-test"),
    ],
)
def test_a_security_scheme_is_filled_from_the_secrets(tool: str, arguments: Any, header: str, value: str):
    judge = Judge()
    with running(judge) as site:
        only = {"login": "login:of-the-test"} if tool == "delete_pet" else {}
        tools = api_tools(site, secrets=only) if only else api_tools(site)
        call(tools, tool, **arguments)
    assert judge.faults == []
    assert site.asked[-1].headers[header] == value


def test_an_operation_without_its_secret_sends_nothing():
    with running(Judge()) as site:
        result = call(api_tools(site, secrets={}), "get_pet_by_id", petId="7")
        assert result.text.endswith("[TT6903]")
        assert site.asked == []
        assert not call(
            api_tools(site, secrets={}), "find_place", plain=[1], labels=["a"], point={"x": 1, "y": 1}
        ).is_error


def test_a_secret_is_read_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch):
    schemes = load_api(PETSTORE).schemes
    monkeypatch.setenv("PETS_TOKEN", "of-the-test")
    monkeypatch.setenv("BROKEN", "line\nbreak")
    assert secrets_from(["token=PETS_TOKEN"], schemes) == {"token": "of-the-test"}
    for given, code in (("tokn=PETS_TOKEN", "TT6812"), ("token=NONE_SUCH", "TT6813"), ("token=BROKEN", "TT6813")):
        with pytest.raises(ConfigurationError) as caught:
            secrets_from([given], schemes)
        assert caught.value.code == code
    with pytest.raises(ConfigurationError) as caught:
        secrets_from(["login=PETS_TOKEN"], schemes)  # basic wants a user too
    assert caught.value.code == "TT6813"


# --- answers


def test_json_is_structured_and_text_is_text():
    assert ask("get_pet_by_id", petId="7")[0].value == PET
    text = Said(200, "They are replaced", (("content-type", "text/plain"),))
    assert ask("set_notes", petId="7", body="x", answer=text)[0].text == "They are replaced"
    assert ask("delete_pet", petId="7", answer=Said(204))[0].text.startswith("Done, with status 204")
    picture = Said(200, b"\x89PNG\0", (("content-type", "image/png"),))
    assert "image/png of 5 bytes" in ask("get_pet_by_id", petId="7", answer=picture)[0].text


@pytest.mark.parametrize(
    ("status", "body", "code", "said"),
    [
        (400, {"message": "limit is <b>too</b> large"}, "TT6910", "limit is too large"),
        (422, {"detail": [{"loc": ["body", "name"], "msg": "field required"}]}, "TT6910", "body.name: field required"),
        (409, {"errors": [{"field": "name", "message": "is taken"}]}, "TT6910", "name: is taken"),
        (401, {"error": {"message": "No such token"}}, "TT6911", "No such token"),
        (403, {"title": "Forbidden"}, "TT6911", "Forbidden"),
        (404, {"error": "Not Found"}, "TT6912", "Not Found"),
        (500, "<html><script>alert(1)</script><h1>Oops</h1></html>", "TT6914", "'Oops'"),
        (302, "", "TT6917", "302"),
    ],
)
def test_an_error_of_the_api_says_what_to_mend(status: int, body: Any, code: str, said: str):
    headers = (("location", "http://127.0.0.1:9/"),) if status == 302 else ()
    result, _ = ask("create_pet", body={"name": "Rex"}, answer=Said(status, body, headers))
    assert result.is_error
    assert said in result.text
    assert result.text.endswith(f"[{code}]")


def test_a_long_message_of_an_error_is_cut():
    result, _ = ask("create_pet", body={"name": "Rex"}, answer=Said(400, {"message": "a word " * 10_000}))
    assert len(result.text) < 800


def test_a_read_is_repeated_while_the_api_is_busy_and_a_write_is_not():
    judge = Judge()
    answers = iter(
        [Said(503), Said(429, headers=(("retry-after", "1"),)), Said(200, PET), Said(503, {"message": "no"})]
    )
    judge.answer = lambda asked: next(answers)
    with running(judge) as site:
        tools = api_tools(site)
        assert call(tools, "get_pet_by_id", petId="7").value == PET
        assert call(tools, "create_pet", body={"name": "Rex"}).text.endswith("[TT6914]")
    assert len(site.asked) == 4


@pytest.mark.parametrize("tool", ["get_pet_by_id", "delete_pet"])
def test_a_wait_beyond_the_time_of_a_call_is_for_the_model(tool: str):
    result, _ = ask(tool, petId="7", answer=Said(429, {"message": "Slow down"}, (("retry-after", "3600"),)))
    assert "Call again in 3600 s" in result.text
    assert result.text.endswith("[TT6913]")


def test_a_write_whose_answer_is_lost_may_have_taken_effect():
    assert ask("create_pet", body={"name": "Rex"}, answer=Said(drop=True))[0].text.endswith("[TT6915]")
    assert ask("get_pet_by_id", petId="7", answer=Said(drop=True))[0].text.endswith("[TT6916]")


def test_an_answer_that_differs_is_logged_refused_or_not_looked_at(caplog: pytest.LogCaptureFixture):
    judge = Judge()
    judge.answer = lambda asked: Said(200, {"id": "seven", "name": "Rex"})
    with running(judge) as site, caplog.at_level(logging.WARNING, "tooltrue"):
        for _ in range(2):
            assert call(api_tools(site), "get_pet_by_id", petId="7").value["id"] == "seven"
        assert sum("[TT6930]" in line for line in caplog.messages) == 2  # once for each set of tools
        assert "$.id" in caplog.text
        assert "seven" not in caplog.text
        caplog.clear()
        assert not call(api_tools(site, responses="off"), "get_pet_by_id", petId="7").is_error
        assert "[TT6930]" not in caplog.text
        assert call(api_tools(site, responses="strict"), "get_pet_by_id", petId="7").is_error
        judge.answer = lambda asked: Said(200, {**PET, "nickname": None})
        assert call(api_tools(site, responses="strict"), "get_pet_by_id", petId="7").value["nickname"] is None


# --- definitions


def test_the_effect_follows_the_method(petstore: dict[str, Tool]):
    effects = {name: tool.effect for name, tool in petstore.items()}
    assert effects == {
        "list_pets": "read",
        "create_pet": "write",
        "get_pet_by_id": "read",
        "change_pet": "write",
        "delete_pet": "destructive",
        "set_notes": "write",
        "find_place": "read",
        "search_orders": "write",
    }
    annotations = petstore["delete_pet"].definition.annotations
    assert annotations is not None
    assert (annotations.destructiveHint, annotations.idempotentHint, annotations.openWorldHint) == (True, True, True)


def test_a_description_has_no_markup_and_says_what_is_sent(petstore: dict[str, Tool]):
    assert petstore["list_pets"].definition.description == (
        "List pets. Lists the pets of the store, newest first. See the guide.\n\n"
        "Sends GET /pets. Side effects: none.\n\nReturns: The pets.\n\nErrors: 400 A filter is not valid."
    )


def test_no_argument_takes_the_place_of_a_secret(petstore: dict[str, Tool]):
    assert "api_key" not in petstore["list_pets"].definition.inputSchema["properties"]


def test_an_operation_that_cannot_be_served_is_left_out_with_the_reason(caplog: pytest.LogCaptureFixture):
    api = load_api(PETSTORE)
    with caplog.at_level(logging.WARNING, "tooltrue"):
        toolset(api, forms_of(api), ApiSettings("https://pets.example/v1"))
    assert "POST /pets/{petId}/picture is left out: its body is none of JSON" in caplog.text


def test_operations_are_selected_by_tag_path_method_and_id():
    api = load_api(PETSTORE)

    def names(*patterns: str) -> list[str]:
        return [form.name for form in forms_of(api, patterns)]

    assert names("tag:orders") == ["find_place", "search_orders"]
    assert names("path:/pets/*", "method:get") == ["get_pet_by_id"]
    assert names("id:*Pet", "id:listPets") == ["list_pets", "create_pet", "delete_pet", "change_pet"]
    with pytest.raises(ConfigurationError) as caught:
        names("pets")
    assert caught.value.code == "TT6814"


def test_the_address_is_the_operators_and_none_is_taken_from_the_description():
    api = load_api(PETSTORE)
    for url, code in (("", "TT6810"), ("https://pets.example/v1?x=1", "TT6811"), ("ftp://pets.example/", "TT6430")):
        with pytest.raises(ConfigurationError) as caught:
            toolset(api, forms_of(api), ApiSettings(url))
        assert caught.value.code == code, url
        if not url:
            assert "https://pets.example/v1" in str(caught.value)


def test_openapi_3_2_is_served_and_what_is_not_is_left_out(tmp_path: Path):
    ok = {"responses": {"200": {"description": "ok", "content": {"application/jsonl": {"itemSchema": {}}}}}}
    whole = {"name": "all", "in": "querystring", "content": {"application/json": {"schema": {}}}}
    words = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}
    search = {"content": {"application/json": {"schema": words}}, "required": True}
    stream = {"content": {"application/json": {"itemSchema": {}}}}
    description = {
        "openapi": "3.2.0",
        "$self": "https://pets.example/openapi.json",
        "info": {"title": "New", "version": "1"},
        "tags": [{"name": "pets", "kind": "nav"}, {"name": "cats", "parent": "pets"}],
        "paths": {
            "/pets": {
                "query": {**ok, "operationId": "search", "tags": ["cats"], "requestBody": search},
                "get": {**ok, "parameters": [whole]},
                "post": {**ok, "requestBody": stream},
                "additionalOperations": {"LINK": ok},
            }
        },
    }
    file = tmp_path / "new.json"
    file.write_text(json.dumps(description))
    api = load_api(file)
    assert {one.key: one.problem.code for one in api.left_out} == {
        "GET /pets": "TT6938",
        "POST /pets": "TT6939",
        "LINK /pets": "TT6852",
    }
    assert [(form.name, form.effect) for form in forms_of(api, ["tag:pets"])] == [("search", "read")]
    lines = Said(200, '{"a": 1}\n{"a": 2}\n', (("content-type", "text/event-stream"),))
    with running(lambda asked: lines) as site:
        result = call(api_tools(site, file), "search", body={"words": "tea"})
    assert (site.asked[-1].method, site.asked[-1].json) == ("QUERY", {"words": "tea"})
    assert result.text == '{"a": 1}\n{"a": 2}\n'


def test_a_description_is_fetched_from_the_address_that_the_operator_names():
    text = PETSTORE.read_text("utf-8")
    answers = {"/petstore.yaml": Said(200, text), "/moved": Said(302, headers=(("location", "http://10.0.0.1/x"),))}
    with running(lambda asked: answers.get(asked.path, Said(404))) as site:
        assert load_api(f"{site.url}/petstore.yaml").operations == load_api(PETSTORE).operations
        for path, told in (("/none", "404"), ("/moved", "10.0.0.1")):
            with pytest.raises(ConfigurationError) as caught:
                load_api(f"{site.url}{path}")
            assert (caught.value.code, told in str(caught.value)) == ("TT6800", True)


def test_a_server_is_made_of_an_application_of_this_process():
    asked = list[tuple[str, str, bytes]]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        asked.append((scope["method"], scope["raw_path"].decode(), body))
        answer: Any = {"id": "7"}
        if scope["path"] == "/openapi.json":
            path_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            get = {"operationId": "get_pet", "parameters": [path_id], "responses": {"200": {"description": "It"}}}
            paths = {"/pets/{id}": {"get": get}}
            answer = {"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": paths}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    async def talk() -> Any:
        async with Client(Server.from_openapi("pets", app=app)) as client:
            climbing = await client.call_tool("get_pet", id="../x")
            return (await client.call_tool("get_pet", id="a/b")).value, climbing.is_error

    assert asyncio.run(talk()) == ({"id": "7"}, True)
    assert asked == [("GET", "/openapi.json", b""), ("GET", "/pets/a%2Fb", b"")]


def thousand_operations(file: Path) -> None:
    """A description of 1,000 operations, of which one deletes."""
    description = {
        "openapi": "3.0.3",
        "info": {"title": "Many", "version": "1"},
        "paths": {
            f"/things/{number}": {
                "get" if number != 500 else "delete": {
                    "operationId": f"{'get' if number != 500 else 'delete'}Thing{number}",
                    "summary": f"Get thing {number}" if number != 777 else "Get the weather on the moon",
                    "responses": {"200": {"description": "It"}},
                }
            }
            for number in range(1000)
        },
    }
    file.write_text(json.dumps(description))


def of_a_program(file: Path, url: str) -> Server:
    return Server.from_openapi("many", file, url=url, audit="memory:")


def of_the_command(file: Path, url: str) -> Server:
    return load_server(Spec("openapi", FamilyOptions({"--spec": (str(file),), "--api-url": (url,)})))


@pytest.mark.parametrize("made", [of_a_program, of_the_command])
def test_a_thousand_operations_are_found_by_search_and_each_call_is_that_of_its_operation(
    tmp_path: Path, made: Callable[[Path, str], Server]
):
    thousand_operations(tmp_path / "many.json")
    asked = list[str]()

    async def use(server: Server) -> tuple[list[str], Any, Any, list[str]]:
        async with Client(server, elicit=lambda question: bool(asked.append(question.message))) as client:
            listed = [tool.name for tool in await client.list_tools()]
            found = await client.call_tool("search_tools", {"query": "weather moon"})
            answer = await client.call_tool("call_tool", {"name": found.value["tools"][0]["name"], "arguments": {}})
            deletion = await client.call_tool("call_tool", {"name": "delete_thing500", "arguments": {}})
            assert deletion.is_error  # the person has said no
            records = [one.record for one in await server.audit_log.read()]
            return listed, found.value, answer.value, [one["subject"] for one in records if one["kind"] == "call"]

    with running(lambda asked: Said(200, {"path": asked.path})) as site:
        listed, found, answer, subjects = asyncio.run(use(made(tmp_path / "many.json", f"{site.url}/v1")))
    assert listed == ["call_tool", "describe_tools", "search_tools"]
    assert found["tools"][0]["name"] == "get_thing777"
    assert answer == {"path": "/v1/things/777"}
    assert [one.path for one in site.asked] == ["/v1/things/777"]
    assert len(asked) == 1
    assert "delete_thing500" in asked[0]
    assert subjects[-3:] == ["search_tools", "get_thing777", "delete_thing500"]


def test_few_operations_are_listed_and_not_searched():
    async def names() -> list[str]:
        server = Server.from_openapi("pets", PETSTORE, url="https://pets.example/v1", audit="memory:")
        async with Client(server) as client:
            return [tool.name for tool in await client.list_tools()]

    assert asyncio.run(names()) == sorted(form.name for form in forms_of(load_api(PETSTORE)))
