"""Facts on clients, and the golden form of a server in each of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

from tooltrue.client.config import read_config
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.clients import SYSTEMS, ClientProfile, System, client_profiles, location, system_of
from tooltrue.host.client_files.entry import (
    command_line,
    entry_of,
    is_ours,
    server_name,
    temporary_environment,
)
from tooltrue.host.client_files.file_edit import edit_text, servers_in

ALL = client_profiles()
PAGE = Path(__file__).parents[4] / "docs" / "connect.md"
EDITED = [name for name, profile in ALL.items() if profile.installs == "file"]

PLACES: dict[str, tuple[str, ...]] = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "AppData/Roaming/Claude/claude_desktop_config.json",
    ),
    "claude-code": (".claude.json",) * 3,
    "cursor": (".cursor/mcp.json",) * 3,
    "vscode": (
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
    ),
    "windsurf": (".codeium/windsurf/mcp_config.json",) * 3,
    "codex": (".codex/config.toml",) * 3,
    "gemini-cli": (".gemini/settings.json",) * 3,
}


def test_the_clients_that_are_promised_are_there() -> None:
    assert [*PLACES] == EDITED
    assert ALL["cherry-studio"].installs == "import"


@pytest.mark.parametrize("name", PLACES)
def test_each_file_is_found_on_each_system(name: str) -> None:
    for system, place in zip(SYSTEMS, PLACES[name], strict=True):
        path = PureWindowsPath if system == "windows" else PurePosixPath
        home = "C:\\Users\\me" if system == "windows" else "/home/me"
        assert location(ALL[name].files[system], system, {}, home) == path(home) / path(place)


@pytest.mark.parametrize(
    ("name", "system", "environ", "expected"),
    [
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "x"}, "/h/.config/Code/User/mcp.json"),
        ("vscode", "macos", {"XDG_CONFIG_HOME": "/x"}, "/h/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "windows", {"APPDATA": "D:\\r"}, "D:\\r\\Code\\User\\mcp.json"),
        ("codex", "linux", {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("claude-code", "macos", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
    ],
)
def test_the_environment_moves_a_file(name: str, system: System, environ: Mapping[str, str], expected: str) -> None:
    home = "C:\\h" if system == "windows" else "/h"
    assert str(location(ALL[name].files[system], system, environ, home)) == expected


def test_systems_are_known_by_their_platform() -> None:
    assert [system_of(one) for one in ("linux", "darwin", "win32", "freebsd14")] == [
        "linux",
        "macos",
        "windows",
        "linux",
    ]


def test_each_statement_on_a_client_that_is_edited_has_a_source() -> None:
    settings = {one.name for one in fields(ClientProfile)} | {"file"}
    for name, profile in ALL.items():
        concerned = {setting for fact in profile.facts for setting in fact.of}
        assert concerned <= settings, name
        assert all(fact.source.startswith("https://") and fact.says for fact in profile.facts), name
        if profile.installs != "block":
            assert {"asks_before_calls", "elicitation", "table"} <= concerned, name


def test_the_page_states_what_is_known() -> None:
    rows = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    stated = [[cell.strip().strip("`") for cell in row] for row in rows if len(row) == 5]
    known = [
        [
            profile.name,
            str(location(profile.files["linux"], "linux", {}, "~")) if profile.files else "–",
            profile.project or "–",
            profile.asks_before_calls,
            profile.elicitation,
        ]
        for profile in ALL.values()
        if profile.installs != "block"
    ]
    assert stated == known


# --- entries ----------------------------------------------------------------------------------------------------------

COMMAND = ("/env/bin/tooltrue", "serve", "/w/notes.py")
GOLDEN_JSON = """{
  "%s": {
    "notes": {%s
      "command": "/env/bin/tooltrue",
      "args": [
        "serve",
        "/w/notes.py"
      ],
      "env": {
        "TOKEN": "t"
      }
    }
  }
}
"""
GOLDEN_TOML = """[mcp_servers.notes]
command = "/env/bin/tooltrue"
args = ["serve", "/w/notes.py"]

