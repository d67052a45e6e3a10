"""The commands on a file of servers, for a person at a terminal or a script."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from journeys.test_host import GOOD
from support.serving import environment
from support.warm_command import warm_command
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process


class Desk:
    """A separate home directory, a file of servers in it, and the output of ``tooltrue`` there."""

    def __init__(self, folder: Path, **servers: Any) -> None:
        self.folder = folder
        self.file = folder / "servers.json"
        self.file.write_text(json.dumps({"mcpServers": servers}))
        self.env = environment(XDG_STATE_HOME=str(folder / "state"), HOME=str(folder))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            warm_command(*words),
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.folder,
            timeout=LIMIT,
            check=False,
        )

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def test_a_file_of_servers_is_a_target_once_its_commands_are_trusted(tmp_path: Path) -> None:
    desk = Desk(tmp_path, good=GOOD, gone={"command": "no-such-program", "alwaysAllow": ["*"]})
    refused = desk.run("list", "servers.json")
    assert "TT9240" in refused.stderr
    assert "good_pid" not in refused.stdout
    assert desk.run("trust", "servers.json").returncode == 2

    trusted = desk.run("trust", "servers.json", "good", "gone", "--yes")
    assert trusted.returncode == 0
    assert "hosted.py" in trusted.stderr
    assert "approved already" in desk.run("trust", "servers.json", "--yes").stdout

    assert {one["name"] for one in desk.json("list", "servers.json")} >= {"good_pid", "good_hang"}
    called = desk.run("call", "servers.json", "good_pid")
    assert int(called.stdout) > 0
    assert "alwaysAllow: it grants no permission here" in called.stderr
    report = desk.json("inspect", "servers.json")
    assert [(one["label"], one["state"]) for one in report["servers"]] == [("good", "ready"), ("gone", "unavailable")]
    assert {"name": "good_pid", "server": "good", "tool": "pid", "effect": "destructive"} in report["tools"]

    approved = desk.json("trust", "--list")
    assert sorted(one["server"] for one in approved.values()) == ["gone", "good"]
    assert desk.run("trust", "--revoke", next(iter(approved))).returncode == 0
    assert len(desk.json("trust", "--list")) == 1


@pytest.mark.attack("J12")
@pytest.mark.twin("J12")
def test_configured_servers_are_listed_without_being_started_and_without_showing_secrets(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    desk = Desk(project)
    files = {
        home / ".cursor/mcp.json": {
            "mcpServers": {"a": {"command": "npx", "args": ["-y", "foo", "--token", "s3cret"]}}
        },
        home / ".claude.json": {"theme": "dark", "projects": {"/p": {"mcpServers": {"b": {"command": "b"}}}}},
        home / ".gemini/settings.json": {"theme": "dark"},
        project / ".vscode/mcp.json": {"servers": {"c": {"url": "https://c.example/mcp?api_key=s3cret"}}},
        project / ".mcp.json": {"mcpServers": {"d": {"comand": "x"}}},
    }
    for file, said in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(said))
    desk.env["HOME"] = desk.env["USERPROFILE"] = str(home)
    found = {Path(one["file"]).name: one for one in desk.json("inventory")}
    assert found["mcp.json"]["host"] == "VS Code"
    text = desk.run("inventory").stdout
    assert "s3cret" not in text
    assert "npx -y foo --token [masked]  (foo names no release)" in text
    assert "near: command" in text
    assert "settings.json" not in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("    ")] == [
        "b",
        "a",
        f"{project}/.mcp.json",
        "c",
    ]


def test_a_file_with_a_slip_in_it_is_an_error_of_use(tmp_path: Path) -> None:
    desk = Desk(tmp_path, a={"command": "x", "arg": []})
    for words in (("list",), ("inspect",), ("trust",)):
        done = desk.run(*words, "servers.json")
        assert done.returncode == 2
        assert "$.mcpServers.a.arg: there is no such key; near: args" in done.stderr


@pytest.mark.parametrize(("language", "words"), [("en", "is no longer there"), ("zh", "已不再提供")])
def test_wrap_names_the_verb_that_replaces_it(tmp_path: Path, language: str, words: str) -> None:
    desk = Desk(tmp_path, one=GOOD)
    done = desk.run("wrap", "servers.json", "--observe", "--lang", language)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "tooltrue gateway servers.json" in done.stderr


def test_a_call_waits_as_long_as_it_is_told_to(tmp_path: Path) -> None:
    desk = Desk(tmp_path, said={**GOOD, "timeout": 0.1}, good=GOOD)
    desk.run("trust", "servers.json", "--yes")
    assert "within 0.2 s" in desk.run("call", "servers.json", "good_hang", "--timeout", "0.2").stdout
    assert "within 0.1 s" in desk.run("call", "servers.json", "said_hang").stdout


def test_a_changed_tool_of_a_server_waits_for_review(tmp_path: Path) -> None:
    desk = Desk(tmp_path, good={**GOOD, "env": {"EXTRA": "${EXTRA:-}"}})
    desk.run("trust", "servers.json", "--yes")
    assert "good_pid" in desk.run("list", "servers.json").stdout
    assert desk.run("pins", "servers.json").stdout == "No entry waits.\n"

    desk.env["EXTRA"] = "wipe"
    listed = desk.run("list", "servers.json")
    assert "good_wipe" not in listed.stdout
    assert "TT9272" in listed.stderr
    review = desk.run("pins", "servers.json")
    assert review.returncode == 1
    assert "added     $.tools.wipe" in review.stdout
    assert "stays hidden" in desk.run("pins", "servers.json", "good", "--refuse").stdout
    assert "good_wipe" not in desk.run("list", "servers.json").stdout
    assert desk.run("pins", "servers.json").stdout.startswith("good: refused\n")
    assert desk.run("pins", "servers.json", "--refuse").returncode == 2
    assert desk.run("pins", "servers.json", "good", "wipe", "--accept").returncode == 2
    assert desk.run("pins", "servers.json", "good", "wipe", "--accept", "--yes").returncode == 0
    assert "good_wipe" in desk.run("list", "servers.json").stdout
