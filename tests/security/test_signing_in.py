"""Attacks on a client that signs in: by the server, its authorization server, and any other host that can reach it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from support.clock import skip
from support.issuing.impostor import Impostor
from support.issuing.server import Issuing
from support.issuing.visiting import registering, serving, signing_in
from support.variants import tried
from support.wire.mounting import Mounts
from tooltrue import AuthorizationFailed, Client, SignIn, TransportError
from tooltrue.client.auth.credentials import InMemory
from tooltrue.client.auth.tokens import Registered, Tokens
from tooltrue.protocol import versions
from tooltrue.transport.addresses import parse
from tooltrue.transport.carrier import Refusal
from tooltrue.transport.fetch import Fetcher, NotFetched

CODE = "a-code-of-theirs"


@pytest.fixture
def impostor(mounts: Mounts) -> Iterator[Impostor]:
    made = Impostor()
    with mounts.mounted_at(made.application):
        yield made


class Browser:
    """A browser that returns the attacker's parameters. ``seen`` lists the pages that the person was shown."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.seen: list[str] = []

    async def __call__(self, page: str) -> None:
        self.seen.append(page)
        said = {key: one for key, [one] in parse_qs(urlsplit(page).query).items()}
        answer = {"code": CODE, "state": said["state"], **self.answer}
        back = {key: value for key, value in answer.items() if value is not None}
        async with httpx2.AsyncClient(trust_env=False) as client:
            await client.get(f"{said['redirect_uri']}?{urlencode(back)}")


def visited(url: str, browser: Any, timeout: float = 30.0, **settings: Any) -> Exception:
    """Why the client gave up."""

    async def scenario() -> None:
        async with Client(url, auth=SignIn(browser, credentials=InMemory(), timeout=timeout, **settings)) as client:
            await client.list_tools()

    with pytest.raises(TransportError) as found:
        asyncio.run(scenario())
    return found.value


def code_of(error: Exception) -> str:
    return getattr(error, "code", "")


# --- B42: metadata that points into the network -----------------------------------------------------------------------

INSIDE = [
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "https://10.0.0.1/metadata",
    "https://[fd00:ec2::254]/",
    "https://[::ffff:10.0.0.1]/",
    "file:///etc/passwd",
    "https://user@10.0.0.1/",
]


@pytest.mark.requirement("SEC-11", "SEC-12", "SEC-13", "SEC-29")
@pytest.mark.parametrize("url", INSIDE)
def test_b42_a_challenge_that_points_into_the_network_is_not_followed(impostor: Impostor, url: str) -> None:
    impostor.challenge = f'Bearer resource_metadata="{url}"'
    assert code_of(visited(impostor.url, Browser())) in ("TT4210", "TT4211")
    assert set(impostor.paths()) == {"mcp"}


@pytest.mark.requirement("SEC-11")
@pytest.mark.parametrize("place", ["token_endpoint", "registration_endpoint", "authorization_endpoint"])
def test_b42_endpoints_inside_the_network_are_not_asked(impostor: Impostor, place: str) -> None:
    impostor.issuer = {place: "https://10.0.0.1/inside"}
    browser = Browser()
    assert code_of(visited(impostor.url, browser)) == "TT4210"
    assert (browser.seen == []) == (place != "token_endpoint")


@pytest.mark.attack("B42")
@pytest.mark.parametrize("named_from", ["93.184.216.34", "10.0.0.7", "169.254.169.254"])
def test_b42_only_a_source_on_this_machine_can_name_a_local_address(issuer: Issuing, named_from: str) -> None:
    with pytest.raises(NotFetched):
        asyncio.run(Fetcher(beside=parse(named_from)).get(f"{issuer.url}/jwks"))
    assert issuer.asked == {}


@pytest.mark.twin("B42")
def test_b42_twin_a_server_on_this_machine_has_its_issuer_there(mounts: Mounts, issuer: Issuing) -> None:
    async def scenario(url: str) -> bool:
        async with Client(url, auth=signing_in(issuer)) as client:
            return bool(await client.list_tools())

    with serving(mounts, registering(issuer)) as url:
        assert asyncio.run(scenario(url))


