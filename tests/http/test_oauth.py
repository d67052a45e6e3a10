"""OAuth over HTTP, with a real authorization server: who comes in, as whom, and what others are told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from issuing.server import Issuing
from toolwright import Context, OAuth, Server
from toolwright.errors import ScopeNeeded
from wire.mounting import Mounts
from wire.raw_http import Answer, Endpoint

RESOURCE = "https://tools.example/mcp"


def server(issuer: Issuing, **settings: Any) -> Server:
    made = Server("guarded", authenticate=OAuth(issuer=issuer.url, resource=RESOURCE, **settings))

    @made.tool
    async def who(context: Context) -> list[str]:
        """Who calls, and what that may."""
        return [context.principal.id, *sorted(context.principal.scopes)]

    @made.tool
    async def write() -> str:
        """What needs more."""
        raise ScopeNeeded.needing(["write", "publish"])

    return made


def call(mounts: Mounts, made: Server, token: str | None, tool: str = "who") -> Answer:
    with mounts.mounted(made.http_app()) as path:
        authorization = None if token is None else f"Bearer {token}"
        return asyncio.run(
            Endpoint(mounts.port, path).modern("tools/call", {"name": tool}, authorization=authorization)
        )


def said(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return answer.json["result"]["structuredContent"]


def test_a_token_that_a_person_got_by_code_and_pkce_lets_in(mounts: Mounts, issuer: Issuing) -> None:
    token = issuer.for_ada(RESOURCE, "read write")
    assert said(call(mounts, server(issuer), token)) == [f"{issuer.url}#ada", "read", "write"]


def test_a_token_that_a_client_got_for_itself_lets_in(mounts: Mounts, issuer: Issuing) -> None:
    assert said(call(mounts, server(issuer), issuer.for_itself(RESOURCE))) == [f"{issuer.url}#agent", "read"]


@pytest.mark.requirement("AUTHS-05", "AUTHS-06")
def test_whoever_has_no_token_is_told_where_to_get_one_and_for_what(mounts: Mounts, issuer: Issuing) -> None:
    answer = call(mounts, server(issuer, scopes=["read", "list"]), None)
    metadata = "https://tools.example/.well-known/oauth-protected-resource/mcp"
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}", scope="list read"'


@pytest.mark.requirement("AUTHS-17", "AUTHS-18", "AUTHS-19")
def test_all_scopes_that_a_call_needs_are_in_one_challenge(mounts: Mounts, issuer: Issuing) -> None:
    answer = call(mounts, server(issuer, scopes=["read"]), issuer.for_ada(RESOURCE), "write")
    challenge = answer.headers["www-authenticate"]
    assert answer.status == 403
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="publish read write"' in challenge
    assert 'resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"' in challenge
    assert json.loads(answer.body)["error"]["code"] == -32602
