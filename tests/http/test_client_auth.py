"""A client that authenticates at a real authorization server: its requests, its registrations and its stored tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.clock import skip
from support.issuing.impostor import Impostor
from support.issuing.server import Issuing
from support.issuing.visiting import Clock, registering, serving, signing_in, who_is
from support.wire.mounting import Mounts
from tooltrue import (
    AuthorizationFailed,
    Client,
    ClientCredentials,
    ConfigurationError,
    EnterpriseSignIn,
    SignIn,
    TransportError,
    WorkloadIdentity,
)
from tooltrue.client.auth.authorization import tokens_key
from tooltrue.client.auth.credentials import InMemory
from tooltrue.client.auth.tokens import Tokens, from_json, to_json
from tooltrue.protocol.types import replaced
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_client import HttpStatus


def visit(url: str, auth: Any, *tools: str) -> list[Any]:
    """The values of the tools, called in order on one connection."""

    async def scenario() -> list[Any]:
        async with Client(url, auth=auth) as client:
            return [(await client.call_tool(tool)).value for tool in tools or ("who",)]

    return asyncio.run(scenario())


def spoil(credentials: InMemory, url: str, **changes: Any) -> None:
    """Change the tokens that are kept for a server."""

    async def scenario() -> None:
        tokens = from_json(await credentials.read(tokens_key(url)), Tokens)
        assert tokens is not None
        await credentials.write(tokens_key(url), to_json(replaced(tokens, **changes)))

    asyncio.run(scenario())


def refused(code: str, url: str, auth: Any, *tools: str) -> str:
    """The message of a failed authorization, whose error has the given code."""
    with pytest.raises(AuthorizationFailed) as found:
        visit(url, auth, *tools)
    assert found.value.code == code, found.value
    return str(found.value)


# --- a person ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("AUTHC-01", "AUTHC-03", "AUTHC-04", "AUTHC-10", "AUTHC-28")
def test_a_consenting_person_is_authenticated_at_the_server(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        assert visit(url, signing_in(issuer)) == [[f"{issuer.url}#ada"]]


@pytest.mark.requirement("AUTHC-24", "AUTHC-25", "AUTHC-26", "AUTHC-41", "AUTHC-42", "AUTHC-45", "AUTHC-46")
def test_a_token_request_names_this_server_and_carries_a_pkce_proof(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer))
    [asked], [redeemed] = issuer.sent("/authorize"), issuer.sent("/token")
    assert asked["resource"] == redeemed["resource"] == url
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) > 40
    assert len(redeemed["code_verifier"]) > 43
    assert asked["redirect_uri"] == redeemed["redirect_uri"]
    assert urlsplit(asked["redirect_uri"]).hostname == "127.0.0.1"


@pytest.mark.requirement("AUTHC-16", "AUTHC-17", "AUTHC-44", "AUTHC-48")
def test_an_unregistered_client_registers_with_its_own_metadata(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer, name="cooking"))
    [asked], [redirect_uri] = issuer.sent("/register"), [said["redirect_uri"] for said in issuer.sent("/authorize")]
    assert asked == {
        "client_name": "cooking",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }


@pytest.mark.requirement("AUTHC-18")
def test_an_issuer_that_knows_loopback_by_name_only_is_told_the_name(mounts: Mounts, issuer: Issuing) -> None:
    issuer.takes = "http://localhost"
    with serving(mounts, registering(issuer)) as url:
        assert visit(url, signing_in(issuer)) == [[f"{issuer.url}#ada"]]
    assert urlsplit(issuer.sent("/authorize")[0]["redirect_uri"]).hostname == "localhost"


@pytest.mark.requirement("AUTHC-19")
def test_a_refused_registration_reports_the_reason_and_the_remedy(mounts: Mounts, issuer: Issuing) -> None:
    issuer.takes = "https://"
    with serving(mounts, registering(issuer)) as url:
        said = refused("TT5106", url, signing_in(issuer))
    assert "invalid_redirect_uri" in said
    assert "client_id" in said


@pytest.mark.requirement("AUTHC-11", "AUTHC-15")
def test_an_id_that_was_agreed_upon_is_used_and_nothing_is_registered(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        auth = signing_in(issuer, client_id=issuer.desk(), issuer=issuer.url)
        assert visit(url, auth) == [[f"{issuer.url}#ada"]]
    assert [said["client_id"] for said in issuer.sent("/authorize")] == ["desk"]
    assert issuer.sent("/register") == []


def test_a_redirect_that_is_taken_is_said(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, issuer) as url:
        refused(
            "TT5114", url, signing_in(issuer, client_id="app", redirect_uri=f"http://127.0.0.1:{mounts.port}/callback")
        )


def test_an_exception_of_the_browser_opener_is_raised_unchanged(mounts: Mounts, issuer: Issuing) -> None:
    def broken(page: str) -> None:
        raise ZeroDivisionError("no browser")

    with serving(mounts, registering(issuer)) as url, pytest.raises(ZeroDivisionError, match="no browser"):
        visit(url, SignIn(broken, credentials=InMemory()))


@pytest.mark.requirement("AUTHC-11", "AUTHC-12", "AUTHC-14")
def test_a_document_about_the_client_comes_before_a_registration(mounts: Mounts, issuer: Issuing) -> None:
    about = "https://client.example/about.json"
    issuer.changes["client_id_metadata_document_supported"] = True

    async def wait_in_vain(page: str) -> None:
        await asyncio.to_thread(issuer.agree, page)
        skip(LIMIT)  # this issuer cannot fetch the document, and never redirects back

    with serving(mounts, registering(issuer)) as url:
        refused("TT5105", url, SignIn(wait_in_vain, credentials=InMemory(), metadata_url=about, timeout=LIMIT))
    assert [said["client_id"] for said in issuer.sent("/authorize")] == [about]
    assert issuer.sent("/register") == []


@pytest.mark.requirement("AUTHC-13", "AUTHC-45")
def test_a_document_about_the_client_says_where_it_is_and_where_it_comes_back_to() -> None:
    about = "https://client.example/about.json"
    said = SignIn(metadata_url=about, name="Cooking").document()
    assert (said["client_id"], said["client_name"]) == (about, "Cooking")
    assert said["redirect_uris"] == ["http://127.0.0.1/callback"]


@pytest.mark.requirement("AUTHC-14")
def test_a_metadata_url_is_used_only_with_an_issuer_that_supports_it(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer, metadata_url="https://client.example/about.json"))
    assert len(issuer.sent("/register")) == 1


@pytest.mark.requirement("AUTHC-23")
def test_an_id_is_not_shown_to_another_issuer(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, issuer) as url:
        said = refused("TT5109", url, signing_in(issuer, client_id="app", issuer="https://other.example"))
    assert "https://other.example" in said
    assert issuer.sent("/authorize") == issuer.sent("/token") == []


def test_without_a_browser_it_is_said_how_to_sign_in(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        assert f"tooltrue login {url}" in refused("TT5101", url, SignIn(credentials=InMemory()))
    assert issuer.sent("/register") == []


def test_a_sign_in_past_its_timeout_is_reported(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, registering(issuer)) as url:
        refused("TT5105", url, SignIn(lambda page: None, credentials=InMemory(), timeout=0.05))


def test_the_time_that_a_person_takes_counts_for_no_limit(mounts: Mounts, issuer: Issuing) -> None:
    async def agree_at_leisure(page: str) -> None:
        skip(31.0)  # longer than a request may take
        await asyncio.to_thread(issuer.agree, page)

    async def scenario(url: str) -> Any:
        auth = SignIn(agree_at_leisure, credentials=InMemory())
        async with Client(url, auth=auth, timeout=30.0) as client:
            return (await client.call_tool("who")).value

    with serving(mounts, registering(issuer)) as url:
        assert asyncio.run(scenario(url)) == [f"{issuer.url}#ada"]


def test_many_calls_at_once_ask_the_person_once(mounts: Mounts, issuer: Issuing) -> None:
    async def scenario(url: str) -> list[Any]:
        async with Client(url, auth=signing_in(issuer)) as client:
            calls = [client.call_tool("save") for _ in range(5)]
            return [result.value for result in await asyncio.gather(*calls)]

    with serving(mounts, registering(issuer), scopes=["read"]) as url:
        assert asyncio.run(scenario(url)) == ["saved"] * 5
    assert issuer.asked["/authorize"] == 2  # to come in, and to write


# --- stored tokens ----------------------------------------------------------------------------------------------------


def test_a_signed_in_client_is_not_asked_again(mounts: Mounts, issuer: Issuing) -> None:
    credentials = InMemory()
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer, credentials))
        assert visit(url, SignIn(credentials=credentials)) == [[f"{issuer.url}#ada"]]
    assert (issuer.asked["/authorize"], issuer.asked["/register"]) == (1, 1)


@pytest.mark.requirement("AUTHC-47")
def test_a_token_that_is_about_to_end_is_refreshed_and_each_refresh_token_is_used_once(
    mounts: Mounts, issuer: Issuing
) -> None:
    clock, credentials = Clock(), InMemory()
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer, credentials, clock=clock))
        for _ in range(3):
            clock.ahead += 1_000_000
            assert visit(url, SignIn(credentials=credentials, clock=clock)) == [[f"{issuer.url}#ada"]]
    sent = [said for said in issuer.sent("/token") if said["grant_type"] == "refresh_token"]
    assert len({said["refresh_token"] for said in sent}) == len(sent) == 3
    assert {said["resource"] for said in sent} == {url}
    assert issuer.asked["/authorize"] == 1


def test_two_clients_that_refresh_at_once_use_a_refresh_token_once(mounts: Mounts, issuer: Issuing) -> None:
    clock, credentials = Clock(), InMemory()

    async def scenario(url: str) -> list[Any]:
        await who_is(url, signing_in(issuer, credentials, clock=clock))
        clock.ahead += 1_000_000
        auth = SignIn(credentials=credentials, clock=clock)
        return list(await asyncio.gather(*(who_is(url, auth) for _ in range(3))))

    with serving(mounts, registering(issuer)) as url:
        assert asyncio.run(scenario(url)) == [[f"{issuer.url}#ada"]] * 3
    assert len([said for said in issuer.sent("/token") if said["grant_type"] == "refresh_token"]) == 1


def test_cancelling_a_token_refresh_loses_neither_the_old_token_nor_the_new(mounts: Mounts, issuer: Issuing) -> None:
    clock, credentials = Clock(), InMemory()

    async def scenario(url: str) -> list[Any]:
        await who_is(url, signing_in(issuer, credentials, clock=clock))
        clock.ahead += 1_000_000
        refreshing = asyncio.ensure_future(SignIn(credentials=credentials, clock=clock).for_server(url).headers("POST"))
        loop = asyncio.get_running_loop()

        async def give_up() -> None:
            refreshing.cancel()

        def took() -> None:
            for _ in range(2):
                asyncio.run_coroutine_threadsafe(give_up(), loop).result(LIMIT)

        issuer.took = took
        with pytest.raises(asyncio.CancelledError):
            await refreshing
        issuer.took = None
        kept = from_json(await credentials.read(tokens_key(url)), Tokens)
        assert kept is not None
        assert kept.refresh in issuer.refresh
        clock.ahead += 1_000_000
        return await who_is(url, SignIn(credentials=credentials, clock=clock))

    with serving(mounts, registering(issuer)) as url:
        assert asyncio.run(scenario(url)) == [f"{issuer.url}#ada"]
    assert issuer.asked["/authorize"] == 1


@pytest.mark.requirement("AUTHC-49")
def test_where_there_is_nothing_to_refresh_with_the_person_is_asked_again(mounts: Mounts, issuer: Issuing) -> None:
    credentials = InMemory()
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer, credentials))
        spoil(credentials, url, access="ended", refresh=None)
        assert visit(url, signing_in(issuer, credentials)) == [[f"{issuer.url}#ada"]]
    assert issuer.asked["/authorize"] == 2


def test_a_refused_token_is_refreshed_before_anybody_is_asked(mounts: Mounts, issuer: Issuing) -> None:
    credentials = InMemory()
    with serving(mounts, registering(issuer)) as url:
        visit(url, signing_in(issuer, credentials))
        spoil(credentials, url, access="ended")
        assert visit(url, SignIn(credentials=credentials)) == [[f"{issuer.url}#ada"]]
    assert issuer.asked["/authorize"] == 1


@pytest.mark.requirement("AUTHC-08", "AUTHC-30")
def test_a_token_stored_for_one_server_is_sent_to_no_other(mounts: Mounts, issuer: Issuing) -> None:
    credentials = InMemory()
    with serving(mounts, registering(issuer)) as one, serving(mounts, issuer) as other:
        auth = signing_in(issuer, credentials)
        visit(one, auth)
        visit(other, auth)
    assert [said["resource"] for said in issuer.sent("/authorize")] == [one, other]
    assert issuer.asked["/register"] == 1  # the issuer is the same, and knows us


# --- scopes -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("AUTHC-34")
@pytest.mark.parametrize(
    ("oauth", "asked"),
    [
        ({"scopes": ["read"], "optional_scopes": ["write"]}, "read"),
        ({"optional_scopes": ["read", "write"]}, "read write"),
        ({}, None),
    ],
    ids=["the challenge", "the metadata", "nothing"],
)
def test_scopes_are_those_of_the_challenge_or_else_of_the_metadata(
    mounts: Mounts, issuer: Issuing, oauth: Any, asked: str | None
) -> None:
    with serving(mounts, registering(issuer), **oauth) as url:
        visit(url, signing_in(issuer))
    assert issuer.sent("/authorize")[0].get("scope") == asked


@pytest.mark.requirement("AUTHC-31", "AUTHC-32", "AUTHC-33", "AUTHC-35")
def test_a_call_that_needs_more_scopes_requests_them_together_with_the_granted_ones(
    mounts: Mounts, issuer: Issuing
) -> None:
    with serving(mounts, registering(issuer), scopes=["read"]) as url:
        assert visit(url, signing_in(issuer), "who", "save", "save")[1:] == ["saved", "saved"]
    assert [set(said["scope"].split()) for said in issuer.sent("/authorize")] == [{"read"}, {"read", "write"}]


@pytest.mark.requirement("AUTHC-36")
def test_scopes_that_did_not_come_are_not_asked_for_again(mounts: Mounts, issuer: Issuing) -> None:
    async def scenario(url: str) -> list[str]:
        codes: list[str] = []
        async with Client(url, auth=signing_in(issuer)) as client:
            for _ in range(2):
                with pytest.raises(AuthorizationFailed) as found:
                    await client.call_tool("wipe")
                codes.append(found.value.code)
        return codes

    with serving(mounts, registering(issuer), scopes=["read"]) as url:
        issuer.withheld = {"admin"}
        assert asyncio.run(scenario(url)) == ["TT5107", "TT5107"]
    assert issuer.asked["/authorize"] == 2


def test_more_time_than_a_session_is_asked_for_where_that_can_be_had(mounts: Mounts, issuer: Issuing) -> None:
    issuer.changes["scopes_supported"] = ["read", "offline_access"]
    with serving(mounts, registering(issuer), scopes=["read"]) as url:
        visit(url, signing_in(issuer))
    [asked] = issuer.sent("/authorize")
    assert (asked["scope"], asked["prompt"]) == ("read offline_access", "consent")


# --- where it is looked for -------------------------------------------------------------------------------------------


def looked(mounts: Mounts, *lacks: str) -> list[str]:
    """The paths that a client asks for at a server, whose own path stands as ``/…``, after it was refused once."""
    made = Impostor(challenge="Bearer", lacks=lacks)
    with mounts.mounted_at(made.application) as url:
        with pytest.raises(TransportError):
            visit(url, SignIn(made.agree, credentials=InMemory(), timeout=LIMIT))
        root = urlsplit(url).path.removesuffix("/mcp")
        return [path.replace(root, "/…", 1) for path in made.places() if not path.endswith("/mcp") or "well" in path]


RESOURCE, ISSUER = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"


@pytest.mark.requirement("AUTHC-04", "AUTHC-05")
def test_metadata_is_looked_for_at_the_path_and_then_at_the_root(mounts: Mounts) -> None:
    assert looked(mounts)[:2] == [f"{RESOURCE}/…/mcp", f"{ISSUER}/…"]


@pytest.mark.requirement("AUTHC-02", "AUTHC-05")
def test_an_issuer_with_a_path_has_three_places(mounts: Mounts) -> None:
    places = looked(mounts, "oauth-authorization-server", "/.well-known/openid-configuration/")
    # The issuer's server receives a request below its own path without that prefix.
    assert places[1:4] == [f"{ISSUER}/…", "/.well-known/openid-configuration/…", "/.well-known/openid-configuration"]
    assert places[4:7] == ["/register", "/…/authorize", "/token"]


@pytest.mark.requirement("LCLI-14")
@pytest.mark.parametrize("speaks", [True, False], ids=["metadata at the root", "endpoints by their names"])
def test_a_server_that_says_nothing_of_itself_is_its_own_issuer(issuer: Issuing, speaks: bool) -> None:
    registering(issuer).speaks = speaks
    with pytest.raises(HttpStatus, match="501"):  # authorized, but no MCP endpoint answers
        visit(f"{issuer.url}/mcp", signing_in(issuer))
    metadata = [ISSUER] if speaks else [ISSUER, "/.well-known/openid-configuration"]
    asked = [path for path in dict.fromkeys(path for path, _ in issuer.said) if path != "/mcp"]
    assert asked == [f"{RESOURCE}/mcp", RESOURCE, *metadata, "/register", "/authorize", "/token"]


# --- clients without a user -------------------------------------------------------------------------------------------


def by_secret(issuer: Issuing) -> ClientCredentials:
    return ClientCredentials("agent", "secret", issuer=issuer.url)


def by_key(issuer: Issuing) -> ClientCredentials:
    return ClientCredentials("robot", private_key=issuer.robot(), issuer=issuer.url)


@pytest.mark.parametrize("make", [by_secret, by_key])
def test_a_program_is_known_by_a_secret_or_by_a_key(
    mounts: Mounts, issuer: Issuing, make: Callable[[Issuing], ClientCredentials]
) -> None:
    with serving(mounts, issuer, scopes=["read"]) as url:
        [said] = visit(url, make(issuer))
    assert said[1:] == ["read"]
    assert issuer.sent("/token")[0]["resource"] == url
    assert issuer.asked.get("/authorize", 0) == 0


def test_a_secret_that_is_wrong_is_refused_once(mounts: Mounts, issuer: Issuing) -> None:
    with serving(mounts, issuer) as url:
        assert "invalid_client" in refused("TT5103", url, ClientCredentials("agent", "wrong"))
    assert issuer.asked["/token"] == 1


def asked_for_tokens(mounts: Mounts, make: Callable[[str], Any], **said: Any) -> tuple[list[dict[str, str]], Impostor]:
    """The forms that the token endpoint of a server gets, which then takes no token at all."""
    made = Impostor(issuer={"registration_endpoint": None, "client_id_metadata_document_supported": None}, **said)
    with mounts.mounted_at(made.application) as url:
        with pytest.raises(TransportError):
            visit(url, make(url.removesuffix("/mcp")))
        return made.forms("token"), made


def test_a_workload_is_vouched_for_to_the_issuer_that_asks(mounts: Mounts) -> None:
    vouched: list[str] = []

    async def assertion(issuer: str) -> str:
        vouched.append(issuer)
        return "signed"

    forms, made = asked_for_tokens(mounts, lambda issuer: WorkloadIdentity("job", assertion, scopes=["read"]))
    assert forms[0] == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": "signed",
        "scope": "read",
        "resource": made.url,
        "client_id": "job",
    }
    assert set(vouched) == {made.url.removesuffix("/mcp")}


def test_an_enterprise_vouches_for_a_person_to_the_issuer_of_the_server(mounts: Mounts) -> None:
    provider = Impostor(
        token={"access_token": "voucher", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"}
    )
    with mounts.mounted_at(provider.application) as idp:
        root = idp.removesuffix("/mcp")

        def make(issuer: str) -> EnterpriseSignIn:
            token: dict[str, Any] = {
                "provider": root,
                "provider_token_endpoint": f"{root}/token",
                "provider_client_id": "desk",
            }
            return EnterpriseSignIn(lambda provider: "who I am", client_id="app", client_secret="s", **token)

        forms, made = asked_for_tokens(mounts, make)
    exchanged = provider.forms("token")[0]
    assert exchanged == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "audience": made.url.removesuffix("/mcp"),
        "resource": made.url,
        "subject_token": "who I am",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "client_id": "desk",
    }
    assert (forms[0]["assertion"], forms[0]["resource"]) == ("voucher", made.url)
    assert "who I am" not in str(made.asked)


def test_an_enterprise_that_gives_something_else_is_not_taken_at_its_word(mounts: Mounts) -> None:
    provider = Impostor(token={"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})
    with mounts.mounted_at(provider.application) as idp:
        root = idp.removesuffix("/mcp")
        token: dict[str, Any] = {
            "provider": root,
            "provider_token_endpoint": f"{root}/token",
            "provider_client_id": "desk",
        }
        auth = EnterpriseSignIn(lambda provider: "who I am", client_id="app", client_secret="s", **token)
        assert asked_for_tokens(mounts, lambda issuer: auth)[0] == []


# --- tokens that are bound to a key -----------------------------------------------------------------------------------


def test_where_both_ends_know_dpop_a_token_is_bound_to_a_key(mounts: Mounts) -> None:
    made = Impostor(issuer={"dpop_signing_alg_values_supported": ["ES256"]}, token={"token_type": "DPoP"})
    with mounts.mounted_at(made.application) as url:
        root = url.removesuffix("/mcp")
        made.challenge = f'DPoP resource_metadata="{root}/resource"'
        refused("TT5112", url, SignIn(made.agree, credentials=InMemory()))
    sent = [headers for path, headers, _ in made.asked if "dpop" in headers]
    assert {headers["authorization"] for headers in sent if "authorization" in headers} == {"DPoP a-token"}
    proofs = [headers["dpop"] for headers in sent]
    assert len(set(proofs)) == len(proofs) >= 2


def test_a_token_without_the_key_it_was_asked_for_is_not_used(mounts: Mounts) -> None:
    made = Impostor(issuer={"dpop_signing_alg_values_supported": ["ES256"]})
    with mounts.mounted_at(made.application) as url:
        root = url.removesuffix("/mcp")
        made.challenge = f'DPoP resource_metadata="{root}/resource"'
        refused("TT5102", url, SignIn(made.agree, credentials=InMemory()))


# --- settings refused at construction ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Client("http://tools.example/mcp", auth=SignIn()), "TT5111"),
        (lambda: Client(["server"], auth=SignIn()), "TT5100"),
        (lambda: Client("https://a.example/", headers={"Authorization": "x"}, auth=SignIn()), "TT5115"),
        (lambda: SignIn().document(), "TT4009"),
        (lambda: SignIn(redirect_uri="https://elsewhere.example/callback"), "TT4009"),
        (lambda: SignIn(metadata_url="https://client.example/"), "TT4009"),
        (lambda: ClientCredentials("agent"), "TT4009"),
        (lambda: ClientCredentials("agent", private_key="none"), "TT4009"),
    ],
    ids=[
        "in the open",
        "a command",
        "two at once",
        "no document",
        "a redirect elsewhere",
        "a document at the root",
        "no secret",
        "no key",
    ],
)
def test_settings_that_cannot_be_right_are_said_at_once(make: Callable[[], object], code: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        make()
    assert found.value.code == code
