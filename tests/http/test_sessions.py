"""Legacy sessions over HTTP: sealed tokens that the server does not remember, until they are ended."""

from __future__ import annotations

import asyncio

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint, in_session
from tooltrue import Server
from tooltrue.errors import StateError
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier

KEY, OTHER_KEY = b"0123456789abcdef", b"fedcba9876543210"
UNKNOWN = {
    "jsonrpc": "2.0",
    "id": 1,
    "error": {"code": -32602, "message": "The session is unknown or has ended; begin again with initialize. [TT1019]"},
}


def by_name(carrier: Carrier) -> Principal | None:
    """Accept the authorization header as the principal's id, without a check."""
    name = (carrier.headers or {}).get("authorization")
    return None if name is None else Principal(name)


@pytest.mark.requirement("LHTTP-24")
def test_a_session_is_a_token_of_visible_characters_and_small(mounts: Mounts) -> None:
    with mounts.mounted(servers.make("empty").http_app()) as path:
        token = asyncio.run(Endpoint(mounts.port, path).initialize())
    assert len(token) <= 1024
    assert all("!" <= character <= "~" for character in token)


@pytest.mark.requirement("LHTTP-23", "LHTTP-39", "SEC-18")
def test_two_sessions_are_never_the_same(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[str, str]:
        return await endpoint.initialize(), await endpoint.initialize()

    with mounts.mounted(servers.make("empty").http_app()) as path:
        one, other = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert one != other


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_session_keeps_its_revision_without_a_version_header(mounts: Mounts, revision: str) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        session = await endpoint.initialize(revision)
        return await endpoint.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, [("Mcp-Session-Id", session)])

    with mounts.mounted(servers.make("gallery").http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    (shown,) = [tool for tool in answer.json["result"]["tools"] if tool["name"] == "show"]
    assert ("icons" in shown, "title" in shown, "annotations" in shown) == {
        "2025-11-25": (True, True, True),
        "2025-06-18": (False, True, True),
        "2025-03-26": (False, False, True),
        "2024-11-05": (False, False, False),
    }[revision]


@pytest.mark.twin("B30")
def test_a_session_is_served_by_another_server_with_the_same_keys(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> Answer:
        return await other.legacy(await one.initialize(), "ping")

    one, other = Server("one", keys=[KEY]), Server("other", keys=[OTHER_KEY, KEY])
    with mounts.mounted(one.http_app()) as first, mounts.mounted(other.http_app()) as second:
        answer = asyncio.run(scenario(Endpoint(mounts.port, first), Endpoint(mounts.port, second)))
    assert (answer.status, answer.json) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})


