"""Authentication: attacks on tokens, keys, sessions, addresses and fetches, over real sockets and a real issuer."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import hmac
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.issuing.calling import RESOURCE, call, called, guarded, oauth, who
from support.issuing.server import REDIRECT, Issuing, new_key
from support.wire.mounting import Mounts
from support.wire.raw_http import JSON, Endpoint, in_session, modern
from tooltrue import ApiKeys, Client, Context, Public, Server, ToolError
from tooltrue.server.keys import Key
from tooltrue.server.keys import new_key as new_api_key
from tooltrue.testing.state import LIMIT
from tooltrue.transport.fetch import Fetcher, NotFetched


def keys(*names: str) -> tuple[ApiKeys, dict[str, str]]:
    made = {name: new_api_key(name) for name in names}
    kept = {name: Key(digest, frozenset({"read"})) for name, (_, digest) in made.items()}
    return ApiKeys(kept), {name: key for name, (key, _) in made.items()}


# --- B26: a rate evaded by addresses ----------------------------------------------------------------------------------


def by_address(mounts: Mounts, *addresses: str) -> list[str]:
    made = guarded(Public(proxies=["127.0.0.1"]))
    return [who(call(mounts, made, headers=[("X-Forwarded-For", address)]))[0] for address in addresses]


@pytest.mark.attack("B26")
def test_b26_hopping_through_the_addresses_of_one_network_makes_no_new_caller(mounts: Mounts) -> None:
    hops = by_address(mounts, "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:DB8:1:2:0:0:0:1")
    assert set(hops) == {"address:2001:db8:1:2::/64"}
    written = by_address(mounts, "198.51.100.7", "::ffff:198.51.100.7", "203.0.113.1, 198.51.100.7")
    assert set(written) == {"address:198.51.100.7"}


@pytest.mark.twin("B26")
def test_b26_twin_two_networks_are_two_callers(mounts: Mounts) -> None:
    found = by_address(mounts, "2001:db8:1:2::1", "2001:db8:1:3::1", "198.51.100.7", "198.51.100.8")
    assert len(set(found)) == 4


# --- B30: the session of another --------------------------------------------------------------------------------------


@pytest.mark.attack("B30")
def test_b30_a_session_opens_for_the_key_that_began_it_and_for_no_other(mounts: Mounts) -> None:
    way, sent = keys("ada", "eve")

    async def scenario(endpoint: Endpoint) -> list[int]:
        bearer = {name: [("Authorization", f"Bearer {key}")] for name, key in sent.items()}
        session = in_session(await endpoint.initialize(headers=bearer["ada"]))
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        tries = [bearer["eve"], [], bearer["ada"]]
        return [(await endpoint.post(ping, (*session, *headers))).status for headers in tries]

    with mounts.mounted(guarded(way).http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [404, 401, 200]


# --- B38: the token handed on -----------------------------------------------------------------------------------------


def everything(value: Any, depth: int = 12, seen: set[int] | None = None) -> str:
    """All text that a tool could reach from a value through its attributes, keys and items."""
    seen = set() if seen is None else seen
    if depth == 0 or id(value) in seen:
        return ""
    seen.add(id(value))
    if isinstance(value, str | bytes):
        return str(value)
    parts: list[Any] = []
    if isinstance(value, dict):
        parts += [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts += value
    names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
    names += getattr(type(value), "__struct_fields__", ())
    parts += [getattr(value, name, None) for name in names if isinstance(name, str)]
    return "\n".join(everything(part, depth - 1, seen) for part in parts)


@pytest.mark.requirement("AUTHS-13", "AUTHS-15", "AUTHS-23")
@pytest.mark.attack("B38")
@pytest.mark.parametrize("how", ["a token", "a key", "a key in a header of its own"])
def test_b38_the_token_of_a_caller_is_nowhere_behind_the_door(
    mounts: Mounts, issuer: Issuing, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    way, sent = keys("ada")
    secret = issuer.for_ada(RESOURCE) if how == "a token" else sent["ada"]
    header = ("X-API-Key", secret) if "header" in how else ("Authorization", f"Bearer {secret}")
    made = Server("shows", authenticate=[way, oauth(issuer)])

    @made.tool
    async def reach(context: Context) -> str:
        """All that a tool can reach from what it is given."""
        return everything(context)

    @made.tool
    def show(context: Context) -> str:
        """What a tool is given, and a child of it."""
        child = subprocess.run([sys.executable, "-c", "import os; print(os.environ)"], capture_output=True, check=True)
        return "\n".join([everything(context), repr(os.environ), child.stdout.decode()])

    @made.tool
    async def crash(context: Context) -> str:
        """Crashes, which is logged."""
        raise RuntimeError(repr(context))

    caplog.set_level(logging.DEBUG)
    answers = [call(mounts, made, tool=tool, headers=[header]) for tool in ("reach", "show", "crash")]
    answers.append(call(mounts, guarded(oauth(issuer)), token=secret[:-3] + "abc"))
    assert [answer.status for answer in answers] == [200, 200, 200, 401]
    said = f"{answers} {caplog.text}"
    assert secret[:40] not in said
    assert secret[-20:] not in said


async def variables(context: Context) -> str:
    return everything({variable.name: value for variable, value in contextvars.copy_context().items()}, depth=6)


def variables_of_a_thread(context: Context) -> str:
    return everything({variable.name: value for variable, value in contextvars.copy_context().items()}, depth=6)


async def names_and_arguments(context: Context) -> str:
    task = asyncio.current_task()
    return f"{task!r} {sys.argv} {os.environ} {threading.current_thread()!r} {context!r} {context}"


def child(context: Context) -> str:
    """A program that prints what it was given."""
    code = "import os, sys; print(os.environ, sys.argv, os.listdir('/proc/self/fd'), sys.stdin.read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return done.stdout.decode()


async def notices(context: Context) -> str:
    context.progress(1, 2, everything(context))
    context.log("info", everything(context))
    return ""


async def refusal(context: Context) -> str:
    raise ToolError(everything(context) + repr(context))


EXITS = [variables, variables_of_a_thread, names_and_arguments, child, notices, refusal]
SENT: dict[str, Callable[[str, str], tuple[str, str]]] = {
    "a token": lambda token, key: ("Authorization", f"Bearer {token}"),
    "a token, its scheme in small letters": lambda token, key: ("authorization", f"bearer {token}"),
    "a key": lambda token, key: ("Authorization", f"Bearer {key}"),
    "a key in a header of its own": lambda token, key: ("X-API-KEY", key),
}


@pytest.mark.attack("B38")
@pytest.mark.parametrize("leave", EXITS, ids=lambda leave: leave.__name__)
@pytest.mark.parametrize("how", SENT)
def test_b38_a_tool_hands_on_no_token_of_its_caller(
    mounts: Mounts, issuer: Issuing, caplog: pytest.LogCaptureFixture, how: str, leave: Callable[[Context], Any]
) -> None:
    way, sent = keys("ada")
    header = SENT[how](issuer.for_ada(RESOURCE), sent["ada"])
    made = Server("shows", version="1", authenticate=[way, oauth(issuer)])
    made.add_tool(leave, name="leave", effect="read")
    caplog.set_level(logging.DEBUG)
    answer = call(mounts, made, tool="leave", headers=[header])
    said = f"{answer} {caplog.text}"
    assert answer.status == 200
    assert answer.json["result"].get("isError", False) == (leave is refusal), answer
    secret = header[1].rpartition(" ")[2]
    assert [
        part for part in (secret[:40], secret[-20:], base64.b64encode(secret.encode()).decode()[:40]) if part in said
    ] == []


CLIENTS = ["a client on the event loop", "a client in a thread"]
COMES = """
import os, sys
from tooltrue import Server
server = Server("next", version="1")
@server.tool
def come() -> str:
    "What came."
    return f"came {dict(os.environ)} {sys.argv} {os.listdir('/proc/self/fd')}"
