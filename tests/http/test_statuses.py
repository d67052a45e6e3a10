"""Which status a message gets, and which of several faults is told (2026-07-28 digest of checks: D10, D11)."""

from __future__ import annotations

import asyncio
import base64
import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, VERSION, Answer, Endpoint

Scenario = Callable[[Endpoint], Awaitable[Answer]]


def answer(mounts: Mounts, scenario: Scenario, server: str = "shop") -> Answer:
    with mounts.mounted(servers.make(server).http_app()) as path:
        return asyncio.run(scenario(Endpoint(mounts.port, path)))  # pyright: ignore[reportArgumentType]


def modern(mounts: Mounts, method: str, params: dict[str, Any] | None = None, **changes: str | None) -> Answer:
    return answer(mounts, lambda endpoint: endpoint.modern(method, params, **changes))


@pytest.mark.twin("B17", "B56")
@pytest.mark.requirement("HTTP-13")
def test_a_good_request_is_200_json_with_nothing_to_resume(mounts: Mounts) -> None:
    got = modern(mounts, "tools/call", {"name": "greet"})
    assert got.status == 200
    assert got.headers == {
        "content-length": str(len(got.body)),
        "content-type": "application/json",
        "date": got.headers["date"],
        "connection": "close",
    }
    assert got.json["result"]["content"] == [{"type": "text", "text": "Hello, world!"}]


@pytest.mark.parametrize("body", [b"junk", b"", b'{"jsonrpc": "2.0", "id": 1', b"\xff"])
def test_a_body_that_is_not_json_is_400(mounts: Mounts, body: bytes) -> None:
    got = answer(mounts, lambda endpoint: endpoint.ask("POST", body, JSON))
    assert (got.status, got.code) == (400, -32700)


@pytest.mark.attack("B56")
@pytest.mark.parametrize("message", [7, {}, {"jsonrpc": "2.0", "id": None, "method": "ping"}, {"jsonrpc": "2.0"}])
def test_a_body_that_is_not_a_message_is_400(mounts: Mounts, message: Any) -> None:
    got = answer(mounts, lambda endpoint: endpoint.post(message))
    assert (got.status, got.code) == (400, -32600)


def test_a_modern_batch_is_no_message(mounts: Mounts) -> None:
    headers = (("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"))
    got = answer(mounts, lambda endpoint: endpoint.post([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], headers))
    assert (got.status, got.code) == (400, -32600)


@pytest.mark.attack("B15")
@pytest.mark.requirement("HDR-11", "HDR-12", "HDR-13")
@pytest.mark.parametrize("header", ["mcp_protocol_version", "mcp_method", "mcp_name"])
def test_a_missing_header_is_a_mismatch(mounts: Mounts, header: str) -> None:
    got = modern(mounts, "tools/call", {"name": "greet"}, **{header: None})
    assert (got.status, got.code) == (400, -32020)
    assert got.json["id"] == 1


@pytest.mark.attack("B15")
@pytest.mark.requirement("HDR-03", "HDR-09", "HDR-10", "HDR-11", "HDR-12")
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp_protocol_version", "2025-11-25"),
        ("mcp_method", "tools/list"),
        ("mcp_method", "TOOLS/CALL"),
        ("mcp_name", "add"),
        ("mcp_name", "GREET"),
        ("mcp_name", ""),
    ],
)
def test_a_header_that_says_something_else_is_a_mismatch(mounts: Mounts, header: str, value: str) -> None:
    got = modern(mounts, "tools/call", {"name": "greet"}, **{header: value})
    assert (got.status, got.code) == (400, -32020)


@pytest.mark.requirement("HDR-08", "HDR-15")
def test_header_names_have_no_case_and_values_no_white_space_around_them(mounts: Mounts) -> None:
    changes = {"MCP_METHOD": " tools/call\t", "mcp_method": None, "mcp_name": "\tgreet "}
    assert modern(mounts, "tools/call", {"name": "greet"}, **changes).status == 200


