"""Credentials of a described API, on the wire: tokens of the operator's client, tokens made of the caller's own, and
client certificates. A credential never reaches a model, and goes to its own host alone."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import ssl
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.x509.oid import NameOID

from services.calling import calls
from services.openapi import api_tools
from support.issuing.server import Issuing
from support.issuing.visiting import Clock
from support.website import Asked, Said, running
from support.wire.mounting import Mounts
from tooltrue import Client, OAuth, Server
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.token_exchange import ExchangeSettings
from tooltrue.transport.addresses import parse
from tooltrue.transport.fetch import Fetcher
from tooltrue_toolbox.openapi.auth_file import read_auth
from tooltrue_toolbox.openapi.openapi_tools import address_of, load_api
from tooltrue_toolbox.openapi.token_sources import CallerTokens, ClientTokens, ClientTokenSettings

SCHEMES: dict[str, Any] = {
    "oauth": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "http://169.254.169.254/token", "scopes": {"read": "Read"}}},
    },
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "http://169.254.169.254/.well-known/openid-configuration"},
    "mtls": {"type": "mutualTLS"},
    "key": {"type": "apiKey", "in": "header", "name": "x-key"},
}


@pytest.fixture
def described(tmp_path: Path) -> Callable[..., Path]:
    def write(*security: dict[str, list[str]]) -> Path:
        operation = {"operationId": "getThing", "responses": {"200": {"description": "The thing"}}}
        file = tmp_path / "api.json"
        file.write_text(
            json.dumps(
                {
                    "openapi": "3.1.0",
                    "info": {"title": "Things", "version": "1"},
                    "security": list(security),
                    "paths": {"/thing": {"get": operation, "post": {**operation, "operationId": "addThing"}}},
                    "components": {"securitySchemes": SCHEMES},
                }
            )
        )
        return file

    return write


class TokenServer:
    """An issuer whose tokens are numbered."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.logins: list[str] = []
        self.answer: dict[str, Any] = {"expires_in": 600}
        self.status = 200
        self.url = ""

    def __call__(self, asked: Asked) -> Said:
        if asked.path.startswith("/.well-known/"):
            return Said(200, {"issuer": self.url, "token_endpoint": f"{self.url}/token"})
        self.forms.append(dict(parse_qsl(asked.body.decode())))
        self.logins.append(asked.headers.get("authorization", ""))
        if self.status != 200:
            return Said(self.status, {"error": "invalid_client"})
        return Said(200, {"access_token": f"token-{len(self.forms)}", "token_type": "Bearer", **self.answer})


def settings(url: str, **more: Any) -> ClientTokenSettings:
    return ClientTokenSettings("tooltrue", "of-the-operator", **{"token_endpoint": f"{url}/token", **more})


def asked_with(
    file: Path, secrets: dict[str, Any], *tools: str, answer: Any = None
) -> tuple[list[Result], list[Asked]]:
    def echo(asked: Asked) -> Said:
        return Said(200, {"echo": asked.headers.get("authorization", "")})

    async def use(client: Client) -> list[Result]:
        return [await client.call_tool(tool, {}) for tool in tools]

    with running(answer or echo) as site:
        return calls(api_tools(site, file, secrets=secrets), use), site.asked


# --- the operator's client --------------------------------------------------------------------------------------------


def test_a_token_is_obtained_once_and_renewed_before_it_ends(described: Any):
    server, clock = TokenServer(), Clock()

    def passing(asked: Asked) -> Said:
        clock.ahead += 200
        return Said(200, {"echo": asked.headers["authorization"]})

    with running(server) as issuer:
        tokens = ClientTokens(settings(issuer.url, scopes=("read", "list"), audience="things"), clock=clock)
        results, asked = asked_with(
            described({"oauth": ["read"]}), {"oauth": tokens}, *["get_thing"] * 4, answer=passing
        )
    assert [one.headers["authorization"] for one in asked] == [f"Bearer token-{n}" for n in (1, 1, 1, 2)]
    assert server.forms[0] == {"grant_type": "client_credentials", "scope": "read list", "audience": "things"}
    assert server.logins == [f"Basic {base64.b64encode(b'tooltrue:of-the-operator').decode()}"] * 2
    assert [result.value for result in results] == [{"echo": "Bearer [secret]"}] * 4


@pytest.mark.parametrize("tool", ["get_thing", "add_thing"])
def test_a_refused_token_is_renewed_once(described: Any, tool: str):
    server = TokenServer()
    with running(server) as issuer:
        tokens = ClientTokens(settings(issuer.url, method="client_secret_post"))

        def picky(asked: Asked) -> Said:
            return Said(200, {}) if asked.headers["authorization"] == "Bearer token-2" else Said(401)

        (result,), asked = asked_with(described({"oauth": []}), {"oauth": tokens}, tool, answer=picky)
        assert (result.is_error, len(asked)) == (False, 2)
        (refused,), asked = asked_with(
            described({"oauth": []}), {"oauth": tokens}, tool, answer=lambda asked: Said(401)
        )
    assert (refused.text[-8:], len(asked)) == ("[TT6911]", 2)
    assert server.logins[0] == ""
    assert (server.forms[0]["client_id"], server.forms[0]["client_secret"]) == ("tooltrue", "of-the-operator")