[mcp_servers.notes.env]
TOKEN = "t"
"""
STDIO = '\n      "type": "stdio",'
GOLDEN = {
    "claude-desktop": GOLDEN_JSON % ("mcpServers", ""),
    "claude-code": GOLDEN_JSON % ("mcpServers", STDIO),
    "cursor": GOLDEN_JSON % ("mcpServers", ""),
    "vscode": GOLDEN_JSON % ("servers", STDIO),
    "windsurf": GOLDEN_JSON % ("mcpServers", ""),
    "codex": GOLDEN_TOML,
    "gemini-cli": GOLDEN_JSON % ("mcpServers", ""),
}


@pytest.mark.parametrize("name", EDITED)
def test_a_server_in_a_new_file(name: str) -> None:
    profile = ALL[name]
    entry = entry_of(profile, COMMAND, {"TOKEN": "t"})
    text = edit_text("f", "", profile, {"notes": entry})
    assert text == GOLDEN[name]
    assert servers_in("f", text, profile) == {"notes": entry}
    assert edit_text("f", text, profile, {"notes": entry}) == text
    (one,) = read_config("f.toml" if profile.form == "toml" else "f.json", text).servers
    assert (one.label, one.command, one.args, one.env) == ("notes", COMMAND[0], COMMAND[1:], {"TOKEN": "t"})
    gone = edit_text("f", text, profile, {"notes": None})
    assert servers_in("f", gone, profile) == {}


@pytest.mark.parametrize("name", EDITED)
def test_several_entries_change_at_once(name: str) -> None:
    profile = ALL[name]
    entry = entry_of(profile, COMMAND, {})
    text = edit_text("f", "", profile, {"a": entry, "b": entry, "c": entry})
    text = edit_text("f", text, profile, {"a": None, "c": None, "gateway": entry})
    assert servers_in("f", text, profile) == {"b": entry, "gateway": entry}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", '{"mcpServers": {"a": {}, "a": {}}}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", "mcpServers: {}"),
        ("cursor", '{"a": 1e999}'),
        ("codex", "a = [1, 2"),
        ("codex", "mcp_servers = 1"),
        ("codex", 'mcp_servers = { notes = { command = "x" } }'),
        ("codex", '{"mcpServers": {}}'),
    ],
)
def test_a_foreign_text_is_left_alone(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        edit_text("f", text, ALL[name], {"notes": {"command": "x"}})
    assert raised.value.code == "TT4650"
    assert "f was left as it is" in str(raised.value)


# --- command lines ----------------------------------------------------------------------------------------------------


def test_a_command_line_is_absolute(tmp_path: Any) -> None:
    python = tmp_path / "python"
    assert command_line(("serve", "x"), str(python)) == (
        *(str(python), "-P", "-c", "from tooltrue.cli.main import main; main()"),
        *("serve", "x"),
    )
    script = tmp_path / "tooltrue"
    script.touch(0o755)
    assert command_line(("serve", "x"), str(python)) == (str(script), "serve", "x")


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "/a/tooltrue", "args": ["serve", "x.py"]}, True),
        ({"command": "C:\\a\\tooltrue.exe", "args": ["serve", "x.py"]}, True),
        ({"command": command_line((), "/x/python")[0], "args": [*command_line(("serve", "f"), "/x/python")[1:]]}, True),
        ({"command": "/a/tooltrue", "args": []}, False),
        ({"command": "npx", "args": ["serve", "x.py"]}, False),
        ({"url": "http://x"}, False),
        ("tooltrue", False),
    ],
)
def test_an_entry_of_ours_is_known(entry: Any, ours: bool) -> None:
    assert is_ours(entry) is ours


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/a/my notes.py", "my-notes"),
        ("notes.py:server", "notes"),
        ("files,command", "files-command"),
        ("package.module:server", "server"),
        ("注.py", "server"),
    ],
)
def test_a_server_is_named_after_its_target(target: str, name: str) -> None:
    assert server_name(target) == name


def test_an_environment_of_a_single_run_is_known() -> None:
    assert temporary_environment("/home/me/.cache/uv/archive-v0/AbC")
    assert temporary_environment("/home/me/.local/pipx/.cache/0a1b")
    assert not temporary_environment("/home/me/.local/share/uv/tools/tooltrue")
    assert not temporary_environment("/w/.venv")