server.run()
"""


def caller(target: Any, client: str, headers: dict[str, str]) -> Callable[[Context], Any]:
    """A tool that calls a tool of another server, through a client of its own."""

    async def ask() -> str:
        async with Client(target, headers=headers, timeout=LIMIT) as inner:
            return (await inner.call_tool("come")).text

    async def on_the_event_loop(context: Context) -> str:
        return await ask()

    def in_a_thread(context: Context) -> str:
        return asyncio.run(ask())

    return on_the_event_loop if client == CLIENTS[0] else in_a_thread


def told_to_the_next(
    mounts: Mounts, issuer: Issuing, how: str, client: str, target: str, headers: dict[str, str] | None = None
) -> tuple[str, str]:
    """The token of a caller, and all that came to a server which is called for it."""
    way, sent = keys("ada")
    header = SENT[how](issuer.for_ada(RESOURCE), sent["ada"])
    requests: list[str] = []
    other = Server("next", version="1")

    @other.tool
    async def come(context: Context) -> str:
        """All that a tool can reach from what it is given."""
        return f"came {everything(context)} {everything(dict(contextvars.copy_context()))}"

    class Heard:
        app = other.http_app()
        serving = app.serving

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            requests.append(repr(scope))
            await self.app(scope, receive, send)

    with mounts.mounted(Heard()) as path:
        url = f"http://127.0.0.1:{mounts.port}{path}"
        targets = {"over HTTP": url, "over stdio": [sys.executable, "-c", COMES], "in memory": other}
        made = Server("first", version="1", authenticate=[way, oauth(issuer)])
        made.add_tool(caller(targets[target], client, headers or {}), name="leave", effect="read")
        answer = call(mounts, made, tool="leave", headers=[header])
    assert (answer.status, answer.json["result"]["isError"]) == (200, False), answer
    assert "came" in answer.json["result"]["content"][0]["text"]
    assert len(requests) == (2 if target == "over HTTP" else 0)  # what it is, and the call
    return header[1].rpartition(" ")[2], f"{answer} {requests}"


@pytest.mark.attack("B38")
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("target", ["over HTTP", "over stdio", "in memory"])
@pytest.mark.parametrize("how", SENT)
def test_b38_a_server_that_a_tool_calls_gets_no_token_of_the_caller(
    mounts: Mounts, issuer: Issuing, caplog: pytest.LogCaptureFixture, how: str, target: str, client: str
) -> None:
    caplog.set_level(logging.DEBUG)
    secret, told = told_to_the_next(mounts, issuer, how, client, target)
    coded = base64.b64encode(secret.encode()).decode()
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("authlib")]  # the issuer
    said = "\n".join([told, *logged])
    assert [part for part in (secret[:40], secret[-20:], coded[:40]) if part in said] == []


@pytest.mark.twin("B38")
@pytest.mark.parametrize("client", CLIENTS)
def test_b38_twin_a_header_that_the_tool_gives_its_client_arrives(mounts: Mounts, issuer: Issuing, client: str) -> None:
    own = {"Authorization": "Bearer of-the-tool-itself"}
    _, told = told_to_the_next(mounts, issuer, "a token", client, "over HTTP", own)
    assert told.count("Bearer of-the-tool-itself") == 2


@pytest.mark.attack("B38")
def test_b38_no_record_has_the_key_of_a_caller(tmp_path: Path) -> None:
    way, sent = keys("ada")
    made = guarded(way, audit=f"sqlite://{tmp_path / 'audit.db'}")
    assert statuses_of(made, "192.0.2.1", {"authorization": f"Bearer {sent['ada']}"}, tool="who") == [200]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert (b"key:ada" in kept, sent["ada"].encode() in kept) == (True, False)


@pytest.mark.twin("B38")
def test_b38_twin_a_tool_receives_the_principal_and_its_scopes(mounts: Mounts, issuer: Issuing) -> None:
    assert who(call(mounts, guarded(oauth(issuer)), issuer.for_ada(RESOURCE))) == [f"{issuer.url}#ada", "read"]


# --- B39: a token for somebody else, unsigned, or signed with a public key --------------------------------------------


def unsigned(issuer: Issuing, algorithm: str = "none") -> str:
    _, claims, _ = issuer.signed(aud=RESOURCE).split(".")
    return f"{encoded({'alg': algorithm, 'typ': 'JWT'})}.{claims}."


def signed_with_the_public_key(issuer: Issuing) -> str:
    """A token signed with the issuer's public key as an HMAC secret (algorithm confusion). joserfc refuses this."""
    _, claims, _ = issuer.signed(aud=RESOURCE).split(".")
    said = f"{encoded({'alg': 'HS256', 'kid': issuer.keys[0].kid, 'typ': 'JWT'})}.{claims}"
    digest = hmac.digest(issuer.keys[0].as_pem(private=False), said.encode(), "sha256")
    return f"{said}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def changed(issuer: Issuing) -> str:
    head, claims, signature = issuer.signed(aud=RESOURCE).split(".")
    said = json.loads(base64.urlsafe_b64decode(claims + "=="))
    return f"{head}.{encoded({**said, 'sub': 'root'})}.{signature}"


