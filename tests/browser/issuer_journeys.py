"""Signing in to the console at an issuer, in Chromium: over HTTPS by another name, and on this machine."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from browser.journeys import RULES, SITE_NAME, Console, running_browser
from support.certificates import certificate
from support.issuing.server import Issuing, one_running_issuer, running_issuer
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.state.urls import open_log
from tooltrue_console.issuer_access import COOKIE

__all__ = ["one_running_issuer", "running_browser", "running_issuer"]

BY_HTTPS = pytest.mark.parametrize("console", ["https"], indirect=True)
FILE = """
[auth.oauth]
resource = "https://tools.example/mcp"
issuers = [{{ url = "{issuer}" }}]

[console]
url = "{url}"

[console.sign_in]
client_id = "site"
secret_env = "CONSOLE_SECRET"
"""


@contextmanager
def tls_in_front(folder: Path, port: int) -> Iterator[int]:
    """The port of a server that speaks TLS as :data:`SITE_NAME`, and passes what it reads on to the server at
    ``port``, which ends the connections."""
    pem = certificate(folder, SITE_NAME)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem)
    loops: SimpleQueue[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    connections: set[asyncio.Task[None]] = set()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):  # an end that has gone ends the other one
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, inner_writer), pass_on(inner_reader, writer))

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(joined(reader, writer)))

    async def serve() -> None:
        stop = asyncio.Event()
        async with await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=tls) as server:
            loops.put((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), stop))
            await stop.wait()
        await asyncio.gather(*connections)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    front, loop, stop = loops.get()
    try:
        yield front
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def consoles(folder: Path, issuer: Issuing, scheme: str) -> Iterator[Console]:
    """A console, known to browsers by ``base``, at whose issuer people sign in."""
    own = free_port()
    with ExitStack() as stack:
        url = f"http://127.0.0.1:{own}/console"
        if scheme == "https":
            url = f"https://{SITE_NAME}:{stack.enter_context(tls_in_front(folder, own))}/console"
        issuer.changes["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        issuer.changes["authorization_response_iss_parameter_supported"] = True
        issuer.answers["iss"] = issuer.url
        issuer.site(f"{url}/signed-in")
        text = FILE.format(issuer=issuer.url, url=url) + RULES
        options = ("--http", f"127.0.0.1:{own}", "--allow-host", SITE_NAME)
        running = Console(folder, *options, rules=text, CONSOLE_SECRET="secret")
        stack.enter_context(running.running())
        running.base = url
        yield running


@pytest.fixture(params=["https", "http"])
def console(tmp_path: Path, issuer: Issuing, request: pytest.FixtureRequest) -> Iterator[Console]:
    with consoles(tmp_path, issuer, request.param) as running:
        yield running


def sign_in(browser: Browser, console: Console) -> tuple[Page, list[Request]]:
    """A page of a browser whose person has signed in, and the requests that it has made for that."""
    page = browser.new_context(ignore_https_errors=True).new_page()
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    page.goto(f"{console.base}/approvals")
    page.get_by_role("button", name="Sign in at").click()
    page.wait_for_url("**/console/now")
    return page, requests


def test_a_person_signs_in_and_the_exchange_is_bound_to_the_browser(
    browser: Browser, console: Console, issuer: Issuing
):
    page, requests = sign_in(browser, console)
    left, _, returned = (
        next(one for one in requests if part in one.url) for part in ("/sign-in/issuer", "/authorize", "/signed-in?")
    )
    [asked], [redeemed] = issuer.sent("/authorize"), issuer.sent("/token")
    digest = hashlib.sha256(redeemed["code_verifier"].encode()).digest()
    assert (asked["code_challenge_method"], asked["code_challenge"]) == (
        "S256",
        base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
    )
    query = parse_qs(urlsplit(returned.url).query)
    assert (query["state"], query["iss"]) == ([asked["state"]], [issuer.url])
    cookie = set_cookies(left)[COOKIE]
    assert {"path=/", "secure", "httponly", "samesite=lax", "max-age=600"} <= cookie
    assert "max-age=0" in set_cookies(returned)[COOKIE]
    cookies = {one["name"]: one for one in page.context.cookies()}
    assert sorted(re.sub(r"-\d+$", "", name) for name in cookies) == ["tooltrue-form", "tooltrue-session"]
    is_https = console.base.startswith("https:")
    kinds = {(one["httpOnly"], one["sameSite"], one["secure"]) for one in cookies.values()}
    assert kinds == {(True, "Strict", is_https)}
    assert page.evaluate("document.cookie") == ""


def set_cookies(request: Request) -> dict[str, set[str]]:
    """The cookies that the answer to a request sets: the attributes of each, in lower case."""
    answer = request.response()
    assert answer is not None
    lines = [one["value"] for one in answer.headers_array() if one["name"].lower() == "set-cookie"]
    return {line.partition("=")[0]: set(line.lower().split("; ")[1:]) for line in lines}


def test_a_second_user_with_fewer_scopes_reads_and_cannot_approve(browser: Browser, console: Console, issuer: Issuing):
    ticket = console.ticket()
    ada, _ = sign_in(browser, console)
    issuer.person, issuer.withheld = "bob", {"console:approve", "console:admin"}
    bob, _ = sign_in(browser, console)
    for page in (ada, bob):
        page.goto(f"{console.base}/approvals/{ticket.id}")
    expect(bob.locator("main")).to_contain_text("it lacks the scope console:approve")
    expect(bob.get_by_role("button", name="Approve once")).to_have_count(0)
    fields = dict(ada.locator(f"#ticket-{ticket.id} form").first.evaluate("form => [...new FormData(form).entries()]"))
    fields["form_token"] = bob.locator("input[name=form_token]").first.get_attribute("value")
    status, text = bob.evaluate(FORGED, [f"{console.base}/approvals/{ticket.id}/allow", {**fields, "scope": "once"}])
    assert (status, "TT9402" in text) == (403, True)
    ada.get_by_role("button", name="Approve once").click()
    expect(ada.locator(f"#ticket-{ticket.id}")).to_contain_text("approve once")
    assert decisions(console) == [(f"{issuer.url}#ada", "issuer", "approve once")]


FORGED = """async ([url, fields]) => {
    const headers = {"HX-Request": "true"};
    const answer = await fetch(url, {method: "POST", body: new URLSearchParams(fields), headers});
    return [answer.status, await answer.text()];
}"""
"""Sends a form that the page does not show."""


def decisions(console: Console) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        async with open_log(console.acts) as log:
            records = [record_of(entry) for entry in await log.read()]
        return [(one["who"], one["how"], one["decision"]) for one in records if one["kind"] == "act"]

    return console.run(read)


@BY_HTTPS
def test_the_caller_of_a_tool_does_not_approve_it_in_a_browser(browser: Browser, console: Console, issuer: Issuing):
    ticket = console.ticket(principal=f"{issuer.url}#ada")
    page, _ = sign_in(browser, console)
    page.goto(f"{console.base}/approvals/{ticket.id}")
    page.get_by_role("button", name="Approve once").click()
    expect(page.locator("#problem")).to_contain_text("TT9407")


@BY_HTTPS
def test_an_answer_counts_once_and_for_the_browser_that_was_sent(browser: Browser, console: Console):
    page, requests = sign_in(browser, console)
    returned = next(one.url for one in requests if "/signed-in?" in one.url)
    thief = browser.new_context(ignore_https_errors=True).new_page()
    for one in (page, thief):
        one.goto(returned)
        expect(one.locator("main")).to_contain_text("TT9482")
    thief.goto(f"{console.base}/approvals")
    expect(thief).to_have_url(re.compile("/console/sign-in$"))


def on_return(page: Page, change: Callable[[str], str]) -> None:
    """Change the address to which the issuer sends the browser back."""

    def answer(route: Route) -> None:
        sent = route.fetch(max_redirects=0)
        route.fulfill(status=302, headers={"location": change(sent.headers["location"])})

    page.route("**/authorize?*", answer)


@BY_HTTPS
@pytest.mark.parametrize(("name", "code"), [("iss", "TT9481"), ("state", "TT9482"), ("code", "TT9481")])
def test_an_answer_that_was_changed_on_its_way_opens_no_session(
    browser: Browser, console: Console, name: str, code: str
):
    page = browser.new_context(ignore_https_errors=True).new_page()
    on_return(page, lambda url: re.sub(rf"\b{name}=[^&]*", f"{name}=https%3A%2F%2Fevil.example", url))
    page.goto(f"{console.base}/approvals")
    page.get_by_role("button", name="Sign in at").click()
    expect(page.locator("main")).to_contain_text(code)
    page.goto(f"{console.base}/approvals")
    expect(page).to_have_url(re.compile("/console/sign-in$"))


@BY_HTTPS
def test_a_cookie_of_another_browser_does_not_help(browser: Browser, console: Console):
    """The sign-in that one browser has begun ends in it alone, whoever opens the answer."""
    first, second = (browser.new_context(ignore_https_errors=True).new_page() for _ in range(2))
    answers: list[str] = []

    def keep(url: str) -> str:
        answers.append(url)
        return f"{console.base}/sign-in"

    on_return(first, keep)
    first.goto(f"{console.base}/approvals")
    with first.expect_navigation(url="**/sign-in"):
        first.get_by_role("button", name="Sign in at").click()
    second.goto(answers[0])
    expect(second.locator("main")).to_contain_text("TT9482")
