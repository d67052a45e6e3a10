"""Several issuers for one server, with real authorization servers: each speaks for its own callers and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from support.issuing.calling import RESOURCE, call, guarded, who
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint
from tooltrue import AuthorizationServer, ConfigurationError, Introspection, OAuth

ASKS = Introspection("tools", "secret")


def both(issuer: Issuing, other: Issuing, **settings: Any) -> OAuth:
    return OAuth(issuer=[issuer.url, other.url], resource=RESOURCE, **settings)


def asking(issuer: Issuing, other: Issuing, asks: Introspection = ASKS) -> OAuth:
    """Accept tokens of two issuers; those of the first may be opaque, because it has introspection."""
    return OAuth(issuer=[AuthorizationServer(issuer.url, introspection=asks), other.url], resource=RESOURCE)


@pytest.mark.requirement("AUTHS-04")
def test_the_metadata_names_all_issuers(mounts: Mounts, issuer: Issuing, other: Issuing) -> None:
    with mounts.mounted(guarded(both(issuer, other)).http_app()) as path:
        place = path.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp"
        answer = asyncio.run(Endpoint(mounts.port, place).ask("GET"))
    assert answer.json["authorization_servers"] == [issuer.url, other.url]


def test_b39_twin_tokens_of_each_issuer_let_in_and_the_same_name_is_two_callers(
    mounts: Mounts, issuer: Issuing, other: Issuing
) -> None:
    made = guarded(both(issuer, other))
    assert who(call(mounts, made, issuer.for_ada(RESOURCE))) == [f"{issuer.url}#ada", "read"]
    assert who(call(mounts, made, other.for_ada(RESOURCE))) == [f"{other.url}#ada", "read"]


MIXED: dict[str, Callable[[Issuing, Issuing], str]] = {
    "signed by one in the name of the other": lambda one, two: two.signed(iss=one.url, aud=RESOURCE),
    "and with the name of its key": lambda one, two: two.signed({"kid": one.keys[0].kid}, iss=one.url, aud=RESOURCE),
    "with the key of the other": lambda one, two: one.signed({"kid": two.keys[0].kid}, two.keys[0], aud=RESOURCE),
    "for a server that both know": lambda one, two: two.signed(aud="https://other.example/mcp"),
    "for the other issuer": lambda one, two: two.signed(aud=one.url),
    "of no issuer": lambda one, two: two.signed(iss=None, aud=RESOURCE),
    "of two issuers": lambda one, two: two.signed(iss=[one.url, two.url], aud=RESOURCE),
    "of an issuer that is spelled nearly so": lambda one, two: two.signed(iss=f"{two.url}/", aud=RESOURCE),
}


@pytest.mark.parametrize("how", MIXED)
def test_b39_no_issuer_speaks_for_another(mounts: Mounts, issuer: Issuing, other: Issuing, how: str) -> None:
    made = guarded(both(issuer, other))
    assert call(mounts, made, issuer.signed(aud=RESOURCE)).status == 200  # their keys are known
    assert call(mounts, made, other.signed(aud=RESOURCE)).status == 200
    answer = call(mounts, made, MIXED[how](issuer, other))
    assert (answer.status, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (401, True)


def test_b39_for_a_token_of_a_stranger_no_issuer_is_troubled(mounts: Mounts, issuer: Issuing, other: Issuing) -> None:
    token = issuer.signed(iss="https://stranger.example", aud=RESOURCE)
    assert call(mounts, guarded(asking(issuer, other)), token).status == 401
    assert (issuer.asked, other.asked) == ({}, {})


def test_b38_a_token_that_says_nothing_is_shown_to_the_issuer_it_may_be_of_and_to_no_other(
    mounts: Mounts, issuer: Issuing, other: Issuing
) -> None:
    made = guarded(asking(issuer, other))
    assert who(call(mounts, made, issuer.for_itself(RESOURCE, client="opaque"))) == [f"{issuer.url}#opaque", "read"]
    assert call(mounts, made, other.for_itself(RESOURCE, client="opaque")).status == 401
    assert "/introspect" not in other.asked


def test_b39_a_claim_of_one_issuer_in_the_name_of_another_is_rejected(
    mounts: Mounts, issuer: Issuing, other: Issuing
) -> None:
    token = issuer.for_itself(RESOURCE, client="opaque")
    issuer.tokens[token].claims["iss"] = other.url
    assert call(mounts, guarded(asking(issuer, other)), token).status == 401


def test_signed_tokens_are_asked_about_at_the_issuer_that_wants_it(
    mounts: Mounts, issuer: Issuing, other: Issuing
) -> None:
    made = guarded(asking(issuer, other, Introspection("tools", "secret", always=True)))
    token = issuer.for_ada(RESOURCE)
    issuer.tokens[token].revoked = True
    assert call(mounts, made, token).status == 401
    token = other.for_ada(RESOURCE)
    other.tokens[token].revoked = True
    assert call(mounts, made, token).status == 200
    assert "/introspect" not in other.asked


def test_while_one_issuer_is_gone_the_callers_of_the_other_come_in(
    mounts: Mounts, issuer: Issuing, other: Issuing
) -> None:
    issuer.up = False
    made = guarded(both(issuer, other))
    assert call(mounts, made, issuer.signed(aud=RESOURCE)).status == 503
    assert call(mounts, made, other.signed(aud=RESOURCE)).status == 200


A, B = "https://a.example", "https://b.example"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"issuer": []}, "TT4009"),
        ({"issuer": [A, A]}, "TT4009"),
        ({"issuer": [A, "http://b.example"]}, "TT4009"),
        ({"issuer": [A, B], "jwks_uri": f"{A}/keys"}, "TT4009"),
        ({"issuer": [A, B], "introspection": ASKS}, "TT4009"),
        ({"issuer": [AuthorizationServer(one, introspection=ASKS) for one in (A, B)]}, "TT1061"),
    ],
)
def test_an_ambiguous_setting_with_several_issuers_is_refused(settings: Any, code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OAuth(resource=RESOURCE, **settings)
    assert caught.value.code == code
