"""Signing in to the console at the issuer of callers: as the principal that a call with a token has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from support.console import Visitor, fields_of
from support.console import request as call
from support.issuing.calling import RESOURCE, oauth
from support.issuing.server import Issuing
from tooltrue import ApiKeys, ConfigurationError
from tooltrue.policy.config import read_operator_config
from tooltrue.server.keys import Key, new_key
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_server import AllowedHosts
from tooltrue_console.desk import Desk, DeskSettings
from tooltrue_console.issuer_access import COOKIE, issuer_access
from tooltrue_console.sign_in import WaysToSignIn
from tooltrue_console.web import alone

SITE = "https://console.example"
FILE = f"""
[console]
url = "{SITE}/console"

[console.sign_in]
client_id = "site"
secret_env = "CONSOLE_SECRET"
"""
SCOPES = "console:read console:approve console:admin"


@pytest.fixture(autouse=True)
def registered(issuer: Issuing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSOLE_SECRET", "secret")
    issuer.changes["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    issuer.site(f"{SITE}/console/signed-in")


class Console:
    """A console without a socket, beyond loopback, where people sign in at the issuer."""

    def __init__(self, folder: Path, issuer: Issuing) -> None:
        self.desk = Desk(DeskSettings(sqlite_url(folder / "approvals.db"), acts=sqlite_url(folder / "acts.db")))
        access = issuer_access(read_operator_config("tooltrue.toml", FILE), [oauth(issuer)])
        ways = WaysToSignIn(by_link=False, keys=list, issuer=lambda: access)
        self.app = alone(self.desk, ways, AllowedHosts(("console.example",)))

    @asynccontextmanager
    async def browser(self) -> AsyncGenerator[Visitor]:
        transport = httpx2.ASGITransport(self.app, client=("192.0.2.7", 50_000))
        headers = {"user-agent": "Browser/1"}
        async with httpx2.AsyncClient(transport=transport, base_url=SITE, headers=headers) as client:
            yield Visitor(client)

    def visited(self, scenario: Callable[[Visitor], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            async with asyncio.timeout(LIMIT), self.browser() as browser:
                return await scenario(browser)

        return asyncio.run(run())


@pytest.fixture
def console(tmp_path: Path, issuer: Issuing) -> Console:
    return Console(tmp_path, issuer)


async def left(browser: Visitor) -> str:
    """The address at the issuer to which the page of the sign-in sends a browser."""
    token = fields_of((await browser.get("/sign-in")).text)["form_token"]
    answer = await browser.post("/sign-in/issuer", {"form_token": token}, origin=SITE)
    assert answer.status_code == 200, answer.text
    return answer.headers["hx-redirect"]


async def sent_back(browser: Visitor) -> str:
    """The path by which a browser comes back from the issuer, where its person has signed in."""
    async with httpx2.AsyncClient(trust_env=False, verify=False) as elsewhere:
        answer = await elsewhere.get(await left(browser))
    return answer.headers["location"].removeprefix(f"{SITE}/console")


async def signed_in(browser: Visitor) -> httpx2.Response:
    return await browser.get(await sent_back(browser))


def test_a_person_signs_in_and_is_the_principal_of_their_calls(console: Console, issuer: Issuing) -> None:
    async def scenario(browser: Visitor) -> str:
        assert issuer.url.partition("://")[2] in (await browser.get("/sign-in")).text
        page = await signed_in(browser)
        assert page.status_code == 200, page.text
        assert f'content="0;url={"/console/"}"' in page.text
        return await browser.text("/approvals")

    assert f"{issuer.url}#ada" in console.visited(scenario)


def test_the_sign_in_is_that_of_a_web_client_with_the_scopes_of_the_console(console: Console, issuer: Issuing) -> None:
    console.visited(signed_in)
    [asked], [redeemed] = issuer.sent("/authorize"), issuer.sent("/token")
    assert (asked["client_id"], asked["code_challenge_method"], asked["scope"]) == ("site", "S256", SCOPES)
    assert asked["resource"] == redeemed["resource"] == RESOURCE
    assert {asked["redirect_uri"], redeemed["redirect_uri"]} == {f"{SITE}/console/signed-in"}
    assert len(asked["state"]) > 40


def test_the_cookie_of_the_sign_in_is_for_this_host_alone_and_ends_with_it(console: Console) -> None:
    async def scenario(browser: Visitor) -> list[set[str]]:
        token = fields_of((await browser.get("/sign-in")).text)["form_token"]
        begun = await browser.post("/sign-in/issuer", {"form_token": token}, origin=SITE)
        async with httpx2.AsyncClient(trust_env=False, verify=False) as elsewhere:
            back = (await elsewhere.get(begun.headers["hx-redirect"])).headers["location"]
        returned = await browser.client.get(back)
        cookies = begun.headers.get_list("set-cookie") + returned.headers.get_list("set-cookie")
        return [set(cookie.lower().split("; ")) for cookie in cookies]

    at_first, session, at_last = console.visited(scenario)
    assert {"path=/", "secure", "httponly", "samesite=lax", "max-age=600"} <= at_first
    assert any(part.startswith(COOKIE.lower()) for part in at_first)
    assert {"path=/console", "secure", "httponly", "samesite=strict"} <= session
    assert "max-age=0" in at_last


def refused(page: httpx2.Response, code: str) -> None:
    assert page.status_code == 400
    assert code in page.text


@pytest.mark.attack("B41")
def test_b41_an_answer_of_the_issuer_counts_once_and_for_the_browser_that_was_sent(console: Console) -> None:
    async def scenario(browser: Visitor) -> None:
        path = await sent_back(browser)
        async with console.browser() as thief:
            refused(await thief.get(path), "TT9482")
            assert (await thief.get("/approvals")).status_code == 303
        refused(await browser.get(path), "TT9482")  # the thief has used it up

    console.visited(scenario)


@pytest.mark.attack("B41")
@pytest.mark.parametrize("change", ["iss=https://evil.example", "state=x", "code=x"])
def test_b41_an_answer_that_was_changed_opens_no_session(change: str, console: Console) -> None:
    name, _, value = change.partition("=")

    async def scenario(browser: Visitor) -> None:
        path, _, query = (await sent_back(browser)).partition("?")
        fields = {key: values[0] for key, values in parse_qs(query).items()} | {name: value}
        page = await browser.get(f"{path}?{httpx2.QueryParams(fields)}")
        assert page.status_code == 400
        assert "TT9481" in page.text or "TT9482" in page.text
        assert (await browser.get("/approvals")).status_code == 303

    console.visited(scenario)


@pytest.mark.attack("B41")
def test_b41_a_parameter_that_comes_twice_is_refused(console: Console) -> None:
    async def scenario(browser: Visitor) -> None:
        refused(await browser.get(await sent_back(browser) + "&state=other"), "TT9406")

    console.visited(scenario)


def test_a_person_without_the_scope_to_read_is_told_so(console: Console, issuer: Issuing) -> None:
    issuer.withheld = {"console:read"}

    async def scenario(browser: Visitor) -> None:
        refused(await signed_in(browser), "TT9483")

    console.visited(scenario)


def test_a_person_has_no_more_rights_than_the_issuer_grants(console: Console, issuer: Issuing) -> None:
    issuer.withheld = {"console:approve", "console:admin"}

    async def scenario(browser: Visitor) -> None:
        async with console.desk.approvals() as approvals:
            ticket = await approvals.open(call())
        await signed_in(browser)
        page = await browser.get(f"/approvals/{ticket.id}")
        assert page.status_code == 200
        fields = fields_of(page.text)
        answer = await browser.post(f"/approvals/{ticket.id}/allow", fields, origin=SITE)
        assert answer.status_code == 403
        assert "TT9402" in answer.text
        async with console.desk.approvals() as approvals:
            assert (await approvals.find(ticket.id)).state == "open"

    console.visited(scenario)


@pytest.mark.attack("B41")
def test_b41_a_caller_does_not_approve_their_own_call(console: Console, issuer: Issuing) -> None:
    async def scenario(browser: Visitor) -> list[str]:
        codes: list[str] = []
        for principal in (f"{issuer.url}#ada", "someone"):
            async with console.desk.approvals() as approvals:
                ticket = await approvals.open(call(principal=principal))
            if not codes:
                await signed_in(browser)
            fields = fields_of((await browser.get(f"/approvals/{ticket.id}")).text.partition("<main")[2])
            answer = await browser.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"}, origin=SITE)
            codes.append("TT9407" if "TT9407" in answer.text else str(answer.status_code))
        return codes

    assert console.visited(scenario) == ["TT9407", "200"]


def test_an_issuer_that_is_away_is_told_in_a_sentence(console: Console, issuer: Issuing) -> None:
    async def scenario(browser: Visitor) -> None:
        token = fields_of((await browser.get("/sign-in")).text)["form_token"]
        issuer.up = False
        answer = await browser.post("/sign-in/issuer", {"form_token": token}, origin=SITE)
        refused(answer, "TT9481")
        assert urlsplit(issuer.url).netloc in answer.text

    console.visited(scenario)


def test_a_form_of_another_session_sends_nobody_to_the_issuer(console: Console, issuer: Issuing) -> None:
    async def scenario(browser: Visitor) -> int:
        await browser.get("/sign-in")
        return (await browser.post("/sign-in/issuer", {"form_token": "x"}, origin=SITE)).status_code

    assert console.visited(scenario) == 403
    assert issuer.sent("/authorize") == []


URL = f'url = "{SITE}"'


@pytest.mark.parametrize(
    ("text", "by_tokens", "problem"),
    [
        ('[console]\nsign_in = { client_id = "site" }', True, "url in [console]"),
        ('[console]\nurl = "http://console.example"\nsign_in = { client_id = "site" }', True, "url in [console]"),
        (f'[console]\n{URL}\nsign_in = {{ client_id = "site" }}', False, "oauth in [auth]"),
        (
            f'[console]\n{URL}\nsign_in = {{ client_id = "site", issuer = "https://x.example" }}',
            True,
            "oauth in [auth]",
        ),
        (f'[console]\n{URL}\nsign_in = {{ client_id = "site", secret_env = "ABSENT" }}', True, "ABSENT"),
    ],
)
def test_settings_that_cannot_serve_a_sign_in_are_refused_with_their_place(
    text: str, by_tokens: bool, problem: str, issuer: Issuing
) -> None:
    methods = [oauth(issuer)] if by_tokens else [ApiKeys({"ann": Key(new_key("ann")[1], frozenset())})]
    with pytest.raises(ConfigurationError) as caught:
        issuer_access(read_operator_config("tooltrue.toml", text), methods)
    assert caught.value.code == "TT9480"
    assert "tooltrue.toml:" in str(caught.value)
    assert problem in str(caught.value)


def test_without_settings_there_is_no_sign_in_at_an_issuer(issuer: Issuing) -> None:
    assert issuer_access(None, [oauth(issuer)]) is None
    assert issuer_access(read_operator_config("tooltrue.toml", "[limits]\nseconds = 1"), [oauth(issuer)]) is None
