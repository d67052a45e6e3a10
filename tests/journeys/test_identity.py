"""Authentication at a server in its own process: the command line, a real issuer, files of keys."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.issuing.server import (
    Issuing,
    one_more_running_issuer,
    one_running_issuer,
    other_running_issuer,
    running_issuer,
)
from support.private import is_private_at
from support.serving import command, environment, free_port, http, started, wait_for_port
from support.warm_command import warm_command
from support.wire.raw_http import Endpoint
from tooltrue._internal.platform.processes import descendants
from tooltrue.testing.state import LIMIT

__all__ = ["one_more_running_issuer", "one_running_issuer", "other_running_issuer", "running_issuer"]

pytestmark = pytest.mark.process

RESOURCE = "https://tools.example/mcp"
OAUTH = ["--oauth", "https://a.example", "--resource", RESOURCE]
PRIVATE = """\
from tooltrue import Server
server = Server("private", authenticate=lambda carrier: None)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(warm_command(*arguments), env=environment(), capture_output=True, text=True, timeout=LIMIT)


def status(url: str, authorization: str | None = None, **headers: str) -> int:
    endpoint = Endpoint(urlsplit(url).port or 0, "/mcp")
    return asyncio.run(endpoint.modern("tools/list", None, authorization=authorization, **headers)).status


