"""OAuth over HTTP with a real authorization server: accepted tokens, principals, and the challenges for others."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.issuing.calling import RESOURCE, call, called, guarded, oauth, who
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint, Headers, in_session
from tooltrue import ConfigurationError, Context, Introspection, OAuth, Server

METADATA = "https://tools.example/.well-known/oauth-protected-resource/mcp"
ASKS = Introspection("tools", "secret")


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self._begun = time.time()
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._begun + self.ahead


def bearer(token: str) -> Headers:
    return [("Authorization", f"Bearer {token}")]


def statuses(mounts: Mounts, way: OAuth, *steps: str | Callable[[], object]) -> list[int]:
    """The status of a call with each token; a callable among the steps runs between the calls."""

    async def scenario(endpoint: Endpoint) -> list[int]:
        found: list[int] = []
        for step in steps:
            if isinstance(step, str):
                found.append((await called(endpoint, bearer(step))).status)
            else:
                step()
        return found

    with mounts.mounted(guarded(way).http_app()) as path:
        return asyncio.run(scenario(Endpoint(mounts.port, path)))


# --- accepted tokens --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("AUTHS-01", "AUTHS-08")
def test_a_token_that_a_person_got_by_code_and_pkce_lets_in(mounts: Mounts, issuer: Issuing) -> None:
    token = issuer.for_ada(RESOURCE, "read write")
    assert who(call(mounts, guarded(oauth(issuer)), token)) == [f"{issuer.url}#ada", "read", "write"]


def test_a_token_that_a_client_got_for_itself_lets_in(mounts: Mounts, issuer: Issuing) -> None:
    assert who(call(mounts, guarded(oauth(issuer)), issuer.for_itself(RESOURCE))) == [f"{issuer.url}#agent", "read"]


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(mounts: Mounts, issuer: Issuing, scheme: str) -> None:
    headers = [("Authorization", f"{scheme} {issuer.signed(aud=RESOURCE)}")]
    assert call(mounts, guarded(oauth(issuer)), headers=headers).status == 200


@pytest.mark.requirement("AUTHS-26")
def test_each_request_is_authenticated_for_itself(mounts: Mounts, issuer: Issuing) -> None:
    async def scenario(endpoint: Endpoint) -> list[int]:
        token = bearer(issuer.signed(aud=RESOURCE))
        session = in_session(await endpoint.initialize(headers=token))
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        return [(await endpoint.post(ping, headers)).status for headers in ((*session, *token), session)]

    with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [200, 401]


# --- challenges -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("AUTHS-05", "AUTHS-06", "AUTHS-07", "AUTHS-10", "AUTHS-16", "LCLI-15")
def test_a_caller_without_a_token_is_told_the_metadata_url_and_the_scopes(mounts: Mounts, issuer: Issuing) -> None:
    answer = call(mounts, guarded(oauth(issuer, scopes=["read", "list"])))
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}", scope="list read"'


@pytest.mark.requirement("AUTHS-03", "AUTHS-04", "AUTHS-05", "AUTHS-22")
@pytest.mark.parametrize("form", ["", "/mcp"])
def test_the_metadata_names_the_authorization_servers_of_this_resource(
    mounts: Mounts, issuer: Issuing, form: str
) -> None:
    made = guarded(oauth(issuer, scopes=["read"], optional_scopes=["write"]))
    with mounts.mounted(made.http_app()) as path:
        place = path.removesuffix("/mcp") + "/.well-known/oauth-protected-resource" + form
        answer = asyncio.run(Endpoint(mounts.port, place).ask("GET"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {
        "resource": RESOURCE,
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["read", "write"],
    }


@pytest.mark.requirement("AUTHS-10", "AUTHS-16", "AUTHS-17", "AUTHS-18", "AUTHS-19", "AUTHS-20", "AUTHS-22")
@pytest.mark.parametrize("era", ["modern", "legacy", "in a session"])
def test_all_scopes_that_a_call_needs_are_in_one_challenge(mounts: Mounts, issuer: Issuing, era: str) -> None:
    token = bearer(issuer.for_ada(RESOURCE))

    async def scenario(endpoint: Endpoint) -> Answer:
        if era == "modern":
            return await called(endpoint, token, "publish")
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "publish", "arguments": {}}}
        session = in_session(await endpoint.initialize(headers=token)) if era == "in a session" else ()
        return await endpoint.post(message, (*session, *token))

    with mounts.mounted(guarded(oauth(issuer, scopes=["read"])).http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    challenge = answer.headers["www-authenticate"]
    assert answer.status == 403
    assert challenge.startswith(f'Bearer resource_metadata="{METADATA}", scope="publish read write", ')
    assert 'error="insufficient_scope"' in challenge
    assert (answer.json["id"], answer.code) == (1, -32602)


@pytest.mark.requirement("AUTHS-10", "AUTHS-17")
def test_a_token_without_the_scopes_that_all_need_is_a_challenge(mounts: Mounts, issuer: Issuing) -> None:
    answer = call(mounts, guarded(oauth(issuer, scopes=["admin"])), issuer.for_ada(RESOURCE, "read"))
    assert answer.status == 403
    assert 'scope="admin", error="insufficient_scope"' in answer.headers["www-authenticate"]


@pytest.mark.requirement("AUTHS-21")
def test_a_scope_that_includes_others_counts_for_them(mounts: Mounts, issuer: Issuing) -> None:
    includes = {"admin": ["write"], "write": ["read", "admin"]}
    made = guarded(oauth(issuer, scopes=["read"], includes=includes))
    assert who(call(mounts, made, issuer.for_ada(RESOURCE, "admin"))) == [f"{issuer.url}#ada", "admin", "read", "write"]


@pytest.mark.parametrize("scopes", ["read write", ["read", "write"]])
def test_scopes_are_found_where_issuers_put_them(mounts: Mounts, issuer: Issuing, scopes: Any) -> None:
    token = issuer.signed(aud=RESOURCE, scope=None, scp=scopes)
    assert who(call(mounts, guarded(oauth(issuer)), token))[1:] == ["read", "write"]


# --- keys that change, and an issuer that is gone ---------------------------------------------------------------------


def test_new_keys_are_fetched_when_they_are_used_first_and_not_often(mounts: Mounts, issuer: Issuing) -> None:
    clock = Clock()
    old = issuer.signed(aud=RESOURCE)
    issuer_keys = issuer.keys

    def later() -> None:
        clock.ahead += 31

    strangers = [issuer.signed({"kid": str(number)}, aud=RESOURCE) for number in range(20)]
    way = oauth(issuer, clock=clock)
    assert statuses(mounts, way, old, *strangers) == [200, *[401] * 20]
    assert issuer.asked["/jwks"] == 1
    issuer.rotate()
    new = issuer.signed(aud=RESOURCE)
    assert statuses(mounts, way, new) == [401]
    later()
    assert statuses(mounts, way, new, issuer.signed(key=issuer_keys[0], aud=RESOURCE, jti="x")) == [200, 401]
    assert issuer.asked["/jwks"] == 2


def test_a_key_that_was_taken_away_is_gone_within_minutes(mounts: Mounts, issuer: Issuing) -> None:
    clock = Clock()
    way, kept = oauth(issuer, clock=clock), issuer.keys[0]

    def rotate() -> None:
        issuer.rotate()
        clock.ahead += 301

    def token() -> str:
        return issuer.signed(key=kept, aud=RESOURCE, exp=int(time.time()) + 9_000, jti=str(clock.ahead))

    assert statuses(mounts, way, token()) == [200]
    rotate()
    assert statuses(mounts, way, token()) == [401]


def test_cached_keys_of_an_unreachable_issuer_expire_after_an_hour_and_callers_are_rejected(
    mounts: Mounts, issuer: Issuing
) -> None:
    clock = Clock()
    way = oauth(issuer, clock=clock)

    def token() -> str:
        return issuer.signed(aud=RESOURCE, exp=int(time.time()) + 9_000, jti=str(clock.ahead))

    assert statuses(mounts, way, token()) == [200]
    issuer.up = False
    clock.ahead = 3_500
    assert statuses(mounts, way, token()) == [200]
    clock.ahead = 3_700
    assert statuses(mounts, way, token()) == [503]
    issuer.up = True
    clock.ahead += 31
    assert statuses(mounts, way, token()) == [200]


def test_an_issuer_that_was_never_reached_gives_503_and_does_not_blame_the_token(
    mounts: Mounts, issuer: Issuing
) -> None:
    issuer.up = False
    answer = call(mounts, guarded(oauth(issuer)), issuer.signed(aud=RESOURCE))
    assert (answer.status, "[TT1104]" in answer.json["error"]["message"]) == (503, True)


def test_many_at_once_fetch_the_keys_once(mounts: Mounts, issuer: Issuing) -> None:
    tokens = [issuer.signed(aud=RESOURCE, jti=str(number)) for number in range(20)]

    async def scenario(endpoint: Endpoint) -> set[int]:
        answers = await asyncio.gather(*(called(endpoint, bearer(token)) for token in tokens))
        return {answer.status for answer in answers}

    with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == {200}
    assert issuer.asked == {"/.well-known/oauth-authorization-server": 1, "/jwks": 1}


def test_a_set_of_keys_may_have_some_that_are_none_of_ours(mounts: Mounts, issuer: Issuing) -> None:
    good = issuer.jwks()["keys"]
    secret = {"kty": "oct", "kid": "s", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"}
    odd = [secret, {"kty": "new"}, {"kty": "RSA", "n": "AQ", "e": "AQAB", "kid": "short"}, 7, {"use": "enc", **good[0]}]
    issuer.published = {"keys": [*odd, *good]}
    assert call(mounts, guarded(oauth(issuer)), issuer.signed(aud=RESOURCE)).status == 200
    assert call(mounts, guarded(oauth(issuer)), issuer.signed({"kid": "s"}, aud=RESOURCE)).status == 401


# --- opaque tokens ----------------------------------------------------------------------------------------------------


def test_a_token_that_says_nothing_is_asked_about_once_a_minute(mounts: Mounts, issuer: Issuing) -> None:
    clock = Clock()
    token = issuer.for_itself(RESOURCE, "read", client="opaque")
    way = oauth(issuer, introspection=ASKS, clock=clock)

    def revoke() -> None:
        issuer.tokens[token].revoked = True

    def minute() -> None:
        clock.ahead += 61

    assert statuses(mounts, way, token, token, revoke, token) == [200, 200, 200]
    assert issuer.asked["/introspect"] == 1
    assert statuses(mounts, way, minute, token, token) == [401, 401]
    assert issuer.asked["/introspect"] == 2


@pytest.mark.requirement("AUTHS-09", "AUTHS-14")
@pytest.mark.parametrize(
    "claims",
    [{"aud": "https://other.example/mcp"}, {"aud": ""}, {"iss": "https://evil.example"}, {"exp": 1}, {"sub": 7}],
)
def test_a_token_with_wrong_introspection_claims_is_rejected(mounts: Mounts, issuer: Issuing, claims: Any) -> None:
    token = issuer.for_itself(RESOURCE, client="opaque")
    issuer.tokens[token].claims.update(claims)
    assert call(mounts, guarded(oauth(issuer, introspection=ASKS)), token).status == 401


def test_without_introspection_a_token_that_says_nothing_is_nobodys(mounts: Mounts, issuer: Issuing) -> None:
    assert call(mounts, guarded(oauth(issuer)), issuer.for_itself(RESOURCE, client="opaque")).status == 401


def test_a_client_that_has_no_subject_is_never_taken_for_a_person(mounts: Mounts, issuer: Issuing) -> None:
    token = issuer.for_itself(RESOURCE, client="opaque")
    del issuer.tokens[token].claims["sub"]
    issuer.tokens[token].claims["client_id"] = "ada"
    answer = call(mounts, guarded(oauth(issuer, introspection=ASKS)), token)
    assert who(answer) == [f"{issuer.url}?client=ada", "read"]


@pytest.mark.parametrize(
    ("claims", "client"),
    [
        ({"client_id": "chat", "azp": "other"}, "chat"),
        ({"azp": "chat"}, "chat"),
        ({"appid": "chat"}, "chat"),
        ({"cid": "chat"}, "chat"),
        ({"client_id": 7, "azp": "chat"}, "chat"),
        ({"client_id": ["chat"]}, ""),
        ({"client_id": ""}, ""),
        ({}, ""),
    ],
)
def test_a_principal_has_the_client_that_its_token_names(
    mounts: Mounts, issuer: Issuing, claims: dict[str, Any], client: str
) -> None:
    made = Server("clients", authenticate=oauth(issuer))

    @made.tool(name="who")
    async def client_of(context: Context) -> list[str]:
        """Return the client of the caller."""
        return [context.principal.client]

    assert who(call(mounts, made, issuer.signed(aud=RESOURCE, **claims))) == [client]


def test_callers_are_rejected_while_introspection_at_the_issuer_fails(mounts: Mounts, issuer: Issuing) -> None:
    token = issuer.for_itself(RESOURCE, client="opaque")
    wrong = Introspection("tools", "wrong")
    assert call(mounts, guarded(oauth(issuer, introspection=wrong)), token).status == 503
    issuer.up = False
    assert call(mounts, guarded(oauth(issuer, introspection=ASKS)), token).status == 503


def test_a_signed_token_can_be_asked_about_too(mounts: Mounts, issuer: Issuing) -> None:
    token = issuer.for_ada(RESOURCE)
    always = Introspection("tools", "secret", always=True)
    assert call(mounts, guarded(oauth(issuer, introspection=always)), token).status == 200
    issuer.tokens[token].revoked = True
    assert call(mounts, guarded(oauth(issuer, introspection=always)), token).status == 401
    assert call(mounts, guarded(oauth(issuer)), token).status == 200


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("AUTHS-24")
@pytest.mark.parametrize(
    "settings",
    [
        {"issuer": "http://issuer.example"},
        {"issuer": "https://issuer.example/?tenant=1"},
        {"issuer": "https://user@issuer.example/"},
        {"issuer": "issuer.example"},
        {"resource": "http://tools.example/mcp"},
        {"resource": "https://tools.example/mcp#here"},
        {"jwks_uri": "file:///etc/keys"},
        {"algorithms": ["none"]},
        {"algorithms": ["RS256", "HS256"]},
        {"leeway": 61},
        {"leeway": -1},
        {"scopes": ["two words"]},
        {"scopes": ['quo"ted']},
        {"scopes": ["offline_access"]},
        {"optional_scopes": [""]},
    ],
)
def test_a_setting_that_would_weaken_it_is_refused_at_once(settings: dict[str, Any]) -> None:
    usual = {"issuer": "https://issuer.example", "resource": RESOURCE}
    with pytest.raises(ConfigurationError) as caught:
        OAuth(**{**usual, **settings})
    assert caught.value.code == "TT4009"


def test_no_representation_of_the_settings_shows_the_secret() -> None:
    made = OAuth(issuer="https://issuer.example", resource=RESOURCE, introspection=Introspection("me", "hunter2"))
    assert "hunter2" not in f"{made!r} {Introspection('me', 'hunter2')!r} {json.dumps(dict(made.parameters))}"