def test_a_session_of_other_keys_is_unknown(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> Answer:
        return await other.legacy(await one.initialize(), "ping")

    one, other = Server("one", keys=[KEY]), Server("other", keys=[OTHER_KEY])
    with mounts.mounted(one.http_app()) as first, mounts.mounted(other.http_app()) as second:
        answer = asyncio.run(scenario(Endpoint(mounts.port, first), Endpoint(mounts.port, second)))
    assert (answer.status, answer.json) == (404, UNKNOWN)


@pytest.mark.attack("B30")
@pytest.mark.parametrize(
    "change",
    [
        "",
        "x",
        "{}x",
        "x{}",
        "{}=",
        "{} {}",
        "é",
        "{},{}",
        "{};",
        "'{}'",
        '"{}"',
        "{}%00",
        "{}.",
        "v2.{}",
        "0",
        "null",
        "*",
        "../{}",
        "{}{}",
    ],
)
def test_a_token_that_was_not_given_out_is_404(mounts: Mounts, change: str) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        token = await endpoint.initialize()
        return await endpoint.legacy(change.replace("{}", token), "ping")

    with mounts.mounted(servers.make("empty").http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (answer.status, answer.json) == (404, UNKNOWN)


@pytest.mark.requirement("LHTTP-23", "LHTTP-39")
def test_no_byte_of_a_token_can_be_changed(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[int]:
        token = await endpoint.initialize()
        changed = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in range(0, len(token), 7)]
        return [(await endpoint.legacy(token, "ping")).status for token in changed]

    with mounts.mounted(servers.make("empty").http_app()) as path:
        assert set(asyncio.run(scenario(Endpoint(mounts.port, path)))) == {404}


@pytest.mark.attack("B30")
@pytest.mark.requirement("LHTTP-40", "SEC-17", "SEC-19")
def test_a_session_belongs_to_the_principal_that_opened_it(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[int]:
        token = await endpoint.initialize(headers=[("Authorization", "ada")])
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        return [
            (await endpoint.post(message, (*in_session(token), ("Authorization", name)))).status
            for name in ("ada", "eve", "Ada")
        ] + [(await endpoint.ask("DELETE", headers=(*in_session(token), ("Authorization", "eve")))).status]

    with mounts.mounted(Server("private", authenticate=by_name).http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [200, 404, 404, 404]


@pytest.mark.requirement("LHTTP-28")
def test_a_session_that_was_deleted_is_over_for_every_worker(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[int]:
        token, kept = await one.initialize(), await one.initialize()
        return [
            (await other.legacy(token, "ping")).status,
            (await other.ask("DELETE", headers=in_session(token))).status,
            (await one.legacy(token, "ping")).status,
            (await other.legacy(token, "tools/list")).status,
            (await one.ask("DELETE", headers=in_session(token))).status,
            (await one.ask("GET", headers=[("Accept", "text/event-stream"), *in_session(token)])).status,
            (await other.legacy(kept, "ping")).status,
        ]

    facts = MemoryFacts()
    one, other = (Server(name, keys=[KEY], facts=facts) for name in ("one", "other"))
    with mounts.mounted(one.http_app()) as first, mounts.mounted(other.http_app()) as second:
        endpoints = Endpoint(mounts.port, first), Endpoint(mounts.port, second)
        assert asyncio.run(scenario(*endpoints)) == [200, 204, 404, 404, 404, 404, 200]


class Store(MemoryFacts):
    """A store that can be out of reach."""

    is_there = True

    async def get(self, key: str) -> bytes | None:
        if not self.is_there:
            raise StateError.of("TT7051", url="here")
        return await super().get(key)


def test_a_request_for_a_stream_or_for_the_end_of_a_session_reports_an_unreachable_store(
    mounts: Mounts,
) -> None:
    facts = Store()

    async def scenario(endpoint: Endpoint) -> list[Answer]:
        token = await endpoint.initialize()
        stream = [("Accept", "text/event-stream"), *in_session(token)]
        facts.is_there = False
        refused = [
            await endpoint.ask("GET", headers=stream),
            await endpoint.ask("GET", headers=[*stream, ("Last-Event-ID", f"{'A' * 22}.1")]),
            await endpoint.ask("DELETE", headers=in_session(token)),
        ]
        facts.is_there = True
        assert (await endpoint.ask("DELETE", headers=in_session(token))).status == 204
        return refused

    with mounts.mounted(Server("far", facts=facts).http_app()) as path:
        refused = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert [answer.status for answer in refused] == [500] * 3
    assert all("[TT1020]" in answer.json["error"]["message"] for answer in refused)


def test_a_cursor_is_no_session(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        listed = await endpoint.modern("tools/list")
        return (await endpoint.legacy(listed.json["result"]["nextCursor"], "ping")).status

    with mounts.mounted(servers.make("letters").http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == 404


def test_a_session_is_no_cursor(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        session = await endpoint.initialize()
        return (await endpoint.modern("tools/list", {"cursor": session})).code

    with mounts.mounted(servers.make("letters").http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == -32602


@pytest.mark.attack("B29")
@pytest.mark.requirement("SEC-17", "SEC-19")
def test_a_cursor_belongs_to_the_principal_that_listed(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[bool]:
        listed = await endpoint.modern("tools/list", authorization="ada")
        cursor = {"cursor": listed.json["result"]["nextCursor"]}
        return [
            "result" in (await endpoint.modern("tools/list", cursor, authorization=who)).json for who in ("ada", "eve")
        ]

    server = Server("private", authenticate=by_name, page_size=1)
    server.add_tool(servers.greet)
    server.add_tool(servers.add)
    with mounts.mounted(server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [True, False]


@pytest.mark.requirement("LHTTP-14")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_without_a_session_there_is_nothing_but_post(mounts: Mounts, method: str) -> None:
    with mounts.mounted(servers.make("empty").http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).ask(method, headers=[("Accept", "text/event-stream")]))
    assert (answer.status, answer.headers["allow"], answer.body) == (405, "POST", b"")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_session_has_no_stream_and_no_end(mounts: Mounts, method: str) -> None:
    headers = [("Accept", "text/event-stream"), *in_session("nonsense")]
    with mounts.mounted(servers.make("empty").http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).ask(method, headers=headers))
    assert (answer.status, answer.json) == (404, {"jsonrpc": "2.0", "error": UNKNOWN["error"]})


@pytest.mark.requirement("LHTTP-14")
def test_a_stream_must_be_asked_for_as_one(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        return await endpoint.ask("GET", headers=in_session(await endpoint.initialize()))

    with mounts.mounted(servers.make("empty").http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (answer.status, answer.headers["allow"]) == (405, "POST, DELETE")
