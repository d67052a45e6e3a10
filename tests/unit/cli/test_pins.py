"""``tooltrue pins``: a decision about a contract, and the log of acts that records it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tooltrue.cli.main import cli
from tooltrue.client.config import read_config
from tooltrue.contract.contract import Contract
from tooltrue.contract.neighbours import NOBODY
from tooltrue.errors import ConfigurationError
from tooltrue.host.pins import Pin, Pins, Review
from tooltrue.host.wording import CONTRACT_CHANGED_SINCE_REVIEW
from tooltrue.policy.audit.acts import acts_url
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.state.urls import open_log

MAIL: dict[str, Any] = {"name": "mail", "description": "Send a mail.", "inputSchema": {"type": "object"}}
CHANGED = {**MAIL, "description": "Send a mail, and keep a copy."}


class Servers:
    """A file of one server, which publishes another definition than the accepted one."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "servers.json"
        self.file.write_text(json.dumps({"mcpServers": {"post": {"url": "https://post.example/mcp"}}}))
        self.acts = Path(acts_url().removeprefix("sqlite:"))
        for tool in (MAIL, CHANGED):
            self.pin.judge(Contract.of([dict(tool)]), NOBODY)

    @property
    def pin(self) -> Pin:
        (config,) = read_config(str(self.file)).servers
        return Pins().of(str(self.file), config)

    @property
    def description(self) -> str:
        return str(self.pin.contracts()[0].tools["mail"]["description"])

    def decided(self, *words: str) -> Result:
        return CliRunner().invoke(cli, ["pins", str(self.file), "post", *words])

    def records(self) -> list[dict[str, Any]]:
        async def read() -> list[dict[str, Any]]:
            async with open_log(acts_url()) as log:
                return [record_of(entry) for entry in await log.read()]

        return asyncio.run(read())

    def break_records(self, kind: str) -> None:
        """Let records of this kind be refused by the database."""
        with sqlite3.connect(self.acts) as db:
            condition = f'NEW.record LIKE \'%"kind":"{kind}"%\''
            db.execute(
                f"CREATE TRIGGER broken BEFORE INSERT ON log WHEN {condition} BEGIN SELECT RAISE(FAIL, 'x'); END"
            )
        db.close()


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Servers:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Servers(tmp_path)


ACTS = [("--accept", "--yes"), ("mail", "--accept", "--yes"), ("--refuse",)]


@pytest.mark.parametrize("words", ACTS)
def test_a_decision_that_cannot_be_recorded_is_not_made_and_can_be_made_later(servers: Servers, words: list[str]):
    servers.acts.parent.mkdir(parents=True)
    servers.acts.write_text("no database " * 1000)
    done = servers.decided(*words)
    assert done.exit_code == 2
    assert "TT9410" in done.output
    assert "Traceback" not in done.output
    review = servers.pin.review()
    assert review is not None
    assert (servers.description, review.is_refused) == (MAIL["description"], False)
    servers.acts.unlink()
    assert servers.decided(*words).exit_code == 0
    assert [record["kind"] for record in servers.records()] == ["intent", "act"]


@pytest.mark.parametrize("words", ACTS)
def test_a_decision_whose_outcome_cannot_be_recorded_has_taken_effect_and_is_told_so(
    servers: Servers, words: list[str]
):
    servers.decided("--refuse")
    servers.break_records("act")
    done = servers.decided(*words)
    assert done.exit_code == 2
    assert "TT9450" in done.output
    assert servers.description == (MAIL if "--refuse" in words else CHANGED)["description"]
    assert [record["kind"] for record in servers.records()] == ["intent", "act", "intent"]


def test_a_decision_that_fails_is_recorded_as_refused(servers: Servers, monkeypatch: pytest.MonkeyPatch):
    def fail(pin: Pin, review: Review, names: object = None) -> None:
        raise ConfigurationError.of(CONTRACT_CHANGED_SINCE_REVIEW, server=pin.server)

    monkeypatch.setattr(Pin, "accept", fail)
    assert servers.decided("--accept", "--yes").exit_code != 0
    intent, act = servers.records()
    assert (act["kind"], act["outcome"], act["code"], act["id"]) == (
        "act",
        "refused",
        CONTRACT_CHANGED_SINCE_REVIEW,
        intent["id"],
    )
    assert servers.description == MAIL["description"]
