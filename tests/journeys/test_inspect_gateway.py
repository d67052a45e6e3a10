"""``tooltrue inspect "tooltrue gateway FILE …"``: the map of a gateway, which starts nothing that is not approved."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from journeys.test_host_cli import Desk
from support.serving import free_port
from tooltrue.server.keys import new_key

pytestmark = pytest.mark.process

NOTES = """
from pathlib import Path
from tooltrue import Server

Path("started").touch()
server = Server("notes")

@server.tool(effect="read")
def get_note(name: str) -> str:
    '''Return a note.'''
    return name

@server.tool
def set_note(name: str, text: str) -> str:
    '''Keep a note.'''
    return name

server.run()
"""
CONFIG = """
[effects]
read = ["notes_get_*"]

[views.docs]
tools = "*_get_*"
scopes = "docs:read"
principals = "key:ada"

[views.team]
default = true
search = true

[servers.notes]
at_once = 7

[servers.weather]
shared = true
seconds = 5

[servers.weather.auth.header]
name = "X-Api-Key"
secret_file = "key"

[[rules]]
view = "docs"
effect = "read"
then = "allow"

[[rules]]
view = "team"
then = "allow"
"""
OVER_HTTP = "tooltrue gateway servers.json --config tooltrue.toml --http :8000 --keys keys.toml"
SECRET = "hunter2hunter2hunter2"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "notes.py").write_text(NOTES, "utf-8")
    (tmp_path / "tooltrue.toml").write_text(CONFIG, "utf-8")
    (tmp_path / "key").write_text(SECRET, "utf-8")
    (tmp_path / "keys.toml").write_text(f'[ada]\nsha256 = "{new_key("ada")[1]}"\n', "utf-8")
    url = f"http://ada:{SECRET}@127.0.0.1:{free_port()}/s/{SECRET}/mcp?token={SECRET}"
    notes = {"command": sys.executable, "args": ["notes.py", "--token", SECRET], "cwd": str(tmp_path)}
    return Desk(tmp_path, notes=notes, weather={"url": url, "headers": {"X-Own": SECRET}})


def test_the_map_of_a_gateway_starts_no_server_without_approval_and_shows_no_secret(desk: Desk) -> None:
    done = desk.run("inspect", OVER_HTTP)
    assert done.returncode == 0, done.stderr
    assert "The gateway of servers.json, with the operator's file tooltrue.toml" in done.stdout
    assert "2 rules decide" in done.stdout
    assert f"{sys.executable} notes.py --token [masked]" in " ".join(done.stdout.split())
    assert SECRET not in done.stdout + done.stderr
    assert not (desk.folder / "started").exists()

    report = desk.json("inspect", OVER_HTTP)
    notes, weather = report["servers"]
    assert (notes["state"], notes["trusted"], notes["tools"]) == ("refused", False, 0)
    assert "tooltrue trust" in notes["reason"]
    assert (weather["state"], weather["trusted"]) == ("unavailable", True)
    assert SECRET not in str(report)


def test_the_map_of_a_gateway_has_its_ways_in_and_its_servers(desk: Desk) -> None:
    desk.run("trust", "servers.json", "notes", "--yes")
    report = desk.json("inspect", OVER_HTTP)
    assert report["gateway"] == {
        "file": "servers.json",
        "config": "tooltrue.toml",
        "version": report["gateway"]["version"],
        "workers": 1,
    }
    docs, team = report["ways_in"]
    assert docs == {
        "address": "http://127.0.0.1:8000/docs/mcp",
        "callers": ["keys of keys.toml"],
        "audience": None,
        "principals": ["key:ada"],
        "scopes": ["docs:read"],
        "view": "docs",
        "tools": 1,
        "tokens": docs["tokens"],
        "search": False,
        "rules": 1,
    }
    assert (team["address"], team["view"], team["tools"], team["search"]) == (
        "http://127.0.0.1:8000/mcp",
        "team",
        2,
        True,
    )
    notes, weather = report["servers"]
    assert 0 < docs["tokens"] < team["tokens"] == notes["tokens"]
    assert (notes["state"], notes["trusted"], notes["transport"]) == ("ready", True, "stdio")
    assert (notes["connections"], notes["limits"]["at_once"]) == ("a process for each caller", 7)
    assert (weather["connections"], weather["limits"]["seconds"]) == ("one for all callers", 5)
    assert weather["credentials"] == ["headers of the file: X-Own", "the header X-Api-Key (secret_file key)"]
    assert "authorize" in [row["layer"] for row in report["guard"]]


def test_the_map_of_a_gateway_on_stdio_is_that_of_one_view(desk: Desk) -> None:
    report = desk.json("inspect", "tooltrue gateway servers.json --config tooltrue.toml --view docs")
    assert [(way["address"], way["view"], way["principals"]) for way in report["ways_in"]] == [("stdio", "docs", None)]
    chinese = desk.run("inspect", "tooltrue gateway servers.json", "--lang", "zh")
    assert "没有规则" in chinese.stdout


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("tooltrue gateway servers.json --config tooltrue.toml --view attic", "TT4790"),
        ("tooltrue gateway servers.json --http 0.0.0.0:8000", "TT4005"),
        ("tooltrue gateway servers.json --htp :8000", "--http"),
        ("tooltrue gateway", "FILE"),
    ],
)
def test_the_map_of_a_gateway_that_cannot_start_is_the_reason(desk: Desk, target: str, problem: str) -> None:
    done = desk.run("inspect", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
