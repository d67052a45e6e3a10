"""Servers that hide from ``tooltrue inventory``: in the files of many hosts, in many spellings of a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from journeys.test_host_cli import Desk
from support.variants import tried
from tooltrue.host.inventory import inventory

HOME = [
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    "AppData/Roaming/Claude/claude_desktop_config.json",
    ".claude.json",
    ".claude/settings.json",
    ".cursor/mcp.json",
    ".config/Code/User/mcp.json",
    ".config/Code/User/settings.json",
    "Library/Application Support/Code/User/mcp.json",
    "AppData/Roaming/Code/User/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".copilot/mcp-config.json",
    ".kiro/settings/mcp.json",
    ".lmstudio/mcp.json",
    ".aws/amazonq/mcp.json",
]
PROJECT = [
    ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml", ".gemini/settings.json",
    ".kiro/settings/mcp.json", ".amazonq/mcp.json", ".roo/mcp.json",
]  # fmt: skip
"""Files in which hosts look for servers."""


def naming(file: str, label: str) -> str:
    """A file that names one server, as the host of that file writes it."""
    server = {"command": "shadow"}
    if file.endswith(".toml"):
        return f'[mcp_servers.{label}]\ncommand = "shadow"\n'
    if file.endswith("Code/User/settings.json"):
        return json.dumps({"editor.fontSize": 12, "mcp": {"servers": {label: server}}})
    return json.dumps({"servers" if "Code" in file or "vscode" in file else "mcpServers": {label: server}})


def written(file: Path, text: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def found(folder: Path, home: Path, *places: Path) -> list[Any]:
    """What the command lists, of this home and of these projects or files."""
    desk = Desk(folder)
    desk.env["HOME"] = str(home)
    return desk.json("inventory", *map(str, places))


@pytest.mark.process
@pytest.mark.attack("J12")
@pytest.mark.variants(len(HOME) + len(PROJECT))
def test_j12_a_server_in_a_file_of_any_host_is_listed(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder, files in ((home, HOME), (project, PROJECT)):
        for number, file in enumerate(files):
            written(folder / file, naming(file, f"{folder.name}{number}"))
    listed = {one["file"]: [server["label"] for server in one["servers"]] for one in found(tmp_path, home, project)}
    for folder, files in ((home, HOME), (project, PROJECT)):
        for number, file in enumerate(files):
            tried((folder.name, file))
            assert listed.pop(str(folder / file)) == [f"{folder.name}{number}"]
    assert listed == {}


ONE = {"mcpServers": {"shadow": {"command": "shadow"}}}
TEXT = json.dumps(ONE)
PROJECTS = json.dumps({"theme": "dark", "projects": {"/p": ONE}})

SPELLINGS: dict[str, tuple[str, str | bytes]] = {
    "a comment before it": (".mcp.json", f"// nothing here\n{TEXT}"),
    "a comment within it": (".mcp.json", TEXT.replace("{", "{ /* nothing */ ", 1)),
    "a comma too many": (".mcp.json", TEXT[:-1] + ",}"),
    "a byte order mark": (".mcp.json", b"\xef\xbb\xbf" + TEXT.encode()),
    "far below empty lines": (".mcp.json", "\n" * 100_000 + TEXT),
    "escaped letters": (".mcp.json", '{"mcp\\u0053ervers": {"shadow": {"comm\\u0061nd": "shadow"}}}'),
    "switched off": (".mcp.json", json.dumps({"mcpServers": {"shadow": {"command": "shadow", "disabled": True}}})),
    "a URL": (".mcp.json", json.dumps({"mcpServers": {"shadow": {"url": "https://shadow.example/mcp"}}})),
    "beside settings that do not matter": (".gemini/settings.json", json.dumps({"theme": "x", "mcp": {"a": 1}} | ONE)),
    "a project of Claude Code": (".claude.json", PROJECTS),
    "that with a comment": (".claude.json", f"// nothing here\n{PROJECTS}"),
    "that with a comma too many": (".claude.json", PROJECTS[:-1] + ",}"),
    "that with a byte order mark": (".claude.json", b"\xef\xbb\xbf" + PROJECTS.encode()),
    "that beside other servers": (".claude.json", json.dumps({"mcpServers": {}, "projects": {"/p": ONE}})),
}
"""The text of a file, at its place in a home, whose server must be listed by its name."""

OBSCURED: dict[str, tuple[str, str | bytes]] = {
    "the same key twice": (".mcp.json", '{"mcpServers": {"shadow": {"command": "x"}}, "mcpServers": {}}'),
    "a server twice": (".mcp.json", '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "shadow"}}}'),
    "two tables": (".cursor/mcp.json", json.dumps(ONE | {"servers": {}})),
    "two tables beside settings": (".gemini/settings.json", json.dumps({"theme": "dark", "servers": {}} | ONE)),
    "two tables of TOML": (".codex/config.toml", '[mcp_servers.shadow]\ncommand = "x"\n[servers]\n'),
    "a table above that of the editor": (
        ".config/Code/User/settings.json", json.dumps({"mcp": {"servers": ONE["mcpServers"]}, "mcpServers": {}})),
    "two tables of the editor": (
        ".config/Code/User/settings.json", json.dumps({"mcp": {"servers": ONE["mcpServers"], "mcpServers": {}}})),
    "two tables beside projects": (".claude.json", json.dumps(ONE | {"servers": {}, "projects": {}})),
    "a list of a project": (
        ".claude.json", json.dumps({"projects": {"/p": {"mcpServers": [{"command": "shadow"}]}}})),
    "a text that is cut": (".mcp.json", TEXT[:-1]),
    "brackets without end": (".mcp.json", '{"mcpServers": ' + "[" * 100_000),
    "another encoding": (".mcp.json", TEXT.encode("utf-16")),
    "a zero byte": (".mcp.json", TEXT + "\0"),
    "a list": (".mcp.json", f"[{TEXT}]"),
    "a table that is a list": (".mcp.json", json.dumps({"mcpServers": [{"command": "shadow"}]})),
    "a key spelled nearly so": (".mcp.json", json.dumps({"mcpServer": ONE["mcpServers"]})),
    "a command that is a list": (".mcp.json", json.dumps({"mcpServers": {"shadow": {"command": ["shadow"]}}})),
    "a server that is wrong beside it": (".mcp.json", json.dumps({"mcpServers": {"a": 7} | ONE["mcpServers"]})),
    "settings that are cut": (".gemini/settings.json", "{"),
}  # fmt: skip
"""Files that cannot be read with certainty, so that the file must be listed with the reason."""


def _homes(folder: Path, texts: dict[str, tuple[str, str | bytes]]) -> dict[str, tuple[Path, Path]]:
    homes: dict[str, tuple[Path, Path]] = {}
    for number, (name, (place, text)) in enumerate(texts.items()):
        homes[name] = folder / f"home{number}", folder / f"home{number}" / place
        written(homes[name][1], text)
    return homes


@pytest.mark.attack("J12")
@pytest.mark.variants(len(SPELLINGS))
def test_j12_a_server_in_any_spelling_of_a_file_is_listed(tmp_path: Path) -> None:
    for name, (home, file) in _homes(tmp_path, SPELLINGS).items():
        tried(name)
        entries = inventory([home if file.name == ".mcp.json" else home / "no project"], home)
        assert [server.label for one in entries for server in one.servers] == ["shadow"], (name, entries)


@pytest.mark.attack("J12")
@pytest.mark.variants(len(OBSCURED))
def test_j12_a_file_that_may_hide_a_server_is_listed_with_the_reason(tmp_path: Path) -> None:
    for name, (home, file) in _homes(tmp_path, OBSCURED).items():
        tried(name)
        entries = inventory([home], home)
        assert [one.file.startswith(str(file)) and bool(one.problem) for one in entries if one.problem] == [True], name


HARMLESS: dict[str, tuple[str, str]] = {
    "settings": (".gemini/settings.json", '{"theme": "dark", "mcp": {"allowed": ["x"]}}'),
    "settings of an editor": (".config/Code/User/settings.json", '{"editor.fontSize": 12, // small\n}'),
    "settings in TOML": (".codex/config.toml", 'model = "x"\n'),
    "projects without servers": (".claude.json", '{"projects": {"/p": {"mcpServers": {}, "allowedTools": []}}}'),
    "a file of another program": ("mcp.json.bak", TEXT),
}


@pytest.mark.twin("J12")
@pytest.mark.parametrize("name", HARMLESS)
def test_j12_twin_a_file_without_servers_is_not_listed(tmp_path: Path, name: str) -> None:
    place, text = HARMLESS[name]
    written(tmp_path / place, text)
    assert inventory([tmp_path], tmp_path) == []


@pytest.mark.attack("J12")
@pytest.mark.parametrize("kind", ["a link to a file", "a link to a folder", "a link to itself", "a pipe", "a folder"])
def test_j12_a_file_that_is_not_plain_neither_hides_a_server_nor_stops_the_command(tmp_path: Path, kind: str) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    written(elsewhere / "mcp.json", TEXT)
    written(home / ".lmstudio/mcp.json", TEXT)
    place = home / ".cursor/mcp.json"
    place.parent.mkdir()
    match kind:
        case "a link to a file":
            place.symlink_to(elsewhere / "mcp.json")
        case "a link to a folder":
            place.parent.rmdir()
            place.parent.symlink_to(elsewhere)
        case "a link to itself":
            place.symlink_to(place)
        case "a pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()
    hosts = [one.host for one in inventory([home / "none"], home) if one.servers]
    assert hosts == (["Cursor", "LM Studio"] if "to a f" in kind else ["LM Studio"])
