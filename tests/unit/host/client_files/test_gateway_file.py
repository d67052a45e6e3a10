"""Entries on their way behind a gateway: what starts there is what the client would have started."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tooltrue.client.config import Launch, read_config, resolved
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.clients import client_profiles
from tooltrue.host.client_files.gateway_file import Moved, gateway_file, keyring_names, moved, with_keyring
from tooltrue.jsonrpc.messages import Json

CLIENTS = client_profiles()


def move(folder: Path, servers: dict[str, Any], client: str = "cursor", *, in_project: bool = True) -> Moved:
    config = read_config(folder / "mcp.json", json.dumps({"mcpServers": servers}))
    return moved(config, servers, CLIENTS[client], in_project=in_project)


def launch(folder: Path, servers: Any, environ: dict[str, str]) -> Launch:
    config = read_config(folder / "mcp.json", json.dumps({"mcpServers": servers}))
    found = asyncio.run(resolved(config.servers[0], config, environ=environ))
    assert isinstance(found, Launch)
    return found


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "c", "args": ["a"]},
        {"command": "c", "cwd": "sub", "env": {"A": "1", "B": "${env:B}", "D": "${D:-x}"}},
        {"command": "${workspaceFolder}/run", "args": ["${workspaceFolderBasename}"], "cwd": "/else"},
        {"command": "${userHome}/run", "cwd": "~/place"},
    ],
)
def test_a_moved_server_starts_as_it_did(tmp_path: Path, entry: dict[str, Json]) -> None:
    there = tmp_path / "there"
    environ = {"B": "b"}
    before = launch(tmp_path, {"one": entry}, environ)
    after = launch(there, move(tmp_path, {"one": entry}).entries, environ)
    assert (after.argv, after.cwd, after.env) == (before.argv, before.cwd, before.env)


def test_the_gateway_is_handed_the_variables_in_the_notation_of_its_client(tmp_path: Path) -> None:
    servers = {
        "one": {"command": "c", "env": {"A": "${env:A}", "B": "$B", "C": "c"}, "args": ["${userHome}", "x${D:-d}"]},
        "two": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${E}"}},
    }
    found = move(tmp_path, servers)
    assert found.variables == {"env": {"A": "${env:A}", "B": "$B", "D": "${D:-d}", "E": "${E}"}}
    assert found.entries["one"]["env"] == {"A": "${env:A}", "B": "${B}", "C": "c"}
    assert move(tmp_path, {"one": {"command": "c"}}).variables == {}
    codex = {"one": {"command": "c", "env_vars": ["A"]}, "two": {"url": "https://e.org", "bearer_token_env_var": "T"}}
    assert move(tmp_path, codex, "codex").variables == {"env_vars": ["A", "T"]}


def test_secrets_become_references_to_the_keyring(tmp_path: Path) -> None:
    secret = "hunter2-" + "correct-horse"
    env = {"API_TOKEN": secret, "LEVEL": "3", "OTHER_TOKEN": "${env:OTHER}", "EMPTY_KEY": ""}
    entries = {"one": {"command": "c", "env": env}, "two": {"url": "https://e.org", "headers": {"X-Api-Key": secret}}}
    changed, secrets = with_keyring(tmp_path / "cursor.json", entries)
    assert secrets == {"cursor/one/API_TOKEN": secret, "cursor/two/X-Api-Key": secret}
    assert changed["one"]["env"] == {**env, "API_TOKEN": "${keyring:cursor/one/API_TOKEN}"}
    assert secret not in json.dumps(changed)
    assert keyring_names(json.dumps(changed)) == secrets.keys()
    assert keyring_names(None) == frozenset()

    async def read(name: str) -> str | None:
        return secrets.get(name)

    config = read_config(tmp_path / "mcp.json", json.dumps({"mcpServers": changed}))
    one = asyncio.run(resolved(config.servers[0], config, environ={"OTHER": "o"}, read_secret=read))
    assert isinstance(one, Launch)
    assert one.env["API_TOKEN"] == secret
    assert secret not in f"{one.display}{one.env_written}"
    secrets.clear()
    with pytest.raises(ConfigurationError, match="cursor/one/API_TOKEN") as missing:
        asyncio.run(resolved(config.servers[0], config, environ={"OTHER": "o"}, read_secret=read))
    assert missing.value.code == "TT4810"


def test_each_project_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    names = {gateway_file(CLIENTS["codex"], project) for project in (None, tmp_path / "a", tmp_path / "b")}
    assert len(names) == 3
    assert {path.parent for path in names} == {tmp_path / "tooltrue" / "gateway"}
    assert gateway_file(CLIENTS["codex"], None).name == "codex.toml"