# --- B43: an address that is a command --------------------------------------------------------------------------------


@pytest.mark.requirement("SEC-25", "SEC-26", "SEC-29")
@pytest.mark.parametrize(
    "page",
    [
        "file:/c:/windows/system32/calc.exe",
        "javascript:alert(1)",
        "data:text/html,hi",
        "vbscript:msgbox(1)",
        "ms-settings:display",
        "http://tools.example/authorize",
        "https://user:secret@127.0.0.1/",
        "https:// $(calc)/",
        "--help",
        "https://tools.example/a#fragment",
        "https://tools.example/\nb",
        "",
        "FILE:///etc/passwd",
        "ftp://tools.example/",
        "steam://run/1",
        "tel:+1",
        "mailto:eve@evil.example",
        "blob:https://tools.example/1",
        "about:blank",
        "view-source:https://tools.example/",
        "\\\\evil.example\\share",
        "https://tools.example/$(calc)\x00",
        "https://tools.example/\x1b]0;x\x07",
        "https://tools.example\\@evil.example/",
        "https:///authorize",
        "//tools.example/authorize",
    ],
)
def test_b43_a_page_to_sign_in_is_a_page(impostor: Impostor, page: str) -> None:
    impostor.issuer = {"authorization_endpoint": page}
    browser = Browser()
    assert code_of(visited(impostor.url, browser)) in ("TT5102", "TT4210", "TT4211")
    assert browser.seen == []
    assert "register" not in impostor.paths()


@pytest.mark.twin("B43")
def test_b43_twin_a_page_may_have_parameters_of_its_own(impostor: Impostor) -> None:
    root = impostor.url.removesuffix("/mcp")
    impostor.issuer = {"authorization_endpoint": f"{root}/authorize?tenant=1"}
    browser = Browser()
    visited(impostor.url, browser)
    assert browser.seen[0].startswith(f"{root}/authorize?tenant=1&response_type=code&")
    assert "token" in impostor.paths()


# --- whose answer it is -----------------------------------------------------------------------------------------------


@pytest.mark.attack("B41")
@pytest.mark.requirement("AUTHC-46")
def test_b41_a_callback_with_another_state_is_rejected(impostor: Impostor) -> None:
    guessing = Browser(state="guessed")

    async def browse(page: str) -> None:
        await guessing(page)
        skip(30.0)

    assert code_of(visited(impostor.url, browse, timeout=30.0)) == "TT5105"
    assert "token" not in impostor.paths()


KNOCKS = {
    "no answer": "GET {path}",
    "a code alone": "GET {path}?code=theirs",
    "a guessed state": "GET {path}?code=theirs&state=guessed",
    "an empty state": "GET {path}?code=theirs&state=",
    "an error": "GET {path}?error=access_denied",
    "an error for another state": "GET {path}?error=access_denied&state=guessed",
    "the beginning of the state": "GET {path}?code=theirs&state={begin}",
    "the state and more": "GET {path}?code=theirs&state={state}x",
    "the state with a space": "GET {path}?code=theirs&state={state}+",
    "the state with a zero byte": "GET {path}?code=theirs&state={state}%00",
    "the state in the other case": "GET {path}?code=theirs&state={swapped}",
    "the state encoded twice": "GET {path}?code=theirs&state={twice}",
    "the state in another name": "GET {path}?code=theirs&State={state}",
    "the state as an element": "GET {path}?code=theirs&state[]={state}",
    "the state behind a semicolon": "GET {path}?code=theirs;state={state}",
    "the state in the fragment": "GET {path}?code=theirs#state={state}",
    "the state in the path": "GET {path}/{state}?code=theirs",
    "two states": "GET {path}?code=theirs&state={state}&state=guessed",
    "two codes": "GET {path}?code=theirs&code=ours&state={state}",
    "many parameters": "GET {path}?code=theirs&state={state}" + "&a=1" * 100,
    "another page": "GET /?code=theirs&state={state}",
    "a page below": "GET {path}/?code=theirs&state={state}",
    "a page above": "GET {path}/..?code=theirs&state={state}",
    "a page with a double line": "GET /{path}?code=theirs&state={state}",
    "a page in the other case": "GET {upper}?code=theirs&state={state}",
    "an encoded page": "GET /%63allback?code=theirs&state={state}",
    "a form": "POST {path}?code=theirs&state={state}",
    "a question for the head": "HEAD {path}?code=theirs&state={state}",
    "a question before a request": "OPTIONS {path}?code=theirs&state={state}",
    "a method in small letters": "get {path}?code=theirs&state={state}",
    "a method that does not exist": "GETS {path}?code=theirs&state={state}",
    "brackets of no address": "GET http://[::1{path}?code=theirs&state={state}",
}
"""Requests to the page that waits for the browser, which other pages, or programs of this machine, may send."""