def test_the_token_endpoint_of_an_issuer_is_found_and_that_of_the_description_is_not_asked(described: Any):
    server = TokenServer()
    with running(server) as issuer:
        server.url = issuer.url
        tokens = ClientTokens(settings("", token_endpoint=None, issuer=issuer.url))
        (result,), (asked,) = asked_with(described({"oidc": []}), {"oidc": tokens}, "get_thing")
    assert not result.is_error
    assert asked.headers["authorization"] == "Bearer token-1"
    assert issuer.paths[-1] == "/token"


def test_without_a_token_no_request_is_sent(described: Any):
    server = TokenServer()
    server.status = 401
    with running(server) as issuer:
        tokens = ClientTokens(settings(issuer.url))
        (result,), asked = asked_with(described({"oauth": []}), {"oauth": tokens}, "get_thing")
    assert (asked, result.text[-8:]) == ([], "[TT6948]")
    assert "invalid_client" in result.text
    assert "of-the-operator" not in result.text


# --- the caller's own -------------------------------------------------------------------------------------------------


def test_each_caller_has_a_token_that_is_made_of_its_own(described: Any, mounts: Mounts, issuer: Issuing):
    server = TokenServer()
    file = described({"oauth": []})

    def echo(asked: Asked) -> Said:
        return Said(200, {"echo": asked.headers["authorization"]})

    async def use(url: str, tokens: list[str]) -> list[Result]:
        results = list[Result]()
        for token in tokens:
            async with Client(url, headers={"Authorization": f"Bearer {token}"}) as client:
                results += [await client.call_tool("get_thing", {}) for _ in range(2)]
        return results

    with running(echo) as site, running(server) as at:
        exchange = ExchangeSettings(f"{at.url}/token", "gateway", "of-the-operator", audience="things")
        tools = api_tools(site, file, secrets={"oauth": CallerTokens(exchange, f"{site.url}/v1")})

        def server_at(url: str) -> Any:
            return Server("things", toolsets=[tools], authenticate=OAuth(issuer=issuer.url, resource=url)).http_app()

        with mounts.mounted_at(server_at) as url:
            ada, bob = (issuer.signed(aud=url, sub=sub) for sub in ("ada", "bob"))
            results = asyncio.run(use(url, [ada, bob, ada]))
    assert [result.is_error for result in results] == [False] * 6
    sent = [one.headers["authorization"] for one in site.asked]
    assert sent == ["Bearer token-1"] * 2 + ["Bearer token-2"] * 2 + ["Bearer token-1"] * 2
    assert [form["subject_token"] for form in server.forms] == [ada, bob]
    assert {form["grant_type"] for form in server.forms} == {"urn:ietf:params:oauth:grant-type:token-exchange"}
    assert not [one for one in site.asked if ada in str(one) or bob in str(one)]
    assert not [result for result in results if "token-" in result.text]


def test_a_caller_without_a_token_of_its_own_gets_none(described: Any):
    server = TokenServer()
    with running(server) as at:
        exchange = ExchangeSettings(f"{at.url}/token", "gateway", "of-the-operator")
        tokens = CallerTokens(exchange, "http://127.0.0.1:1/v1")
        (result,), asked = asked_with(described({"oauth": []}), {"oauth": tokens}, "get_thing")
    assert (asked, server.forms, result.text[-8:]) == ([], [], "[TT6948]")


# --- client certificates ----------------------------------------------------------------------------------------------


