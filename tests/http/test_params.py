"""Arguments that headers repeat (``x-mcp-header``)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint
from tooltrue import Server, ToolSearch
from tooltrue.policy.rules.rule import ALLOW, Deny, Subject, Verdict
from tooltrue.tools.vocabulary import RequestContext

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "place": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
        "other": {},
    },
}


def call(mounts: Mounts, arguments: dict[str, Any], **headers: str | None) -> Answer:
    server = Server("mirror")
    server.add_raw_tool("echo", SCHEMA, lambda arguments: {"echo": arguments})
    named = {f"mcp-param-{name}": value for name, value in headers.items()}
    with mounts.mounted(server.http_app()) as path:
        params = {"name": "echo", "arguments": arguments}
        return asyncio.run(Endpoint(mounts.port, path).modern("tools/call", params, **named))


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.twin("B16")
@pytest.mark.requirement("XHDR-26", "XHDR-31")
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"other": 1}, {"other": "whatever", "unknown": "=?base64?broken"}),
        ({"region": "eu"}, {"region": "eu"}),
        ({"region": "eu"}, {"region": "  eu\t"}),
        ({"region": "eu"}, {"region": encoded("eu")}),
        ({"region": ""}, {"region": ""}),
        ({"region": "a b"}, {"region": "a b"}),
        ({"region": " a"}, {"region": encoded(" a")}),
        ({"region": "Zürich"}, {"region": encoded("Zürich")}),
        ({"region": "=?base64?YQ==?="}, {"region": encoded("=?base64?YQ==?=")}),
        ({"count": 42}, {"count": "42"}),
        ({"count": 42}, {"count": "42.0"}),
        ({"count": -1}, {"count": "-1"}),
        ({"dry": True}, {"dry": "true"}),
        ({"dry": False}, {"dry": "false"}),
        ({"place": {"city": "Ulm"}}, {"city": "Ulm"}),
        ({"place": {}}, {}),
    ],
)
def test_a_call_with_headers_equal_to_its_arguments_runs(
    mounts: Mounts, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    answer = call(mounts, arguments, **headers)
    assert answer.status == 200
    assert answer.json["result"]["structuredContent"] == {"echo": arguments}


@pytest.mark.twin("B16")
def test_a_call_through_call_tool_mirrors_only_the_arguments_of_call_tool(mounts: Mounts) -> None:
    server = Server("mirror", search=ToolSearch(always=True))
    schema = {"type": "object", "properties": {"name": {"type": "string", "x-mcp-header": "Name"}}}
    server.add_raw_tool("echo", schema, lambda arguments: {"echo": arguments})
    named = {"name": "echo", "arguments": {"name": "Ann"}}
    with mounts.mounted(server.http_app()) as path:
        endpoint = Endpoint(mounts.port, path)
        answer = asyncio.run(endpoint.modern("tools/call", {"name": "call_tool", "arguments": named}))
        direct = asyncio.run(endpoint.modern("tools/call", named))
    assert answer.json["result"]["structuredContent"] == {"echo": {"name": "Ann"}}
    assert direct.status == 400


@pytest.mark.attack("B16")
@pytest.mark.requirement("XHDR-27", "XHDR-28", "XHDR-29")
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {}),
        ({}, {"region": "eu"}),
        ({"region": None}, {"region": ""}),
        ({"region": "eu"}, {"region": "us"}),
        ({"region": "eu"}, {"region": "EU"}),
        ({"region": ""}, {}),
        ({"region": " a"}, {"region": " a"}),
        ({"region": "Zürich"}, {"region": "Z\xfcrich"}),
        ({"region": "a"}, {"region": "=?base64?YQ=?="}),
        ({"region": "a"}, {"region": "=?base64?YQ==\xa0?="}),
        ({"count": 42}, {"count": "42.5"}),
        ({"count": 42}, {"count": "4_2"}),
        ({"count": 42}, {"count": "0x2a"}),
        ({"count": 42}, {"count": "4.2e1"}),
        ({"dry": True}, {"dry": "True"}),
        ({"dry": True}, {"dry": "1"}),
        ({"place": {"city": "Ulm"}}, {"city": "Bonn"}),
        ({"place": {"city": "Ulm"}}, {}),
    ],
)
def test_a_call_with_headers_that_contradict_its_arguments_is_a_mismatch(
    mounts: Mounts, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    answer = call(mounts, arguments, **headers)
    assert (answer.status, answer.code) == (400, -32020)


@pytest.mark.requirement("XHDR-30")
def test_an_argument_that_is_null_has_no_header(mounts: Mounts) -> None:
    answer = call(mounts, {"region": None})
    assert answer.status == 200
    assert answer.json["result"]["isError"] is True  # null is no string, which is for the model to mend


def test_a_tool_that_is_not_there_is_told_before_its_headers_are_looked_at(mounts: Mounts) -> None:
    with mounts.mounted(Server("none").http_app()) as path:
        answer = asyncio.run(
            Endpoint(mounts.port, path).modern("tools/call", {"name": "echo"}, **{"mcp-param-region": "eu"})
        )
    assert (answer.status, answer.code) == (200, -32602)


@pytest.mark.requirement("XHDR-32", "XHDR-33")
def test_a_decision_is_about_the_argument_and_no_header_gets_around_it(mounts: Mounts) -> None:
    def at_home(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
        return ALLOW if arguments is None or arguments["region"] == "eu" else Deny("not your region")

    async def scenario(endpoint: Endpoint) -> list[Any]:
        said: list[Any] = []
        for region, header in (("eu", "eu"), ("us", "us"), ("us", "eu"), ("eu", "us")):
            params = {"name": "echo", "arguments": {"region": region}}
            answer = (await endpoint.modern("tools/call", params, **{"mcp-param-region": header})).json
            said.append(answer["error"]["code"] if "error" in answer else answer["result"]["isError"])
        return said

    server = Server("mirror", decide=at_home)
    server.add_raw_tool("echo", SCHEMA, lambda arguments: {"echo": arguments})
    with mounts.mounted(server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [False, True, -32020, -32020]


def test_a_legacy_call_has_no_such_headers(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        session = await endpoint.initialize()
        return await endpoint.legacy(session, "tools/call", {"name": "echo", "arguments": {"region": "eu"}})

    server = Server("mirror")
    server.add_raw_tool("echo", SCHEMA, lambda arguments: {"echo": arguments})
    with mounts.mounted(server.http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert answer.json["result"]["structuredContent"] == {"echo": {"region": "eu"}}
