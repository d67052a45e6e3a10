"""Authentication over HTTP: ``authenticate`` decides on every method before the request body is read."""

from __future__ import annotations

import asyncio

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Answer, Endpoint, Headers, in_session
from tooltrue import Context, Server
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier

BEARER = "Bearer sesame"


def open_sesame(carrier: Carrier) -> Principal | None:
    headers = carrier.headers or {}
    return Principal(f"ada@{carrier.peer}") if headers.get("authorization") == BEARER else None


def server() -> Server:
    made = Server("cave", authenticate=open_sesame)

    @made.tool
    async def who(context: Context) -> str:
        """Who calls."""
        return context.principal.id

    return made


def ask(mounts: Mounts, method: str, headers: Headers) -> Answer:
    with mounts.mounted(server().http_app()) as path:
        return asyncio.run(Endpoint(mounts.port, path).ask(method, b"junk", headers))


@pytest.mark.requirement("AUTHS-11", "HTTP-05", "SEC-16")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer Sesame", "bearer sesame", "Basic sesame"])
def test_an_unauthenticated_caller_gets_401_with_a_challenge(mounts: Mounts, method: str, token: str | None) -> None:
    headers = [*JSON, *in_session("x"), ("Accept", "text/event-stream"), ("Authorization", token)]
    answer = ask(mounts, method, headers)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "[TT1101]" in answer.json["error"]["message"]


def test_an_authenticated_caller_is_the_principal_in_stateless_and_session_based_revisions(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[str]:
        bearer = [("Authorization", BEARER)]
        session = await endpoint.initialize(headers=bearer)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who"}}
        answers = [
            await endpoint.modern("tools/call", {"name": "who"}, authorization=BEARER),
            await endpoint.post(message, (*in_session(session), *bearer)),
            await endpoint.post(message, bearer),
        ]
        return [answer.json["result"]["content"][0]["text"] for answer in answers]

    with mounts.mounted(server().http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == ["ada@127.0.0.1"] * 3


@pytest.mark.requirement("META-17")
@pytest.mark.parametrize("name", ["ada", "root", "local:http", "cave"])
def test_the_name_a_client_claims_does_not_authenticate_it(mounts: Mounts, name: str) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, str]:
        info = {"io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"}}
        params = {"name": "who", "_meta": {**ENVELOPE, **info}}
        known = await endpoint.modern("tools/call", params, authorization=BEARER)
        return (await endpoint.modern("tools/call", params)).status, known.json["result"]["content"][0]["text"]

    with mounts.mounted(server().http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == (401, "ada@127.0.0.1")


@pytest.mark.requirement("AUTHS-26", "LHTTP-38", "SEC-17")
def test_a_session_does_not_authenticate(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        session = await endpoint.initialize(headers=[("Authorization", BEARER)])
        return (await endpoint.legacy(session, "ping")).status

    with mounts.mounted(server().http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == 401


def test_without_authentication_everybody_is_the_local_user_over_http(mounts: Mounts) -> None:
    made = Server("open")

    @made.tool
    async def who(context: Context) -> str:
        """Who calls."""
        return context.principal.id

    with mounts.mounted(made.http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("tools/call", {"name": "who"}))
    assert answer.json["result"]["content"] == [{"type": "text", "text": "local:http"}]


def test_a_host_that_is_not_served_is_refused_before_anybody_is_asked_for_a_token(mounts: Mounts) -> None:
    assert ask(mounts, "POST", [*JSON, ("Host", "evil.example")]).status == 403


def test_a_failing_authenticator_rejects_the_request_and_discloses_no_detail(mounts: Mounts) -> None:
    def broken(carrier: Carrier) -> Principal | None:
        raise RuntimeError("the password is hunter2")

    with mounts.mounted(Server("broken", authenticate=broken).http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("tools/list"))
    assert answer.status == 500
    assert b"hunter2" not in answer.body
