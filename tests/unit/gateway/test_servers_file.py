"""Mistakes in the file of the servers are told with their line, before a server starts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.serving import command, environment
from tooltrue import ConfigurationError
from tooltrue.gateway.servers_file import missing_variables, read_servers
from tooltrue.testing.state import LIMIT

MISTAKES = {
    "an unknown key": ('{"mcpServers": {\n  "a": {\n    "comand": "x"}}}', 3, "TT9203"),
    "a value of another kind": ('{"servers": {\n  "a": {"command": "x",\n\n    "args": "y"}}}', 4, "TT9204"),
    "a table that is misspelt": ('{"mcpServers": {},\n"input": []}', 2, "TT9203"),
    "an input without an id": ('{"servers": {},\n"inputs": [\n{"id": "a"},\n{"id": 1}]}', 4, "TT9204"),
    "a command and a URL": ('{"mcpServers": {\n"a": {"command": "x",\n"url": "http://a.example"}}}', 2, "TT9205"),
    "a label that is no word": ('{"mcpServers": {\n"it\'s \\"a\\"": {\n// mine\n"comand": "x",}}}', 4, "TT9203"),
    "settings of an editor": ('{"mcp": {"servers": {\n"a": {\n"comand": "x"}}}}', 3, "TT9203"),
    "two servers of one label": ('{"mcpServers": {\n"a": {"command": "x"},\n"a": {"command": "y"}}}', 3, "TT4793"),
    "labels that look alike": ('{"mcpServers": {\n"a b": {"command": "x"},\n"a.b": {"command": "y"}}}', 3, "TT5665"),
    "a label that deceives": ('{"mcpServers": {\n"a": {"command": "x"},\n"a\\u200b": {"command": "y"}}}', 3, "TT5665"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_line(mistake: str, tmp_path: Path) -> None:
    text, line, code = MISTAKES[mistake]
    file = tmp_path / "servers.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as told:
        read_servers(str(file))
    assert told.value.code == code
    assert str(told.value).startswith(f"{file}:{line}")


def test_a_mistake_in_toml_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "servers.toml"
    file.write_text('[mcp_servers.a]\ncommand = "x"\n[mcp_servers."b c"]\ncommand = "y"\ncomand = "z"\n')
    with pytest.raises(ConfigurationError, match=r"servers\.toml:5 "):
        read_servers(str(file))
    file.write_text('[mcp_servers.a]\ncommand = "x"\n[mcp_servers.a]\n')
    with pytest.raises(ConfigurationError, match="line 3"):
        read_servers(str(file))


def test_a_key_without_effect_is_noted_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {"a": {"command": "x",\n"alwaysAllow": ["y"]}}}')
    assert [(note.code, str(note).startswith(f"{file}:2 ")) for note in read_servers(str(file)).notes] == [
        ("TT9221", True)
    ]


def test_two_servers_at_one_url_are_two(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {"a": {"url": "http://a.example"}, "b": {"url": "http://a.example"}}}')
    assert [one.label for one in read_servers(str(file)).servers] == ["a", "b"]


def test_a_variable_that_is_not_set_is_told_with_the_line_of_its_server(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    servers = {
        "set": {"command": "x", "env": {"TOKEN": "${env:SET}", "FOLDER": "${workspaceFolder}"}},
        "by default": {"command": "x", "args": ["${ABSENT:-none}"]},
        "off": {"command": "x", "args": ["${ABSENT}"], "disabled": True},
        "of a person": {"command": "x", "env": {"A": "${input:key}", "B": "${keyring:name}"}},
        "in a header": {"url": "http://a.example", "headers": {"Authorization": "Bearer ${env:ABSENT}"}},
        "in a word": {"command": "x", "args": ["${ABSENT}"]},
    }
    lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(one)}" for label, one in servers.items())
    file.write_text(f'{{"mcpServers": {{\n{lines}}}}}')
    problems = [*missing_variables(read_servers(str(file)), {"SET": "x"})]
    assert [(one.code, str(one).partition(" ")[0]) for one in problems] == [
        ("TT9206", f"{file}:6"),
        ("TT9206", f"{file}:7"),
    ]


@pytest.mark.process
def test_the_command_tells_of_a_variable_that_is_not_set_and_serves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {\n"a": {"command": "x", "env": {"TOKEN": "${env:NOT_SET_HERE}"}}}}')
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    }
    done = subprocess.run(
        command("gateway", str(file)),
        env=environment(XDG_STATE_HOME=str(tmp_path)),
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    assert f"{file}:2 " in done.stderr.splitlines()[0]
    assert "NOT_SET_HERE" in done.stderr.splitlines()[0]
    assert json.loads(done.stdout.splitlines()[0])["id"] == 1