def sentinel(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.twin("B15", "B16")
@pytest.mark.requirement("XHDR-26")
def test_a_name_may_be_encoded(mounts: Mounts) -> None:
    assert modern(mounts, "tools/call", {"name": "greet"}, mcp_name=sentinel("greet")).status == 200


@pytest.mark.requirement("XHDR-26")
@pytest.mark.parametrize("name", ["grüße", " a", "a\tb", "=?base64?YQ==?=", ""])
def test_a_name_that_no_header_can_hold_is_compared_once_it_is_decoded(mounts: Mounts, name: str) -> None:
    got = modern(mounts, "tools/call", {"name": name}, mcp_name=sentinel(name))
    assert (got.status, got.code) == (200, -32602)  # an unknown tool, and no mismatch
    assert modern(mounts, "tools/call", {"name": name}, mcp_name=sentinel(name + "x")).code == -32020


@pytest.mark.attack("B16")
@pytest.mark.requirement("HDR-11", "HDR-12", "HDR-14", "HDR-16")
@pytest.mark.parametrize(
    "value", ["=?base64?Z3JlZXQ?=", "=?base64?Z3Jl ZXQ=?=", "=?base64?/w==?=", "=?base64?*?=", "gr\xfc"]
)
def test_a_name_that_is_encoded_wrongly_is_a_mismatch(mounts: Mounts, value: str) -> None:
    got = modern(mounts, "tools/call", {"name": "greet"}, mcp_name=value)
    assert (got.status, got.code) == (400, -32020)


@pytest.mark.requirement("HDR-16", "XHDR-21")
@pytest.mark.parametrize("value", ["=?BASE64?Z3JlZXQ=?=", "=?base64?Z3JlZXQ=", "Z3JlZXQ="])
def test_a_header_without_the_encoding_marker_is_taken_literally(mounts: Mounts, value: str) -> None:
    assert modern(mounts, "tools/call", {"name": "greet"}, mcp_name=value).code == -32020
    assert modern(mounts, "tools/call", {"name": value}, mcp_name=value).code == -32602


@pytest.mark.requirement("META-10")
def test_missing_facts_are_400_and_name_the_versions(mounts: Mounts) -> None:
    got = modern(mounts, "tools/list", {"_meta": {VERSION: "2026-07-28"}})
    assert (got.status, got.code) == (400, -32602)
    assert got.json["error"]["data"] == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    }


def test_a_modern_header_alone_makes_a_modern_request(mounts: Mounts) -> None:
    got = modern(mounts, "tools/list", {"_meta": {}})
    assert (got.status, got.code) == (400, -32602)


@pytest.mark.attack("B17")
@pytest.mark.requirement("VER-02")
def test_an_unsupported_version_is_400_and_names_the_supported_ones(mounts: Mounts) -> None:
    got = modern(
        mounts, "tools/list", {"_meta": {**ENVELOPE, VERSION: "2099-01-01"}}, mcp_protocol_version="2099-01-01"
    )
    assert (got.status, got.code) == (400, -32022)
    assert got.json["error"]["data"] == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "requested": "2099-01-01",
    }


@pytest.mark.attack("B56")
@pytest.mark.requirement("HTTP-24")
@pytest.mark.parametrize("method", ["nix", "prompts/list", "ping", "initialize", "logging/setLevel"])
def test_an_unknown_method_is_404(mounts: Mounts, method: str) -> None:
    got = modern(mounts, method)
    assert (got.status, got.code) == (404, -32601)


FUTURE = {**ENVELOPE, VERSION: "2099-01-01"}


@pytest.mark.requirement("ERR-05")
@pytest.mark.parametrize(
    ("params", "headers", "expected"),
    [
        ({"_meta": {VERSION: "2026-07-28"}}, {"mcp_method": None}, -32020),  # a header before the facts
        ({"_meta": {VERSION: "2026-07-28"}}, {"mcp_method": "else"}, -32602),  # the facts before the headers' values
        ({"_meta": FUTURE}, {}, -32020),  # a header that differs before the version
        ({"_meta": FUTURE}, {"mcp_protocol_version": "2099-01-01", "mcp_method": "else"}, -32020),
        ({"_meta": FUTURE}, {"mcp_protocol_version": "2099-01-01"}, -32022),  # the version before the method
        ({"_meta": ENVELOPE}, {}, -32601),
    ],
)
def test_of_several_faults_the_first_one_is_told(
    mounts: Mounts, params: dict[str, Any], headers: dict[str, str | None], expected: int
) -> None:
    assert modern(mounts, "nix", params, **headers).code == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [({"name": "nothere"}, -32602), ({"name": "secret"}, -32602), ({"name": "greet", "arguments": []}, -32602)],
)
def test_an_error_of_a_call_that_was_dispatched_is_200(mounts: Mounts, params: dict[str, Any], expected: int) -> None:
    got = modern(mounts, "tools/call", params)
    assert (got.status, got.code) == (200, expected)


