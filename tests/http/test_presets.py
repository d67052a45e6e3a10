"""Sign-in presets: each is checked against the recorded metadata of its issuer, and with tokens as that issuer makes
them."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwk

from support.issuing.calling import RESOURCE, call, guarded, who
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from tooltrue import ConfigurationError, OAuth
from tooltrue.protocol.wellknown import issuer_places
from tooltrue.server.presets import PRESETS, settings_of_preset

FOLDER = Path(__file__).parents[1] / "data" / "sign_in"
RECORDED: dict[str, Any] = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.json"))}
SIGNED = [name for name, record in RECORDED.items() if "access_token" in record]
OPAQUE = [name for name, record in RECORDED.items() if "token_check" in record]


def preset(name: str, **more: Any) -> OAuth:
    make: Any = OAuth.preset
    return make(name, **{"resource": RESOURCE, **RECORDED[name]["settings"], **more})


def test_each_preset_has_its_recorded_metadata():
    assert RECORDED.keys() == PRESETS.keys()
    assert set(SIGNED) | set(OPAQUE) == RECORDED.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_the_issuer_is_that_of_the_metadata_at_its_place(name: str):
    record = RECORDED[name]
    settings = settings_of_preset(name, record["settings"])
    document = record["document"]
    assert settings["issuer"] == document["issuer"]
    assert record["url"] in issuer_places(settings["issuer"])
    algorithms = settings.get("algorithms")
    if name in OPAQUE:
        assert algorithms == ()
    else:
        assert document["jwks_uri"].startswith("https://")
        assert set(algorithms or ["RS256"]) & set(document["id_token_signing_alg_values_supported"])
        assert record["access_token"]["header"]["alg"] in (algorithms or ["RS256"])


# --- signed tokens ----------------------------------------------------------------------------------------------------


def signed(issuer: Issuing, name: str, claims: Mapping[str, Any], **header: Any) -> str:
    """A token of the recorded issuer, signed by a key that ``issuer`` publishes."""
    algorithm = header.get("alg", RECORDED[name]["access_token"]["header"]["alg"])
    if algorithm == "ES384":
        key = jwk.generate_key("EC", "P-384", {"kid": "es"})
        issuer.keys = [key]
    made = {claim: _filled(value) for claim, value in claims.items()}
    return issuer.signed({**RECORDED[name]["access_token"]["header"], **header}, **made)


def _filled(value: Any) -> Any:
    if isinstance(value, list):
        return [_filled(one) for one in value]
    return RESOURCE if value == "{resource}" else value


@pytest.mark.parametrize("name", SIGNED)
def test_a_token_of_the_preset_names_its_caller(mounts: Mounts, issuer: Issuing, name: str):
    record = RECORDED[name]
    made = guarded(preset(name, jwks_uri=f"{issuer.url}/jwks"))
    token = signed(issuer, name, record["access_token"]["claims"])
    assert who(call(mounts, made, token)) == [record["principal"], *record["scopes"]]


@pytest.mark.parametrize("name", SIGNED)
def test_a_token_for_another_application_is_refused(mounts: Mounts, issuer: Issuing, name: str):
    record = RECORDED[name]
    made = guarded(preset(name, jwks_uri=f"{issuer.url}/jwks"))
    for audience in ("https://other.example/mcp", "other", ["account"], None):
        token = signed(issuer, name, {**record["access_token"]["claims"], "aud": audience})
        assert call(mounts, made, token).status == 401


@pytest.mark.parametrize("name", SIGNED)
def test_an_id_token_is_refused(mounts: Mounts, issuer: Issuing, name: str):
    made = guarded(preset(name, jwks_uri=f"{issuer.url}/jwks"))
    assert call(mounts, made, signed(issuer, name, RECORDED[name]["id_token"], typ="JWT")).status == 401


def test_twin_a_token_of_entra_without_roles_and_one_without_scopes_are_accepted(mounts: Mounts, issuer: Issuing):
    made = guarded(preset("entra", jwks_uri=f"{issuer.url}/jwks"))
    claims = RECORDED["entra"]["access_token"]["claims"]
    for left_out in ("scp", "roles"):
        token = signed(issuer, "entra", {name: value for name, value in claims.items() if name != left_out})
        assert call(mounts, made, token).status == 200


@pytest.mark.parametrize("name", SIGNED)
def test_a_token_of_another_issuer_is_refused(mounts: Mounts, issuer: Issuing, name: str):
    made = guarded(preset(name, jwks_uri=f"{issuer.url}/jwks"))
    claims = RECORDED[name]["access_token"]["claims"]
    for other in (issuer.url, claims["iss"] + "x", claims["iss"].rstrip("/") + "//"):
        assert call(mounts, made, signed(issuer, name, {**claims, "iss": other})).status == 401


def test_clients_of_entra_are_told_the_full_names_of_scopes(mounts: Mounts, issuer: Issuing):
    api = f"api://{RECORDED['entra']['settings']['client_id']}"
    made = guarded(preset("entra", scopes=["read"], jwks_uri=f"{issuer.url}/jwks"))
    assert f'scope="{api}/read"' in call(mounts, made).headers["www-authenticate"]
    token = signed(issuer, "entra", RECORDED["entra"]["access_token"]["claims"])
    assert call(mounts, made, token).status == 200
    refused = call(mounts, made, token, "publish")
    assert refused.status == 403
    assert f'scope="{api}/publish {api}/read {api}/write"' in refused.headers["www-authenticate"]


# --- opaque tokens ----------------------------------------------------------------------------------------------------


class Checking:
    """The endpoint of an issuer that checks tokens, on loopback."""

    def __init__(self) -> None:
        self.answer: Any = {}
        self.status = 200
        self.asked: list[tuple[str, str | None, bytes]] = []
        self.url = ""


@pytest.fixture(name="checking")
def running_checks() -> Iterator[Checking]:
    checking = Checking()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            checking.asked.append((self.path, self.headers.get("authorization"), body))
            answer = json.dumps(checking.answer).encode()
            self.send_response(checking.status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    checking.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield checking
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asking(name: str, checking: Checking, **more: Any) -> OAuth:
    record = RECORDED[name]
    checking.answer = {
        key: str(int(time.time()) + 600) if value == "{exp}" else value for key, value in record["token_check"].items()
    }
    endpoint = {"github": {"api": checking.url}, "google": {"tokeninfo": f"{checking.url}/tokeninfo"}}[name]
    return preset(name, **endpoint, **more)


@pytest.mark.parametrize("name", OPAQUE)
def test_an_opaque_token_is_checked_by_its_issuer(mounts: Mounts, checking: Checking, name: str):
    made = guarded(asking(name, checking))
    assert who(call(mounts, made, "gho_token.x.y")) == [RECORDED[name]["principal"], *RECORDED[name]["scopes"]]
    [(path, login, body)] = checking.asked
    if name == "github":
        settings = RECORDED["github"]["settings"]
        secret = base64.b64encode(f"{settings['client_id']}:{settings['client_secret']}".encode()).decode()
        assert path == f"/applications/{settings['client_id']}/token"
        assert (login, json.loads(body)) == (f"Basic {secret}", {"access_token": "gho_token.x.y"})
    else:
        assert (path, login, body) == ("/tokeninfo", None, b"access_token=gho_token.x.y")


@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "other.apps.googleusercontent.com", "app": {"client_id": "Iv1.other"}},
        {"aud": None, "app": {}},
        {"aud": [], "app": None},
        {"aud": {"a": 1}, "app": {"client_id": ["Iv1.8a61f9b3a7aba766x"]}},
        {"sub": None, "user": None},
        {"sub": 5, "user": {"id": "583231"}},
        {"sub": "", "user": {"id": True}},
        {"exp": "1", "expires_at": "2011-09-06T20:39:23Z"},
        {"exp": "never", "expires_at": "never"},
        {"exp": None, "expires_at": 5},
        {"error": "invalid_token", "app": 5},
    ],
)
def test_an_answer_that_does_not_vouch_for_our_client_is_a_refusal(
    mounts: Mounts, checking: Checking, name: str, changes: dict[str, Any]
):
    made = guarded(asking(name, checking))
    checking.answer.update(changes)
    assert call(mounts, made, "token").status == 401


@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize(("status", "answered"), [(404, None), (500, 503), (302, 503), (403, 503)])
def test_a_token_that_cannot_be_checked_lets_nobody_in(
    mounts: Mounts, checking: Checking, name: str, status: int, answered: int | None
):
    made = guarded(asking(name, checking))
    checking.status, checking.answer = status, {"message": "x"}
    invalid = 401 if name == "github" else 503
    assert call(mounts, made, "token").status == (answered or invalid)


@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize("answer", [[], "text", None, 1, {}])
def test_an_answer_of_another_form_is_a_refusal(mounts: Mounts, checking: Checking, name: str, answer: Any):
    made = guarded(asking(name, checking))
    checking.answer = answer
    assert call(mounts, made, "token").status == 401


@pytest.mark.parametrize("name", OPAQUE)
def test_a_signed_token_is_not_even_shown_to_an_issuer_of_opaque_ones(
    mounts: Mounts, issuer: Issuing, checking: Checking, name: str
):
    made = guarded(asking(name, checking))
    token = issuer.signed(iss=RECORDED[name]["document"]["issuer"], aud=RESOURCE)
    assert call(mounts, made, token).status == 401
    assert checking.asked == []


def test_github_without_scopes_is_known_by_the_number_of_its_user(mounts: Mounts, checking: Checking):
    made = guarded(asking("github", checking))
    checking.answer.update(scopes=[], user={"login": "somebody-else", "id": 583231}, expires_at=None)
    assert who(call(mounts, made, "ghu_x")) == ["https://github.com/login/oauth#583231"]


def test_a_tokens_audience_that_only_its_check_may_name_is_none_of_a_signed_token():
    settings = settings_of_preset("google", RECORDED["google"]["settings"])
    assert settings["audiences"] == ()


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "code"),
    [
        ("nobody", {}, "TT4540"),
        ("auth0", {}, "TT4541"),
        ("entra", {"tenant": "x"}, "TT4541"),
        ("google", {}, "TT4541"),
        ("github", {"client_id": "x"}, "TT4541"),
        ("auth0", {"domain": "acme.auth0.com", "tenant": "x"}, "TT4542"),
        ("auth0", {"domain": "acme.auth0.com", "issuer": "https://evil.example"}, "TT4542"),
        ("auth0", {"domain": "https://acme.auth0.com/"}, "TT4543"),
        ("auth0", {"domain": "acme.auth0.com/evil"}, "TT4543"),
        ("auth0", {"domain": "user@acme.auth0.com"}, "TT4543"),
        ("auth0", {"domain": ""}, "TT4543"),
        ("auth0", {"domain": "acme.auth0.com\n"}, "TT4543"),
        ("entra", {"tenant": "common", "client_id": "00001111-aaaa-2222-bbbb-3333cccc4444"}, "TT4543"),
        ("entra", {"tenant": "organizations", "client_id": "00001111-aaaa-2222-bbbb-3333cccc4444"}, "TT4543"),
        ("entra", {"tenant": "00001111-aaaa-2222-bbbb-3333cccc4444", "client_id": "notes"}, "TT4543"),
        ("okta", {"domain": "acme.okta.com", "server": ""}, "TT4543"),
        ("okta", {"domain": "acme.okta.com", "server": "../x"}, "TT4543"),
        ("keycloak", {"url": "https://login.example.com", "realm": "a/b"}, "TT4543"),
        ("keycloak", {"url": "login.example.com", "realm": "a"}, "TT4543"),
        ("keycloak", {"url": "http://login.example.com", "realm": "a"}, "TT4009"),
        ("keycloak", {"url": "https://login.example.com", "realm": "a", "audiences": ["account"]}, "TT4544"),
        ("auth0", {"domain": "a.auth0.com", "audiences": ["https://a.auth0.com/userinfo"]}, "TT4544"),
        ("auth0", {"domain": "a.auth0.com", "audiences": "https://A.auth0.com/api/v2/"}, "TT4544"),
        ("entra", {**RECORDED["entra"]["settings"], "audiences": ["https://graph.microsoft.com"]}, "TT4544"),
        ("google", {"client_ids": []}, "TT4543"),
        ("google", {"client_ids": [""]}, "TT4543"),
        ("google", {"client_ids": [None]}, "TT4543"),
        ("google", {"client_ids": 5}, "TT4543"),
        ("github", {"client_id": "../x", "client_secret": "s"}, "TT4543"),
        ("github", {"client_id": "x", "client_secret": ""}, "TT4543"),
    ],
)
def test_a_wrong_setting_of_a_preset_is_refused(name: str, settings: dict[str, Any], code: str):
    make: Any = OAuth.preset
    with pytest.raises(ConfigurationError) as caught:
        make(name, resource=RESOURCE, **settings)
    assert caught.value.code == code


def test_twin_a_further_audience_of_the_own_api_is_accepted():
    settings = settings_of_preset("auth0", {"domain": "a.auth0.com", "audiences": ["https://old.example.com/mcp"]})
    assert settings["audiences"] == ("https://old.example.com/mcp",)


def test_a_preset_shows_its_issuer_and_no_secret():
    oauth = preset("github")
    assert oauth.shown == f"tokens of https://github.com/login/oauth for {RESOURCE}"
    assert RECORDED["github"]["settings"]["client_secret"] not in repr(vars(oauth))


def test_the_enterprise_server_of_github_has_its_own_place():
    settings = settings_of_preset("github", {"client_id": "x", "client_secret": "s", "domain": "ghe.example.com"})
    assert settings["issuer"] == "https://ghe.example.com/login/oauth"
    assert settings["introspection"]["endpoint"] == "https://ghe.example.com/api/v3/applications/x/token"