def with_a_key_of_its_own(issuer: Issuing) -> str:
    own = new_key()
    return issuer.signed({"kid": issuer.keys[0].kid, "jwk": own.as_dict(private=False)}, own, aud=RESOURCE)


FORGED: dict[str, Callable[[Issuing], str]] = {
    "no signature": unsigned,
    "none, spelled otherwise": lambda issuer: (
        encoded({"alg": "NONE"}) + unsigned(issuer)[unsigned(issuer).index(".") :]
    ),
    "the public key as a secret": signed_with_the_public_key,
    "another's key": lambda issuer: issuer.signed({"kid": issuer.keys[0].kid}, new_key(), aud=RESOURCE),
    "a key of its own": with_a_key_of_its_own,
    "a place of its keys": lambda issuer: issuer.signed({"jku": "http://127.0.0.1:1/"}, new_key(), aud=RESOURCE),
    "other claims": changed,
    "for another server": lambda issuer: issuer.signed(aud="https://other.example/mcp"),
    "for a server below": lambda issuer: issuer.signed(aud=RESOURCE + "/sub"),
    "for a server whose name goes on": lambda issuer: issuer.signed(aud="https://tools.example.evil/mcp"),
    "for the client": lambda issuer: issuer.for_itself(""),
    "for nobody": lambda issuer: issuer.signed(),
    "for what is no URL": lambda issuer: issuer.signed(aud=["https://[x", "https://[x]y/"]),
    "for no text": lambda issuer: issuer.signed(aud=[{"https://tools.example/mcp": 1}]),
    "of another issuer": lambda issuer: issuer.signed(aud=RESOURCE, iss="https://evil.example"),
    "of an issuer whose name goes on": lambda issuer: issuer.signed(aud=RESOURCE, iss=issuer.url + "/"),
    "of no issuer": lambda issuer: issuer.signed(aud=RESOURCE, iss=None),
    "of nobody": lambda issuer: issuer.signed(aud=RESOURCE, sub=None),
    "of nobody's name": lambda issuer: issuer.signed(aud=RESOURCE, sub=""),
    "an identity, no access": lambda issuer: issuer.signed({"typ": "oauth-id-jag+jwt"}, aud=RESOURCE),
    "with demands": lambda issuer: issuer.signed(aud=RESOURCE).replace(".", ".e30", 1),
    "no token at all": lambda issuer: "eyJ.eyJ.eyJ",
    "brackets": lambda issuer: f"{base64.urlsafe_b64encode(b'[' * 300).decode().rstrip('=')}.e30.e30",
    "said by nobody": lambda issuer: "opaque-token-that-nobody-issued",
}


