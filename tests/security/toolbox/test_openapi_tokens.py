"""Group L: tokens for tools that are made of the description of an API, and the addresses of their endpoints."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from services.calling import call
from services.openapi import api_tools
from support.variants import tried
from support.website import Asked, Said, running
from tooltrue_toolbox.openapi.token_sources import ClientTokens, ClientTokenSettings

SECRET = "of-the-operator-4711"


def described(folder: Path, place: str) -> Path:
    """A description whose security schemes lead to ``place``."""
    scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": place, "scopes": {}}}}
    oidc = {"type": "openIdConnect", "openIdConnectUrl": place}
    operation = {"operationId": "getThing", "responses": {"200": {"description": "The thing"}}}
    file = folder / "api.json"
    file.write_text(
        json.dumps(
            {
                "openapi": "3.0.3",
                "info": {"title": "Things", "version": "1"},
                "servers": [{"url": place}],
                "externalDocs": {"url": place},
                "security": [{"oauth": []}, {"oidc": []}],
                "paths": {"/thing": {"get": operation}},
                "components": {"securitySchemes": {"oauth": scheme, "oidc": oidc}},
            }
        )
    )
    return file


def targets(other: str) -> list[str]:
    port = other.rpartition(":")[2]
    return [
        f"{other}/token",
        f"http://localhost:{port}/token",
        f"http://2130706433:{port}/token",
        f"http://[::ffff:127.0.0.1]:{port}/token",
        f"http://user@127.0.0.1:{port}/token",
        "http://169.254.169.254/token",
        "https://10.0.0.1/token",
        "http://[fd00::1]/token",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
    ]


@pytest.mark.variants(60)
def test_l08_a_secret_of_a_client_is_sent_to_the_endpoint_of_the_operator_alone(tmp_path: Path):
    elsewhere = list[Asked]()
    api_asked = list[Asked]()

    def note(asked: Asked) -> Said:
        elsewhere.append(asked)
        return Said(200, {"access_token": "stolen", "token_type": "Bearer"})

    def result_with(place: str, how: str) -> str:
        def issuer(asked: Asked) -> Said:
            if how == "document" and asked.path.startswith("/.well-known/"):
                return Said(200, {"issuer": at.url, "token_endpoint": place})
            if how == "other issuer":
                return Said(200, {"issuer": place, "token_endpoint": f"{at.url}/token"})
            if how.isdecimal():
                return Said(int(how), "", (("location", place),))
            return Said(200, {"access_token": "token-of-the-test", "token_type": "Bearer"})

        challenge = f'Bearer resource_metadata="{place}", authorization_uri="{place}", realm="{place}"'
        answer = Said(401, {}, (("www-authenticate", challenge),)) if how == "challenge" else Said(200, {})
        named: dict[str, Any] = {"issuer" if how in ("document", "other issuer") else "token_endpoint": ""}
        with running(issuer) as at, running(lambda asked: answer) as site:
            (name,) = named
            named[name] = at.url if name == "issuer" else f"{at.url}/token"
            tokens = ClientTokens(ClientTokenSettings("tooltrue", SECRET, **named))
            tools = api_tools(site, described(tmp_path, place), secrets={"oauth": tokens})
            text = call(tools, "get_thing").text
            api_asked.extend(site.asked)
        return text

    with running(note) as other:
        hows = ("document", "other issuer", "302", "307", "challenge", "description")
        for (number, place), how in itertools.product(enumerate(targets(other.url)), hows):
            tried((number, how))
            text = result_with(place, how)
            assert SECRET not in text
            assert text.endswith("[TT6911]" if how == "challenge" else "" if how == "description" else "[TT6948]"), text
    assert elsewhere == []
    assert {one.headers["authorization"] for one in api_asked} == {"Bearer token-of-the-test"}


def test_l08_twin_the_endpoint_of_the_issuer_of_the_operator_is_asked(tmp_path: Path):
    def issuer(asked: Asked) -> Said:
        if asked.path.startswith("/.well-known/"):
            return Said(200, {"issuer": at.url, "token_endpoint": f"{at.url}/oauth2/v1/token"})
        return Said(200, {"access_token": "token-of-the-test", "token_type": "Bearer"})

    with running(issuer) as at, running(lambda asked: Said(200, {})) as site:
        tokens = ClientTokens(ClientTokenSettings("tooltrue", SECRET, issuer=at.url))
        file = described(tmp_path, "https://pets.example/v1")
        assert not call(api_tools(site, file, secrets={"oidc": tokens}), "get_thing").is_error
    assert at.paths[-1] == "/oauth2/v1/token"
    assert site.asked[0].headers["authorization"] == "Bearer token-of-the-test"
