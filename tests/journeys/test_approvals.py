"""From a refusal to an approved call: a server over stdio, a person at a terminal, and a program that imitates one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.private import is_private_at
from support.reading import read_soon
from support.serving import command, environment
from support.terminals import open_terminal
from support.warm_command import warm_command
from tooltrue import Client
from tooltrue.policy.consent.approvals import ApprovalRequest, Approvals
from tooltrue.state.urls import open_facts
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

ATTIC = """
from pathlib import Path
from tooltrue import Server

server = Server("attic")

@server.tool(effect="destructive")
def burn(box: str) -> str:
    with Path(__file__).with_name("lost").open("a") as lost:
        lost.write(box + "\\n")
    return f"{box} is ashes"

if __name__ == "__main__":
    server.run()
"""


class House:
    """A server's file, and a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.server = folder / "attic.py"
        self.server.write_text(ATTIC)
        self.env = environment(XDG_STATE_HOME=str(folder / "state"))
        self.store = folder / "state" / "tooltrue" / "tooltrue-approvals.db"

    @property
    def lost(self) -> list[str]:
        lost = self.server.with_name("lost")
        return lost.read_text().splitlines() if lost.exists() else []

    def run(self, *words: str, input: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            warm_command("approvals", *words),
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
            env=self.env | env,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def at_a_terminal(self, typed: str, *words: str, before: Sequence[str] = ()) -> str:
        """The terminal output for a person who types ``typed``. ``before``: a program that starts the command."""
        ours, theirs = open_terminal()
        run = [*before, *command("approvals", *words)]
        with subprocess.Popen(run, stdin=theirs, stdout=theirs, stderr=theirs, env=self.env) as process:
            os.close(theirs)
            seen, is_asked = b"", False
            while data := read_soon(ours):
                seen += data
                if not is_asked and seen.rstrip().endswith(b"[y/N]:"):  # earlier input is no answer
                    is_asked = True
                    os.write(ours, typed.encode())
            process.wait(LIMIT)
        os.close(ours)
        return seen.decode()

    def tickets(self) -> list[dict[str, Any]]:
        return json.loads(self.run("list", "--json").stdout)

    async def call(self, *boxes: str) -> list[str]:
        """Calls over stdio, one server for all of them, by a client that cannot ask."""
        async with Client(str(self.server), env=self.env) as client:
            return [(await client.call_tool("burn", box=box)).text for box in boxes]


FULL = ("/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
"""Starts a program for which the disk is as good as full."""


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def ticket_in(text: str) -> str:
    found = re.search(r"t-[0-9a-f]{8}", text)
    assert found is not None, text
    return found[0]


def code_in(text: str) -> str:
    return text.rsplit("[", 1)[1].rstrip("]") if "[" in text else text


@pytest.mark.needs("terminals")
def test_a_refused_call_runs_once_when_a_person_has_allowed_it(house: House):
    [refused] = asyncio.run(house.call("maps"))
    id = ticket_in(refused)
    assert [(one["id"], one["state"]) for one in house.tickets()] == [(id, "open")]
    seen = house.at_a_terminal("y\n", "allow", id)
    assert '"box" (4): "maps"' in seen
    assert f"{id} is allowed, once" in seen
    texts = asyncio.run(house.call("hats", "maps", "maps"))
    assert [code_in(text) for text in texts] == ["TT2403", "maps is ashes", "TT2404"]
    assert house.lost == ["maps"]


@pytest.mark.needs("terminals")
def test_a_running_server_applies_a_new_grant(house: House):
    async def main() -> list[str]:
        async with Client(str(house.server), env=house.env) as client:
            refused = (await client.call_tool("burn", box="maps")).text
            await asyncio.to_thread(house.at_a_terminal, "y\n", "allow", ticket_in(refused), "--session")
            return [(await client.call_tool("burn", box="maps")).text for _ in range(2)]

    assert asyncio.run(main()) == ["maps is ashes", "maps is ashes"]


@pytest.mark.needs("terminals")
def test_answering_no_at_the_terminal_grants_no_approval(house: House):
    [refused] = asyncio.run(house.call("maps"))
    assert "Nothing was allowed." in house.at_a_terminal("n\n", "allow", ticket_in(refused))
    assert code_in(asyncio.run(house.call("maps"))[0]) == "TT2403"


def test_a_denied_call_is_refused_as_denied(house: House):
    [refused] = asyncio.run(house.call("maps"))
    done = house.run("deny", ticket_in(refused))
    assert (done.returncode, house.tickets()) == (0, [])
    assert code_in(asyncio.run(house.call("maps"))[0]) == "TT2415"


@pytest.mark.needs("terminals")
def test_a_yes_to_one_server_is_none_to_another_of_its_name(house: House):
    folders = [house.server.with_name(name) for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        (folder / "note").write_text("before")

    async def write() -> list[str]:
        texts: list[str] = []
        for folder in folders:
            async with Client(command("serve", "files", "--root", str(folder)), env=house.env) as client:
                result = await client.call_tool("write_file", path="note", content="after", mode="overwrite")
                texts.append(result.text)
        return texts

    refused = asyncio.run(write())
    seen = house.at_a_terminal("y\n", "allow", ticket_in(refused[0]), "--session")
    assert f"files ({folders[0].resolve()})" in seen
    assert code_in(asyncio.run(write())[1]) == "TT2403"
    assert [(folder / "note").read_text() for folder in folders] == ["after", "before"]


def test_the_stores_of_a_server_are_not_its_tools_to_write(house: House):
    folder = house.server.parent
    house.env |= {
        "TOOLTRUE_APPROVALS": f"sqlite://{folder}/agreed.db",
        "TOOLTRUE_AUDIT": f"sqlite:{folder}/seen.db",
    }
    names = ["agreed.db", "agreed.db-wal", "seen.db", "seen.db-wal", "seen.db.seal", "state/tooltrue/x", "seen.txt"]

    async def write() -> list[str]:
        server = command("serve", "files", "--root", str(folder), "--no-confirm")
        async with Client(server, env=house.env) as client:
            settings = {"content": "1", "mode": "overwrite", "create_parents": True}
            results = [await client.call_tool("write_file", path=name, **settings) for name in names]
            return [code_in(result.text) if result.is_error else "written" for result in results]

    assert asyncio.run(write()) == ["TT6030"] * 6 + ["written"]


@pytest.mark.needs("terminals")
def test_a_server_started_with_other_words_is_another_one(house: House):
    async def burn(*words: str) -> str:
        async with Client([sys.executable, str(house.server), *words], env=house.env) as client:
            return (await client.call_tool("burn", box="maps")).text

    refused = asyncio.run(burn("--root", "a"))
    house.at_a_terminal("y\n", "allow", ticket_in(refused), "--session")
    assert [code_in(asyncio.run(burn("--root", root))) for root in "ba"] == ["TT2403", "maps is ashes"]


@pytest.mark.needs("terminals")
def test_a_pattern_is_allowed_at_the_terminal(house: House):
    [refused] = asyncio.run(house.call("old maps"))
    pattern = '{"properties": {"box": {"pattern": "^old "}}, "required": ["box"]}'
    assert "is allowed, pattern" in house.at_a_terminal("y\n", "allow", ticket_in(refused), "--pattern", pattern)
    texts = asyncio.run(house.call("old hats", "new hats"))
    assert [code_in(text) for text in texts] == ["old hats is ashes", "TT2403"]


def waiting(house: House, *principals: str) -> dict[str, str]:
    """A ticket for each principal: its id by theirs."""

    async def ask() -> dict[str, str]:
        async with open_facts(f"sqlite://{house.store}") as facts:
            wanted = [ApprovalRequest("attic", one, "burn", "destructive", "pin", {"box": "A"}) for one in principals]
            return {one.principal: (await Approvals(facts).open(one)).id for one in wanted}

    house.store.parent.mkdir(parents=True, exist_ok=True)
    return asyncio.run(ask())


@pytest.mark.needs("terminals")
@pytest.mark.attack("B20")
@pytest.mark.parametrize(
    ("name", "mark"), [("\u0430nn", "it has U+0430"), ("ann\uff11", "it has U+FF11"), ("an\u200bn", "it has U+200B")]
)
def test_b20_a_name_made_to_look_like_another_is_marked(house: House, name: str, mark: str):
    tickets = waiting(house, "ann", name)
    rows = {line.split()[0]: line for line in house.run("list").stdout.splitlines()}
    assert mark in rows[tickets[name]]
    assert mark in house.run("show", tickets[name]).stdout
    assert mark in house.at_a_terminal("n\n", "allow", tickets[name])
    assert "it has" not in rows[tickets["ann"]]


@pytest.mark.attack("B20")
def test_b20_two_names_that_differ_in_a_digit_that_looks_like_a_letter_are_marked(house: House):
    tickets = waiting(house, "admin1", "adminl")
    assert "NOT the same as adminl" in house.run("show", tickets["admin1"]).stdout
    assert "NOT the same as admin1" in house.run("list").stdout
    assert "不是同一个" in house.run("--store", f"sqlite://{house.store}", "list", LC_ALL="zh_CN.UTF-8").stdout


@pytest.mark.twin("B20")
def test_b20_twin_ordinary_names_are_not_marked(house: House):
    waiting(house, "ann", "张伟", "田中2", "René", "Иванов")
    assert "NOT" not in house.run("list").stdout


@pytest.mark.attack("B21")
@pytest.mark.parametrize("way", ["piped", "empty", "guessed", "readable"])
def test_b21_a_program_that_runs_commands_cannot_approve(house: House, way: str):
    [refused] = asyncio.run(house.call("maps"))
    words = ["allow", ticket_in(refused)]
    env: dict[str, str] = {}
    if way == "guessed":
        house.server.with_name("word").write_text("y" * 43)
        env["TOOLTRUE_CREDENTIAL"] = str(house.server.with_name("word"))
    if way == "readable":
        words += ["--credential", str(house.store)]
    done = house.run(*words, input="" if way == "empty" else "y\n" * 10, **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert ("TT4401" if way in ("piped", "empty") else "TT4402") in done.stderr
    assert house.tickets()[0]["state"] == "open"


@pytest.mark.needs("terminals")
@pytest.mark.twin("B21")
def test_b21_twin_a_program_that_a_person_has_given_a_credential_allows(house: House):
    [refused] = asyncio.run(house.call("maps"))
    word = house.server.with_name("word")
    assert "TT4401" in house.run("credential", str(word)).stderr
    assert not word.exists()
    assert "A new credential" in house.at_a_terminal("", "credential", str(word))
    assert is_private_at(word)
    assert house.run("allow", ticket_in(refused), "--credential", str(word)).returncode == 0
    assert asyncio.run(house.call("maps")) == ["maps is ashes"]


@pytest.mark.needs("terminals", "limits")
def test_a_credential_that_found_no_room_is_not_there(house: House):
    word = house.server.with_name("word")
    words = ["--store", "memory:", "credential", str(word)]
    assert "TT4402" in house.at_a_terminal("", *words, before=FULL)
    assert not word.exists()
    assert "A new credential" in house.at_a_terminal("", *words)
    assert len(word.read_text()) == 43


@pytest.mark.needs("terminals")
def test_a_credential_is_good_until_there_is_a_file_with_another(house: House):
    [refused] = asyncio.run(house.call("maps"))
    word = house.server.with_name("word")
    house.at_a_terminal("", "credential", str(word))
    for place in (word, word / "below"):
        assert "TT4402" in house.at_a_terminal("", "credential", str(place))
    assert house.run("allow", ticket_in(refused), "--credential", str(word)).returncode == 0


def test_a_ticket_is_shown_in_full_and_escaped(house: House):
    [refused] = asyncio.run(house.call("x\u202egnp\x1b[8m" + " " * 10_000 + "; rm -rf"))
    shown = house.run("show", ticket_in(refused)).stdout
    assert '"box" (10017): "x\\u202egnp\\u001b[8m⟨10000 × " "⟩; rm -rf"' in shown
    assert "attic" in shown
    assert "burn (destructive)" in shown


@pytest.mark.needs("terminals")
def test_an_unknown_ticket_and_an_invalid_pattern_are_reported(house: House):
    assert house.run("list").stdout == "No entry waits.\n"
    assert "TT4400" in house.run("show", "t-0").stderr
    [refused] = asyncio.run(house.call("maps"))
    id = ticket_in(refused)
    for pattern, code in (
        ("[]", "TT4405"),
        ("{", "TT4405"),
        ('{"type": 5}', "TT31"),
        ('{"required": ["x"]}', "TT4403"),
    ):
        seen = house.at_a_terminal("y\n", "allow", id, "--pattern", pattern)
        assert code in seen, seen


def test_the_store_can_lie_elsewhere(house: House):
    elsewhere = house.server.with_name("elsewhere.db")
    house.env["TOOLTRUE_APPROVALS"] = f"sqlite://{elsewhere}"
    asyncio.run(house.call("maps"))
    assert len(house.tickets()) == 1
    assert not house.store.exists()
    assert house.run("--store", "memory:", "list").stdout == "No entry waits.\n"
    assert "TT7001" in house.run("--store", "carrier:pigeon", "list").stderr


def test_a_call_that_needs_approval_is_refused_while_the_store_cannot_be_opened(house: House):
    house.env["TOOLTRUE_APPROVALS"] = f"sqlite://{house.server}/no.db"
    assert code_in(asyncio.run(house.call("maps"))[0]) == "TT2410"
    assert house.lost == []