@pytest.mark.requirement("AUTHS-08", "AUTHS-09", "AUTHS-11", "AUTHS-12", "AUTHS-13", "AUTHS-14", "SEC-03")
@pytest.mark.attack("B39")
@pytest.mark.parametrize("forged", FORGED)
def test_b39_a_token_that_its_issuer_has_not_made_for_this_server_is_refused(
    mounts: Mounts, issuer: Issuing, forged: str
) -> None:
    made = guarded(oauth(issuer))
    assert who(call(mounts, made, issuer.for_ada(RESOURCE)))[0] == f"{issuer.url}#ada"
    token = FORGED[forged](issuer)
    answer = call(mounts, made, token)
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert "[TT1102]" in answer.json["error"]["message"]


@pytest.mark.requirement("AUTHS-09", "AUTHC-27")
@pytest.mark.twin("B39")
@pytest.mark.parametrize("audience", [RESOURCE, [RESOURCE, "https://other.example"], "HTTPS://Tools.Example/mcp"])
@pytest.mark.parametrize("kind", ["at+jwt", "JWT", "application/at+jwt", "AT+JWT"])
def test_b39_twin_a_token_for_this_server_lets_in(mounts: Mounts, issuer: Issuing, audience: Any, kind: str) -> None:
    token = issuer.signed({"typ": kind}, aud=audience)
    assert who(call(mounts, guarded(oauth(issuer)), token)) == [f"{issuer.url}#ada", "read"]


