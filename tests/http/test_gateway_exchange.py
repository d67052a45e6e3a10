"""Token exchange: the token of a caller goes to the operator's token endpoint, and another one to the server."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from support.issuing.calling import RESOURCE, oauth
from support.issuing.server import Issuing, parts
from support.issuing.visiting import guarded_at
from support.wire.mounting import Mounts
from support.wire.recording import RecordedApp
from tooltrue import ApiKeys, Client, ConfigurationError
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.token_exchange import CallerExchange
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.keys import Key, new_key
from tooltrue.testing.state import LIMIT

KEY, DIGEST = new_key("ci")
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
PATIENCE = {"patience": Patience(ready=LIMIT)}


class TokenEndpoint:
    """The operator's token endpoint: it makes a token of the issuer for the resource that is asked for."""

    def __init__(self, issuer: Issuing) -> None:
        self._issuer = issuer
        self.forms: list[dict[str, str]] = []
        self.logins: list[str] = []
        self.status = 200
        self.tokens: list[str] = []
        self.refused: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        form = dict(parse_qsl(message["body"].decode()))
        self.forms.append(form)
        self.logins.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        is_refused = parts(form["subject_token"])[1]["sub"] in self.refused
        audience = "https://other.example/mcp" if is_refused else form["resource"]
        token = self._issuer.signed(aud=audience, sub=f"ada-{len(self.forms)}")
        self.tokens.append(token)
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": 600}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


@pytest.fixture(autouse=True)
def secrets_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_SECRET", "secret")


def values(
    mounts: Mounts,
    issuer: Issuing,
    endpoint: TokenEndpoint,
    tokens: list[str],
    more: str = "",
    tool: str = "up_who",
    sent: list[str] | None = None,
) -> list[Any]:
    """The results of two calls with each of these tokens, through one gateway. ``sent`` gets all that its server
    does."""

    async def run(url: str) -> list[Any]:
        found: list[Any] = []
        for token in tokens:
            async with Client(url, headers={"Authorization": f"Bearer {token}"}) as client:
                found += [await client.call_tool(tool), await client.call_tool(tool)]
        return found

    def upstream_at(url: str) -> RecordedApp:
        app = RecordedApp(guarded_at(url, issuer).http_app())
        app.sent = app.sent if sent is None else sent
        return app

    with mounts.mounted_at(upstream_at) as upstream, mounts.mounted(endpoint, lives=False) as at:
        text = f"""
[servers.up.auth.client]
client_id = "agent"
issuer = "{issuer.url}"
secret_env = "OWN_SECRET"

[servers.up.auth.exchange]
token_endpoint = "http://127.0.0.1:{mounts.port}{at}"
client_id = "gateway"
secret_env = "OWN_SECRET"
audience = "upstream"
scopes = ["read"]
{more}"""
        gateway = Gateway(
            HostConfig("", Path(), (ServerConfig("up", "up", url=upstream),)),
            operator=read_operator_config("tooltrue.toml", text),
            confirm=Confirm.never(),
            host_settings=PATIENCE,
            authenticate=[ApiKeys({"ci": Key(DIGEST, frozenset())}), oauth(issuer)],
        )
        with mounts.mounted(gateway.http_app()) as served:
            return asyncio.run(run(f"http://127.0.0.1:{mounts.port}{served}"))


@pytest.mark.parametrize(
    "more", ["", "[views.docs]\ndefault = true\n", "[servers.up]\nat_once = 1\n"], ids=["alone", "in a view", "limited"]
)
def test_the_token_of_a_caller_becomes_one_for_the_server(mounts: Mounts, issuer: Issuing, more: str) -> None:
    endpoint, token = TokenEndpoint(issuer), issuer.for_ada(RESOURCE)
    results = values(mounts, issuer, endpoint, [token], more)
    assert [result.value for result in results] == [[f"{issuer.url}#ada-1", "read"]] * 2
    [form] = endpoint.forms
    assert (form["grant_type"], form["subject_token"]) == (EXCHANGE, token)
    assert (form["audience"], form["scope"]) == ("upstream", "read")
    assert form["resource"].endswith("/mcp")
    assert endpoint.logins == [f"Basic {base64.b64encode(b'gateway:secret').decode()}"]


def test_another_token_of_a_caller_is_exchanged_again(mounts: Mounts, issuer: Issuing) -> None:
    endpoint = TokenEndpoint(issuer)
    tokens = [issuer.signed(aud=RESOURCE, jti=str(number)) for number in range(2)]
    results = values(mounts, issuer, endpoint, tokens)
    assert [result.value[0][-5:] for result in results] == ["ada-1", "ada-1", "ada-2", "ada-2"]
    assert [form["subject_token"] for form in endpoint.forms] == tokens


