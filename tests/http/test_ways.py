"""Authentication over a socket: several methods at once, headers that may occur once, challenges."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.issuing.calling import RESOURCE, call, guarded, oauth, who
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint, in_session, modern
from tooltrue import ApiKeys, Client, Context, Public, RpcError, Server, TrustedProxy
from tooltrue.errors import ScopeNeeded
from tooltrue.server.keys import Key, new_key

KEY, DIGEST = new_key("ci")
KEYS = ApiKeys({"ci": Key(DIGEST, frozenset({"read", "write", "publish"}))})


def test_keys_and_tokens_are_told_apart(mounts: Mounts, issuer: Issuing) -> None:
    made = guarded([KEYS, oauth(issuer)])
    assert who(call(mounts, made, KEY)) == ["key:ci", "publish", "read", "write"]
    assert who(call(mounts, made, issuer.for_ada(RESOURCE))) == [f"{issuer.url}#ada", "read"]
    assert call(mounts, made, KEY[:-4] + "abcd").status == 401


def test_a_way_that_knows_is_asked_before_the_one_that_lets_in_everybody(mounts: Mounts) -> None:
    made = guarded([KEYS, Public()])
    assert who(call(mounts, made, KEY))[0] == "key:ci"
    assert who(call(mounts, made))[0] == "address:127.0.0.1"
    assert call(mounts, made, KEY[:-4] + "abcd").status == 401


def test_a_proxy_on_this_machine_names_the_caller(mounts: Mounts) -> None:
    made = guarded(TrustedProxy(["127.0.0.1"]))
    assert who(call(mounts, made, headers=[("X-Forwarded-User", "ada")])) == ["user:ada"]
    assert call(mounts, made).status == 401


@pytest.mark.parametrize("name", ["X-Forwarded-User", "x-forwarded-user"])
def test_a_name_that_is_said_twice_is_none(mounts: Mounts, name: str) -> None:
    answer = call(mounts, guarded(TrustedProxy(["127.0.0.1"])), headers=[("X-Forwarded-User", "ada"), (name, "root")])
    assert (answer.status, "[TT1027]" in answer.json["error"]["message"]) == (400, True)


def test_from_elsewhere_the_header_of_a_proxy_is_401(mounts: Mounts) -> None:
    made = guarded(TrustedProxy(["192.0.2.1"]))
    assert call(mounts, made, headers=[("X-Forwarded-User", "ada")]).status == 401


def test_a_header_that_is_a_list_may_come_in_parts(mounts: Mounts) -> None:
    made = guarded(Public(proxies=["127.0.0.1"]))
    parts = [("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "198.51.100.7")]
    assert who(call(mounts, made, headers=parts)) == ["address:198.51.100.7"]


def test_a_key_without_the_scopes_of_a_tool_is_a_challenge_that_names_them(mounts: Mounts) -> None:
    few, digest = new_key("few")
    made = guarded(ApiKeys({"few": Key(digest)}))
    answer = call(mounts, made, few, "publish")
    assert answer.status == 403
    assert answer.headers["www-authenticate"].startswith(
        'Bearer error="insufficient_scope", scope="publish write", error_description="'
    )


def late() -> Server:
    made = Server("late", authenticate=KEYS)

    @made.tool
    async def late(context: Context) -> str:
        """Finds out what it needs when it has said something already."""
        context.progress(1, 2)
        await asyncio.sleep(0)
        raise ScopeNeeded.needing(["more"])

    return made


@pytest.mark.parametrize("era", ["modern", "legacy", "in a session"])
def test_once_a_stream_has_begun_a_scope_that_is_needed_is_its_answer(mounts: Mounts, era: str) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, Any]:
        bearer = (("Authorization", f"Bearer {KEY}"),)
        params = {"name": "late", "arguments": {}, "_meta": {"progressToken": 1}}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = bearer
        if era == "modern":
            message, needed = modern("tools/call", {"name": "late"})
            message["params"]["_meta"] = {**message["params"]["_meta"], "progressToken": 1}
            headers = (*bearer, *needed)
        elif era == "in a session":
            headers = (*bearer, *in_session(await endpoint.initialize(headers=bearer)))
        answer = await endpoint.post(message, headers)
        return answer.status, answer.body.decode()

    with mounts.mounted(late().http_app()) as path:
        status, body = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert status == 200
    assert body.count("notifications/progress") == 1
    assert '"code":-32602' in body
    assert "more" in body


def test_our_client_is_told_which_scopes_it_lacks(mounts: Mounts) -> None:
    few, digest = new_key("few")

    async def scenario(url: str) -> None:
        async with Client(url, headers={"authorization": f"Bearer {few}"}) as client:
            await client.call_tool("publish")

    app = guarded(ApiKeys({"few": Key(digest)})).http_app()
    with mounts.mounted(app) as path, pytest.raises(RpcError, match="publish, write"):
        asyncio.run(scenario(f"http://127.0.0.1:{mounts.port}{path}"))