async def knocked(page: str, line: str) -> int:
    """The status of an answer to a request with this line."""
    said = {key: one for key, [one] in parse_qs(urlsplit(page).query).items()}
    back, state = urlsplit(said["redirect_uri"]), said["state"]
    parts = {"path": back.path, "state": state, "begin": state[:-1], "swapped": state.swapcase()}
    target = line.format(**parts, upper=back.path.upper(), twice="".join(f"%25{ord(sign):x}" for sign in state))
    reader, writer = await asyncio.open_connection(back.hostname, back.port)
    writer.write(f"{target} HTTP/1.1\r\nhost: {back.netloc}\r\ncookie: state={state}\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    writer.close()
    return status


@pytest.mark.attack("B41")
@pytest.mark.variants(len(KNOCKS))
def test_b41_a_page_that_knocks_first_does_not_end_the_wait(mounts: Mounts, issuer: Issuing) -> None:
    knocks: dict[str, int] = {}

    async def browse(page: str) -> None:
        for name, line in KNOCKS.items():
            tried(name)
            knocks[name] = await knocked(page, line)
        await asyncio.to_thread(issuer.agree, page)

    async def scenario(url: str) -> Any:
        async with Client(url, auth=SignIn(browse, credentials=InMemory())) as client:
            return (await client.call_tool("who")).value

    with serving(mounts, registering(issuer)) as url:
        assert asyncio.run(scenario(url)) == [f"{issuer.url}#ada"]
    assert {name: status for name, status in knocks.items() if status != 404} == {}


@pytest.mark.twin("B41")
@pytest.mark.parametrize(
    "line",
    [
        "GET {path}?code=" + CODE + "&state={state}",
        "GET {path}?state={state}&code=" + CODE,
        "GET {path}?code=" + CODE + "&state={state}&session_state=1&scope=a+b",
    ],
)
def test_b41_twin_an_answer_with_our_state_is_taken_in_any_order(impostor: Impostor, line: str) -> None:
    async def browse(page: str) -> None:
        assert await knocked(page, line) == 200

    visited(impostor.url, browse)
    assert impostor.forms("token")[0]["code"] == CODE


@pytest.mark.twin("B41")
def test_b41_twin_the_answer_with_our_state_is_taken(impostor: Impostor) -> None:
    visited(impostor.url, Browser())
    assert impostor.forms("token")[0]["code"] == CODE


@pytest.mark.requirement("AUTHC-37", "AUTHC-38", "AUTHC-39")
@pytest.mark.parametrize("advertised", [True, None])
@pytest.mark.parametrize(
    "change", [lambda iss: "https://evil.example", lambda iss: f"{iss}/", str.upper, lambda iss: ""]
)
def test_a_code_of_another_issuer_is_not_redeemed(
    impostor: Impostor, advertised: bool | None, change: Callable[[str], str]
) -> None:
    impostor.issuer = {"authorization_response_iss_parameter_supported": advertised}
    browser = Browser(iss=change(impostor.url.removesuffix("/mcp")))
    assert code_of(visited(impostor.url, browser)) == "TT5104"
    assert "token" not in impostor.paths()


@pytest.mark.requirement("AUTHC-38")
def test_a_code_that_does_not_say_whose_it_is_is_not_redeemed_where_it_should(impostor: Impostor) -> None:
    impostor.issuer = {"authorization_response_iss_parameter_supported": True}
    assert code_of(visited(impostor.url, Browser())) == "TT5104"
    assert "token" not in impostor.paths()


@pytest.mark.requirement("AUTHC-40")
def test_the_error_text_of_another_issuer_is_not_shown(impostor: Impostor) -> None:
    error = visited(
        impostor.url, Browser(code=None, iss="https://evil.example", error="x", error_description="call 555")
    )
    assert code_of(error) == "TT5104"
    assert "555" not in str(error)


def test_the_error_text_of_the_issuer_is_shown_on_one_line(impostor: Impostor) -> None:
    error = visited(
        impostor.url, Browser(code=None, error="access_denied", error_description="no\n\x1b[31mway" + "!" * 999)
    )
    assert code_of(error) == "TT5103"
    assert "access_denied: no  [31mway!" in str(error)
    assert len(str(error)) < 600


# --- whose metadata it is ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("AUTHC-06", "AUTHC-07")
def test_metadata_of_another_issuer_is_not_used(impostor: Impostor) -> None:
    impostor.issuer = {"issuer": "https://evil.example"}
    assert code_of(visited(impostor.url, Browser())) == "TT5102"
    assert "register" not in impostor.paths()


@pytest.mark.requirement("AUTHC-43")
@pytest.mark.parametrize("methods", [None, [], ["plain"]])
def test_an_issuer_that_does_not_know_pkce_is_not_trusted(impostor: Impostor, methods: list[str] | None) -> None:
    impostor.issuer = {"code_challenge_methods_supported": methods}
    browser = Browser()
    assert code_of(visited(impostor.url, browser)) == "TT5102"
    assert browser.seen == []


@pytest.mark.parametrize(
    "resource",
    [
        "https://evil.example/mcp",
        "{origin}.evil.example/mcp",
        "{origin}/other",
        "{url}/deeper",
        "{url}x",
        "{url}#a",
        "x",
        "",
    ],
)
def test_a_token_for_another_server_is_not_asked_for(impostor: Impostor, resource: str) -> None:
    origin = impostor.url.rpartition("/mcp")[0].rpartition("/")[0]
    impostor.resource = {"resource": resource.format(origin=origin, url=impostor.url)}
    assert code_of(visited(impostor.url, Browser())) == "TT5102"
    assert "register" not in impostor.paths()


def test_a_token_for_the_whole_origin_may_be_asked_for(impostor: Impostor) -> None:
    impostor.resource = {"resource": impostor.url.rpartition("/mcp")[0].rpartition("/")[0]}
    visited(impostor.url, Browser())
    assert impostor.forms("token")[0]["resource"] == impostor.resource["resource"]


# --- token handling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["a\r\nx-evil: 1", "a b", "", "ä", 7, None, "a" * 20_000])
def test_a_token_that_is_no_header_is_not_sent(impostor: Impostor, token: Any) -> None:
    impostor.token = {"access_token": token}
    assert code_of(visited(impostor.url, Browser())) == "TT5102"


def test_a_token_of_another_kind_is_not_sent(impostor: Impostor) -> None:
    impostor.token = {"token_type": "mac"}
    assert code_of(visited(impostor.url, Browser())) == "TT5102"


def test_a_server_that_refuses_all_tokens_asks_the_person_once(impostor: Impostor) -> None:
    browser = Browser()
    assert code_of(visited(impostor.url, browser)) == "TT5112"
    assert len(browser.seen) <= 2


@pytest.mark.requirement("AUTHC-36")
def test_a_server_that_wants_another_sign_in_each_time_soon_gets_none(impostor: Impostor) -> None:
    """The server rejects each token, or requires an unknown scope, on every request."""
    browser, codes = Browser(), []
    auth = SignIn(browser, credentials=InMemory(), timeout=30.0)
    link = auth.for_server(impostor.url)

    async def scenario() -> None:
        for number in range(8):
            challenge = {"www-authenticate": f'Bearer error="insufficient_scope", scope="new{number}"'}
            sent = await link.headers("POST")
            try:
                await link.challenged(Refusal(403 if sent else 401, challenge, sent, "127.0.0.1", 0))
            except AuthorizationFailed as error:
                codes.append(error.code)

    asyncio.run(scenario())
    assert (len(browser.seen), codes) == (5, ["TT5117"] * 3)


@pytest.mark.requirement("SEC-14")
def test_a_redirect_takes_no_token_along(mounts: Mounts, issuer: Issuing, impostor: Impostor) -> None:
    credentials = InMemory()
    thief = Impostor()

    async def scenario(url: str) -> None:
        async with Client(url, auth=signing_in(issuer, credentials)) as client:
            await client.list_tools()

    with mounts.mounted_at(thief.application) as elsewhere, serving(mounts, registering(issuer)) as url:
        asyncio.run(scenario(url))
        text = credentials._texts.pop(f"tokens for {url}")  # pyright: ignore[reportPrivateUsage] - the same tokens, now for a server that sends us away
        asyncio.run(credentials.write(f"tokens for {impostor.url}", text))
        impostor.moves_to = elsewhere
        with pytest.raises(TransportError):
            asyncio.run(scenario(impostor.url))
    assert any("authorization" in headers for _, headers, _ in impostor.asked)
    assert thief.asked == []


def test_the_server_itself_gets_it_each_time(mounts: Mounts, issuer: Issuing) -> None:
    async def scenario(url: str) -> list[Any]:
        async with Client(url, auth=signing_in(issuer)) as client:
            return [(await client.call_tool("who")).value for _ in range(2)]

    with serving(mounts, registering(issuer)) as url:
        assert asyncio.run(scenario(url)) == [[f"{issuer.url}#ada"]] * 2


@pytest.mark.requirement("AUTHC-20", "AUTHC-21", "AUTHC-22", "AUTHC-09")
def test_an_issuer_that_takes_over_gets_nothing_that_the_first_has_given(
    mounts: Mounts, issuer: Issuing, impostor: Impostor
) -> None:
    """The server names another issuer from one call to the next."""
    credentials = InMemory()
    impostor.resource = {"authorization_servers": [issuer.url]}
    registering(issuer)
    assert code_of(visited_with(impostor.url, signing_in(issuer, credentials))) == "TT5112"
    given = [*issuer.refresh, *issuer.tokens, *issuer.clients]
    impostor.resource, seen = {}, len(impostor.asked)
    visited_with(impostor.url, SignIn(Browser(), credentials=credentials, timeout=30.0))
    sent = json.dumps([(form, path) for path, _, form in impostor.asked[seen:] if not path.endswith("/mcp")])
    assert "token" in impostor.paths()
    assert [secret for secret in given if secret in sent] == []


def visited_with(url: str, auth: SignIn) -> Exception:
    async def scenario() -> None:
        async with Client(url, auth=auth) as client:
            await client.list_tools()

    with pytest.raises(AuthorizationFailed) as found:
        asyncio.run(scenario())
    return found.value


@pytest.mark.requirement("AUTHC-29", "AUTHC-47", "LHTTP-25")
def test_no_secret_is_logged_or_shown_or_part_of_a_url(
    mounts: Mounts, issuer: Issuing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.ERROR, "werkzeug")

    async def scenario(url: str, revision: str) -> None:
        async with Client(url, auth=signing_in(issuer), revision=revision) as client:
            await client.call_tool("save")
            sessions.append(str(getattr(client, "_link")._session))  # noqa: B009

    sessions: list[str] = []
    with serving(mounts, registering(issuer), scopes=["read"]) as url:
        for revision in (versions.MODERN[0], versions.LEGACY[0]):
            asyncio.run(scenario(url, revision))
    secrets = [*issuer.tokens, *issuer.refresh, sessions[-1]]
    assert len(secrets) >= 4
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("tooltrue", "httpx2"))]
    assert [one for one in ours for secret in secrets if secret in one] == []
    assert all("access_token" not in said for said in issuer.sent("/authorize"))


def test_objects_that_hold_secrets_do_not_show_them() -> None:
    tokens = Tokens(issuer="i", resource="r", client_id="c", access="hidden", refresh="hidden", key="hidden")
    registered = Registered(issuer="i", client_id="c", client_secret="hidden")
    with contextlib.suppress(AttributeError):
        assert "hidden" not in f"{tokens!r} {registered!r} {tokens} {registered}"
