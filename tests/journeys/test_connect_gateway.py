"""``tooltrue connect CLIENT --gateway``: the servers of a client stand behind one gateway, and back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from journeys.test_connect import EDITED, SECRET, Desk
from support.serving import environment
from tooltrue import Client
from tooltrue.client.config import read_config
from tooltrue.host.client_files.clients import client_profiles
from tooltrue.host.client_files.entry import command_line

pytestmark = pytest.mark.process


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.env = environment(XDG_STATE_HOME=str(tmp_path / "state"), HOME=str(made.home))
    return made


def written(desk: Desk, client: str) -> str:
    """Write a client's file with a server of ours and another one, a comment and a secret; returns its text."""
    command, *args = command_line(("serve", str(desk.server)))
    if client_profiles()[client].form == "toml":
        text = (
            f'# mine\nmodel = "m"\n\n[mcp_servers.attic]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n'
            f'startup_timeout_sec = 20\n\n[mcp_servers.attic.env]\nATTIC_TOKEN = "{SECRET}"\n\n'
            f'[mcp_servers.cellar]\ncommand = "no-such-program"  # another\n\n[profile]\nname = "p"\n'
        )
    else:
        key = client_profiles()[client].table[0]
        servers = {
            "attic": {"command": command, "args": args, "env": {"ATTIC_TOKEN": SECRET}},
            "cellar": {"command": "no-such-program"},
        }
        text = f'{{\r\n\t"{key}": {json.dumps(servers)},\r\n\t"theirs": [1,  2]\r\n}}'
    desk.file(client).parent.mkdir(parents=True, exist_ok=True)
    desk.file(client).write_bytes(text.encode())
    return text


def behind(desk: Desk, client: str) -> Path:
    return desk.home / ".config" / "tooltrue" / "gateway" / f"{client}.{client_profiles()[client].form}"