# --- B40: a token too old, too new, or with a path for a key ----------------------------------------------------------

ODD: dict[str, Callable[[Issuing, int], str]] = {
    "too old": lambda issuer, now: issuer.signed(aud=RESOURCE, exp=now - 61),
    "without an end": lambda issuer, now: issuer.signed(aud=RESOURCE, exp=None),
    "whose end is text": lambda issuer, now: issuer.signed(aud=RESOURCE, exp="never"),
    "whose end is true": lambda issuer, now: issuer.signed(aud=RESOURCE, exp=True),
    "too new": lambda issuer, now: issuer.signed(aud=RESOURCE, nbf=now + 90),
    "issued tomorrow": lambda issuer, now: issuer.signed(aud=RESOURCE, iat=now + 86_400),
    "with a path for a key": lambda issuer, now: issuer.signed({"kid": "../../dev/null"}, aud=RESOURCE),
    "with a query for a key": lambda issuer, now: issuer.signed({"kid": "' OR 1=1 --"}, aud=RESOURCE),
    "with a URL for a key": lambda issuer, now: issuer.signed({"kid": "http://127.0.0.1:1/key"}, aud=RESOURCE),
    "huge": lambda issuer, now: issuer.signed(aud=RESOURCE, filling="x" * 8_192),
}


