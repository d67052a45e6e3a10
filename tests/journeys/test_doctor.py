"""A server under misuse, and the findings of the doctor in its log."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tooltrue import Client, RpcError
from tooltrue.cli.main import cli
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

DESK = """
from tooltrue import Server

server = Server("desk", audit="sqlite:LOG")


@server.tool(effect="read", replaces="read_ticket")
def get_ticket(number: int) -> str:
    \"\"\"Get one.\"\"\"
    return f"ticket {number}"


@server.tool(effect="read")
def find_tickets(text: str) -> list[str]:
    \"\"\"Find tickets whose text holds these words. Use when the user describes a ticket.\"\"\"
    raise OSError("no index")


@server.tool(effect="read")
def list_queues() -> list[str]:
    \"\"\"List.\"\"\"
    return []


if __name__ == "__main__":
    server.run()
"""


async def drive(file: Path) -> None:
    async with asyncio.timeout(LIMIT), Client(f"{sys.executable} {file}") as client:
        for _ in range(3):
            await client.call_tool("get_ticket", {"number": "seven"})
            await client.call_tool("find_tickets", {"text": "printer"})
            await client.call_tool("read_ticket", {"number": 7})
        with pytest.raises(RpcError):
            await client.call_tool("close_ticket", {})


def doctor(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["--lang", "en", "doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_faults_of_a_client_are_found_with_the_place_to_fix(tmp_path: Path):
    file, log = tmp_path / "desk.py", tmp_path / "desk.db"
    file.write_text(DESK.replace("LOG", str(log)))
    asyncio.run(drive(file))

    found: Any = json.loads(doctor(str(log), "--target", str(file), "--since", "1h", "--format", "json"))
    symptoms = {(one["kind"], one["tool"]): one for one in found["symptoms"]}
    assert symptoms.keys() == {
        ("wrong", "get_ticket"),
        ("repeated", "get_ticket"),
        ("old", "get_ticket"),
        ("failing", "find_tickets"),
        ("never", "list_queues"),
    }
    assert symptoms["wrong", "get_ticket"]["facts"]["where"] == "$.number (type) 3×"
    assert symptoms["wrong", "get_ticket"]["findings"][0]["path"] == "$.inputSchema.properties.number"
    assert symptoms["never", "list_queues"]["findings"]

    page = tmp_path / "desk.html"
    assert doctor(f"sqlite:{log}", "--format", "html", "-o", str(page)) == ""
    assert "get_ticket" in page.read_text()