def certificate(folder: Path, name: str, password: bytes) -> Path:
    """A certificate of its own authority for this machine, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), datetime.now(UTC)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
    alternative = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = made.add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    path = folder / f"{name}.pem"
    path.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM) + private)
    return path


def test_a_certificate_authenticates_where_the_scheme_wants_it(
    described: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PASSWORD", "of-the-key")
    ours, theirs = (certificate(tmp_path, name, b"of-the-key") for name in ("ours", "theirs"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ours))
    tls.load_cert_chain(theirs, password="of-the-key")
    tls.verify_mode = ssl.CERT_OPTIONAL
    auth = tmp_path / "auth.toml"
    auth.write_text(
        textwrap.dedent(
            f"""
            [schemes.mtls.certificate]
            certificate_file = {str(ours)!r}
            ca_file = {str(theirs)!r}
            secret_env = "PASSWORD"
            """
        )
    )
    file = described({"mtls": [], "key": []})
    with running(lambda asked: Said(200, {"name": asked.certificate}), tls) as site:
        secrets = read_auth(auth, load_api(file).schemes, site.url)
        result: Result = calls(
            api_tools(site, file, secrets={**secrets, "key": "x-key-of-the-test"}),
            lambda client: client.call_tool("get_thing", {}),
        )
    assert result.value == {"name": "ours"}
    assert site.asked[0].headers["x-key"] == "x-key-of-the-test"


def test_no_host_but_the_named_one_sees_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ours, theirs = (certificate(tmp_path, name, b"of-the-key") for name in ("ours", "theirs"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ours))
    tls.load_cert_chain(theirs, password="of-the-key")
    tls.verify_mode = ssl.CERT_OPTIONAL
    own = ssl.create_default_context(cafile=str(theirs))
    own.load_cert_chain(ours, password="of-the-key")
    monkeypatch.setenv("SSL_CERT_FILE", str(theirs))

    def moved(asked: Asked) -> Said:
        return Said(302, "", (("location", f"{other.url}/"),))

    async def use() -> None:
        fetcher = Fetcher([site.url], beside=parse("127.0.0.1"), redirects=1, named_tls=own)
        assert (await fetcher.request("GET", site.url)).url == f"{other.url}/"

    with running(lambda asked: Said(200, {}), tls) as other, running(moved, tls) as site:
        asyncio.run(use())
    assert [one.certificate for one in (*site.asked, *other.asked)] == ["ours", ""]


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[schemes.none]\nsecret_env = 'SET'", "none"),
        ("[schemes.key]\nsecret = 'x'", "secret"),
        ("[schemes.key]\nsecret_env = 'UNSET'", "UNSET"),
        ("[schemes.key]\nsecret_env = 'SET'\nsecret_file = 'x'", "schemes"),
        ("[schemes.key.client]\nclient_id = 'x'\nsecret_env = 'SET'\nissuer = 'https://x.example'", "client"),
        ("[schemes.mtls]\nsecret_env = 'SET'", "mutualTLS"),
        ("[schemes.mtls.certificate]\ncertificate_file = 'none.pem'", "mtls"),
        ("[schemes.oauth.client]\nclient_id = 'x'\nsecret_env = 'SET'", "token_endpoint"),
        (
            "[schemes.oauth.client]\nclient_id='x'\nsecret_env='SET'\ntoken_endpoint='http://x.example/t'",
            "https",
        ),
        (
            "[schemes.oauth.client]\nclient_id='x'\nsecret_env='SET'\nissuer='https://x'\ntoken_endpoint='https://x/t'",
            "issuer",
        ),
        ("[schemes.oauth.exchange]\nclient_id='x'\nsecret_env='SET'\ntoken_endpoint='http://x.example/t'", "https"),
        ("schemes = 1", "schemes"),
        ("[schemes", "end of a table"),
    ],
)
def test_a_mistake_in_the_file_is_named(
    described: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
):
    monkeypatch.setenv("SET", "of-the-operator")
    file = tmp_path / "auth.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=problem) as caught:
        read_auth(file, load_api(described()).schemes, "https://api.example")
    assert caught.value.code == "TT6949"
    assert "of-the-operator" not in str(caught.value)


def test_the_file_has_each_method(described: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SET", "of-the-operator")
    file = tmp_path / "auth.toml"
    file.write_text(
        """
        [schemes.key]
        secret_env = "SET"

        [schemes.oauth.client]
        client_id = "tooltrue"
        token_endpoint = "https://id.example/token"
        scopes = ["read"]
        secret_env = "SET"

        [schemes.oidc.exchange]
        client_id = "tooltrue"
        token_endpoint = "https://id.example/token"
        audience = "things"
        secret_env = "SET"
        """
    )
    secrets = read_auth(file, load_api(described()).schemes, "https://api.example")
    assert secrets["key"] == "of-the-operator"
    assert isinstance(secrets["oauth"], ClientTokens)
    assert isinstance(secrets["oidc"], CallerTokens)


# --- servers with variables -------------------------------------------------------------------------------------------

TEMPLATE = "https://{region}.things.example/{version}"


@pytest.mark.parametrize(
    ("template", "given", "address"),
    [
        (TEMPLATE, ["region=eu", "version=v2"], "https://eu.things.example/v2"),
        ("https://{tenant}.own.example", ["tenant=acme-1"], "https://acme-1.own.example"),
        ("https://things.example/v1", [], "https://things.example/v1"),
        (TEMPLATE, ["region=eu"], "TT6956"),
        (TEMPLATE, ["region=mars", "version=v2"], "TT6957"),
        (TEMPLATE, ["region=eu.evil.example/x?", "version=v2"], "TT6955"),
        (TEMPLATE, ["region=eu", "version=.."], "TT6955"),
        (TEMPLATE, ["region=eu@evil", "version=v2"], "TT6955"),
        (TEMPLATE, ["zone=eu"], "TT6955"),
        (TEMPLATE, ["region"], "TT6955"),
    ],
)
def test_the_operator_gives_each_variable_of_the_address(tmp_path: Path, template: str, given: list[str], address: str):
    variables = {"region": {"default": "us", "enum": ["us", "eu"]}, "version": {"default": "v1"}}
    description = {
        "openapi": "3.0.3",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": TEMPLATE, "variables": variables}],
        "paths": {},
    }
    file = tmp_path / "api.json"
    file.write_text(json.dumps(description))
    read = load_api(file).description
    if address.startswith("https:"):
        assert address_of(read, template, given) == address
    else:
        with pytest.raises(ConfigurationError) as caught:
            address_of(read, template, given)
        assert caught.value.code == address