def test_a_key_that_was_made_on_the_command_line_lets_in(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    made = run("keys", "new", "ada", "--scope", "read", "--days", "1", "--file", str(path))
    key = made.stdout.strip()
    assert made.returncode == 0, made.stderr
    assert key not in made.stderr + path.read_text()
    assert is_private_at(path)
    with http("--keys", str(path)) as (url, _):
        assert [status(url), status(url, "Bearer nonsense"), status(url, f"Bearer {key}")] == [401, 401, 200]
        assert status(url, x_api_key=key) == 200
    shown = run("keys", "list", "--file", str(path))
    assert shown.stdout.startswith("ada  read  until ")
    assert tomllib.loads(path.read_text())["ada"]["scopes"] == ["read"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_token_of_the_issuer_lets_in_at_every_worker(issuer: Issuing, workers: str) -> None:
    with http("--oauth", issuer.url, "--resource", RESOURCE, "--scope", "read", "--workers", workers) as (url, _):
        token = issuer.for_ada(RESOURCE)
        assert [status(url), status(url, f"Bearer {issuer.signed()}")] == [401, 401]
        assert {status(url, f"Bearer {token}") for _ in range(6)} == {200}
        assert status(url, f"Bearer {token}", host="tools.example") == 200
        assert status(url, f"Bearer {issuer.for_ada(RESOURCE, 'write')}") == 403


def test_a_key_of_the_same_name_is_not_made_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.toml")
    assert run("keys", "new", "ada", "--file", path).returncode == 0
    again = run("keys", "new", "ada", "--file", path)
    assert (again.returncode, again.stdout, "[TT4204]" in again.stderr) == (2, "", True)


FULL = """\
import resource
from tooltrue.cli.main import main

resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
main()
"""


def test_where_there_is_no_room_for_a_key_those_that_are_there_stay(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    assert run("keys", "new", "ada", "--file", str(path)).returncode == 0
    kept = path.read_text()
    line = [sys.executable, "-B", "-c", FULL.format(room=len(kept) + 40), "keys", "new", "eve", "--file", str(path)]
    full = subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=LIMIT)
    assert (full.returncode, full.stdout, "[TT9009]" in full.stderr) == (2, "", True), full.stderr
    assert path.read_text() == kept
    assert [*tmp_path.iterdir()] == [path]


def test_a_key_is_appended_and_the_existing_content_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_bytes(f'# of the staff ✓\r\n[ada]\r\nsha256 = "{"0" * 64}"'.encode())
    kept = path.read_bytes()
    assert run("keys", "new", "eve", "--file", str(path)).returncode == 0
    assert path.read_bytes().startswith(kept + b"\n[")
    assert [*tomllib.loads(path.read_text())] == ["ada", "eve"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--oauth", "https://issuer.example"], "TT4205"),
        (["--resource", RESOURCE], "TT4205"),
        (["--scope", "read"], "TT4205"),
        (["--oauth", "http://issuer.example", "--resource", RESOURCE], "TT4009"),
        (["--keys", "/nowhere/keys.toml"], "TT4202"),
        (["--public"], "TT4206"),
        (["--introspection", "tools"], "TT4205"),
        (["--trust-proxy", "10.0.0.1"], "TT4205"),
        (["--user-header", "X-User"], "TT4205"),
        (["--trust-proxy", "10.0.0.0/33", "--user-header", "X-User"], "TT4009"),
        ([*OAUTH, "--introspection", "tools"], "TT1064"),
        ([*OAUTH, "--oauth", "https://b.example", "--introspection", "tools"], "TT1065"),
    ],
)
def test_invalid_authentication_options_are_reported_before_the_server_listens(
    tmp_path: Path, options: list[str], code: str
) -> None:
    target = tmp_path / "private.py"
    target.write_text(PRIVATE)
    ended = run("serve", str(target), "--http", ":0", *options)
    assert (ended.returncode, f"[{code}]" in ended.stderr) == (2, True), ended.stderr


# --- several issuers, introspection, and a proxy, by options or by a file ---------------------------------------------

FILE = """\
[auth]
keys = "{folder}/keys.toml"

[auth.oauth]
resource = "https://tools.example/mcp"
scopes = ["read"]

[[auth.oauth.issuers]]
url = "{issuer}"
introspection = {{ client_id = "tools", client_secret_env = "TOOLS_SECRET" }}

[[auth.oauth.issuers]]
url = "{other}"

[auth.proxy]
addresses = ["127.0.0.1"]
user_header = "X-User"
scopes_header = "X-Groups"
demand = {{ "X-Verified" = "yes" }}
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "tooltrue.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_operators_file_configures_authentication(
    tmp_path: Path, issuer: Issuing, other: Issuing, workers: str
) -> None:
    key = run("keys", "new", "ci", "--file", str(tmp_path / "keys.toml")).stdout.strip()
    config = written(tmp_path, FILE.format(folder=tmp_path, issuer=issuer.url, other=other.url))
    more = environment(TOOLS_SECRET="secret")
    with http("--config", config, "--workers", workers, env=more) as (url, process):
        opaque = [one.for_itself(RESOURCE, client="opaque") for one in (issuer, other)]
        assert [status(url), status(url, "Bearer nonsense")] == [401, 401]
        assert status(url, f"Bearer {key}") == 200
        assert [status(url, f"Bearer {one.for_ada(RESOURCE)}") for one in (issuer, other)] == [200, 200]
        assert [status(url, f"Bearer {token}") for token in opaque] == [200, 401]
        assert status(url, x_user="ada", x_verified="yes") == 200
        assert [status(url, x_user="ada"), status(url, x_user="ada", x_verified="no")] == [401, 401]
        assert status(url, f"Bearer {key}", host="tools.example") == 200
        environments = [Path(f"/proc/{one}/environ").read_bytes() for one in descendants(process.pid)]
        assert not [one for one in environments if b"TOOLS_SECRET" in one]


def test_options_say_it_too(issuer: Issuing, other: Issuing) -> None:
    oauth = ("--oauth", issuer.url, "--resource", RESOURCE)
    proxy = ("--trust-proxy", "127.0.0.0/8", "--user-header", "X-User", "--demand-header", "X-Verified=yes")
    asks = ("--introspection", "tools", "--introspection-endpoint", f"{issuer.url}/introspect")
    with http(*oauth, *proxy, *asks, env=environment(TOOLTRUE_CLIENT_SECRET="secret")) as (url, _):
        assert status(url, f"Bearer {issuer.for_itself(RESOURCE, client='opaque')}") == 200
        assert [status(url, x_user="ada", x_verified=said) for said in ("yes", "no")] == [200, 401]
    with http(*oauth, "--oauth", other.url) as (url, _):
        assert [status(url, f"Bearer {one.for_ada(RESOURCE)}") for one in (issuer, other)] == [200, 200]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ('[auth]\nkeys = "/nowhere"', (), "tooltrue.toml:2: The keys in /nowhere cannot be used"),
        (FILE, (), "tooltrue.toml:4: The secret of the client 'tools' is not there"),
        ('[auth.proxy]\naddresses = ["x"]\nuser_header = "u"', (), "tooltrue.toml:1: TrustedProxy(addresses=…)"),
        ("[auth.public]", ("--public",), "[TT1063]"),
        ('[auth]\nclient_secret = "x"', (), "tooltrue.toml:2: auth"),
    ],
)
def test_an_invalid_auth_setting_in_the_file_is_reported_with_its_line(
    tmp_path: Path, text: str, options: tuple[str, ...], said: str
) -> None:
    assert run("keys", "new", "ci", "--file", str(tmp_path / "keys.toml")).returncode == 0
    config = written(tmp_path, text.replace("{{", "{").replace("}}", "}").replace("{folder}", str(tmp_path)))
    ended = run("serve", "files", "--root", str(tmp_path), "--http", ":0", "--config", config, *options)
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_a_file_with_an_auth_section_allows_serving_the_network_and_inspect_shows_it(tmp_path: Path) -> None:
    config = written(tmp_path, '[auth.public]\nproxies = ["10.0.0.1"]')
    shown = json.loads(run("inspect", "files", "--root", str(tmp_path), "--config", config, "--json").stdout)
    [identity] = [row for row in shown["guard"] if row["layer"] == "identity"]
    assert "HTTP: whoever comes, by address" in identity["state"]
    assert identity["from"] == f"{config} [auth]"
    port = free_port()
    serving = command("serve", "files", "--root", str(tmp_path), "--config", config, "--http", f"0.0.0.0:{port}")
    with started(serving, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        process.wait_for("tooltrue serves")
        wait_for_port(port, process)
        assert status(f"http://127.0.0.1:{port}/mcp") == 200


def test_authentication_options_require_http(tmp_path: Path) -> None:
    target = tmp_path / "private.py"
    target.write_text(PRIVATE)
    ended = run("serve", str(target), "--keys", "keys.toml")
    assert (ended.returncode, "[TT4004]" in ended.stderr) == (2, True)