@pytest.mark.requirement("AUTHS-11")
@pytest.mark.attack("B40")
@pytest.mark.parametrize("odd", ODD)
def test_b40_a_token_out_of_its_time_or_with_a_strange_key_is_refused(
    mounts: Mounts, issuer: Issuing, odd: str
) -> None:
    answer = call(mounts, guarded(oauth(issuer)), ODD[odd](issuer, int(time.time())))
    assert (answer.status, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (401, True)
    assert set(issuer.asked) <= {"/.well-known/oauth-authorization-server", "/jwks"}


@pytest.mark.twin("B40")
@pytest.mark.parametrize("claims", [{"exp": -10}, {"nbf": 10}, {"iat": 10}])
def test_b40_twin_clocks_may_differ_by_some_seconds(mounts: Mounts, issuer: Issuing, claims: dict[str, int]) -> None:
    at: dict[str, Any] = {name: int(time.time()) + seconds for name, seconds in claims.items()}
    assert who(call(mounts, guarded(oauth(issuer)), issuer.signed(aud=RESOURCE, **at)))[0] == f"{issuer.url}#ada"


@pytest.mark.requirement("AUTHS-16", "AUTHS-10")
@pytest.mark.attack("B40")
@pytest.mark.parametrize("how", ["in the URL", "in the URL too", "twice", "two schemes", "two keys"])
def test_b40_a_token_stands_in_one_place_once(mounts: Mounts, issuer: Issuing, how: str) -> None:
    token = issuer.for_ada(RESOURCE)
    bearer = ("Authorization", f"Bearer {token}")
    query = f"?access_token={token}" if "URL" in how else ""
    headers = {
        "in the URL": [],
        "in the URL too": [bearer],
        "twice": [bearer, bearer],
        "two schemes": [("Authorization", "Basic eDp5"), bearer],
        "two keys": [("X-API-Key", "tt_a_b"), ("X-API-Key", "tt_a_c")],
    }[how]
    with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
        answer = asyncio.run(called(Endpoint(mounts.port, path + query), headers))
    assert answer.status == 400
    assert token not in answer.body.decode()


SPELLINGS = [
    "access_token=T",
    "Access_Token=T",
    "ACCESS_TOKEN=T",
    "access%5Ftoken=T",
    "access%5ftoken=T",
    "ACCESS%5FTOKEN=T",
    "%61ccess_token=T",
    "access_%74oken=T",
    "access%5F%74oken=T",
    "%61%63%63%65%73%73%5F%74%6F%6B%65%6E=T",
    "%41%43%43%45%53%53%5F%54%4F%4B%45%4E=T",
    "access%255Ftoken=T",
    "%2561ccess_token=T",
    "a=1&access%5Ftoken=T",
    "a=1;access%5Ftoken=T",
    "a=1%26access_token=T",
    "access%5Ftoken=&access%5Ftoken=T",
    "access_token=T&access_token=T",
    "access%5Ftoken%3DT",
    "access%5Ftoken",
    "access%5Ftoken[]=T",
    "%20access%5Ftoken=T",
    "a=1&&Access%5ftokeN=T",
]


@pytest.mark.attack("B40")
@pytest.mark.parametrize("query", SPELLINGS)
def test_b40_a_token_in_the_url_is_refused_however_its_name_is_written(
    mounts: Mounts, issuer: Issuing, query: str
) -> None:
    token = issuer.for_ada(RESOURCE)
    with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
        target = Endpoint(mounts.port, f"{path}?{query.removesuffix('T')}{token}")
        answer = asyncio.run(called(target, [("Authorization", f"Bearer {token}")]))
    assert answer.status == 400
    assert token not in answer.body.decode()


@pytest.mark.twin("B40")
@pytest.mark.parametrize("query", ["access=1", "token=1", "access%20token=1", "page=%5F", "a=%"])
def test_b40_twin_another_query_is_no_token(mounts: Mounts, issuer: Issuing, query: str) -> None:
    with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
        bearer = ("Authorization", f"Bearer {issuer.for_ada(RESOURCE)}")
        answer = asyncio.run(called(Endpoint(mounts.port, f"{path}?{query}"), [bearer]))
    assert answer.status == 200


# --- B41: a deputy with somebody else's consent -----------------------------------------------------------------------


@pytest.mark.attack("B41")
def test_b41_no_cookie_and_no_consent_of_another_client_lets_in(mounts: Mounts, issuer: Issuing) -> None:
    """The server has no login, client id or cookies of its own, and refuses tokens that its issuer made for others."""
    for_upstream = issuer.for_ada("https://upstream.example/api")
    answer = call(mounts, guarded(oauth(issuer)), headers=[("Cookie", "consent=given; session=ada")])
    assert (answer.status, "set-cookie" in answer.headers) == (401, False)
    assert call(mounts, guarded(oauth(issuer)), for_upstream).status == 401

    async def doors(endpoint: Endpoint) -> set[int]:
        paths = ("/authorize", "/token", "/register", "/callback", "/.well-known/oauth-authorization-server")
        base = endpoint.path.removesuffix("/mcp")
        return {(await Endpoint(endpoint.port, base + path).ask("GET", headers=JSON)).status for path in paths}

    with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
        assert asyncio.run(doors(Endpoint(mounts.port, path))) == {404}


@pytest.mark.attack("B41")
@pytest.mark.parametrize(
    "header",
    [
        ("Cookie", "consent=given"),
        ("Cookie", "approved_clients=tools; session=ada; __Host-session=ada"),
        ("Authorization", "Basic dG9vbHM6c2VjcmV0"),
        ("Proxy-Authorization", "Bearer {}"),
        ("X-Forwarded-User", "ada"),
        ("X-Forwarded-Access-Token", "{}"),
        ("X-Client-Id", "tools"),
        ("X-Access-Token", "{}"),
        ("Cookie", "Authorization=Bearer {}"),
        ("Cookie", "access_token={}"),
        ("Mcp-Session-Id", "{}"),
        ("Referer", "https://issuer.example/consent?access_token={}"),
    ],
)
def test_b41_no_consent_that_a_browser_brings_along_is_a_token(
    mounts: Mounts, issuer: Issuing, header: tuple[str, str]
) -> None:
    name, value = header
    answer = call(mounts, guarded(oauth(issuer)), headers=[(name, value.format(issuer.for_ada(RESOURCE)))])
    assert (answer.status, "set-cookie" in answer.headers) == (401, False)


@pytest.mark.twin("B41")
def test_b41_twin_the_issuer_sends_codes_to_the_address_that_its_client_has_registered(issuer: Issuing) -> None:
    challenge = {"scope": "read", "code_challenge": "a" * 43, "code_challenge_method": "S256"}
    assert issuer.authorize(**challenge).headers["location"].startswith(REDIRECT)
    assert issuer.authorize(**challenge, redirect_uri=REDIRECT + "/evil").status_code == 400


# --- B42: metadata that points into the network -----------------------------------------------------------------------

INSIDE = [
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "https://[fd00:ec2::254]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a9fe:a9fe::]/",
    "https://168.63.129.16/",
    "https://100.100.100.200/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://2852039166/",
    "https://0x7f.1/",
    "https://metadata.internal/",
    "https://both.example/",
    "http://public.example/",
    "https://user:pass@public.example/",
    "ftp://public.example/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "//public.example/",
    "https:///nothing",
]

NAMES = {
    "public.example": ["93.184.216.34"],
    "metadata.internal": ["169.254.169.254"],
    "both.example": ["93.184.216.34", "10.0.0.1"],
    "2852039166": ["169.254.169.254"],
    "0x7f.1": ["127.0.0.1"],
}


async def names(host: str, port: int) -> list[str]:
    return NAMES[host]


@pytest.mark.attack("B42")
@pytest.mark.parametrize("url", INSIDE)
def test_b42_no_internal_address_is_fetched_on_behalf_of_a_caller(url: str) -> None:
    with pytest.raises(NotFetched):
        asyncio.run(Fetcher(resolve=names).get(url))


@pytest.mark.attack("B42")
@pytest.mark.parametrize("place", ["jwks_uri", "introspection_endpoint", "issuer"])
def test_b42_metadata_of_the_issuer_leads_nowhere_else(mounts: Mounts, issuer: Issuing, place: str) -> None:
    """The issuer itself stands on loopback, as it was set; another port there was not."""
    asked: list[bytes] = []

    async def scenario() -> int:
        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.read(100))
            writer.close()

        inside = await asyncio.start_server(hear, "127.0.0.1", 0)
        issuer.changes[place] = f"http://127.0.0.1:{inside.sockets[0].getsockname()[1]}/"
        async with inside:
            with mounts.mounted(guarded(oauth(issuer)).http_app()) as path:
                headers = [("Authorization", f"Bearer {issuer.signed(aud=RESOURCE)}")]
                return (await called(Endpoint(mounts.port, path), headers)).status

    status = asyncio.run(scenario())
    assert (status, asked) == (200 if place == "introspection_endpoint" else 503, [])


