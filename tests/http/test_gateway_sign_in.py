"""The sign-in of browsers at the pages of a gateway: by the issuer of its callers, and as the caller itself."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.granting import SigningInBrowser, operators_file
from support.issuing.calling import RESOURCE, oauth
from support.issuing.server import Issuing
from support.issuing.visiting import registering, serving
from support.wire.mounting import Mounts
from tooltrue import ApiKeys, Client, ConfigurationError, QuestionLimits
from tooltrue.client.answers import Elicitation
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.keys import Key, new_key
from tooltrue.testing.state import LIMIT

PATIENCE = {"patience": Patience(ready=LIMIT)}
SIGN_IN = '\n[gateway.sign_in]\nclient_id = "site"\nsecret_env = "OWN_SECRET"\n'
COOKIE = "__Host-tooltrue"


@pytest.fixture(autouse=True)
def secrets_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANT_KEY", base64.b64encode(secrets.token_bytes(32)).decode())
    monkeypatch.setenv("OWN_SECRET", "secret")


@pytest.fixture
def gateway(mounts: Mounts, issuer: Issuing, other: Issuing) -> Iterator[str]:
    """The URL of a gateway whose callers have tokens of ``other``; the issuer of its server is ``issuer``."""
    for one in (registering(issuer), other):
        one.changes["token_endpoint_auth_methods_supported"] = ["none", "client_secret_basic"]

    def make(url: str) -> Any:
        base = url.removesuffix("/mcp")
        other.site(f"{base}/grants/signed-in")
        text = operators_file(base, issuer.url, "memory:") + SIGN_IN
        gateway = Gateway(
            HostConfig("", Path(), (ServerConfig("up", "up", url=upstream),)),
            operator=read_operator_config("tooltrue.toml", text),
            confirm=Confirm.never(),
            host_settings=PATIENCE,
            authenticate=oauth(other, scopes=["read"]),
        )
        return gateway.http_app()

    with serving(mounts, issuer) as upstream, mounts.mounted_at(make) as url:
        yield url


def calling(
    gateway: str, token: str, visit: Callable[[str], Any] = lambda page: False, tool: str = "up_who"
) -> tuple[Any, list[str]]:
    """The result of a call with a token, and the pages that its user has been asked to open."""
    pages: list[str] = []

    async def elicit(question: Elicitation) -> bool:
        assert question.url is not None
        pages.append(question.url)
        return await asyncio.to_thread(visit, question.url) is not False

    async def run() -> Any:
        headers, limits = {"Authorization": f"Bearer {token}"}, QuestionLimits(per_minute=100)
        async with Client(gateway, headers=headers, elicit=elicit, questions=limits) as client:
            return await client.call_tool(tool)

    return asyncio.run(run()), pages


def token_of(company: Issuing, person: str = "ada", client: str = "chat") -> str:
    return company.signed(aud=RESOURCE, sub=person, client_id=client)


def page_of(gateway: str, company: Issuing, person: str = "ada") -> str:
    _, [page] = calling(gateway, token_of(company, person))
    return page


def test_a_caller_with_a_token_connects_a_server_in_a_browser(gateway: str, issuer: Issuing, other: Issuing) -> None:
    browser = SigningInBrowser(gateway)
    result, [_] = calling(gateway, token_of(other), browser.connect)
    assert result.value == [f"{issuer.url}#ada", "read"]
    again, pages = calling(gateway, token_of(other))
    assert (again.value, pages) == (result.value, [])


def test_a_second_client_needs_a_consent_and_no_second_sign_in_at_the_server(
    gateway: str, issuer: Issuing, other: Issuing
) -> None:
    calling(gateway, token_of(other), SigningInBrowser(gateway).connect)
    browser = SigningInBrowser(gateway)

    def approve(page: str) -> None:
        assert "<dd>editor</dd>" in browser.open(page).text
        assert "up is connected" in browser.post(page, browser.form(page)).text

    result, [_] = calling(gateway, token_of(other, client="editor"), approve)
    assert result.value == [f"{issuer.url}#ada", "read"]
    assert len(issuer.sent("/authorize")) == 1


def test_a_session_serves_the_next_page_too(gateway: str, other: Issuing) -> None:
    browser = SigningInBrowser(gateway)
    for _ in range(2):
        assert "Connect up?" in browser.open(page_of(gateway, other)).text
    assert len(other.sent("/authorize")) == 1


def test_the_sign_in_is_that_of_a_web_client(gateway: str, other: Issuing) -> None:
    browser = SigningInBrowser(gateway)
    browser.open(page_of(gateway, other))
    [asked], [redeemed] = other.sent("/authorize"), other.sent("/token")
    assert (asked["client_id"], asked["code_challenge_method"], asked["scope"]) == ("site", "S256", "read")
    assert len(asked["state"]) > 40
    assert asked["resource"] == redeemed["resource"] == RESOURCE
    redirects = {asked["redirect_uri"], redeemed["redirect_uri"]}
    assert redirects == {gateway.removesuffix("mcp") + "grants/signed-in"}


def test_cookies_are_for_this_host_alone_and_for_minutes(gateway: str, other: Issuing) -> None:
    browser, page = SigningInBrowser(gateway), page_of(gateway, other)
    values: list[str] = []
    for step in (browser.get, browser.open):
        step(page)
        assert {"Path=/", "Secure", "HttpOnly", "SameSite=Lax"} < set(browser.attributes)
        assert not any(one.startswith("Domain") for one in browser.attributes)
        [age] = [int(one.removeprefix("Max-Age=")) for one in browser.attributes if one.startswith("Max-Age=")]
        assert age <= 1_200
        values += browser.cookies.values()
    assert list(browser.cookies) == [COOKIE]
    assert len(set(values)) == 2
    assert min(map(len, values)) > 40


# --- a confused deputy ------------------------------------------------------------------------------------------------


@pytest.mark.attack("B41")
def test_b41_a_browser_that_signs_in_as_another_sees_no_page(gateway: str, issuer: Issuing, other: Issuing) -> None:
    page = page_of(gateway, other, "eve")  # eve has sent ada there
    ada = SigningInBrowser(gateway)
    assert ada.open(page).status_code == 404
    assert issuer.sent("/authorize") == []
    assert ada.get(page).is_redirect  # it has no session


@pytest.mark.attack("B41")
def test_b41_a_session_is_of_one_caller(gateway: str, other: Issuing) -> None:
    ada, page = SigningInBrowser(gateway), page_of(gateway, other, "eve")
    assert ada.open(page_of(gateway, other)).status_code == 200
    assert ada.get(page).is_redirect
    other.person = "eve"
    eve = SigningInBrowser(gateway)
    assert ada.post(page, eve.form(page)).status_code == 404


@pytest.mark.attack("B41")
def test_b41_a_sign_in_ends_in_the_browser_that_began_it(gateway: str, other: Issuing) -> None:
    other.person = "eve"
    eve, page = SigningInBrowser(gateway), page_of(gateway, other, "eve")
    back = eve.signed_in(page)  # opened in ada's browser, which has begun another sign-in
    ada = SigningInBrowser(gateway)
    assert ada.get(back).status_code == 404
    ada.get(page_of(gateway, other))
    back = eve.signed_in(page)
    assert ada.get(back).status_code == 404
    assert eve.get(back).status_code == 404  # it was used


@pytest.mark.attack("B41")
@pytest.mark.parametrize("cookie", ["", "other", "{0}; {1}={0}", "{0}x"])
def test_b41_a_cookie_is_the_one_that_was_given(gateway: str, other: Issuing, cookie: str) -> None:
    browser = SigningInBrowser(gateway)
    back = browser.signed_in(page_of(gateway, other))
    browser.cookies[COOKIE] = cookie.format(browser.cookies[COOKIE], COOKIE)
    assert browser.get(back).status_code == 404
    assert other.sent("/token") == []


@pytest.mark.attack("B41")
@pytest.mark.parametrize("state", ["", "&state=other", "&state=a&state=b"])
def test_b41_a_state_of_a_sign_in_is_the_one_that_was_given(gateway: str, other: Issuing, state: str) -> None:
    browser = SigningInBrowser(gateway)
    back = browser.signed_in(page_of(gateway, other))
    assert browser.get(re.sub("&state=[^&]*", state, back)).status_code == 404
    assert other.sent("/token") == []


@pytest.mark.attack("B41")
def test_b41_a_sign_in_by_another_issuer_is_refused(gateway: str, other: Issuing) -> None:
    other.answers["iss"] = "https://evil.example"
    browser = SigningInBrowser(gateway)
    assert browser.get(browser.signed_in(page_of(gateway, other))).status_code == 502
    assert other.sent("/token") == []


@pytest.mark.attack("B41")
def test_b41_a_server_is_connected_in_a_session_of_the_caller(gateway: str, issuer: Issuing, other: Issuing) -> None:
    browser = SigningInBrowser(gateway)
    back = browser.back(page_of(gateway, other))
    assert SigningInBrowser(gateway).get(back).status_code == 404
    assert issuer.sent("/token")[1:] == []
    assert calling(gateway, token_of(other))[0].is_error


@pytest.mark.attack("B41")
@pytest.mark.parametrize("credential", ["a token", "a name of a proxy", "a session of its own"])
def test_b41_no_credential_of_a_request_stands_for_a_sign_in(gateway: str, other: Issuing, credential: str) -> None:
    page = page_of(gateway, other)
    headers = {
        "a token": {"authorization": f"Bearer {token_of(other)}"},
        "a name of a proxy": {"x-forwarded-user": f"{other.url}#ada"},
        "a session of its own": {"cookie": f"{COOKIE}={other.url}#ada"},
    }[credential]
    answer = httpx2.get(page, headers=headers, trust_env=False, verify=False, timeout=LIMIT)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{other.url}/authorize")


@pytest.mark.twin("B41")
@pytest.mark.requirement("SEC-10")
def test_b41_twin_a_browser_signs_in_and_consents_once(gateway: str, issuer: Issuing, other: Issuing) -> None:
    browser, page = SigningInBrowser(gateway), page_of(gateway, other)
    begun = browser.get(page)
    assert begun.status_code == 303
    assert issuer.sent("/register") == issuer.sent("/authorize") == []
    back = browser.back(page)
    assert [browser.get(back).status_code for _ in range(2)] == [200, 404]


def test_a_page_of_no_request_begins_no_sign_in(gateway: str, other: Issuing) -> None:
    browser = SigningInBrowser(gateway)
    page = gateway.removesuffix("mcp") + "grants"
    for url in (page, f"{page}?request={'0' * 64}", f"{page}/callback?state=a&code=b", f"{page}/signed-in?state=a"):
        assert browser.get(url).status_code == 404
    assert browser.cookies == {}


def test_a_sign_in_whose_token_is_for_another_is_none(gateway: str, other: Issuing) -> None:
    other.withheld = {"read"}  # which every caller of the gateway needs
    browser = SigningInBrowser(gateway)
    assert browser.get(browser.signed_in(page_of(gateway, other))).status_code == 502


# --- a mistake is found before anything serves ------------------------------------------------------------------------

WHOLE = operators_file("https://gateway.example", "https://login.example", "memory:") + SIGN_IN
PROXY = '[auth.proxy]\naddresses = ["10.0.0.7"]\nuser_header = "X-Forwarded-User"\n'
OAUTH = '[auth.oauth]\nresource = "https://gateway.example/mcp"\nissuers = [{url = "https://a.example"}'
ONE, TWO = OAUTH + "]\n", OAUTH + ', {url = "https://b.example"}]\n'
KEY = ApiKeys({"ci": Key(new_key("ci")[1], frozenset())})


def made(text: str, authenticate: Any = None) -> None:
    one = ServerConfig("up", "up", url="https://up.example/mcp")
    operator = read_operator_config("tooltrue.toml", text)
    Gateway(HostConfig("", Path(), (one,)), operator=operator, authenticate=authenticate).http_app()


@pytest.mark.parametrize(
    ("text", "authenticate"),
    [
        (WHOLE + PROXY, None),
        (WHOLE + ONE + PROXY, None),
        (WHOLE + '[auth]\nkeys = "keys.toml"\n', None),
        (WHOLE + TWO, None),
        (WHOLE.replace('"site"', '"site"\nissuer = "https://c.example"') + TWO, None),
        (WHOLE, KEY),
        (WHOLE, None),
        (WHOLE.replace(SIGN_IN, SIGN_IN.replace("OWN_SECRET", "ABSENT_SECRET")) + ONE, None),
        (WHOLE.replace(SIGN_IN, "") + ONE, None),
    ],
    ids=[
        "a proxy",
        "a proxy too",
        "keys",
        "one of two issuers",
        "an issuer that no caller has",
        "keys of the program",
        "no authentication",
        "no secret",
        "callers with tokens, and no sign-in",
    ],
)
def test_a_sign_in_needs_an_issuer_of_the_callers(text: str, authenticate: Any) -> None:
    with pytest.raises(ConfigurationError) as found:
        made(text, authenticate)
    assert found.value.code == "TT4803"


@pytest.mark.parametrize("text", [WHOLE + ONE, WHOLE.replace('"site"', '"site"\nissuer = "https://b.example"') + TWO])
def test_a_sign_in_has_the_issuer_of_the_file(text: str) -> None:
    made(text)
