"""Who may call a server that runs in a process of its own: the command line, a real issuer, files of keys."""

from __future__ import annotations

import asyncio
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from issuing.server import Issuing, one_running_issuer, running_issuer
from journeys.serving import command, environment, http
from toolwright.testing.state import LIMIT
from wire.raw_http import Endpoint

__all__ = ["one_running_issuer", "running_issuer"]

pytestmark = pytest.mark.process

RESOURCE = "https://tools.example/mcp"
PRIVATE = """\
from toolwright import Server
server = Server("private", authenticate=lambda carrier: None)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), env=environment(), capture_output=True, text=True, timeout=LIMIT)


def status(url: str, authorization: str | None = None, **headers: str) -> int:
    endpoint = Endpoint(urlsplit(url).port or 0, "/mcp")
    return asyncio.run(endpoint.modern("tools/list", authorization=authorization, **headers)).status


def test_a_key_that_was_made_on_the_command_line_lets_in(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    made = run("keys", "new", "ada", "--scope", "read", "--days", "1", "--file", str(path))
    key = made.stdout.strip()
    assert made.returncode == 0, made.stderr
    assert key not in made.stderr + path.read_text()
    assert path.stat().st_mode & 0o077 == 0
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
    assert (again.returncode, again.stdout, "[TW4204]" in again.stderr) == (2, "", True)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--oauth", "https://issuer.example"], "TW4205"),
        (["--resource", RESOURCE], "TW4205"),
        (["--scope", "read"], "TW4205"),
        (["--oauth", "http://issuer.example", "--resource", RESOURCE], "TW4009"),
        (["--keys", "/nowhere/keys.toml"], "TW4202"),
        (["--public"], "TW4206"),
    ],
)
def test_what_cannot_be_is_said_before_anything_listens(tmp_path: Path, options: list[str], code: str) -> None:
    target = tmp_path / "private.py"
    target.write_text(PRIVATE)
    ended = run("serve", str(target), "--http", ":0", *options)
    assert (ended.returncode, f"[{code}]" in ended.stderr) == (2, True), ended.stderr


def test_who_may_call_is_a_question_of_http(tmp_path: Path) -> None:
    target = tmp_path / "private.py"
    target.write_text(PRIVATE)
    ended = run("serve", str(target), "--keys", "keys.toml")
    assert (ended.returncode, "[TW4004]" in ended.stderr) == (2, True)
