"""The grants of callers at a server behind a gateway: consent by a page, one browser, one state, one caller."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import html
import re
import secrets
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from support.issuing.server import Issuing
from support.issuing.visiting import registering, serving
from support.wire.mounting import Mounts
from tooltrue import Client, ConfigurationError, QuestionLimits, TrustedProxy
from tooltrue.cli.main import cli
from tooltrue.client.answers import Elicitation, Reply
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT

USER = "x-forwarded-user"
_PLAINLY: dict[str, Any] = {"trust_env": False, "verify": False, "timeout": LIMIT}
REVISIONS = ("2026-07-28", "2025-11-25")
PATIENCE = {"patience": Patience(ready=LIMIT)}


@pytest.fixture(autouse=True)
def secrets_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANT_KEY", base64.b64encode(secrets.token_bytes(32)).decode())
    monkeypatch.setenv("OWN_SECRET", "secret")


def operators_file(base: str, issuer: str, store: str) -> str:
    return f"""
[gateway]
url = "{base}"
grants = "{store}"
grant_key = {{ secret_env = "GRANT_KEY" }}

[servers.up.auth.client]
client_id = "agent"
issuer = "{issuer}"
secret_env = "OWN_SECRET"

[servers.up.auth.caller]
scopes = ["read"]
"""


@contextlib.contextmanager
def gateway_before(
    mounts: Mounts, issuer: Issuing, upstream: str, store: str = "memory:", more: str = ""
) -> Generator[str]:
    """The URL of a gateway whose callers are known by a proxy."""

    def make(url: str) -> Any:
        text = operators_file(url.removesuffix("/mcp"), issuer.url, store) + more
        one = ServerConfig("up", "up", url=upstream)
        gateway = Gateway(
            HostConfig("", Path(), (one,)),
            operator=read_operator_config("tooltrue.toml", text),
            confirm=Confirm.never(),
            host_settings=PATIENCE,
            authenticate=TrustedProxy(["127.0.0.1"], user_header=USER),
        )
        return gateway.http_app()

    with mounts.mounted_at(make) as url:
        yield url


class Browser:
    """A browser whose user the proxy knows as ``user``. It sends no header of the proxy to other sites."""

    def __init__(self, user: str, gateway: str) -> None:
        self.user = user
        self._gateway = gateway.removesuffix("/mcp")

    def get(self, url: str) -> httpx2.Response:
        headers = {USER: self.user} if url.startswith(self._gateway) else {}
        return httpx2.get(url, headers=headers, **_PLAINLY)

    def post(self, page: str, form: dict[str, str]) -> httpx2.Response:
        return httpx2.post(page.partition("?")[0], data=form, headers={USER: self.user}, **_PLAINLY)

    def form(self, page: str, answer: str = "connect") -> dict[str, str]:
        text = self.get(page).text
        fields = dict(re.findall(r"name=(\w+) value='([^']*)'", text))
        return {name: html.unescape(value) for name, value in fields.items()} | {"answer": answer}

    def consent(self, page: str) -> str:
        """Consent, and return the URL at the issuer."""
        answer = self.post(page, self.form(page))
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def back(self, page: str) -> str:
        """Consent and sign in, and return the URL by which the browser comes back."""
        return self.get(self.consent(page)).headers["location"]

    def connect(self, page: str) -> httpx2.Response:
        return self.get(self.back(page))


def calling(
    url: str,
    user: str,
    visit: Callable[[str], Any] | None,
    *,
    revision: str = REVISIONS[0],
    tool: str = "up_who",
) -> tuple[Any, list[str]]:
    """The result of a call, and the pages that the user has been asked to open."""
    pages: list[str] = []

    async def elicit(question: Elicitation) -> Reply:
        assert question.url is not None
        pages.append(question.url)
        return visit is not None and await asyncio.to_thread(visit, question.url) is not False

    async def run() -> Any:
        settings: dict[str, Any] = {"elicit": elicit, "questions": QuestionLimits(per_minute=100)}
        async with Client(url, headers={USER: user}, revision=revision, **settings) as client:
            return await client.call_tool(tool)

    return asyncio.run(run()), pages


@pytest.fixture
def gateway(mounts: Mounts, issuer: Issuing) -> Iterator[str]:
    registering(issuer).changes["token_endpoint_auth_methods_supported"] = ["none", "client_secret_basic"]
    with serving(mounts, issuer) as upstream, gateway_before(mounts, issuer, upstream) as url:
        yield url


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_caller_connects_a_server_by_a_page_of_the_gateway(gateway: str, issuer: Issuing, revision: str) -> None:
    browser = Browser("ada", gateway)
    result, pages = calling(gateway, "ada", browser.connect, revision=revision)
    assert f"{issuer.url}#ada" in result.text
    assert pages[0].startswith(gateway.removesuffix("/mcp") + "/grants?request=")
    again, pages = calling(gateway, "ada", None, revision=revision)
    assert (again.text, pages) == (result.text, [])


def page_of(gateway: str, user: str = "ada") -> str:
    """The page that a call of this user asks for; the user only looks at the question."""
    _, [page] = calling(gateway, user, lambda page: False)
    return page


def test_a_client_that_cannot_be_asked_gets_the_page_in_words(gateway: str, issuer: Issuing) -> None:
    async def call() -> Any:
        async with Client(gateway, headers={USER: "ada"}) as client:
            return await client.call_tool("up_who")

    refused = asyncio.run(call())
    assert refused.is_error
    [page] = re.findall(r"http\S+/grants\?request=\w+", refused.text)
    assert Browser("ada", gateway).connect(page).status_code == 200
    assert asyncio.run(call()).value == [f"{issuer.url}#ada", "read"]


def test_a_caller_that_declines_reaches_no_server(gateway: str, issuer: Issuing) -> None:
    result, pages = calling(gateway, "ada", lambda page: False)
    assert (result.is_error, len(pages)) == (True, 1)
    assert issuer.sent("/authorize") == []


def test_a_grant_is_of_one_caller(gateway: str) -> None:
    calling(gateway, "ada", Browser("ada", gateway).connect)
    result, pages = calling(gateway, "bob", lambda page: False)
    assert (result.is_error, len(pages)) == (True, 1)


def test_a_caller_whose_grant_is_too_small_is_asked_once_and_waited_for(gateway: str) -> None:
    browser = Browser("ada", gateway)
    calling(gateway, "ada", browser.connect)
    pages: list[str] = []

    async def run() -> Any:
        asked = asyncio.Event()

        async def later(question: Elicitation) -> bool:
            assert question.url is not None
            pages.append(question.url)
            asked.set()
            return True

        limits = QuestionLimits(per_minute=100)
        async with Client(gateway, headers={USER: "ada"}, elicit=later, questions=limits) as client:
            waiting = asyncio.create_task(client.call_tool("up_save"))
            await asyncio.wait_for(asked.wait(), LIMIT)
            assert not (await client.call_tool("up_who")).is_error  # the grant that there is goes on
            await asyncio.to_thread(browser.connect, pages[0])
            return await waiting

    assert asyncio.run(run()).text == "saved"
    assert len(pages) == 1


@pytest.mark.parametrize("more", ["[servers.up]\nat_once = 1\n", "[views.docs]\ndefault = true\n"])
def test_a_caller_that_is_slow_to_consent_delays_no_other(mounts: Mounts, issuer: Issuing, more: str) -> None:
    registering(issuer).changes["token_endpoint_auth_methods_supported"] = ["none", "client_secret_basic"]

    async def run(url: str) -> list[Any]:
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def later(question: Elicitation) -> bool:
            assert question.url is not None
            asked.set_result(question.url)
            return True

        async with Client(url, headers={USER: "ada"}, elicit=later) as client:
            waiting = asyncio.create_task(client.call_tool("up_who"))
            page = await asyncio.wait_for(asked, LIMIT)
            quick, _ = await asyncio.to_thread(calling, url, "bob", Browser("bob", url).connect)
            await asyncio.to_thread(Browser("ada", url).connect, page)
            return [quick, await waiting]

    with serving(mounts, issuer) as upstream, gateway_before(mounts, issuer, upstream, more=more) as url:
        results = asyncio.run(run(url))
    assert [result.is_error for result in results] == [False, False]


# --- a confused deputy ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SEC-06", "SEC-10")
def test_the_page_for_consent_names_everything_and_begins_nothing(gateway: str, issuer: Issuing) -> None:
    shown = Browser("ada", gateway).get(page_of(gateway))
    for fact in ("up", "user:ada", f"{issuer.url}/authorize", "read", gateway.removesuffix("mcp") + "grants/callback"):
        assert fact in shown.text
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
    assert shown.headers["cache-control"] == "no-store"
    assert "set-cookie" not in shown.headers
    assert issuer.sent("/register") == issuer.sent("/authorize") == []


@pytest.mark.requirement("SEC-06")
@pytest.mark.parametrize("word", ["", "other"])
def test_a_page_of_another_site_cannot_consent(gateway: str, issuer: Issuing, word: str) -> None:
    browser, page = Browser("ada", gateway), page_of(gateway)
    assert browser.post(page, {**browser.form(page), "word": word}).status_code == 403
    assert issuer.sent("/authorize") == []


def test_a_consent_is_given_once(gateway: str) -> None:
    browser, page = Browser("ada", gateway), page_of(gateway)
    form = browser.form(page)
    assert [browser.post(page, form).status_code for _ in range(2)] == [303, 404]


def test_a_caller_may_refuse_on_the_page(gateway: str, issuer: Issuing) -> None:
    browser, page = Browser("ada", gateway), page_of(gateway)
    assert browser.post(page, browser.form(page, "refuse")).status_code == 200
    assert browser.post(page, browser.form(page)).status_code == 404
    assert issuer.sent("/authorize") == []


@pytest.mark.attack("B41")
def test_b41_the_page_of_one_caller_is_no_page_of_another(gateway: str, issuer: Issuing) -> None:
    page = page_of(gateway, "eve")
    ada, eve = Browser("ada", gateway), Browser("eve", gateway)
    assert ada.get(page).status_code == 404  # eve has sent ada there
    assert ada.post(page, eve.form(page)).status_code == 404
    assert issuer.sent("/authorize") == []


@pytest.mark.attack("B41")
def test_b41_a_browser_that_comes_back_is_signed_in_as_the_caller(gateway: str) -> None:
    back = Browser("eve", gateway).back(page_of(gateway, "eve"))  # eve's sign-in, opened in ada's browser
    assert Browser("ada", gateway).get(back).status_code == 404
    for user in ("ada", "eve"):
        result, pages = calling(gateway, user, lambda page: False)
        assert (result.is_error, len(pages)) == (True, 1)


@pytest.mark.twin("B41")
@pytest.mark.requirement("SEC-08", "SEC-09")
def test_b41_twin_the_caller_itself_comes_back_once(gateway: str, issuer: Issuing) -> None:
    browser = Browser("ada", gateway)
    back = browser.back(page_of(gateway))
    assert [browser.get(back).status_code for _ in range(2)] == [200, 404]
    [asked], [redeemed] = issuer.sent("/authorize"), issuer.sent("/token")[1:]
    assert len(asked["state"]) > 40
    assert asked["code_challenge_method"] == "S256"
    redirects = [asked["redirect_uri"], redeemed["redirect_uri"], *issuer.sent("/register")[0]["redirect_uris"]]
    assert set(redirects) == {gateway.removesuffix("mcp") + "grants/callback"}


@pytest.mark.requirement("SEC-09")
@pytest.mark.parametrize("state", ["", "&state=other", "&state=a&state=b"])
def test_a_state_is_the_one_that_was_given(gateway: str, state: str) -> None:
    browser = Browser("ada", gateway)
    back = browser.back(page_of(gateway))
    assert browser.get(re.sub("&state=[^&]*", state, back)).status_code == 404


def test_an_answer_of_another_issuer_is_refused(gateway: str, issuer: Issuing) -> None:
    issuer.answers["iss"] = "https://evil.example"
    browser = Browser("ada", gateway)
    refused = browser.get(browser.back(page_of(gateway)))
    assert refused.status_code == 502
    assert issuer.sent("/token")[1:] == []


# --- a person revokes -------------------------------------------------------------------------------------------------


def test_a_grant_is_listed_without_its_tokens_and_revoked_at_once(
    mounts: Mounts, issuer: Issuing, tmp_path: Path
) -> None:
    registering(issuer).changes |= {
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "revocation_endpoint": f"{issuer.url}/revoke",
    }
    store, config = sqlite_url(tmp_path / "grants.db"), tmp_path / "tooltrue.toml"
    with serving(mounts, issuer) as upstream, gateway_before(mounts, issuer, upstream, store) as url:
        config.write_text(operators_file(url.removesuffix("/mcp"), issuer.url, store))
        result, _ = calling(url, "ada", Browser("ada", url).connect)
        assert not result.is_error
        [refresh] = issuer.refresh
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert refresh.encode() not in kept
        listed = CliRunner().invoke(cli, ["grants", "--config", str(config), "list"])
        assert re.search(r"user:ada +up ", listed.output)
        assert refresh not in listed.output
        revoked = CliRunner().invoke(cli, ["grants", "--config", str(config), "revoke", "user:ada", "up"])
        assert (revoked.exit_code, issuer.refresh) == (0, {})
        result, pages = calling(url, "ada", lambda page: False)
        assert (result.is_error, len(pages)) == (True, 1)
        unknown = CliRunner().invoke(cli, ["grants", "--config", str(config), "revoke", "user:ada", "up"])
        assert unknown.exit_code == 2


# --- a mistake is found before anything starts ------------------------------------------------------------------------


def problem(text: str) -> str:
    one = ServerConfig("up", "up", url="https://up.example/mcp")
    with pytest.raises(ConfigurationError) as found:
        Gateway(HostConfig("", Path(), (one,)), operator=read_operator_config("tooltrue.toml", text))
    assert re.match(r"tooltrue\.toml:\d+: ", str(found.value))
    return found.value.code


WHOLE = operators_file("https://gateway.example", "https://login.example", "memory:")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (WHOLE.replace('url = "https://gateway.example"', ""), "TT4803"),
        (WHOLE.replace("https://gateway.example", "http://gateway.example"), "TT4803"),
        (WHOLE.replace('grant_key = { secret_env = "GRANT_KEY" }', ""), "TT4803"),
        (WHOLE.replace("GRANT_KEY", "OWN_SECRET"), "TT4803"),
        (WHOLE + '[auth]\nkeys = "keys.toml"\n', "TT4803"),
        (WHOLE + "[servers.up]\nshared = true\n", "TT4802"),
    ],
    ids=["no URL", "no TLS", "no key", "a short key", "callers that no browser can prove", "one session for all"],
)
def test_grants_need_what_protects_them(text: str, code: str) -> None:
    assert problem(text) == code


@pytest.mark.parametrize("words", [["list"], ["revoke", "ada", "up"]])
def test_the_commands_for_grants_need_the_file_and_their_help_does_not(words: list[str]) -> None:
    ended = CliRunner().invoke(cli, ["grants", *words])
    assert (ended.exit_code, "--config" in ended.output) == (2, True)
    assert CliRunner().invoke(cli, ["grants", words[0], "--help"]).exit_code == 0