@pytest.mark.twin("B42")
def test_b42_twin_an_internal_address_named_by_the_operator_is_fetched(issuer: Issuing) -> None:
    fetched = asyncio.run(Fetcher([issuer.url]).get(f"{issuer.url}/jwks"))
    assert json.loads(fetched.body) == issuer.jwks()


# --- B44, B45: other names, and everybody on the network --------------------------------------------------------------


@pytest.mark.attack("B44")
@pytest.mark.parametrize(
    "header",
    [
        ("Host", "evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Host", "127.0.0.1.nip.example"),
    ],
)
def test_b44_a_page_of_another_site_is_refused_before_its_token_is_looked_at(
    mounts: Mounts, issuer: Issuing, header: tuple[str, str]
) -> None:
    answer = call(mounts, guarded(oauth(issuer)), issuer.for_ada(RESOURCE), headers=[header])
    assert (answer.status, issuer.asked.get("/jwks", 0)) == (403, 0)


@pytest.mark.attack("B44")
def test_b44_two_hosts_are_none(mounts: Mounts) -> None:
    local = ("Host", f"127.0.0.1:{mounts.port}")
    assert call(mounts, guarded(None), headers=[local, ("Host", "evil.example")]).status == 400


@pytest.mark.twin("B44")
def test_b44_twin_a_page_of_this_machine_may_ask(mounts: Mounts) -> None:
    answer = call(mounts, guarded(None), headers=[("Origin", "http://localhost:5173")])
    assert who(answer) == ["local:http"]