def test_two_callers_have_a_token_each(mounts: Mounts, issuer: Issuing) -> None:
    endpoint = TokenEndpoint(issuer)
    tokens = [issuer.signed(aud=RESOURCE, sub=name) for name in ("ada", "bob", "ada")]
    results = values(mounts, issuer, endpoint, [tokens[0], tokens[1], tokens[0]])
    assert [result.value[0][-5:] for result in results[::2]] == ["ada-1", "ada-2", "ada-1"]


def test_two_clients_of_a_caller_have_a_token_each(mounts: Mounts, issuer: Issuing) -> None:
    endpoint = TokenEndpoint(issuer)
    chat, editor = (issuer.signed(aud=RESOURCE, client_id=name) for name in ("chat", "editor"))
    results = values(mounts, issuer, endpoint, [chat, editor, chat])
    assert [result.value[0][-5:] for result in results[::2]] == ["ada-1", "ada-2", "ada-1"]
    assert [form["subject_token"] for form in endpoint.forms] == [chat, editor]


@pytest.mark.attack("B38")
@pytest.mark.parametrize("tool", ["up_who", "up_save", "up_wipe"])
@pytest.mark.parametrize("status", [200, 400, 500])
def test_b38_the_token_of_a_caller_goes_to_the_token_endpoint_alone(
    mounts: Mounts, issuer: Issuing, caplog: pytest.LogCaptureFixture, tool: str, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint, token, sent = TokenEndpoint(issuer), issuer.signed(aud=RESOURCE), list[str]()
    endpoint.status = status
    values(mounts, issuer, endpoint, [token], tool=tool, sent=sent)
    assert endpoint.forms[0]["subject_token"] == token
    texts = [*sent, *map(str, issuer.said), *(record.getMessage() for record in caplog.records)]
    assert not any(token.rpartition(".")[2] in text for text in texts)


@pytest.mark.twin("B38")
def test_b38_twin_the_token_of_the_endpoint_arrives(mounts: Mounts, issuer: Issuing) -> None:
    endpoint, sent = TokenEndpoint(issuer), list[str]()
    values(mounts, issuer, endpoint, [issuer.signed(aud=RESOURCE)], sent=sent)
    assert any(endpoint.tokens[0] in text for text in sent)


def test_a_key_of_the_gateway_is_exchanged_for_nothing(mounts: Mounts, issuer: Issuing) -> None:
    endpoint = TokenEndpoint(issuer)
    results = values(mounts, issuer, endpoint, [KEY])
    assert all(result.is_error for result in results)
    assert endpoint.forms == []


def test_an_endpoint_that_refuses_is_the_end_of_the_call(mounts: Mounts, issuer: Issuing) -> None:
    endpoint = TokenEndpoint(issuer)
    endpoint.status = 400
    results = values(mounts, issuer, endpoint, [issuer.for_ada(RESOURCE)])
    assert all("[TT9365]" in result.text for result in results)


def test_a_server_that_refuses_the_token_of_a_caller_is_there_for_others(mounts: Mounts, issuer: Issuing) -> None:
    endpoint = TokenEndpoint(issuer)
    endpoint.refused = {"ada"}
    results = values(mounts, issuer, endpoint, [issuer.signed(aud=RESOURCE, sub=name) for name in ("ada", "bob")])
    assert ["[TT9365]" in result.text for result in results] == [True, True, False, False]


def test_an_exchange_without_a_way_to_make_credentials_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="authorizer"):
        type("Empty", (CallerExchange,), {})()


TABLE = """
[servers.up.auth.exchange]
token_endpoint = "https://login.example"
client_id = "gateway"
secret_env = "OWN_SECRET"
"""


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace("https", "http"),
        TABLE + "[servers.up.auth.caller]\n",
        TABLE + "[servers.up]\nshared = true\n",
    ],
    ids=["no TLS", "two methods", "one session for all"],
)
def test_a_mistake_is_found_before_anything_starts(text: str) -> None:
    one = ServerConfig("up", "up", url="https://up.example/mcp")
    with pytest.raises(ConfigurationError) as found:
        Gateway(HostConfig("", Path(), (one,)), operator=read_operator_config("tooltrue.toml", text))
    assert found.value.code == "TT4802"
