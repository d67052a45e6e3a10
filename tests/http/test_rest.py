"""Calls by programs that speak no MCP: their statuses and bodies, their records, and the description of these calls."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import httpx2
import pytest
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest, MockResponse
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import Field

from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint, Headers
from tooltrue import ApiKeys, ConfigurationError, Confirm, Context, Form, Rate, Route, Server, Tasks, ToolError
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.server.keys import Key, new_key
from tooltrue.state.log import MemoryLog
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_facts
from tooltrue.testing.state import LIMIT

T = TypeVar("T")

JSON: Headers = (("Content-Type", "application/json"),)
KEY, DIGEST = new_key("ci")
OTHER_KEY, OTHER_DIGEST = new_key("other")


@dataclass
class Choice:
    which: str


def shop(log: MemoryLog | None = None, **settings: Any) -> Server:
    """A server with a tool for each outcome of a call."""
    server = Server("shop", version="2.1.0", audit=log or False, **settings)

    @server.tool(effect="read")
    def add(a: int, b: Annotated[int, Field(ge=0)]) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(effect="read")
    def greet(name: str) -> str:
        """Greet a person."""
        return f"Hello, {name}."

    @server.tool(effect="read", rate=Rate(0.01, 1))
    def once() -> dict[str, int]:
        """Answer once."""
        return {"n": 1}

    @server.tool(effect="read")
    def sell(number: int) -> dict[str, int]:
        """Sell an article."""
        raise ToolError(f"There is no article {number}.")

    @server.tool(effect="read")
    def crash() -> int:
        """Fail."""
        raise ValueError("of the inside")

    @server.tool(effect="read")
    def choose(context: Context) -> str:
        """Ask the user."""
        answer = context.ask(Form("Which one?", Choice))
        return answer.value.which

    @server.tool(effect="read", seconds=0.05)
    async def sleep() -> int:
        """Take too long."""
        await asyncio.sleep(60)
        return 1

    @server.tool(effect="destructive")
    def drop(table: str) -> dict[str, str]:
        """Drop a table."""
        return {"dropped": table}

    @server.tool(effect="read", requires=["audit"])
    def ledger() -> dict[str, int]:
        """Show the ledger."""
        return {"entries": 3}

    return server


class Door:
    """The endpoint of a mounted server."""

    def __init__(self, port: int, path: str) -> None:
        self._port = port
        self._path = path

    def at(self, path: str) -> Endpoint:
        return Endpoint(self._port, self._path.removesuffix("/mcp") + path)

    async def call(self, name: str, arguments: Any = None, headers: Headers = JSON) -> Answer:
        body = json.dumps({} if arguments is None else arguments).encode()
        return await self.at(f"/tools/{name}").ask("POST", body, headers)


def asked(mounts: Mounts, server: Server, scenario: Callable[[Door], Awaitable[T]]) -> T:
    async def main(path: str) -> T:
        return await scenario(Door(mounts.port, path))

    with mounts.mounted(server.http_app(rest=True)) as path:
        return asyncio.run(main(path))


def answer(mounts: Mounts, name: str, arguments: Any = None, headers: Headers = JSON, **settings: Any) -> Answer:
    return asked(mounts, shop(**settings), lambda door: door.call(name, arguments, headers))


def records(log: MemoryLog) -> list[dict[str, Any]]:
    return [json.loads(entry.text) for entry in asyncio.run(log.read())]


def test_a_call_returns_the_structured_content_of_its_result(mounts: Mounts):
    got = answer(mounts, "add", {"a": 1, "b": 2})
    assert (got.status, got.headers["content-type"], got.json) == (200, "application/json", 3)


def test_a_result_without_structured_content_has_its_content_blocks(mounts: Mounts):
    got = answer(mounts, "greet", {"name": "Ann"})
    assert (got.status, got.json) == (200, {"content": [{"type": "text", "text": "Hello, Ann."}]})


def test_it_is_off_by_default(mounts: Mounts):
    async def scenario(path: str) -> list[int]:
        door = Door(mounts.port, path)
        described = await door.at("/openapi.json").ask("GET")
        return [(await door.call("add", {"a": 1, "b": 2})).status, described.status]

    with mounts.mounted(shop().http_app()) as path:
        assert asyncio.run(scenario(path)) == [404, 404]


def test_arguments_that_do_not_fit_get_422_with_a_path_for_each_problem(mounts: Mounts):
    got = answer(mounts, "add", {"a": "x", "b": -1})
    error = got.json["error"]
    assert (got.status, error["code"]) == (422, "TT2001")
    assert [problem["path"] for problem in error["problems"]] == ["$.a", "$.b"]
    assert "Invalid arguments for add" in error["message"]


@pytest.mark.parametrize("body", [[], "x", 1, None])
def test_a_body_that_is_no_object_gets_422(mounts: Mounts, body: object):
    async def scenario(door: Door) -> Answer:
        return await door.at("/tools/add").ask("POST", json.dumps(body).encode(), JSON)

    got = asked(mounts, shop(), scenario)
    assert (got.status, got.json["error"]["code"]) == (422, "TT5640")


def test_a_tool_that_fails_has_a_status_of_its_own_with_its_own_words(mounts: Mounts):
    got = answer(mounts, "sell", {"number": 7})
    assert (got.status, got.json) == (424, {"error": {"message": "There is no article 7."}})


def test_a_crash_is_500_without_its_text(mounts: Mounts):
    got = answer(mounts, "crash")
    assert (got.status, got.json["error"]["code"]) == (500, "TT2004")
    assert b"of the inside" not in got.body


def test_an_unknown_tool_is_404(mounts: Mounts):
    got = answer(mounts, "ad")
    assert (got.status, got.json["error"]["code"]) == (404, "TT1010")


def test_a_call_that_comes_too_often_is_429_and_says_when_to_come_back(mounts: Mounts):
    async def scenario(door: Door) -> list[Answer]:
        return [await door.call("once"), await door.call("once")]

    first, second = asked(mounts, shop(), scenario)
    assert (first.status, second.status, second.json["error"]["code"]) == (200, 429, "TT2100")
    assert 90 <= int(second.headers["retry-after"]) <= 100


def test_a_call_that_takes_too_long_is_504(mounts: Mounts):
    got = answer(mounts, "sleep")
    assert (got.status, got.json["error"]["code"]) == (504, "TT2002")
    assert "retry-after" not in got.headers


def test_a_question_is_refused_with_a_sentence(mounts: Mounts):
    got = answer(mounts, "choose")
    assert (got.status, got.json["error"]["code"]) == (501, "TT5641")
    assert "Call it by MCP" in got.json["error"]["message"]


def test_a_tool_that_runs_as_a_task_only_is_refused_with_a_sentence(mounts: Mounts, tmp_path: Path):
    server = shop(tasks=Tasks(store=sqlite_url(tmp_path / "tasks.db")))

    @server.tool(effect="read", task="required")
    async def archive() -> str:
        """Run as a task alone."""
        raise AssertionError

    @server.tool(effect="read", task=True)
    async def count() -> dict[str, int]:
        """Run as a task where the client wants one."""
        return {"n": 3}

    async def scenario(door: Door) -> tuple[Answer, Answer]:
        return await door.call("archive"), await door.call("count")

    refused, counted = asked(mounts, server, scenario)
    assert (refused.status, refused.json["error"]["code"]) == (501, "TT5642")
    assert "Call it by MCP" in refused.json["error"]["message"]
    assert (counted.status, counted.json) == (200, {"n": 3})


def test_a_call_that_needs_a_person_is_409_with_a_ticket_and_runs_once_it_is_approved(mounts: Mounts, tmp_path: Path):
    store = f"sqlite:{tmp_path / 'approvals.db'}"

    async def scenario(door: Door) -> list[Answer]:
        waiting = await door.call("drop", {"table": "old"})
        async with open_facts(store) as facts:
            approvals = Approvals(facts)
            await approvals.allow(await approvals.find(waiting.json["error"]["ticket"]), "once")
        others = [await door.call("drop", {"table": name}) for name in ("new", "old", "old")]
        return [waiting, *others]

    waiting, other, run, again = asked(mounts, shop(confirm=Confirm(store=store)), scenario)
    assert (waiting.status, waiting.json["error"]["code"]) == (409, "TT2403")
    assert waiting.json["error"]["ticket"] in waiting.json["error"]["message"]
    assert other.status == 409
    assert other.json["error"]["ticket"] != waiting.json["error"]["ticket"]
    assert (run.status, run.json) == (200, {"dropped": "old"})
    assert (again.status, again.json["error"]["code"]) == (409, "TT2404")


def by_keys() -> ApiKeys:
    return ApiKeys({"ci": Key(DIGEST, frozenset({"audit"})), "other": Key(OTHER_DIGEST, frozenset())})


def with_key(key: str) -> Headers:
    return (*JSON, ("Authorization", f"Bearer {key}"))


def test_callers_are_those_of_the_endpoint_of_mcp(mounts: Mounts):
    async def scenario(door: Door) -> list[Answer]:
        keys = (JSON, with_key("tt_ci_" + "x" * 43), with_key(OTHER_KEY), with_key(KEY))
        return [await door.call("ledger", None, headers) for headers in keys]

    missing, wrong, lacking, right = asked(mounts, shop(authenticate=by_keys()), scenario)
    assert (missing.status, missing.headers["www-authenticate"]) == (401, "Bearer")
    assert wrong.status == 401
    assert (lacking.status, lacking.json["error"]["code"]) == (403, "TT1100")
    assert 'scope="audit"' in lacking.headers["www-authenticate"]
    assert (right.status, right.json) == (200, {"entries": 3})


def test_the_record_says_that_the_call_came_by_rest(mounts: Mounts):
    log = MemoryLog()
    answer(mounts, "add", {"a": 1, "b": 2}, log=log)
    [record] = records(log)
    assert (record["kind"], record["subject"], record["outcome"], record["notes"]) == ("call", "add", "ok", ["by REST"])
    assert record["who"] == "local:http"


def test_the_trace_of_the_request_is_in_its_record(mounts: Mounts):
    log = MemoryLog()
    trace = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    answer(mounts, "add", {"a": 1, "b": 2}, (*JSON, trace), log=log)
    assert records(log)[0]["trace"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_a_call_is_cancelled_when_its_client_leaves(mounts: Mounts):
    log = MemoryLog()
    server = Server("slow", audit=log)
    began, ended = threading.Event(), threading.Event()

    @server.tool(effect="read")
    async def wait() -> int:
        """Wait."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 1

    async def scenario(door: Door) -> None:
        loop = asyncio.get_running_loop()
        endpoint = door.at("/tools/wait")
        calling = loop.create_task(endpoint.ask("POST", b"{}", JSON))
        assert await asyncio.to_thread(began.wait, LIMIT)
        calling.cancel()
        await asyncio.wait([calling])
        assert await asyncio.to_thread(ended.wait, LIMIT)

    asked(mounts, server, scenario)
    assert records(log)[0]["outcome"] == "cancelled"


