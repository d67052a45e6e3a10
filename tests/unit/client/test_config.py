"""Configuration files of servers: common forms, errors, and the expansion of variables."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tooltrue.client.config import HostConfig, Input, Launch, RemoteEndpoint, read_config, resolved
from tooltrue.errors import ConfigurationError

FOLDER = Path("/home/ann/project")


def read(text: str, name: str = "servers.json") -> HostConfig:
    return read_config(FOLDER / name, text)


def refused(text: str, name: str = "servers.json") -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(text, name)
    assert caught.value.say("zh").endswith(f"[{caught.value.code}]")
    return caught.value.say()


def filled(text: str, *, environ: dict[str, str] | None = None, name: str = "servers.json", **more: Any) -> Any:
    config = read(text, name)
    return asyncio.run(resolved(config.servers[0], config, environ=environ or {}, **more))


def test_a_common_configuration_file_is_read_unchanged() -> None:
    config = read("""{
      // a comment, as editors take it, and "quotes" in it
      "mcpServers": {
        "git": {"command": "uvx", "args": ["mcp-server-git==1.0"], "env": {"DEPTH": 3, "VERBOSE": true, "GONE": null}},
        "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"X-A": "b // c"}, "timeout": 90000},
        "old": {"command": "old", "disabled": true, /* and a comma too much */},
      },
      "globalShortcut": "Alt+Space"
    }""")
    git, docs, old = config.servers
    assert (git.command, git.args, git.env) == ("uvx", ("mcp-server-git==1.0",), {"DEPTH": "3", "VERBOSE": "true"})
    assert (docs.url, docs.headers, docs.seconds) == ("https://docs.example/mcp", {"X-A": "b // c"}, 90.0)
    assert [one.enabled for one in config.servers] == [True, True, False]
    assert old.path == "$.mcpServers.old"


def test_vs_code_has_other_words_for_the_same() -> None:
    text = """{
      "servers": {"github": {"type": "http", "url": "https://x.example", "headers": {"A": "Bearer ${input:pat}"}}},
      "inputs": [{"type": "promptString", "id": "pat", "description": "A token", "password": true}]
    }"""
    config = read(text, ".vscode/mcp.json")
    assert config.folder == FOLDER
    assert config.inputs == {"pat": Input("pat", "A token", secret=True)}
    asked: list[Input] = []

    def ask(one: Input) -> str:
        asked.append(one)
        return "s3cret"

    known: dict[str, str] = {}
    for _ in range(2):
        way = asyncio.run(resolved(config.servers[0], config, ask, known, {}))
        assert isinstance(way, RemoteEndpoint)
        assert way.headers == {"A": "Bearer s3cret"}
        assert "s3cret" not in repr(way)
    assert len(asked) == 1


def test_settings_of_vs_code_have_them_below_mcp() -> None:
    assert read('{"editor.fontSize": 12, "mcp": {"servers": {"a": {"command": "a"}}}}').servers[0].path == (
        "$.mcp.servers.a"
    )


def test_toml_has_the_same_settings_and_those_reserved_to_the_operator() -> None:
    text = """
[servers.git]
command = "uvx"
args = ["mcp-server-git==1.0"]
start_timeout = 5
without = ["git_reset"]
rename = { git_log = "history" }
effects = { read = ["git_log", "git_status"] }
"""
    (git,) = read(text, "servers.toml").servers
    assert (git.start_seconds, git.without, git.rename) == (5.0, ("git_reset",), {"git_log": "history"})
    assert git.effects == {"read": ("git_log", "git_status")}
    assert "$.mcpServers.a.effects" in refused('{"mcpServers": {"a": {"command": "a", "effects": {"read": ["*"]}}}}')


def test_a_codex_configuration_is_read() -> None:
    text = """
