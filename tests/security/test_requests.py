"""Requests with malformed headers, types, methods and shapes, in each spelling."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest

from security.calling import DOORS, Disk, answers
from support.variants import tried
from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, VERSION, Answer, Endpoint, Headers, modern

SAVE = {"name": "save", "arguments": {"path": "a"}}
CODES = {-32700, -32600, -32601, -32602, -32020, -32022}


def posted(mounts: Mounts, disk: Disk, requests: Iterable[tuple[str, bytes, Headers]]) -> dict[str, Answer]:
    """The answer to each of these requests, by its name; a request is a body and headers."""

    async def main(path: str) -> dict[str, Answer]:
        endpoint = Endpoint(mounts.port, path)
        return {name: await endpoint.ask("POST", body, headers) for name, body, headers in requests}

    with mounts.mounted(disk.server.http_app()) as path:
        return asyncio.run(main(path))


# -- B15: headers that say something else than the body ----------------------------------------------------------------


def encoded(text: str, prefix: str = "=?base64?") -> str:
    return f"{prefix}{base64.b64encode(text.encode()).decode()}?="


OTHER_HEADERS: dict[str, list[str | None]] = {
    "mcp-name": [
        None, "", "read", "Save", "SAVE", "save2", "sav", "save,save", "save, read", "save;", "save/", "sa ve",
        "save\x0bx",
        "%73ave", "save%00", '"save"', "=?utf-8?B?c2F2ZQ==?=", encoded("read"), encoded("Save"), encoded("save "),
        encoded("save\0"), encoded(""), encoded("save", "=?BASE64?"), encoded("save", "=?base64?="),
        "=?base64?c2F2ZQ?=",
        encoded("s\u0430ve"), encoded("save\u200b"), "s\xe4ve",
    ],
    "mcp-method": [
        None, "", "tools/list", "Tools/Call", "TOOLS/CALL", "tools/call/", "tools//call", "tools%2Fcall",
        "tools/call,ping",
        "tools/call;", "ping", "initialize", "tools\\call", encoded("tools/call"), "prompts/get",
    ],
    "mcp-protocol-version": [
        None, "", "2025-11-25", "2025-06-18", "2026-7-28", "2026-07-28,2025-11-25", "2026-07-28 x", "v2026-07-28",
        "2026-07-29", "20260728", "2099-01-01", encoded("2026-07-28"), "latest", "*",
    ],
}  # fmt: skip


def misleading() -> Iterable[tuple[str, bytes, Headers]]:
    message, named = modern("tools/call", SAVE)
    for header, values in OTHER_HEADERS.items():
        for value in values:
            rest = [pair for pair in named if pair[0] != header]
            yield f"{header}: {value}", json.dumps(message).encode(), (*JSON, *rest, (header, value))
        again = [pair for pair in named if pair[0] == header]
        yield f"{header} twice", json.dumps(message).encode(), (*JSON, *named, *again)
        yield f"{header} twice, in capitals", json.dumps(message).encode(), (*JSON, *named, (header.upper(), "x"))


@pytest.mark.variants(63)
@pytest.mark.attack("B15")
def test_b15_no_header_that_differs_from_the_body_lets_a_call_run(mounts: Mounts) -> None:
    disk = Disk()
    answered = posted(mounts, disk, misleading())
    for name in answered:
        tried(name)
    assert {name: one.status for name, one in answered.items() if one.status != 400} == {}
    assert disk.ran == []


# -- B17: revisions that do not exist ----------------------------------------------------------------------------------

NO_REVISIONS = [
    "1999-01-01", "2026-07-29", "2026-07-27", "2099-12-31", "2025-11-24", "2026-7-28", "2026-07-28T00:00:00",
    "26-07-28",
    "20260728", "2026/07/28", "v1", "1.0", "2.0", "latest", "draft", "DRAFT-2026-v1", "*", "null", "0", "-1",
    "2026-07-28a",
    "2026-07-28.1", "x" * 300, "../2026-07-28", "2026-07-28;2025-11-25", "\u0662\u0660\u0662\u0666-07-28", "",
]  # fmt: skip


def of_no_revision() -> Iterable[tuple[str, bytes, Headers]]:
    for revision in NO_REVISIONS:
        message, named = modern("tools/call", {**SAVE, "_meta": {**ENVELOPE, VERSION: revision}})
        if revision.isascii():
            rest = [pair for pair in named if pair[0] != "mcp-protocol-version"]
            headers: Headers = (*JSON, *rest, ("mcp-protocol-version", revision))
            yield f"{revision} in both", json.dumps(message).encode(), headers
        yield f"{revision} in the body", json.dumps(message).encode(), (*JSON, *named)


@pytest.mark.variants(53)
@pytest.mark.attack("B17")
def test_b17_no_call_runs_in_a_revision_that_does_not_exist(mounts: Mounts) -> None:
    disk = Disk()
    answered = posted(mounts, disk, of_no_revision())
    for name in answered:
        tried(name)
    wrong = {
        name: (one.status, one.code) for name, one in answered.items() if one.status != 400 or one.code not in CODES
    }
    assert (wrong, disk.ran) == ({}, [])


@pytest.mark.variants(len(NO_REVISIONS))
@pytest.mark.attack("B17")
def test_b17_no_call_runs_in_a_revision_that_does_not_exist_through_a_pipe(mounts: Mounts) -> None:
    disk = Disk()
    bodies = [
        (revision, json.dumps(modern("tools/call", {**SAVE, "_meta": {**ENVELOPE, VERSION: revision}})[0]))
        for revision in NO_REVISIONS
    ]
    answered = answers(mounts, disk.server, "a pipe", bodies)
    for name in answered:
        tried(name)
    assert {name: one for name, one in answered.items() if one.get("error", {}).get("code") not in CODES} == {}
    assert disk.ran == []


# -- B46: requests that a form or a page of another site can send without a preflight ---------------------------------

KINDS = [
    None, "", "text/plain", "text/plain;charset=UTF-8", "TEXT/PLAIN", "text/plain; application/json", "text/json",
    "text/plain, application/json", "application/json, text/plain", "text/plain;x=application/json",
    "application/jsonx",
    "application/json-rpc", "application/json+x", "application/vnd.api+json", "application/ld+json", "application",
    "application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8", "application/xml",
    "multipart/form-data", "multipart/form-data; boundary=application/json", "application/octet-stream", "json", "*/*",
    "application/*", "application json", "application//json", "application/ json", '"application/json"', "image/png",
    "xapplication/json",
]  # fmt: skip


def of_a_page() -> Iterable[tuple[str, bytes, Headers]]:
    message, named = modern("tools/call", SAVE)
    body = json.dumps(message)
    # A text/plain form sends name=value: the equals sign goes into a member that the server ignores.
    shapes = {"JSON": body, "a form": body[:-1] + ', "x": "=\\r\\n"}'}
    for (shape, sent), kind in itertools.product(shapes.items(), KINDS):
        yield f"{shape} as {kind}", sent.encode(), (*named, ("Content-Type", kind))


@pytest.mark.variants(2 * len(KINDS))
@pytest.mark.attack("B46")
def test_b46_no_body_of_another_type_is_a_call(mounts: Mounts) -> None:
    disk = Disk()
    answered = posted(mounts, disk, of_a_page())
    for name in answered:
        tried(name)
    assert {name: one.status for name, one in answered.items() if one.status != 415} == {}
    assert disk.ran == []


@pytest.mark.twin("B15", "B17", "B46", "B56")
def test_twin_the_same_call_with_the_right_headers_runs(mounts: Mounts) -> None:
    disk = Disk()
    message, named = modern("tools/call", SAVE)
    right: list[tuple[str, bytes, Headers]] = [
        ("plain", json.dumps(message).encode(), (*JSON, *named)),
        ("encoded", json.dumps(message).encode(), (*JSON, *named[:-1], ("mcp-name", encoded("save")))),
        ("with a charset", json.dumps(message).encode(), (*named, ("content-type", "application/json;charset=UTF-8"))),
    ]
    assert {name: one.status for name, one in posted(mounts, disk, right).items()} == {
        name: 200 for name, _, _ in right
    }
    assert len(disk.ran) == 3


# -- B56: methods and parameters of the wrong shape --------------------------------------------------------------------

METHODS: list[Any] = [
    "tools/call ", " tools/call", "Tools/Call", "TOOLS/CALL", "tools/call/", "/tools/call", "tools//call",
    "tools\\call",
    "tools.call", "tools/call\0", "tools/call\n", "tools/c\u0430ll", "tools/call\u200b", "tools%2fcall", "call", "",
    "__init__", "rpc.tools/call", "tools/call?name=save", 7, None, True, [], ["tools/call"], {}, {"name": "tools/call"},
]  # fmt: skip
SHAPES: list[Any] = [[], ["save"], [["name", "save"]], "save", "", 7, 0, True, False, 1.5]
NAMES: list[Any] = [None, 7, True, [], ["save"], {}, {"name": "save"}, "", "Save", "save ", " save", "save\0", "./save"]
ARGUMENTS: list[Any] = [[], ["a"], "path", "", 7, True, [{"path": "a"}], [["path", "a"]], '{"path": "a"}']


def misshapen() -> Iterable[tuple[str, str]]:
    def body(**changes: Any) -> str:
        whole = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**SAVE, "_meta": "META"}, **changes}
        return json.dumps(whole).replace('"META"', "META")

    for method in METHODS:
        yield f"method {method!r}", body(method=method)
    for params in SHAPES:
        yield f"params {params!r}", body(params=params)
    for name in NAMES:
        yield f"name {name!r}", body(params={**SAVE, "name": name, "_meta": "META"})
    for arguments in ARGUMENTS:
        yield f"arguments {arguments!r}", body(params={**SAVE, "arguments": arguments, "_meta": "META"})
    for version in ("1.0", "2", "", 2, 2.0, None, True, ["2.0"]):
        yield f"jsonrpc {version!r}", body(jsonrpc=version)


@pytest.mark.variants(66)
@pytest.mark.attack("B56")
@pytest.mark.parametrize("door", DOORS)
def test_b56_a_malformed_message_runs_no_tool_and_is_an_error_at_each_handler(mounts: Mounts, door: str) -> None:
    disk = Disk()
    answered = answers(mounts, disk.server, door, misshapen())
    for name in answered:
        tried(name)
    assert {name: one for name, one in answered.items() if one.get("error", {}).get("code") not in CODES} == {}
    assert disk.ran == []


@pytest.mark.twin("B56")
@pytest.mark.parametrize("door", DOORS)
def test_b56_twin_the_same_message_in_its_shape_runs(mounts: Mounts, door: str) -> None:
    disk = Disk()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**SAVE, "_meta": "META"}})
    answered = answers(mounts, disk.server, door, [("right", body.replace('"META"', "META"))])
    assert "result" in answered["right"]
    assert len(disk.ran) == 1
