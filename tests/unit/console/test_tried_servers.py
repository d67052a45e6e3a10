"""The servers to try: each kind of target of the command line, and of a gateway with views those of the person."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from support.console import House
from tooltrue import Client, Principal, Server
from tooltrue.client.config import ServerConfig
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue_console.cli.tried_servers import load
from tooltrue_console.tried import TriedServers

SERVER = '''
from tooltrue import Server

server = Server("attic")


@server.tool(effect="read")
def find(text: str) -> str:
    """Find a box."""
    return text


if __name__ == "__main__":
    server.run()
'''
VIEWS = """
[views.letters]
servers = "post"
principals = "key:reader"

[views.all]
scopes = "console:admin"
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "attic.py"
    file.write_text(SERVER)
    return file


# --- targets of the command line --------------------------------------------------------------------------------------


def test_a_server_of_ours_is_itself(program: Path):
    server = load(str(program), None, is_for_one=True)
    assert (server.name, isinstance(server, Gateway)) == ("attic", False)


def test_the_operators_file_holds_for_a_server_of_ours(program: Path, tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text('[[rules]]\ntools = "find"\nthen = "deny"\n')
    server = load(str(program), str(file), is_for_one=True)
    assert server.operator_config is not None
    assert server.settings.rules is not None


def test_a_list_of_servers_is_a_gateway_before_them(program: Path, tmp_path: Path):
    file = tmp_path / "servers.json"
    entry = {"command": sys.executable, "args": [str(program)]}
    file.write_text(json.dumps({"mcpServers": {"attic": entry}}))
    server = load(str(file), None, is_for_one=True)
    assert isinstance(server, Gateway)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("https://post.example/mcp", "post-example"),
        (f"{shlex.quote(sys.executable)} /srv/box.server.py", "box-server"),
        ("python3 '#'", "server"),
    ],
)
def test_another_server_stands_behind_a_gateway_with_a_short_name(target: str, name: str):
    server = load(target, None, is_for_one=True)
    assert (server.name, isinstance(server, Gateway)) == (name, True)


def test_a_target_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(ConfigurationError):
        load(str(tmp_path / "none.py"), None, is_for_one=True)


# --- the servers of a person ------------------------------------------------------------------------------------------


def post() -> Server:
    server = Server("post", confirm=Confirm.never(), audit=False)

    @server.tool(effect="read")
    def letters() -> str:
        """List the letters."""
        return "one letter"

    return server


def gateway(operator: str = VIEWS) -> Gateway:
    return Gateway(
        {"post": ServerConfig("post", "post", target=post(), hints=True)},
        operator=read_operator_config("tooltrue.toml", operator),
        confirm=Confirm.never(),
        audit=False,
    )


def test_a_server_is_the_only_one_of_its_callers():
    server = post()
    assert server.servers_for(Principal("ann")) == {"post": server}


def test_a_gateway_without_views_is_the_only_one_too():
    one = gateway("[effects]\nread = '*'\n")
    assert one.servers_for(Principal("ann")) == {one.name: one}


@pytest.mark.parametrize(
    ("caller", "names"),
    [
        (Principal("key:reader", frozenset({"console:read"})), ["letters"]),
        (Principal("operator", frozenset({"console:admin"})), ["all"]),
        (Principal("key:reader", frozenset({"console:admin"})), ["all", "letters"]),
        (Principal("ann"), []),
    ],
)
def test_a_gateway_with_views_has_those_of_the_caller(caller: Principal, names: list[str]):
    assert sorted(gateway().servers_for(caller)) == names


def test_the_page_shows_a_person_the_views_that_are_for_them(tmp_path: Path):
    async def scenario(house: House) -> list[str]:
        texts: list[str] = []
        for name in ("operator", "bob"):
            async with house.visitor(name) as visitor:
                texts += [await visitor.text("/try"), await visitor.text("/try/all/post_letters")]
        return texts

    made = gateway()

    async def served(house: House) -> list[str]:
        async with Client(made.view("all")):  # which has the servers behind it started
            return await scenario(house)

    mine, tool, others, refused = House(tmp_path, tried=TriedServers([made])).visited(served)
    assert "post_letters" in mine
    assert "List the letters." in tool
    assert "post_letters" not in others
    assert "TT9464" in refused