[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"
tool_timeout_sec = 20
enabled_tools = ["search"]
"""
    way = filled(text, environ={"DOCS_TOKEN": "t"}, name="config.toml")
    address = "https://docs.example/mcp"
    assert way == RemoteEndpoint(address, {"Authorization": "Bearer t"}, address, ("DOCS_TOKEN",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"mcpServers": {"a": {"comand": "x"}}}', "$.mcpServers.a.comand: there is no such key; near: command"),
        ('{"mcpServers": {"a": {"command": "x", "agrs": []}}}', "near: args"),
        ('{"mcpServer": {"a": {"command": "x"}}}', "near: mcpServers"),
        ('{"mcpServers": {"a b": {"command": "x", "args": "y"}}}', "$.mcpServers.['a b'].args: it has to be a list"),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}', "either a command"),
        ('{"mcpServers": {"a": {}}}', "either a command"),
        ('{"mcpServers": {"a": {"type": "stdio", "url": "http://y"}}}', "a type that fits it"),
        ('{"mcpServers": {"a": {"url": "http://y", "args": ["x"]}}}', "either a command"),
        ('{"mcpServers": {"a": {"type": "carrier-pigeon", "url": "http://y"}}}', "one of stdio"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": "yes"}}}', "true or false"),
        ('{"mcpServers": {"a": {"command": "x", "timeout": 0}}}', "a number above 0"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "servers.json cannot be read"),
        ('{"mcpServers": ', "servers.json cannot be read: it is not JSON: it ends too early"),
        (
            '{\n  // two\n  "mcpServers": {"a": {"command": "x" "args": []}}\n}',
            "it is not JSON at line 3, column 39",
        ),
        ('{"mcpServers": {"a": {"command": "\\ud800"}}}', "servers.json cannot be read: The message is not JSON"),
        ("[1]", "it is not an object"),
        ('{"servers": {"a": {"command": "x"}}, "input": []}', "near: inputs"),
        ('{"servers": {"a": {"command": "x"}}, "inputs": [{"id": "i", "pasword": true}]}', "near: password"),
    ],
)
def test_an_error_is_reported_with_its_place_and_a_valid_alternative(text: str, says: str) -> None:
    assert says in refused(text)


def test_consent_settings_of_other_hosts_are_noted_and_grant_no_approval() -> None:
    config = read('{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["wipe"], "description": "d", "trust": true}}}')
    assert [(note.code, note.facts["path"]) for note in config.notes] == [
        ("TT9221", "$.mcpServers.a.alwaysAllow"),
        ("TT9222", "$.mcpServers.a.description"),
        ("TT9221", "$.mcpServers.a.trust"),
    ]
    assert config.servers[0] == read('{"mcpServers": {"a": {"command": "x"}}}').servers[0]


@pytest.mark.parametrize(
    ("written", "environ", "becomes"),
    [
        ("${env:A}", {"A": "1"}, "1"),
        ("${A}", {"A": "1"}, "1"),
        ("${A:-d}", {}, "d"),
        ("${env:A:-d}", {"A": ""}, "d"),
        ("${env:A:-}", {}, ""),
        ("x${A}y${A}", {"A": "1"}, "x1y1"),
        ("${A}", {"A": "${B}", "B": "2"}, "${B}"),
        ("${workspaceFolder}/d", {}, f"{FOLDER}/d"),
        ("${userHome}", {}, str(Path.home())),
        ("$A and $(b)", {}, "$A and $(b)"),
    ],
)
def test_variables_are_filled_in_once(written: str, environ: dict[str, str], becomes: str) -> None:
    way = filled('{"mcpServers": {"a": {"command": "x", "args": ["' + written + '"]}}}', environ=environ)
    assert isinstance(way, Launch)
    assert way.argv == ("x", becomes)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("${env:NOWHERE}", "the variable NOWHERE is not set"),
        ("${command:pick}", "${command:pick} is unknown"),
        ("${input:other}", "${input:other} is unknown"),
        ("${}", "is unknown"),
    ],
)
def test_a_variable_that_is_missing_costs_its_server_alone(written: str, says: str) -> None:
    text = '{"mcpServers": {"a": {"command": "x", "args": ["' + written + '"]}, "b": {"command": "y"}}}'
    config = read(text)
    with pytest.raises(ConfigurationError, match=r"mcpServers\.a") as caught:
        asyncio.run(resolved(config.servers[0], config, environ={}))
    assert says in str(caught.value)
    assert isinstance(asyncio.run(resolved(config.servers[1], config, environ={})), Launch)


def test_a_secret_is_in_no_representation() -> None:
    text = """{"mcpServers": {"a": {
      "command": "x", "args": ["--token", "${env:API_TOKEN}", "--dir", "${DIR}"], "env": {"PASSWORD": "${PW}"}
    }}}"""
    way = filled(text, environ={"API_TOKEN": "s3cret", "DIR": "/d", "PW": "hidden"})
    assert way.argv == ("x", "--token", "s3cret", "--dir", "/d")
    assert way.display == ("x", "--token", "${env:API_TOKEN}", "--dir", "/d")
    for secret in ("s3cret", "hidden"):
        assert secret not in repr(way)


def test_an_input_without_an_answer_is_an_error_and_its_default_is_one() -> None:
    text = '{"servers": {"a": {"command": "x", "args": ["${input:i}"]}}, "inputs": [{"id": "i"%s}]}'
    with pytest.raises(ConfigurationError, match="the input i has no valid answer"):
        filled(text % "")
    assert filled(text % ', "default": "d"').argv == ("x", "d")
    with pytest.raises(ConfigurationError, match="the input i has no valid answer"):
        filled(text % ', "options": ["a", "b"]', ask=lambda one: "c")


def test_a_setting_that_would_run_a_command_is_refused_and_not_skipped() -> None:
    with pytest.raises(ConfigurationError, match="a command that makes headers is not run here"):
        filled('{"mcpServers": {"a": {"url": "https://x.example", "headersHelper": "./token.sh"}}}')


def test_a_file_of_variables_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# a comment\nexport A=1\nB = 'two words'\n\nC=\"\"\nno line\n")
    config = read_config(
        tmp_path / "s.json", '{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}'
    )
    way = asyncio.run(resolved(config.servers[0], config, environ={}))
    assert isinstance(way, Launch)
    assert way.env == {"A": "1", "B": "two words", "C": ""}


def test_a_command_runs_in_the_folder_of_its_project() -> None:
    assert filled('{"mcpServers": {"a": {"command": "x"}}}').cwd == str(FOLDER)
    assert filled('{"mcpServers": {"a": {"command": "x"}}}', name=".cursor/mcp.json").cwd == str(FOLDER)
    assert filled('{"mcpServers": {"a": {"command": "x", "cwd": "sub"}}}').cwd == str(FOLDER / "sub")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.json cannot be read: No such file"):
        read_config("nowhere.json")


@pytest.mark.parametrize("text", ["a = " + "[" * 3_000, "a = " + "{a = " * 3_000])
def test_a_file_nested_too_deep_is_refused(text: str) -> None:
    assert "nested too deep" in refused(text, "servers.toml")