@pytest.mark.parametrize("client", EDITED)
def test_the_servers_of_a_client_move_and_come_back(desk: Desk, client: str) -> None:
    text = written(desk, client)
    done = desk.run(client, "--gateway", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Behind the gateway now: attic, cellar." in done.stdout
    assert "Approved commands: 2." in done.stdout
    assert str(desk.server) in done.stderr  # each command is shown in full
    assert "no-such-program" in done.stderr

    (one,) = read_config(desk.file(client)).servers
    asks_itself = client_profiles()[client].asks_before_calls == "yes"
    assert ("--no-confirm" in one.args) == asks_itself
    assert one.args[-1] == str(behind(desk, client))
    moved = read_config(behind(desk, client))
    assert [server.label for server in moved.servers] == ["attic", "cellar"]
    assert moved.servers[0].env == {"ATTIC_TOKEN": SECRET}
    assert behind(desk, client).stat().st_mode & 0o777 == 0o600

    assert "needs no change" in desk.run(client, "--gateway", "--yes").stdout
    assert desk.run(client, "--undo", "--yes").returncode == 0
    assert desk.file(client).read_bytes() == text.encode()
    assert list(behind(desk, client).parent.iterdir()) == []
    assert [one.name for one in desk.file(client).parent.iterdir() if ".tooltrue-" in one.name] == []


@pytest.mark.parametrize("client", ["claude-desktop", "codex"])
def test_the_client_reaches_its_servers_through_the_gateway(desk: Desk, client: str) -> None:
    written(desk, client)
    assert desk.run(client, "--gateway", "--yes").returncode == 0
    (one,) = read_config(desk.file(client)).servers

    async def called() -> str:
        line, env = [one.command or "", *one.args], {**desk.env, **one.env}
        async with Client(line, env=env, cwd="/", timeout=60, elicit=lambda question: True) as connected:
            return (await connected.call_tool("attic_look")).text

    assert asyncio.run(called()) == SECRET


def test_no_file_is_written_and_no_command_approved_without_a_person(desk: Desk) -> None:
    text = written(desk, "cursor")
    for words, code in (((), 2), (("--dry-run",), 0)):
        done = desk.run("cursor", "--gateway", *words)
        assert (done.returncode, "TT4668" in done.stderr) == (code, code == 2)
        assert "no-such-program" in done.stderr
        assert desk.file("cursor").read_bytes() == text.encode()
        assert not behind(desk, "cursor").exists()
    assert not (Path(desk.env["XDG_STATE_HOME"]) / "tooltrue" / "launches.json").exists()


@pytest.mark.needs("terminals")
def test_one_answer_settles_the_files_and_the_commands(desk: Desk) -> None:
    text = written(desk, "cursor")
    question = "Write these changes, and approve the commands above? [y/N]"
    seen = desk.at_a_terminal("n\n", "cursor", "--gateway")
    assert (seen.count(question), "No file was written." in seen) == (1, True)
    assert desk.file("cursor").read_bytes() == text.encode()
    seen = desk.at_a_terminal("y\n", "cursor", "--gateway")
    assert seen.count("[y/N]") == 1
    assert "Approved commands: 2." in seen


def test_a_server_added_later_moves_too_and_steps_are_undone_one_by_one(desk: Desk) -> None:
    text = written(desk, "vscode")
    assert desk.run("vscode", "--gateway", "--yes").returncode == 0
    first, moved_first = desk.file("vscode").read_bytes(), behind(desk, "vscode").read_bytes()
    assert desk.run("vscode", str(desk.server), "--name", "late", "--yes").returncode == 0
    second = desk.file("vscode").read_bytes()
    assert behind(desk, "vscode").read_bytes() == moved_first
    assert desk.run("vscode", "--gateway", "--yes").returncode == 0
    assert list(json.loads(desk.file("vscode").read_bytes())["servers"]) == ["tooltrue"]
    assert [one.label for one in read_config(behind(desk, "vscode")).servers] == ["attic", "cellar", "late"]
    for expected in (second, first, text.encode()):
        assert desk.run("vscode", "--undo", "--yes").returncode == 0
        assert desk.file("vscode").read_bytes() == expected
        is_behind = behind(desk, "vscode").exists()
        assert is_behind == (expected != text.encode())
        assert not is_behind or behind(desk, "vscode").read_bytes() == moved_first


def test_undo_keeps_a_gateway_file_that_a_person_has_edited(desk: Desk) -> None:
    text = written(desk, "cursor")
    desk.run("cursor", "--gateway", "--yes")
    edited = behind(desk, "cursor").read_text() + "\n"
    behind(desk, "cursor").write_text(edited)
    done = desk.run("cursor", "--undo", "--yes")
    assert "has changed since connect wrote it, and stays" in done.stderr
    assert desk.file("cursor").read_bytes() == text.encode()
    assert behind(desk, "cursor").read_text() == edited


def test_servers_that_need_their_client_stay_with_it(desk: Desk) -> None:
    file = desk.file("cursor")
    file.parent.mkdir()
    servers = {
        "asks": {"command": "a", "args": ["${input:key}"]},
        "opens": {"command": "b", "cwd": "${workspaceFolder}"},
        "helped": {"url": "https://example.org/mcp", "headersHelper": "./token"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    done = desk.run("cursor", "--gateway", "--yes")
    assert (done.returncode, "TT4699" in done.stderr) == (2, True)
    for reason in ("asks you for a value", "folder that is open", "only the client can carry out"):
        assert reason in done.stderr
    file.write_text(json.dumps({"mcpServers": {**servers, "plain": {"command": "c"}}}))
    assert desk.run("cursor", "--gateway", "--yes").returncode == 0
    assert sorted(json.loads(file.read_text())["mcpServers"]) == ["asks", "helped", "opens", "tooltrue"]


def test_a_project_has_a_gateway_file_of_its_own(desk: Desk) -> None:
    file = desk.work / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"here": {"command": "c", "args": ["${workspaceFolder}/x"]}}}))
    assert desk.run("claude-code", "--gateway", "--project", "--yes").returncode == 0
    (moved,) = (desk.home / ".config" / "tooltrue" / "gateway").glob("claude-code-*.json")
    (one,) = read_config(moved).servers
    assert (one.args, one.cwd) == ((f"{desk.work}/x",), str(desk.work))


def test_options_behind_the_dashes_are_those_of_the_gateway(desk: Desk) -> None:
    written(desk, "windsurf")
    (desk.work / "tooltrue.toml").write_text("")
    assert (
        desk.run("windsurf", "--gateway", "--yes", "--name", "guard", "--", "--config", "tooltrue.toml").returncode == 0
    )
    entry = json.loads(desk.file("windsurf").read_text())["mcpServers"]["guard"]
    assert entry["args"][-2:] == ["--config", str(desk.work / "tooltrue.toml")]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("cursor", "--gateway", "attic.py"), "TARGET, --gateway, --remove NAME or --undo"),
        (("cursor", "--keyring", "attic.py"), "--keyring goes with --gateway."),
        (("cherry-studio", "--gateway"), "TT4815"),
        (("other", "--gateway"), "TT4815"),
        (("cursor", "--gateway"), "TT4699"),
    ],
)
def test_a_mistake_is_explained(desk: Desk, words: tuple[str, ...], code: str) -> None:
    done = desk.run(*words)
    assert (done.returncode, code in done.stderr) == (2, True), done.stderr