FROM_ELSEWHERE = [
    "10.0.0.1",
    "172.16.0.1",
    "169.254.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "fe80::1",
    "fd00::1",
    "::",
    "::2",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "::127.0.0.1",
    "localhost",
    "127.0.0.1.evil.example",
    "127.1",
    "unix:/x",
    "",
]
FORWARDING = ["x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "via"]


@pytest.mark.attack("B45")
@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.168.1.7", {}),
        ("2001:db8::7", {}),
        ("::ffff:192.168.1.7", {}),
        ("127.0.0.1", {"x-forwarded-for": "198.51.100.7"}),
        ("127.0.0.1", {"x-forwarded-for": "127.0.0.1, 198.51.100.7"}),
        ("127.0.0.1", {"forwarded": "for=198.51.100.7"}),
        *((peer, {}) for peer in FROM_ELSEWHERE),
        *((peer, {name: "127.0.0.1"}) for peer in ("192.168.1.7", "2001:db8::7") for name in FORWARDING),
    ],
)
def test_b45_a_remote_caller_is_never_the_local_user(peer: str, headers: dict[str, str]) -> None:
    assert statuses_of(Server("open"), peer, headers) == [403]


@pytest.mark.twin("B45")
@pytest.mark.parametrize(
    ("peer", "headers"), [("127.0.0.1", {}), ("::1", {}), ("127.0.0.1", {"x-forwarded-for": "::1"})]
)
def test_b45_twin_this_machine_needs_no_password(peer: str, headers: dict[str, str]) -> None:
    assert statuses_of(Server("open"), peer, headers) == [200]


def statuses_of(made: Server, peer: str, headers: dict[str, str], tool: str | None = None) -> list[int]:
    """The status of a ping, or of a call, from an address, as an ASGI server would hand it over."""
    sent: list[Any] = []
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    message, needed = modern("tools/call", {"name": tool}) if tool else (ping, ())
    said = {"host": "localhost", "content-type": "application/json", **headers, **dict(needed)}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), str(value).encode()) for name, value in said.items()],
        "client": (peer, 1),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(message).encode()}

    async def send(event: Any) -> None:
        sent.append(event)

    async def main() -> None:
        app = made.http_app()
        async with app.serving():
            await app(scope, receive, send)

    asyncio.run(main())
    return [event["status"] for event in sent if "status" in event]


@pytest.mark.process
@pytest.mark.attack("B45")
def test_b45_serving_the_network_without_authentication_does_not_start(tmp_path: Path) -> None:
    command = [
        Path(sys.executable).with_name("tooltrue"),
        "serve",
        "files",
        "--root",
        tmp_path,
        "--http",
        "0.0.0.0:0",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env={"LANG": "C"}, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--keys FILE, --oauth ISSUER --resource URL" in ended.stderr


@pytest.mark.attack("B57")
@pytest.mark.parametrize(
    "error", [SystemExit("directory"), RuntimeError("directory"), TimeoutError("directory")], ids=repr
)
def test_b57_callers_are_rejected_while_the_authenticator_fails(mounts: Mounts, error: BaseException) -> None:
    def fails(carrier: Any) -> Any:
        raise error

    made = guarded(fails)
    answers = [call(mounts, made) for _ in range(2)]
    assert [answer.status for answer in answers] == [500, 500]
    assert "directory" not in str(answers)