def test_an_invalid_cursor_is_200(mounts: Mounts) -> None:
    got = modern(mounts, "tools/list", {"cursor": "x"})
    assert (got.status, got.code) == (200, -32602)


def test_a_result_that_is_an_error_is_200(mounts: Mounts) -> None:
    got = modern(mounts, "tools/call", {"name": "fail"})
    assert got.status == 200
    assert got.json["result"]["isError"] is True


@pytest.mark.requirement("HTTP-11", "LHTTP-03")
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/nix", "params": {"_meta": ENVELOPE}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "s1", "error": {"code": -1, "message": "no"}},
    ],
)
@pytest.mark.parametrize("headers", [(), (("MCP-Protocol-Version", "2026-07-28"),)])
def test_a_notification_or_a_response_gets_202_without_a_body(mounts: Mounts, message: Any, headers: Any) -> None:
    got = answer(mounts, lambda endpoint: endpoint.post(message, headers))
    assert (got.status, got.body) == (202, b"")


@pytest.mark.requirement("HTTP-12")
@pytest.mark.parametrize(
    ("headers", "status"),
    [((("Mcp-Session-Id", "nonsense"),), 404), ((("MCP-Protocol-Version", "2099-01-01"),), 400)],
)
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/nix"])
def test_a_notification_that_is_refused_has_the_status_of_an_error(
    mounts: Mounts, method: str, headers: Any, status: int
) -> None:
    got = answer(mounts, lambda endpoint: endpoint.post({"jsonrpc": "2.0", "method": method}, headers))
    assert got.status == status


@pytest.mark.requirement("HTTP-26", "HTTP-27")
def test_old_headers_mean_nothing_to_a_modern_request_and_no_session_is_made(mounts: Mounts) -> None:
    got = modern(mounts, "tools/list", mcp_session_id="nonsense", last_event_id="7")
    assert got.status == 200
    assert "mcp-session-id" not in got.headers


def test_errors_of_legacy_requests_are_200(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        return await endpoint.legacy(await endpoint.initialize(), "nix")

    got = answer(mounts, scenario)
    assert (got.status, got.code) == (200, -32601)


@pytest.mark.requirement("LHTTP-34")
@pytest.mark.parametrize("version", ["2099-01-01", "2025-11-24", "x"])
def test_a_legacy_request_with_an_unknown_version_is_400(mounts: Mounts, version: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    got = answer(mounts, lambda endpoint: endpoint.post(message, (("MCP-Protocol-Version", version),)))
    assert (got.status, got.code) == (400, -32022)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", None])
def test_a_legacy_request_needs_no_session(mounts: Mounts, version: str | None) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = () if version is None else (("MCP-Protocol-Version", version),)
    got = answer(mounts, lambda endpoint: endpoint.post(message, headers), server="empty")
    assert (got.status, got.json) == (200, {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})


CODINGS = [
    "gzip",
    "GZIP",
    "x-gzip",
    "deflate",
    "br",
    "zstd",
    "compress",
    "dcb",
    "nonsense",
    "identity, gzip",
    "gzip, gzip",
]


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_in_a_coding_is_415_and_told_which_is_read(mounts: Mounts, coding: str) -> None:
    headers = (("Content-Encoding", coding), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"))
    got = answer(mounts, lambda endpoint: endpoint.ask("POST", gzip.compress(b"{}"), (*JSON, *headers)))
    assert (got.status, got.headers["accept-encoding"], got.code) == (415, "identity", -32600)


@pytest.mark.parametrize("coding", ["identity", "Identity", "", "identity, identity"])
def test_a_body_that_says_it_is_in_no_coding_is_read(mounts: Mounts, coding: str) -> None:
    assert modern(mounts, "tools/list", None, content_encoding=coding).status == 200


@pytest.mark.parametrize("params", [[], [1], "x", 7, None, True, {"requestId": None}, {"requestId": [1]}, {}])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_malformed_cancellation_is_ignored(mounts: Mounts, params: Any, version: str) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    got = answer(mounts, lambda endpoint: endpoint.post(note, (("MCP-Protocol-Version", version),)))
    assert (got.status, got.body) == (202, b"")