def test_a_route_at_one_of_its_paths_is_a_mistake_of_the_author():
    async def hook(request: object) -> str:
        return ""

    for path in ("/tools", "/tools/add", "/openapi.json"):
        server = shop(routes=[Route(path, hook)])
        server.http_app()
        with pytest.raises(ConfigurationError, match="would cover"):
            server.http_app(rest=True)


def test_the_operator_turns_it_on_in_the_file(mounts: Mounts, tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text("[http]\nrest = true\n")

    async def main(path: str) -> int:
        return (await Door(mounts.port, path).call("add", {"a": 1, "b": 2})).status

    with mounts.mounted(shop(rules=file).http_app()) as path:
        assert asyncio.run(main(path)) == 200


# --- the description --------------------------------------------------------------------------------------------------


def described(mounts: Mounts, server: Server, headers: Headers = ()) -> Answer:
    return asked(mounts, server, lambda door: door.at("/openapi.json").ask("GET", b"", headers))


def test_the_description_is_valid_and_has_an_operation_for_each_tool(mounts: Mounts):
    document = described(mounts, shop()).json
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"] == {"title": "shop", "version": "2.1.0"}
    assert sorted(document["paths"]) == sorted(
        f"/tools/{name}" for name in ("add", "choose", "crash", "drop", "greet", "ledger", "once", "sell", "sleep")
    )
    add = document["paths"]["/tools/add"]["post"]
    assert (add["operationId"], add["description"]) == ("add", "Add two numbers.")


def test_the_description_needs_the_same_authentication_and_names_it(mounts: Mounts):
    server = shop(authenticate=by_keys())
    assert described(mounts, server).status == 401
    document = described(mounts, server, with_key(KEY)).json
    OpenAPIV31SpecValidator(document).validate()
    assert document["components"]["securitySchemes"].keys() == {"apiKey", "bearerKey"}
    assert document["paths"]["/tools/ledger"]["post"]["security"] == [{"apiKey": ["audit"]}, {"bearerKey": ["audit"]}]


def test_the_description_has_only_the_tools_that_the_caller_sees(mounts: Mounts, tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text(
        '[[rules]]\ntools = "add"\nprincipal = "key:ci"\nthen = "allow"\n[[rules]]\ntools = "*"\nthen = "hide"\n'
    )
    server = shop(rules=file, authenticate=by_keys())
    assert list(described(mounts, server, with_key(KEY)).json["paths"]) == ["/tools/add"]
    other = described(mounts, server, with_key(OTHER_KEY))
    assert (other.json["paths"], other.headers["cache-control"]) == ({}, "no-store")


def test_the_description_has_the_path_where_the_server_is_mounted():
    app = shop().http_app(rest=True, signals=False)

    async def scenario() -> list[Any]:
        transport = httpx2.ASGITransport(app, root_path="/team")
        async with app.serving(), httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            document = (await client.get("/team/openapi.json")).json()
            return [document["servers"], (await client.post("/team/tools/add", json={"a": 1, "b": 2})).json()]

    assert asyncio.run(scenario()) == [[{"url": "/team"}], 3]


CALLS: Mapping[str, Any] = {
    "add": {"a": 1, "b": 2},
    "greet": {"name": "Ann"},
    "sell": {"number": 7},
    "crash": {},
    "choose": {},
    "sleep": {},
    "drop": {"table": "old"},
    "once": {},
    "ledger": {},
}


def test_openapi_core_finds_every_answer_as_described(mounts: Mounts, tmp_path: Path):
    server = shop(authenticate=by_keys(), confirm=Confirm(store=f"sqlite:{tmp_path / 'approvals.db'}"))

    async def scenario(door: Door) -> list[tuple[str, Any, Headers, Answer]]:
        calls: list[tuple[str, Any, Headers]] = [
            (name, arguments, with_key(key)) for name, arguments in CALLS.items() for key in (KEY, OTHER_KEY)
        ]
        calls += [("add", {"a": "x"}, with_key(KEY)), ("add", {"a": 1, "b": 2}, JSON)]
        calls += [("add", {"a": 1, "b": 2}, (*with_key(KEY), ("Content-Encoding", "gzip")))]
        calls += [("once", {}, with_key(KEY))]
        return [(name, given, headers, await door.call(name, given, headers)) for name, given, headers in calls]

    openapi = OpenAPI.from_dict(described(mounts, server, with_key(KEY)).json)
    statuses: set[int] = set()
    for name, arguments, headers, got in asked(mounts, server, scenario):
        body = json.dumps(arguments).encode()
        request = MockRequest("http://shop.example", "post", f"/tools/{name}", data=body, headers=dict(headers))
        response = MockResponse(got.body, got.status, got.headers, got.headers["content-type"])
        openapi.validate_response(request, response)
        if got.status == 200:
            openapi.validate_request(request)
        statuses.add(got.status)
    assert statuses == {200, 401, 403, 409, 415, 422, 424, 429, 500, 501, 504}


def test_openapi_core_refuses_an_answer_that_is_not_as_described(mounts: Mounts):
    openapi = OpenAPI.from_dict(described(mounts, shop()).json)
    request = MockRequest("http://shop.example", "post", "/tools/add", data=b'{"a": 1, "b": 2}')
    with pytest.raises(Exception, match=r"(?i)invalid"):
        openapi.validate_response(request, MockResponse(b'"three"', 200, {}, "application/json"))
    with pytest.raises(Exception, match=r"(?i)invalid"):
        openapi.validate_response(request, MockResponse(b'{"problem": 1}', 404, {}, "application/json"))
