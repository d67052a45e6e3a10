"""Which grant of a caller is enough for another client of it."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

from tooltrue.client.auth.authorization import tokens_key
from tooltrue.client.auth.metadata import IssuerMetadata
from tooltrue.client.auth.tokens import Tokens, to_json
from tooltrue.gateway.caller_grants import CallerGrants, GrantRequest, GrantSettings
from tooltrue.protocol.types import replaced

URL = "https://up.example/mcp"
ISSUER = IssuerMetadata(issuer="https://login.example", token_endpoint="https://login.example/token")
TOKENS = Tokens(
    issuer=ISSUER.issuer, resource=URL, client_id="gateway", access="a", requested=("read", "write"), granted=("read",)
)
REQUEST = GrantRequest("user:ada", "editor", "up", URL, ISSUER, URL, ("read",), None, "word", "")


def enough(request: GrantRequest, *, forgotten: bool = False) -> Any:
    """The scopes of the grant that is enough for a request, if the client ``chat`` has got one."""

    async def run() -> Any:
        grants = CallerGrants(
            {"up": GrantSettings()},
            base="https://gateway.example",
            store="memory:",
            keys=[secrets.token_bytes(32)],
        )
        await grants.open()
        try:
            await grants.store.grant("user:ada", "up", "chat", URL, tokens_key(URL), to_json(TOKENS))
            if forgotten:
                await grants.store.forget("user:ada", "up")
            grant = await grants.enough(request)
            return None if grant is None else grant.scopes
        finally:
            await grants.close()

    return asyncio.run(run())


@pytest.mark.parametrize("scopes", [(), ("read",), ("read", "write")])
def test_a_grant_is_enough_for_the_rights_that_were_asked_for_with_it(scopes: tuple[str, ...]) -> None:
    assert enough(replaced(REQUEST, scopes=scopes)) == ("read", "write")


@pytest.mark.parametrize(
    "change",
    [
        {"scopes": ("read", "admin")},
        {"caller": "user:bob"},
        {"server": "other"},
        {"url": "https://up.example/other"},
        {"resource": "https://up.example"},
        {"issuer": replaced(ISSUER, issuer="https://evil.example")},
        {"client": "chat"},  # it has the grant, and asks because that does not suffice
    ],
    ids=lambda change: " ".join(change),
)
def test_a_grant_for_less_or_for_another_is_not_enough(change: dict[str, Any]) -> None:
    assert enough(replaced(REQUEST, **change)) is None


def test_a_grant_without_a_client_is_enough_for_none() -> None:
    assert enough(REQUEST, forgotten=True) is None
