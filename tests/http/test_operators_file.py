"""The ``[auth]`` table of an operator's file also applies to a program that serves itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.issuing.calling import RESOURCE, call, guarded, who
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from tooltrue import ConfigurationError, Public
from tooltrue.server.keys import new_key

OAUTH = """\
[auth.oauth]
resource = "{resource}"
scopes = ["read"]
includes = {{ admin = ["read"] }}

[[auth.oauth.issuers]]
url = "{issuer}"
introspection = {{ client_id = "tools", {secret} }}
"""


def file_of(folder: Path, text: str) -> Path:
    path = folder / "tooltrue.toml"
    path.write_text(text)
    return path


def test_a_program_goes_by_its_file(mounts: Mounts, tmp_path: Path) -> None:
    key, digest = new_key("ci")
    (tmp_path / "keys.toml").write_text(f'[ci]\nsha256 = "{digest}"\nscopes = ["read"]\n')
    made = guarded(None, rules=file_of(tmp_path, f'[auth]\nkeys = "{tmp_path}/keys.toml"'))
    assert call(mounts, made).status == 401
    assert who(call(mounts, made, key)) == ["key:ci", "read"]
    assert made.guard()[0] == (
        "identity",
        f"stdio: local; HTTP: keys of {tmp_path}/keys.toml",
        made.auth_settings.origin,
    )


@pytest.mark.parametrize("secret", ['client_secret_env = "SECRET_OF_TOOLS"', 'client_secret_file = "{folder}/secret"'])
def test_the_secret_of_a_client_stands_elsewhere(
    mounts: Mounts, issuer: Issuing, tmp_path: Path, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_TOOLS", "secret")
    (tmp_path / "secret").write_text("secret\n")
    text = OAUTH.format(resource=RESOURCE, issuer=issuer.url, secret=secret.format(folder=tmp_path))
    made = guarded(None, rules=file_of(tmp_path, text))
    token = issuer.for_itself(RESOURCE, "admin", client="opaque")
    assert who(call(mounts, made, token)) == [f"{issuer.url}#opaque", "admin", "read"]


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ('client_secret_env = "NO_SUCH_VARIABLE"', "NO_SUCH_VARIABLE is empty or not there"),
        ('client_secret_file = "/nowhere"', "/nowhere: No such file or directory"),
        ('client_secret_file = "/dev/null"', "/dev/null is empty or not there"),
        ('client_secret_env = "A", client_secret_file = "/b"', "it is named twice"),
        ("always = true", "it is named nowhere"),
    ],
)
def test_a_secret_that_is_not_there_ends_the_start(tmp_path: Path, secret: str, said: str) -> None:
    text = OAUTH.format(resource=RESOURCE, issuer="https://login.example", secret=secret)
    made = guarded(None, rules=file_of(tmp_path, text))
    with pytest.raises(ConfigurationError, match=f"tooltrue.toml:1: .*{said}.*TT1064") as caught:
        made.http_app()
    assert caught.value.code == "TT1062"


def test_authentication_configured_in_two_places_is_refused(tmp_path: Path) -> None:
    made = guarded(Public(), rules=file_of(tmp_path, "[auth.public]"))
    with pytest.raises(ConfigurationError, match=r"tooltrue.toml \[auth\]") as caught:
        made.http_app()
    assert caught.value.code == "TT4206"


PRESET = """\
[auth.oauth]
preset = "{preset}"
resource = "{resource}"
{settings}
"""


def test_a_preset_in_the_file_is_that_of_a_program(mounts: Mounts, issuer: Issuing, tmp_path: Path) -> None:
    settings = f'domain = "acme.okta.com"\nscopes = ["read"]\njwks_uri = "{issuer.url}/jwks"'
    made = guarded(None, rules=file_of(tmp_path, PRESET.format(preset="okta", resource=RESOURCE, settings=settings)))
    token = issuer.signed(iss="https://acme.okta.com/oauth2/default", aud=RESOURCE, scope=None, scp=["read"])
    assert who(call(mounts, made, token)) == ["https://acme.okta.com/oauth2/default#ada", "read"]


def test_the_secret_of_a_preset_stands_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_TOOLS", "s3cr3t")
    settings = 'client_id = "Iv1.x"\nclient_secret_env = "SECRET_OF_TOOLS"'
    made = guarded(None, rules=file_of(tmp_path, PRESET.format(preset="github", resource=RESOURCE, settings=settings)))
    made.use_auth(made.auth_settings.with_secrets())
    assert "SECRET_OF_TOOLS" not in os.environ
    assert made.guard()[0][1] == f"stdio: local; HTTP: tokens of https://github.com/login/oauth for {RESOURCE}"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("", "TT4541"),
        ('client_id = "Iv1.x"\nclient_secret_env = "NO_SUCH_VARIABLE"', "TT1064"),
        ('client_id = "Iv1.x"\nclient_secret_env = "A"\nclient_secret_file = "b"', "TT1064"),
        ('client_id = "Iv1.x"\nissuers = [{ url = "https://login.example.com" }]', "TT4547"),
    ],
)
def test_a_preset_that_cannot_be_set_up_is_refused_with_its_line(tmp_path: Path, settings: str, code: str) -> None:
    made = guarded(None, rules=file_of(tmp_path, PRESET.format(preset="github", resource=RESOURCE, settings=settings)))
    with pytest.raises(ConfigurationError) as caught:
        made.http_app()
    assert code in str(caught.value.say())
    assert "tooltrue.toml:1" in str(caught.value)


@pytest.mark.parametrize("more", ["", 'domain = "x.example"'])
def test_a_table_without_issuers_and_preset_is_refused(tmp_path: Path, more: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        guarded(None, rules=file_of(tmp_path, f'[auth.oauth]\nresource = "{RESOURCE}"\n{more}'))
    assert caught.value.code == "TT4302"


def test_the_settings_of_a_preset_stand_beside_no_issuers(tmp_path: Path) -> None:
    issuers = 'domain = "x.example"\nissuers = [{ url = "https://login.example.com" }]'
    made = guarded(None, rules=file_of(tmp_path, f'[auth.oauth]\nresource = "{RESOURCE}"\n{issuers}'))
    with pytest.raises(ConfigurationError, match="preset"):
        made.http_app()
