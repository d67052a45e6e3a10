"""Access checks of the HTTP endpoint: Host, Origin, path, method, content type, size."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import JSON, Answer, Endpoint, Headers, modern
from tooltrue import Server
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import AllowedHosts, HttpApp


def ask(mounts: Mounts, method: str, body: bytes = b"", headers: Headers = (), **app: Any) -> Answer:
    with mounts.mounted(servers.make("empty").http_app(**app)) as path:
        return asyncio.run(Endpoint(mounts.port, path).ask(method, body, headers))


def discover(mounts: Mounts, *headers: tuple[str, str], **app: Any) -> Answer:
    """The response to a valid request with these additional headers."""

    async def scenario(endpoint: Endpoint) -> Answer:
        message, named = modern("server/discover")
        return await endpoint.post(message, (*named, *headers))

    with mounts.mounted(servers.make("empty").http_app(**app)) as path:
        return asyncio.run(scenario(Endpoint(mounts.port, path)))


def reason(answer: Answer) -> str:
    """Why a request was refused: an error without an id."""
    assert answer.json.keys() == {"jsonrpc", "error"}
    return answer.json["error"]["message"]


@pytest.mark.twin("B44", "B45")
@pytest.mark.parametrize("host", ["localhost", "localhost:7", "127.0.0.1", "LOCALHOST:80", "[::1]", "[::1]:9"])
def test_every_name_of_loopback_is_served(mounts: Mounts, host: str) -> None:
    assert discover(mounts, ("Host", host)).status == 200


@pytest.mark.attack("B44")
@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.", "evil@localhost", "127.0.0.2", "0.0.0.0", "", "a:b"],
)
def test_no_other_host_is_served(mounts: Mounts, host: str) -> None:
    answer = discover(mounts, ("Host", host))
    assert answer.status == 403
    assert reason(answer) == f"Refused: Host {host!r} is not served here. [TT1028]"


@pytest.mark.twin("B44")
@pytest.mark.parametrize("origin", ["http://localhost", "http://127.0.0.1:3000", "https://[::1]:1", "http://LOCALHOST"])
def test_pages_of_this_machine_may_ask(mounts: Mounts, origin: str) -> None:
    assert discover(mounts, ("Origin", origin)).status == 200


@pytest.mark.attack("B44")
@pytest.mark.requirement("HTTP-02", "HTTP-03")
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "file://", "http://localhost.evil.example", "http://localhost@evil.example",
     "chrome-extension://localhost", "http://localhost/path", "localhost", "http://[::1", "//localhost"],
)  # fmt: skip
def test_no_other_page_may_ask(mounts: Mounts, origin: str) -> None:
    answer = discover(mounts, ("Origin", origin))
    assert answer.status == 403
    assert reason(answer) == f"Refused: Origin {origin!r} is not allowed here. [TT1028]"


@pytest.mark.requirement("HTTP-02")
@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "PUT"])
def test_host_and_origin_are_looked_at_on_every_method(mounts: Mounts, method: str) -> None:
    assert ask(mounts, method, headers=[("Host", "evil.example")]).status == 403
    assert ask(mounts, method, headers=[("Origin", "http://evil.example")]).status == 403


def test_hosts_that_were_named_are_served_and_no_others(mounts: Mounts) -> None:
    access = AllowedHosts(("tools.example",))
    assert discover(mounts, ("Host", "tools.example:8000"), access=access).status == 200
    assert discover(mounts, ("Host", "tools.example"), ("Origin", "https://tools.example"), access=access).status == 200
    assert discover(mounts, ("Host", "localhost"), access=access).status == 403


@pytest.mark.attack("B44")
@pytest.mark.parametrize("name", ["Host", "Origin", "Content-Type", "Mcp-Method", "Authorization", "Mcp-Session-Id"])
def test_a_header_that_stands_twice_means_two_things_and_is_refused(mounts: Mounts, name: str) -> None:
    value = {"Host": "localhost", "Origin": "http://localhost", "Content-Type": "application/json"}.get(name, "x")
    body, (_, *rest) = b"{}", JSON
    answer = ask(mounts, "POST", body, [*rest, (name, value), (name, value)])
    assert answer.status == 400
    assert reason(answer) == f"The header {name.lower()} is sent more than once. [TT1027]"


@pytest.mark.attack("B46")
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_only_json_is_taken(mounts: Mounts, kind: str) -> None:
    answer = ask(mounts, "POST", b"{}", [("Content-Type", kind)])
    assert answer.status == 415
    assert reason(answer) == "Refused: send application/json. [TT1028]"


@pytest.mark.attack("B46")
def test_a_body_without_a_type_is_not_taken(mounts: Mounts) -> None:
    assert ask(mounts, "POST", b"{}").status == 415


@pytest.mark.twin("B46")
@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_a_type_may_have_parameters_and_capitals(mounts: Mounts, kind: str) -> None:
    message, named = modern("server/discover")
    with mounts.mounted(servers.make("empty").http_app()) as path:
        body = json.dumps(message).encode()
        answer = asyncio.run(Endpoint(mounts.port, path).ask("POST", body, [*named, ("Content-Type", kind)]))
    assert answer.status == 200


def test_a_client_that_accepts_something_else_is_answered_all_the_same(mounts: Mounts) -> None:
    message, named = modern("server/discover")
    with mounts.mounted(servers.make("empty").http_app()) as path:
        body = json.dumps(message).encode()
        headers = [*named, JSON[0], ("Accept", "text/html")]
        assert asyncio.run(Endpoint(mounts.port, path).ask("POST", body, headers)).status == 200


def test_a_body_that_says_it_is_too_large_is_refused_unread(mounts: Mounts) -> None:
    answer = ask(mounts, "POST", b"", [*JSON, ("Content-Length", str(16 * 1024 * 1024 + 1))])
    assert answer.status == 413
    assert reason(answer) == "Refused: a body may have 16777216 bytes. [TT1028]"


def test_a_body_that_does_not_say_is_refused_once_it_is_too_large(mounts: Mounts) -> None:
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    headers = [*JSON, ("Transfer-Encoding", "chunked"), ("Content-Length", None)]
    # One byte too much and not one more: a connection that is closed with bytes unread is reset, and the answer lost.
    answer = ask(mounts, "POST", piece * 16 + b"1\r\nx", headers)
    assert answer.status == 413


def test_b54_a_connection_whose_body_does_not_come_ends_with_its_answer(mounts: Mounts) -> None:
    class Nobody:
        async def open(self) -> None: ...

        async def admit(self, carrier: Carrier) -> str:
            return "anyone"

    app: Any = HttpApp(Nobody(), AllowedHosts(), body_seconds=0.05)  # pyright: ignore[reportArgumentType]

    async def scenario(endpoint: Endpoint) -> None:
        headers = [*JSON, ("Content-Length", "10"), ("Connection", "keep-alive")]
        async with endpoint.open("POST", b"{", headers) as stream:
            assert (stream.status, stream.headers["connection"]) == (408, "close")
            assert json.loads(await stream.body())["error"]["code"] == -32600
            assert await stream.rest() == b""  # the end, and not the 30 s that an idle connection has

    with mounts.mounted(app) as path:
        asyncio.run(scenario(Endpoint(mounts.port, path)))


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
def test_methods_that_mean_nothing_are_not_allowed(mounts: Mounts, method: str) -> None:
    answer = ask(mounts, method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


@pytest.mark.requirement("HTTP-25")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_the_modern_era_has_nothing_but_post(mounts: Mounts, method: str) -> None:
    headers = [("Accept", "text/event-stream"), ("MCP-Protocol-Version", "2026-07-28")]
    assert ask(mounts, method, headers=headers).status == 405


@pytest.mark.requirement("HTTP-01")
@pytest.mark.parametrize("path", ["/", "/mcp2", "/mcp/x", "/mcp%2f..", "/.well-known/oauth-protected-resource"])
def test_a_path_other_than_the_endpoint_is_404(mounts: Mounts, path: str) -> None:
    with mounts.mounted(servers.make("empty").http_app()) as mounted:
        endpoint = Endpoint(mounts.port, mounted.removesuffix("/mcp") + path)
        answer = asyncio.run(endpoint.post(*modern("server/discover")))
    assert answer.status == 404
    assert reason(answer) == "Refused: nothing here; the endpoint is /mcp. [TT1028]"


def test_no_origin_is_ever_allowed_by_header(mounts: Mounts) -> None:
    answer = discover(mounts, ("Origin", "http://localhost"))
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_a_refusal_of_the_endpoint_is_in_the_language_of_the_server(mounts: Mounts) -> None:
    with mounts.mounted(Server("空", language="zh").http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).ask("POST", b"{}", [("Content-Type", "text/plain")]))
    assert answer.status == 415
    assert reason(answer) == "已拒绝：请发送 application/json。 [TT1028]"
