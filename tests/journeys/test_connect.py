"""``tooltrue connect``: from a file with a server to a client that starts it, and back."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.reading import read_soon
from support.serving import command, environment
from support.terminals import open_terminal
from support.warm_command import warm_command
from tooltrue import Client, Host
from tooltrue._internal.platform.system import PLATFORM
from tooltrue.cli.terminal_host import TYPED
from tooltrue.client.config import read_config
from tooltrue.host.client_files.clients import client_profiles, location, system_of
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

ATTIC = """
import os
from tooltrue import Server

server = Server("attic")

@server.tool(effect="read")
def look() -> str:
    return os.environ.get("ATTIC_TOKEN", "no token")

@server.tool(effect="destructive")
def burn() -> str:
    return "ashes"
"""
SECRET = "hunter2-" + "correct-horse"
EDITED = [name for name, profile in client_profiles().items() if profile.installs == "file"]


class Desk:
    """A home of its own, with a server in a folder that is not the current one."""

    def __init__(self, folder: Path, text: str = ATTIC) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.server = folder / "attic.py"
        self.server.write_text(text)
        self.env = environment(XDG_STATE_HOME=str(folder / "state"), HOME=str(self.home))

    def file(self, client: str) -> Path:
        system = system_of(PLATFORM)
        return Path(location(client_profiles()[client].files[system], system, {}, str(self.home)))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            warm_command("connect", *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.work,
            timeout=LIMIT,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert SECRET not in done.stdout + done.stderr
        return done

    def at_a_terminal(self, typed: str, *words: str) -> str:
        ours, theirs = open_terminal()
        run = command("connect", *words)
        with subprocess.Popen(run, stdin=theirs, stdout=theirs, stderr=theirs, env=self.env, cwd=self.work) as process:
            os.close(theirs)
            seen, is_asked = b"", False
            while data := read_soon(ours):
                seen += data
                if not is_asked and b"[y/N]" in seen:
                    os.write(ours, typed.encode())
                    is_asked = True
            process.wait(LIMIT)
        os.close(ours)
        return seen.decode().replace("\r\n", "\n")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("client", EDITED)
def test_the_written_block_starts_the_server(desk: Desk, client: str) -> None:
    done = desk.run(client, "../attic.py", "--env", f"ATTIC_TOKEN={SECRET}", "--yes")
    assert done.returncode == 0, done.stderr
    assert "[masked " in done.stdout

    (one,) = read_config(desk.file(client)).servers
    assert one.label == "attic"
    assert Path(one.command or "").is_absolute()
    assert str(desk.server) in one.args
    asks = "--no-confirm" not in one.args
    assert asks == (client not in ("claude-desktop", "gemini-cli")), client
    assert (f"{client_profiles()[client].title} alone guards such calls" in done.stderr) != asks

    async def called() -> list[str]:
        state = {"XDG_STATE_HOME": desk.env["XDG_STATE_HOME"]}
        async with Client([one.command or "", *one.args], env={**one.env, **state}, cwd="/") as connected:
            return [(await connected.call_tool(name)).text for name in ("look", "burn")]

    looked, burnt = asyncio.run(called())
    assert looked == SECRET
    assert ("tooltrue approvals allow" in burnt) == asks  # a ticket, where the server asks and the client cannot
    assert (burnt == "ashes") != asks


@pytest.mark.parametrize("client", ["vscode", "codex"])
def test_a_host_that_reads_the_file_calls_the_tool(desk: Desk, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", desk.env["XDG_STATE_HOME"])
    assert desk.run(client, str(desk.server), "--yes").returncode == 0

    async def called() -> str:
        settings: dict[str, Any] = {"approve_launch": lambda request: True, **TYPED}
        async with Host.from_config(str(desk.file(client)), **settings) as host:
            return (await host.call_tool("attic_look")).text

    assert asyncio.run(called()) == "no token"


def test_nothing_is_written_without_a_person(desk: Desk) -> None:
    for words, code in ((("--dry-run",), 0), ((), 2)):
        done = desk.run("cursor", str(desk.server), *words)
        assert done.returncode == code
        assert '+    "attic": {' in done.stdout
        assert list(desk.home.iterdir()) == []
    assert "TT4668" in done.stderr


@pytest.mark.needs("terminals")
def test_a_person_sees_the_change_and_decides(desk: Desk) -> None:
    file = desk.file("cursor")
    seen = desk.at_a_terminal("n\n", "cursor", str(desk.server))
    assert "Write this change? [y/N]" in seen
    assert "No file was written." in seen
    assert not file.exists()
    assert "Written: " in desk.at_a_terminal("y\n", "cursor", str(desk.server))
    assert "attic" in json.loads(file.read_text())["mcpServers"]


def test_the_rest_of_a_file_stays_and_undo_brings_it_back(desk: Desk) -> None:
    file = desk.file("vscode")
    file.parent.mkdir(parents=True)
    text = '// mine\n{\n\t"inputs": [], // none\n\t"servers": {\n\t\t"a": {"command": "a"},\n\t},\n}\n'
    file.write_text(text)
    file.chmod(0o640)
    assert desk.run("vscode", str(desk.server), "--yes").returncode == 0
    written = file.read_text()
    start = written.index("\n\t\t" + '"attic"')
    assert written[:start] + written[written.index("\n\t},\n}") :] == text
    assert file.stat().st_mode & 0o777 == 0o640
    (backup,) = file.parent.glob("*.bak")
    assert (backup.read_text(), backup.stat().st_mode & 0o777) == (text, 0o600)

    assert "needs no change" in desk.run("vscode", str(desk.server), "--yes").stdout
    assert desk.run("vscode", "--undo").returncode == 2  # no person, no --yes
    assert desk.run("vscode", "--undo", "--yes").returncode == 0
    assert file.read_text() == text
    assert "TT4669" in desk.run("vscode", "--undo", "--yes").stderr
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


def test_undo_goes_back_step_by_step_and_removes_a_new_file(desk: Desk) -> None:
    file = desk.file("codex")
    desk.run("codex", str(desk.server), "--yes")
    first = file.read_text()
    desk.run("codex", str(desk.server), "--name", "second", "--yes")
    assert desk.run("codex", "--undo", "--yes").returncode == 0
    assert file.read_text() == first
    assert desk.run("codex", "--undo", "--yes").returncode == 0
    assert not file.exists()


def test_undo_refuses_a_file_that_has_changed_since(desk: Desk) -> None:
    file = desk.file("cursor")
    desk.run("cursor", str(desk.server), "--yes")
    file.write_text(file.read_text().replace("{", '{\n  "theirs": 1,', 1))
    theirs = file.read_text()
    refused = desk.run("cursor", "--undo", "--yes")
    assert "TT4670" in refused.stderr
    assert '-  "theirs": 1,' in refused.stdout
    assert file.read_text() == theirs
    assert desk.run("cursor", "--undo", "--yes", "--force").returncode == 0
    assert not file.exists()
    assert desk.run("cursor", "--undo", "--yes").returncode == 0  # and the forced step can be undone
    assert file.read_text() == theirs


def test_connects_at_the_same_time_lose_none(desk: Desk) -> None:
    file = desk.file("cursor")
    names = [f"server-{number}" for number in range(4)]
    running = [
        subprocess.Popen(
            warm_command("connect", "cursor", str(desk.server), "--name", name, "--yes"),
            env=desk.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for name in names
    ]
    for process in running:
        output, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, output
    assert sorted(json.loads(file.read_text())["mcpServers"]) == names


def test_an_entry_of_another_program_is_not_replaced_by_chance(desk: Desk) -> None:
    file = desk.file("cursor")
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"attic": {"command": "npx"}}}')
    assert "TT4666" in desk.run("cursor", str(desk.server), "--yes").stderr
    assert desk.run("cursor", str(desk.server), "--yes", "--force").returncode == 0
    assert "TT4667" in desk.run("cursor", "--remove", "cellar", "--yes").stderr
    assert desk.run("cursor", "--remove", "attic", "--yes").returncode == 0
    assert file.read_text() == '{"mcpServers": {}}'


@pytest.mark.parametrize("text", ['{"mcpServers": {"a": 1, "a": 2}}', "{", "[1]", '\xff{"a": 1}'])
def test_a_file_that_cannot_be_read_is_left_alone(desk: Desk, text: str) -> None:
    file = desk.file("cursor")
    file.parent.mkdir()
    file.write_bytes(text.encode("latin-1"))
    for words in ((str(desk.server),), ("--remove", "a")):
        done = desk.run("cursor", *words, "--yes")
        assert (done.returncode, "TT4650" in done.stderr) == (2, True)
    assert file.read_bytes() == text.encode("latin-1")
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


def test_a_folder_that_cannot_be_written_is_reported(desk: Desk) -> None:
    desk.env["HOME"] = "/proc"
    done = desk.run("cursor", str(desk.server), "--yes")
    assert (done.returncode, "TT9009" in done.stderr) == (2, True)


@pytest.mark.needs("modes")
@pytest.mark.skipif(os.access("/", os.W_OK), reason="root may write everywhere")
def test_a_folder_for_reading_only_is_reported(desk: Desk) -> None:
    file = desk.file("cursor")
    file.parent.mkdir(mode=0o500)
    done = desk.run("cursor", str(desk.server), "--yes")
    assert (done.returncode, "TT9009" in done.stderr) == (2, True)


def test_a_terminal_obeys_no_part_of_a_file(desk: Desk) -> None:
    file = desk.file("cursor")
    file.parent.mkdir()
    file.write_text('{\n  // \x1b]0;owned\x07 \u202e\n  "mcpServers": {}\n}\n')
    done = desk.run("cursor", str(desk.server), "--yes")
    assert done.returncode == 0
    assert "\\x1b]0;owned\\x07 \\u202e" in done.stdout
    assert "\x1b" not in done.stdout


def test_options_of_a_toolbox_become_absolute(desk: Desk) -> None:
    (desk.work / "notes").mkdir()
    done = desk.run("cursor", "files", "--yes", "--", "--root", "notes", "--root=.", "--access", "write")
    assert done.returncode == 0, done.stderr
    assert "Destructive tools of files: " in done.stderr
    entry = json.loads(desk.file("cursor").read_text())["mcpServers"]["files"]
    work = desk.work
    assert entry["args"] == ["serve", "files", "--root", f"{work}/notes", f"--root={work}", "--access", "write"]
    assert "TT4693" in desk.run("cursor", "files", "--root", "notes").stderr


def test_a_project_has_a_file_of_its_own(desk: Desk) -> None:
    done = desk.run("claude-code", str(desk.server), "--project", "--yes", "--env", f"T={SECRET}")
    assert done.returncode == 0, done.stderr
    assert "usually shared" in done.stderr
    assert json.loads((desk.work / ".mcp.json").read_text())["mcpServers"]["attic"]["type"] == "stdio"
    assert list(desk.home.iterdir()) == []
    assert "TT4661" in desk.run("windsurf", str(desk.server), "--project", "--yes").stderr
    assert desk.run("claude-code", "--project", "--undo", "--yes").returncode == 0
    assert not (desk.work / ".mcp.json").exists()


@pytest.mark.parametrize(
    ("client", "hint"), [("cherry-studio", "importing JSON"), ("other", "another key"), ("kiro", ".kiro/settings")]
)
def test_a_client_without_an_edited_file_gets_the_block(desk: Desk, client: str, hint: str) -> None:
    done = desk.run(client, str(desk.server), "--env", f"ATTIC_TOKEN={SECRET}", "--env", "LEVEL=3")
    assert done.returncode == 0
    assert hint in done.stderr
    assert "approvals allow TICKET" in done.stderr  # unknown: the safe default
    entry = json.loads(done.stdout)["mcpServers"]["attic"]
    assert entry["args"] == ["serve", str(desk.server)]
    assert entry["env"] == {"ATTIC_TOKEN": "<ATTIC_TOKEN>", "LEVEL": "3"}
    assert list(desk.home.iterdir()) == []
    refusal = desk.run(client, "--undo").stderr
    assert "TT4662" in refusal
    assert "No file of  is" not in refusal


def test_the_block_of_any_client_can_be_printed(desk: Desk) -> None:
    done = desk.run("codex", str(desk.server), "--print", "--name", "up")
    assert done.stdout.startswith("[mcp_servers.up]\n")
    assert list(desk.home.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("curser", "attic.py"), "TT4660"),
        (("cursor", "gone.py"), "TT4002"),
        (("cursor", "https://x.example/mcp"), "TT4663"),
        (("cursor", "work:server"), "TT4663"),
        (("cursor", "../attic.py", "--name", "a b"), "TT4665"),
        (("cursor", "../attic.py", "--env", "A B=1"), "TT4006"),
        (("cursor", "../attic.py", "--env", "NOT_SET"), "TT4006"),
        (("cursor",), "TARGET, --gateway, --remove NAME or --undo"),
        (("cursor", "../attic.py", "--undo"), "TARGET, --gateway, --remove NAME or --undo"),
    ],
)
def test_a_mistake_on_the_command_line_is_explained(desk: Desk, words: tuple[str, ...], code: str) -> None:
    done = desk.run(*words)
    assert (done.returncode, code in done.stderr) == (2, True), done.stderr


def test_a_server_that_does_not_start_is_written_with_a_warning(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "import no_such_module_anywhere\n")
    done = desk.run("gemini-cli", str(desk.server), "--yes")
    assert done.returncode == 0
    assert "did not start with this command line" in done.stderr
    assert "If attic has destructive tools:" in done.stderr
    assert "--no-confirm" in desk.file("gemini-cli").read_text()


def test_a_server_without_destructive_tools_needs_no_option(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ATTIC.replace("destructive", "write"))
    done = desk.run("claude-desktop", str(desk.server), "--yes")
    assert "No tool of attic is destructive" in done.stderr
    assert "--no-confirm" not in desk.file("claude-desktop").read_text()


def test_a_person_decides_otherwise(desk: Desk) -> None:
    assert "wait" not in desk.run("claude-desktop", str(desk.server), "--confirm", "--yes").stderr
    assert "--no-confirm" not in desk.file("claude-desktop").read_text()
    desk.run("cursor", str(desk.server), "--no-confirm", "--yes")
    assert "--no-confirm" in desk.file("cursor").read_text()


def test_the_words_of_the_verb_are_chinese_on_request(desk: Desk) -> None:
    done = desk.run("cursor", str(desk.server), "--yes", "--lang", "zh")
    assert "已写入" in done.stdout
    assert "破坏性工具" in done.stderr
