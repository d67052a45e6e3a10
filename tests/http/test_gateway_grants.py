"""The grants of callers at a server behind a gateway: consent by a page, one browser, one state, one caller."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import html
import json
import logging
import re
import secrets
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from support.granting import USER, Browser, operators_file
from support.issuing.server import Issuing
from support.issuing.visiting import registering, serving
from support.wire.mounting import Mounts
from tooltrue import Client, ConfigurationError, Principal, QuestionLimits, TrustedProxy
from tooltrue.cli.main import cli
from tooltrue.client.answers import Elicitation, Reply
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT
from tooltrue.transport.carrier import Carrier

CLIENT = "x-client"
REVISIONS = ("2026-07-28", "2025-11-25")
PATIENCE = {"patience": Patience(ready=LIMIT)}


@pytest.fixture(autouse=True)
def secrets_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANT_KEY", base64.b64encode(secrets.token_bytes(32)).decode())
    monkeypatch.setenv("OWN_SECRET", "secret")


def caller_of(carrier: Carrier) -> Principal:
    """The caller that a proxy names, and its client, which a browser has not."""
    headers = carrier.headers or {}
    return Principal(f"user:{headers[USER]}", client=headers.get(CLIENT, ""))


@contextlib.contextmanager
def gateway_before(
    mounts: Mounts,
    issuer: Issuing,
    upstream: str,
    store: str = "memory:",
    more: str = "",
    authenticate: Any = None,
    *,
    common_lists: bool = True,
) -> Generator[str]:
    """The URL of a gateway whose callers are known by a proxy, unless ``authenticate`` knows them."""

    def make(url: str) -> Any:
        text = operators_file(url.removesuffix("/mcp"), issuer.url, store, common_lists=common_lists) + more
        one = ServerConfig("up", "up", url=upstream)
        gateway = Gateway(
            HostConfig("", Path(), (one,)),
            operator=read_operator_config("tooltrue.toml", text),
            confirm=Confirm.never(),
            host_settings=PATIENCE,
            authenticate=authenticate or TrustedProxy(["127.0.0.1"], user_header=USER),
        )
        return gateway.http_app()

    with mounts.mounted_at(make) as url:
        yield url


def calling(
    url: str,
    user: str,
    visit: Callable[[str], Any] | None,
    *,
    revision: str = REVISIONS[0],
    tool: str = "up_who",
    client: str = "",
) -> tuple[Any, list[str]]:
    """The result of a call, and the pages that the user has been asked to open."""
    pages: list[str] = []

    async def elicit(question: Elicitation) -> Reply:
        assert question.url is not None
        pages.append(question.url)
        return visit is not None and await asyncio.to_thread(visit, question.url) is not False

    async def run() -> Any:
        settings: dict[str, Any] = {"elicit": elicit, "questions": QuestionLimits(per_minute=100)}
        headers = {USER: user} | ({CLIENT: client} if client else {})
        async with Client(url, headers=headers, revision=revision, **settings) as caller:
            return await caller.call_tool(tool)

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


@pytest.mark.parametrize("more", ["at_once = 1\n", "[views.docs]\ndefault = true\n"])
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


# --- lists of one caller ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_caller_sees_the_tools_of_a_server_once_it_has_connected_it(
    mounts: Mounts, issuer: Issuing, revision: str
) -> None:
    registering(issuer).changes["token_endpoint_auth_methods_supported"] = ["none", "client_secret_basic"]

    async def run(url: str) -> list[Any]:
        async def visit(question: Elicitation) -> bool:
            await asyncio.to_thread(Browser("ada", url).connect, str(question.url))
            return True

        changed = asyncio.Event()
        settings: dict[str, Any] = {"revision": revision, "on_tools_changed": changed.set}
        async with Client(url, headers={USER: "ada"}, elicit=visit, **settings) as ada:
            before = [tool.name for tool in await ada.list_tools()]
            early = await ada.call_tool("up_who")
            connected = await ada.call_tool("up_connect")
            async with asyncio.timeout(LIMIT):
                await changed.wait()
            after = [tool.name for tool in await ada.list_tools(refresh=True)]
            called = await ada.call_tool("up_who")
            again = await ada.call_tool("up_connect")
            async with Client(url, headers={USER: "bob"}, revision=revision) as bob:
                others = [tool.name for tool in await bob.list_tools()]
        assert [early.is_error, "[TT9354]" in early.text] == [True, True]
        assert [connected.is_error, again.is_error] == [False, False]
        assert called.text == f'["{issuer.url}#ada","read"]'
        return [before, after, others]

    with (
        serving(mounts, issuer) as upstream,
        gateway_before(mounts, issuer, upstream, common_lists=False) as url,
    ):
        before, after, others = asyncio.run(run(url))
    assert before == others == ["up_connect"]
    assert after == ["up_connect", "up_save", "up_who", "up_wipe"]


# --- clients of one caller --------------------------------------------------------------------------------------------


@pytest.fixture
def clients(mounts: Mounts, issuer: Issuing) -> Iterator[str]:
    """The URL of a gateway that knows the clients of its callers."""
    registering(issuer).changes["token_endpoint_auth_methods_supported"] = ["none", "client_secret_basic"]
    with (
        serving(mounts, issuer) as upstream,
        gateway_before(mounts, issuer, upstream, authenticate=caller_of) as url,
    ):
        yield url


def approving(browser: Browser) -> Callable[[str], Any]:
    """Consent on the page, which needs no sign-in."""

    def visit(page: str) -> None:
        answer = browser.post(page, browser.form(page))
        assert answer.status_code == 200, answer.text
        assert "up is connected" in answer.text

    return visit


@pytest.mark.requirement("SEC-04")
@pytest.mark.attack("B41")
@pytest.mark.parametrize("other", ["editor", "", "Chat", "chat ", "https://chat.example/client.json"])
def test_b41_a_grant_that_one_client_got_serves_no_other(clients: str, issuer: Issuing, other: str) -> None:
    connected, _ = calling(clients, "ada", Browser("ada", clients).connect, client="chat")
    assert not connected.is_error
    refused, pages = calling(clients, "ada", lambda page: False, client=other)
    assert (refused.is_error, len(pages)) == (True, 1)
    shown = Browser("ada", clients).get(pages[0]).text
    assert html.escape(other) in shown
    assert len(issuer.sent("/authorize")) == 1


@pytest.mark.twin("B41")
def test_b41_twin_a_caller_consents_to_each_client_and_signs_in_once(clients: str, issuer: Issuing) -> None:
    browser = Browser("ada", clients)
    calling(clients, "ada", browser.connect, client="chat")
    result, pages = calling(clients, "ada", approving(browser), client="editor")
    assert (result.value, len(pages)) == ([f"{issuer.url}#ada", "read"], 1)
    assert len(issuer.sent("/authorize")) == 1
    for client in ("chat", "editor"):
        again, pages = calling(clients, "ada", None, client=client)
        assert (again.text, pages) == (result.text, [])


@pytest.mark.attack("B41")
def test_b41_no_other_caller_consents_to_a_client(clients: str) -> None:
    calling(clients, "ada", Browser("ada", clients).connect, client="chat")
    _, [page] = calling(clients, "ada", lambda page: False, client="editor")
    ada, eve = Browser("ada", clients), Browser("eve", clients)
    assert eve.post(page, ada.form(page)).status_code == 404
    assert ada.post(page, {**ada.form(page), "word": "other"}).status_code == 403
    refused, _ = calling(clients, "ada", lambda page: False, client="editor")
    assert refused.is_error


@pytest.mark.attack("B41")
def test_b41_rights_that_were_not_shown_are_not_consented_to(clients: str, issuer: Issuing) -> None:
    browser = Browser("ada", clients)
    calling(clients, "ada", browser.connect, client="chat")
    _, [page] = calling(clients, "ada", lambda page: False, client="editor")
    form = browser.form(page)
    saved, _ = calling(clients, "ada", browser.connect, client="chat", tool="up_save")  # meanwhile it gains a right
    assert saved.text == "saved"
    again = browser.post(page, form)
    assert "read write" in again.text
    refused, _ = calling(clients, "ada", lambda page: False, client="editor")
    assert refused.is_error
    approving(browser)(page)
    result, pages = calling(clients, "ada", None, client="editor", tool="up_save")
    assert (result.text, pages) == ("saved", [])


def test_a_client_that_needs_more_rights_than_another_got_signs_in(clients: str, issuer: Issuing) -> None:
    browser = Browser("ada", clients)
    calling(clients, "ada", browser.connect, client="chat")
    calling(clients, "ada", approving(browser), client="editor")
    saved, pages = calling(clients, "ada", browser.connect, client="editor", tool="up_save")
    assert (saved.text, len(pages)) == ("saved", 1)
    refused, pages = calling(clients, "ada", lambda page: False, client="chat")  # its consent was for less
    assert (refused.is_error, len(pages)) == (True, 1)


def test_a_client_may_be_refused_on_the_page(clients: str) -> None:
    browser = Browser("ada", clients)
    calling(clients, "ada", browser.connect, client="chat")
    _, [page] = calling(clients, "ada", lambda page: False, client="editor")
    assert browser.post(page, browser.form(page, "refuse")).status_code == 200
    assert browser.post(page, browser.form(page)).status_code == 404
    refused, _ = calling(clients, "ada", lambda page: False, client="editor")
    assert refused.is_error


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
        assert re.search(r"user:ada +up .*\(without a name\)$", listed.output, re.MULTILINE)
        assert refresh not in listed.output
        revoked = CliRunner().invoke(cli, ["grants", "--config", str(config), "revoke", "user:ada", "up"])
        assert (revoked.exit_code, issuer.refresh) == (0, {})
        result, pages = calling(url, "ada", lambda page: False)
        assert (result.is_error, len(pages)) == (True, 1)
        unknown = CliRunner().invoke(cli, ["grants", "--config", str(config), "revoke", "user:ada", "up"])
        assert unknown.exit_code == 2


@pytest.mark.requirement("SEC-05")
def test_a_token_of_a_grant_is_in_no_record_log_or_map(
    mounts: Mounts, issuer: Issuing, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    registering(issuer).changes |= {"token_endpoint_auth_methods_supported": ["none", "client_secret_basic"]}
    store, log, config = sqlite_url(tmp_path / "grants.db"), tmp_path / "audit.db", tmp_path / "tooltrue.toml"
    audit = f'[audit]\nto = "{sqlite_url(log)}"\n'
    with serving(mounts, issuer) as upstream, gateway_before(mounts, issuer, upstream, store, audit) as url:
        config.write_text(operators_file(url.removesuffix("/mcp"), issuer.url, store) + audit)
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"up": {"url": upstream}}}))
        assert not calling(url, "ada", Browser("ada", url).connect)[0].is_error
        line = f"tooltrue gateway {tmp_path / 'servers.json'} --http :0 --config {config}"
        shown = CliRunner().invoke(cli, ["inspect", line, "--json"])
    [refresh] = issuer.refresh
    records = b"".join(path.read_bytes() for path in tmp_path.glob("audit.db*"))
    assert (shown.exit_code, b"up_who" in records) == (0, True)
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("authlib")]  # the issuer
    told = "\n".join([shown.output, records.decode(errors="replace"), *logged])
    assert "up" in told
    assert refresh not in told


def test_the_consent_to_one_client_is_revoked_alone(mounts: Mounts, issuer: Issuing, tmp_path: Path) -> None:
    registering(issuer).changes |= {
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "revocation_endpoint": f"{issuer.url}/revoke",
    }
    store, config = sqlite_url(tmp_path / "grants.db"), tmp_path / "tooltrue.toml"

    def revoke(client: str) -> int:
        words = ["grants", "--config", str(config), "revoke", "user:ada", "up", "--client", client]
        return CliRunner().invoke(cli, words).exit_code

    with (
        serving(mounts, issuer) as upstream,
        gateway_before(mounts, issuer, upstream, store, authenticate=caller_of) as url,
    ):
        config.write_text(operators_file(url.removesuffix("/mcp"), issuer.url, store))
        browser = Browser("ada", url)
        calling(url, "ada", browser.connect, client="chat")
        calling(url, "ada", approving(browser), client="editor")
        assert [revoke("chat"), revoke("chat")] == [0, 2]
        refused, pages = calling(url, "ada", lambda page: False, client="chat")
        assert (refused.is_error, len(pages)) == (True, 1)
        assert not calling(url, "ada", None, client="editor")[0].is_error
        assert len(issuer.refresh) == 1
        assert (revoke("editor"), issuer.refresh) == (0, {})  # the last one ends the grant


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
        (WHOLE + "shared = true\n", "TT4802"),
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
