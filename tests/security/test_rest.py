"""Attacks on calls by programs that speak no MCP."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support.variants import tried
from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint, Headers
from tooltrue import Abuse, ApiKeys, Confirm, Rate, Server
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.server.keys import Key, new_key
from tooltrue.state.urls import open_facts

T = TypeVar("T")

JSON: Headers = (("Content-Type", "application/json"),)
ANN, ANN_DIGEST = new_key("ann")
BOB, BOB_DIGEST = new_key("bob")


class Disk:
    """A server with one tool, and the arguments with which that has run."""

    def __init__(self, **settings: Any) -> None:
        self.ran: list[Any] = []
        self.server = Server("disk", audit=False, **settings)
        self.server.add_tool(self.save, name="save", effect="write")

    async def save(self, path: str, data: list[Any] | None = None) -> dict[str, str]:
        """Saves a file."""
        self.ran.append((path, data))
        return {"saved": path}


def asked(mounts: Mounts, server: Server, scenario: Callable[[str], Coroutine[Any, Any, T]], **settings: Any) -> T:
    """The outcome of a scenario, which gets the path before ``/tools``."""
    with mounts.mounted(server.http_app(rest=True, **settings)) as path:
        return asyncio.run(scenario(path.removesuffix("/mcp")))


def posted(
    mounts: Mounts, server: Server, requests: Iterable[tuple[str, bytes, Headers]], **settings: Any
) -> list[Answer]:
    """The answer to each POST: its path, body and headers."""

    async def scenario(root: str) -> list[Answer]:
        return [await Endpoint(mounts.port, root + path).ask("POST", body, headers) for path, body, headers in requests]

    return asked(mounts, server, scenario, **settings)


SAVE = b'{"path": "a"}'


# -- M01: another site -------------------------------------------------------------------------------------------------

SIMPLE_TYPES = (
    "text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "text/plain;application/json", "text/plain, application/json", "application/jsonx", "application/json+x", "",
    "text/json", "application/x-json", "application/json; charset=utf-7", "application/json; charset=utf-16", None,
)  # fmt: skip
ORIGINS = (
    "https://evil.example", "http://localhost.evil.example", "null", "http://127.0.0.1.evil.example", "file://",
    "http://evil.example#localhost", "http://localhost@evil.example", "chrome-extension://abc", "http://[::2]",
    "http://localhost/evil", "javascript:1",
)  # fmt: skip
HOSTS = (
    "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0",
    "localhost:1@evil.example", "[::2]", "", "127.0.0.1:8000.evil.example", "2130706433", "0x7f.1",
)  # fmt: skip


@pytest.mark.variants(37)
def test_m01_a_page_of_another_site_reaches_no_tool(mounts: Mounts):
    disk = Disk()
    cases: list[tuple[Headers, int]] = [((("Content-Type", kind),), 415) for kind in SIMPLE_TYPES]
    cases += [((*JSON, ("Origin", origin)), 403) for origin in ORIGINS]
    cases += [((*JSON, ("Host", host)), 403) for host in HOSTS]
    got = posted(mounts, disk.server, [("/tools/save", SAVE, headers) for headers, _ in cases])
    for (headers, status), answer in zip(cases, got, strict=True):
        tried(headers)
        assert (headers, answer.status) == (headers, status)
        assert "access-control-allow-origin" not in answer.headers
    assert disk.ran == []


def test_m01_twin_a_page_of_this_host_and_every_spelling_of_json_reach_the_tool(mounts: Mounts):
    disk = Disk()
    kinds = (
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
    )
    requests: list[tuple[str, bytes, Headers]] = [("/tools/save", SAVE, (("Content-Type", kind),)) for kind in kinds]
    requests.append(("/tools/save", SAVE, (*JSON, ("Origin", "http://localhost:3000"))))
    assert [answer.status for answer in posted(mounts, disk.server, requests)] == [200] * 5


# -- M02: the path -----------------------------------------------------------------------------------------------------

OTHER_PATHS = (
    "/tools/%2fsave", "/tools%2fsave", "/tools/x%2f..%2fsave", "/tools/x/../save", "/tools/./save",
    "/tools//save", "//tools/save", "/tools/save/", "/tools/save//", "/tools/save/.", "/tools/save/..",
    "/tools\\save", "/tools/%5csave", "/tools/save%00", "/tools/save%0d%0aX-Evil:%201", "/tools/save%20",
    "/tools/%20save", "/tools/save;x", "/tools/SAVE", "/TOOLS/save", "/Tools/save", "/tools/%252fsave",
    "/tools/%2e/save", "/tools/%2e%2e/tools/save", "/tools/s%C3%A4ve", "/tools/save.json", "/tools/",
    "/tools", "/mcp/tools/save", "/x/tools/save", "/tools/tools/save", "/tools/save%2f",
)  # fmt: skip


@pytest.mark.variants(32)
def test_m02_another_spelling_of_a_path_is_no_tool(mounts: Mounts):
    disk = Disk()
    for path, answer in zip(
        OTHER_PATHS, posted(mounts, disk.server, [(p, SAVE, JSON) for p in OTHER_PATHS]), strict=True
    ):
        tried(path)
        assert (path, answer.status) == (path, 404)
        assert "x-evil" not in answer.headers
    assert disk.ran == []


def test_m02_twin_escapes_of_letters_and_a_query_are_the_same_path(mounts: Mounts):
    disk = Disk()
    paths = ("/tools/save", "/tools/%73ave", "/tools/sav%65", "/tools/save?x=1")
    assert [answer.status for answer in posted(mounts, disk.server, [(p, SAVE, JSON) for p in paths])] == [200] * 4


# -- M03: the body -----------------------------------------------------------------------------------------------------

DEEP = b'{"path": "a", "data": ' + b"[" * 200 + b"]" * 200 + b"}"
BODIES: tuple[tuple[bytes, Headers, int], ...] = (
    (b'{"path": "a", "path": "b"}', (), 400), (b'{"path": "a", "data": [{"x": 1, "x": 2}]}', (), 400),
    (b'{"path": "a", "p\\u0061th": "b"}', (), 400), (b'{"path": "a", "data": [NaN]}', (), 400),
    (b'{"path": "a", "data": [Infinity]}', (), 400), (b'{"path": "a", "data": [1e999]}', (), 400),
    (b'{"path": "a", "data": [' + b"9" * 5000 + b"]}", (), 400), (b'{"path": "\\ud800"}', (), 400),
    (b'{"path": "\xff"}', (), 400), (b'\xef\xbb\xbf{"path": "a"}', (), 400), (DEEP, (), 400),
    (b"[" * 100_000, (), 400), (b'{"path": "a"', (), 400), (b'{"path": "a"}{"path": "b"}', (), 400),
    (b"{'path': 'a'}", (), 400), (b'{"path": "a",}', (), 400), (b'{"path": "a" /* b */}', (), 400), (b"", (), 400),
    (b'{"path": "a"}\x00', (), 400), ('{"path": "a"}'.encode("utf-16"), (), 400), (b"path=a", (), 400),
    (b'{"path": "a", "__proto__": {}}', (), 422), (b'{"path": ["a"]}', (), 422), (b'[{"path": "a"}]', (), 422),
    (gzip.compress(SAVE), (("Content-Encoding", "gzip"),), 415), (SAVE, (("Content-Encoding", "br"),), 415),
    (gzip.compress(b" " * 50_000_000), (("Content-Encoding", "gzip"),), 415),
    (SAVE, (("Content-Encoding", "identity, deflate"),), 415), (b" " * 17_000_000, (), 413),
)  # fmt: skip


@pytest.mark.variants(29)
def test_m03_a_body_with_two_readings_is_refused(mounts: Mounts):
    disk = Disk()
    got = posted(mounts, disk.server, [("/tools/save", body, (*JSON, *headers)) for body, headers, _ in BODIES])
    for (body, headers, status), answer in zip(BODIES, got, strict=True):
        tried((len(body), body[:60], headers))
        assert (body[:60], answer.status) == (body[:60], status)
        assert answer.json["error"]["message"]
    assert disk.ran == []


def test_m03_twin_every_text_and_order_of_keys_is_an_argument(mounts: Mounts):
    disk = Disk()
    bodies = (b'{"data": [[1.5, null]], "path": "\\u00e4"}', b' \n{"path": ""} ', '{"path": "𝄞"}'.encode())
    got = posted(mounts, disk.server, [("/tools/save", body, JSON) for body in bodies])
    assert [answer.status for answer in got] == [200] * 3
    assert disk.ran == [("ä", [[1.5, None]]), ("", None), ("𝄞", None)]


# -- M04: tools of others ----------------------------------------------------------------------------------------------

RULES = """
[[rules]]
tools = "open"
then = "allow"
[[rules]]
tools = "ann_*"
principal = "key:ann"
then = "allow"
[[rules]]
tools = "*"
then = "hide"
"""


def keys() -> ApiKeys:
    scopes = frozenset({"write"})
    return ApiKeys({"ann": Key(ANN_DIGEST, scopes), "bob": Key(BOB_DIGEST)})


def by(key: str) -> Headers:
    return (*JSON, ("Authorization", f"Bearer {key}"))


def house(tmp_path: Path) -> tuple[Server, list[str]]:
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    server, ran = Server("house", audit=False, rules=file, authenticate=keys()), list[str]()
    for name in ("open", "closed", *(f"ann_{number}" for number in range(20))):
        server.add_raw_tool(name, {"type": "object"}, lambda _, name=name: ran.append(name), effect="read")
    return server, ran


@pytest.mark.variants(22)
def test_m04_a_hidden_tool_reads_like_one_that_does_not_exist(mounts: Mounts, tmp_path: Path):
    server, ran = house(tmp_path)
    hidden = ["closed", *(f"ann_{number}" for number in range(20))]
    [unknown, *got] = posted(mounts, server, [(f"/tools/{name}", b"{}", by(BOB)) for name in ("none", *hidden)])
    for name, answer in zip(hidden, got, strict=True):
        tried(name)
        assert (answer.status, answer.headers.keys()) == (404, unknown.headers.keys())
        assert answer.body.replace(name.encode(), b"none") == unknown.body
    [unauthenticated] = posted(mounts, server, [("/tools/open", b"{}", JSON)])
    tried("unauthenticated")
    assert unauthenticated.status == 401
    assert ran == []


def test_m04_a_missing_scope_is_named_and_nothing_runs(mounts: Mounts):
    ran: list[int] = []
    server = Server("scoped", audit=False, authenticate=keys())
    server.add_raw_tool("write", {"type": "object"}, ran.append, effect="write", requires=["write"])
    bob, ann = posted(mounts, server, [("/tools/write", b"{}", by(BOB)), ("/tools/write", b"{}", by(ANN))])
    assert (bob.status, 'scope="write"' in bob.headers["www-authenticate"]) == (403, True)
    assert (ann.status, len(ran)) == (200, 1)


def test_m04_a_view_has_its_own_tools_alone(mounts: Mounts):
    upstream = Server("notes", audit=False, confirm=Confirm.never())
    for name in ("read", "find"):
        upstream.add_raw_tool(name, {"type": "object"}, lambda _, name=name: {"ran": name}, effect="read")
    operator = read_operator_config("tooltrue.toml", '[views.docs]\ntools = "*_read"\n[views.dev]\n')
    gateway = Gateway(
        {"notes": ServerConfig("notes", "notes", target=upstream)},
        operator=operator,
        audit=False,
        confirm=Confirm.never(),
    )
    paths = ("/docs/tools/notes_read", "/docs/tools/notes_find", "/dev/tools/notes_find", "/tools/notes_read")
    got = posted(mounts, gateway, [(path, b"{}", JSON) for path in paths], signals=False)
    assert [answer.status for answer in got] == [200, 404, 200, 404]


def test_m04_twin_its_caller_calls_it(mounts: Mounts, tmp_path: Path):
    server, ran = house(tmp_path)
    got = posted(mounts, server, [("/tools/ann_1", b"{}", by(ANN)), ("/tools/open", b"{}", by(BOB))])
    assert ([answer.status for answer in got], ran) == ([200, 200], ["ann_1", "open"])


# -- M05: approvals ----------------------------------------------------------------------------------------------------

OTHER_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"path": "b"}, {"path": "A"}, {"path": "a "}, {"path": " a"}, {"path": "a\u200b"}, {"path": "\u0430"}, {"path": ""},
    {"path": "a/"}, {"path": "./a"}, {"path": "a\x00"}, {"path": "a", "data": []}, {"path": "a", "data": [1]},
    {"path": "a", "data": [None]}, {"path": "aa"}, {"path": "a\n"}, {"path": "á"}, {"path": "a\u0301"}, {"path": "ａ"},
    {"path": "a", "data": [[]]}, {"path": "a", "data": [{}]}, {"path": "a", "data": [0]},
)  # fmt: skip


@pytest.mark.variants(23)
def test_m05_a_ticket_is_good_for_one_call_of_its_caller_with_its_arguments(mounts: Mounts, tmp_path: Path):
    store = f"sqlite:{tmp_path / 'approvals.db'}"
    confirm = Confirm(effects=frozenset({"write"}), store=store)
    disk = Disk(confirm=confirm, authenticate=keys())

    async def scenario(root: str) -> None:
        endpoint = Endpoint(mounts.port, f"{root}/tools/save")

        async def call(arguments: dict[str, Any], key: str = ANN) -> Answer:
            return await endpoint.ask("POST", json.dumps(arguments).encode(), by(key))

        ticket = (await call({"path": "a"})).json["error"]["ticket"]
        async with open_facts(store) as facts:
            approvals = Approvals(facts)
            await approvals.allow(await approvals.find(ticket), "once")
        for arguments in OTHER_ARGUMENTS:
            tried(arguments)
            assert (arguments, (await call(arguments)).status) == (arguments, 409)
        tried("another caller")
        assert (await call({"path": "a"}, BOB)).status == 409
        assert disk.ran == []
        assert (await call({"path": "a"})).status == 200
        tried("once more")
        assert (await call({"path": "a"})).status == 409
        assert disk.ran == [("a", None)]

    asked(mounts, disk.server, scenario)


def test_m05_twin_the_same_arguments_in_another_order_are_the_approved_call(mounts: Mounts, tmp_path: Path):
    store = f"sqlite:{tmp_path / 'approvals.db'}"
    disk = Disk(confirm=Confirm(effects=frozenset({"write"}), store=store))

    async def scenario(root: str) -> int:
        endpoint = Endpoint(mounts.port, f"{root}/tools/save")
        first = await endpoint.ask("POST", b'{"path": "a", "data": [1]}', JSON)
        async with open_facts(store) as facts:
            approvals = Approvals(facts)
            await approvals.allow(await approvals.find(first.json["error"]["ticket"]), "once")
        return (await endpoint.ask("POST", b'{"data":[1],"path":"a"}', JSON)).status

    assert asked(mounts, disk.server, scenario) == 200


# -- M06: headers ------------------------------------------------------------------------------------------------------

DOUBLE: tuple[Headers, ...] = (
    (*by(BOB), ("Authorization", f"Bearer {ANN}")), (*by(BOB), ("authorization", f"Bearer {ANN}")),
    (*by(BOB), ("X-API-Key", BOB), ("x-api-key", ANN)), (*by(ANN), ("Content-Type", "text/plain")),
    (*by(ANN), ("content-type", "application/json")),
    (*by(ANN), ("Origin", "http://localhost"), ("Origin", "http://x")),
    (*by(ANN), ("Host", "localhost"), ("Host", "evil.example")),
    (*by(ANN), ("Host", "localhost"), ("host", "localhost")),
)  # fmt: skip
LENGTHS = (
    "+13", "-1", "1_3", "0x0d", "13, 13", "13;", "1e1", "thirteen", " ", "13 13", "١٣", "13.0", "99999999999999999999",
)  # fmt: skip


@pytest.mark.variants(21)
def test_m06_a_header_with_two_readings_is_refused(mounts: Mounts):
    disk = Disk(authenticate=keys())
    cases = [*DOUBLE, *((*by(ANN), ("Content-Length", length)) for length in LENGTHS)]

    async def scenario(root: str) -> None:
        for headers in cases:
            tried(headers[2:])
            sent = [(name, value.encode().decode("latin-1")) for name, value in headers if value is not None]
            answer = await Endpoint(mounts.port, f"{root}/tools/save").ask("POST", SAVE, sent)
            assert (headers[2:], answer.status // 100) == (headers[2:], 4)

    asked(mounts, disk.server, scenario)
    assert disk.ran == []


def test_m06_twin_other_headers_may_be_repeated(mounts: Mounts):
    disk = Disk(authenticate=keys())
    headers = (*by(ANN), ("Accept", "application/json"), ("Accept", "*/*"), ("X-Other", "1"), ("X-Other", "2"))
    assert [answer.status for answer in posted(mounts, disk.server, [("/tools/save", SAVE, headers)])] == [200]


# -- M07: methods ------------------------------------------------------------------------------------------------------

METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "post", "Post", "XPOST", "POSTX")
OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")


@pytest.mark.variants(20)
def test_m07_no_other_method_calls_a_tool(mounts: Mounts):
    disk = Disk()

    async def scenario(root: str) -> None:
        endpoint = Endpoint(mounts.port, f"{root}/tools/save")
        for method in METHODS:
            tried(method)
            async with endpoint.open(method, SAVE, JSON) as stream:
                assert (method, stream.status // 100) == (method, 4)
        for method, header in itertools.product(("GET", "PUT", "DELETE"), OVERRIDES):
            tried((method, header))
            assert (await endpoint.ask(method, SAVE, (*JSON, (header, "POST")))).status == 405

    asked(mounts, disk.server, scenario)
    assert disk.ran == []


def test_m07_twin_post_calls_it_whatever_a_header_says(mounts: Mounts):
    disk = Disk()
    headers = (*JSON, ("X-HTTP-Method-Override", "GET"))
    assert [answer.status for answer in posted(mounts, disk.server, [("/tools/save", SAVE, headers)])] == [200]


# -- M08: limits -------------------------------------------------------------------------------------------------------

TURNS = tuple(itertools.product("mr", repeat=4))


@pytest.mark.variants(16)
def test_m08_both_endpoints_share_their_limits(mounts: Mounts):
    for turns in TURNS:
        tried(turns)
        disk = Disk(rate=Rate(0.001, 3))

        async def scenario(root: str, turns: tuple[str, ...] = turns) -> list[bool]:
            return [await _is_refused(mounts.port, root, turn) for turn in turns]

        assert asked(mounts, disk.server, scenario) == [False, False, False, True]
        assert len(disk.ran) == 3


@pytest.mark.variants(20)
def test_m08_a_caller_that_guesses_names_is_paused_at_both(mounts: Mounts):
    probing = Abuse(unknown=Rate(0.001, 20), pause=60, longest=60)
    disk = Disk(abuse=probing)

    async def scenario(root: str) -> tuple[Answer, bool]:
        for number in range(21):
            tried(number)
            await Endpoint(mounts.port, f"{root}/tools/guess_{number}").ask("POST", b"{}", JSON)
        paused = await Endpoint(mounts.port, f"{root}/tools/save").ask("POST", SAVE, JSON)
        return paused, await _is_refused(mounts.port, root, "m")

    paused, by_mcp = asked(mounts, disk.server, scenario)
    assert (paused.status, paused.json["error"]["code"], by_mcp) == (429, "TT2103", True)
    assert 50 <= int(paused.headers["retry-after"]) <= 60
    assert disk.ran == []


def test_m08_twin_another_caller_has_limits_of_its_own(mounts: Mounts):
    disk = Disk(rate=Rate(0.001, 1), authenticate=keys())
    requests = [("/tools/save", SAVE, by(key)) for key in (ANN, BOB, ANN, BOB)]
    assert [answer.status for answer in posted(mounts, disk.server, requests)] == [200, 200, 429, 429]


async def _is_refused(port: int, root: str, turn: str) -> bool:
    if turn == "r":
        return (await Endpoint(port, f"{root}/tools/save").ask("POST", SAVE, JSON)).status == 429
    answer = await Endpoint(port, f"{root}/mcp").modern("tools/call", {"name": "save", "arguments": {"path": "a"}})
    return answer.json["result"]["isError"]
