"""Headers that mirror arguments, through a gateway: those that it knows are made anew, and the others pass."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint
from tooltrue import Server
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.layers.confirm import Confirm

SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


class Recording:
    """An application, and the ``Mcp-Param-*`` headers of the requests to it, by their ``Mcp-Method``."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.serving = app.serving
        self.heard: dict[str, dict[str, str]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        params = {name: value for name, value in headers.items() if name.startswith("mcp-param-")}
        self.heard[headers.get("mcp-method", "")] = params
        await self._app(scope, receive, send)


def upstream() -> Server:
    server = Server("upstream", confirm=Confirm.never())
    server.add_raw_tool("echo", SCHEMA, lambda arguments: arguments, effect="read")

    @server.prompt
    def greet() -> str:
        return "Hello"

    @server.resource("notes://a")
    def note() -> str:
        return "a note"

    return server


def through(mounts: Mounts, method: str, params: dict[str, Any], **headers: str) -> tuple[Answer, dict[str, str]]:
    """The answer of the gateway to one request whose ``Mcp-Param-*`` are ``headers``, and those that the server got."""
    recording = Recording(upstream().http_app())
    named = {f"mcp-param-{name}": value for name, value in headers.items()}
    if "uri" in params:
        named["mcp-name"] = params["uri"]
    with mounts.mounted(recording) as server:
        gateway = Gateway({"up": f"http://127.0.0.1:{mounts.port}{server}"}, confirm=Confirm.never())
        with mounts.mounted(gateway.http_app()) as path:
            answer = asyncio.run(Endpoint(mounts.port, path).modern(method, params, **named))
    return answer, recording.heard.get(method, {})


@pytest.mark.requirement("HDR-17")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "up_echo", "arguments": {}}),
        ("prompts/get", {"name": "up_greet"}),
        ("resources/read", {"uri": "notes://a"}),
    ],
)
def test_unknown_headers_reach_the_server_unchanged(mounts: Mounts, method: str, params: dict[str, Any]) -> None:
    answer, sent = through(mounts, method, params, tenant="a b", other="=?base64?w6k=?=", broken="=?base64?x")
    assert answer.status == 200
    assert sent == {
        "mcp-param-tenant": "a b",
        "mcp-param-other": "=?base64?w6k=?=",
        "mcp-param-broken": "=?base64?x",
    }


def test_a_known_header_is_made_from_the_argument(mounts: Mounts) -> None:
    call = {"name": "up_echo", "arguments": {"region": "eu"}}
    answer, sent = through(mounts, "tools/call", call, region="=?base64?ZXU=?=", tenant="a")
    assert answer.json["result"]["structuredContent"] == {"region": "eu"}
    assert sent == {"mcp-param-region": "eu", "mcp-param-tenant": "a"}


@pytest.mark.requirement("HDR-18")
@pytest.mark.parametrize("headers", [{"region": "us"}, {}, {"region": "=?base64?x"}])
def test_a_call_whose_headers_contradict_it_is_refused_by_status(mounts: Mounts, headers: dict[str, str]) -> None:
    answer, sent = through(mounts, "tools/call", {"name": "up_echo", "arguments": {"region": "eu"}}, **headers)
    assert (answer.status, answer.code) == (400, -32020)
    assert sent == {}
