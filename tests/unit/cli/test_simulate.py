"""``tooltrue policy simulate``: which files are a log, and that looking at one leaves no other behind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tooltrue.cli.main import cli
from tooltrue.state.sqlite import SqliteLog

RULES = """
[[rules]]
name = "none"
tools = "*"
then = "deny"
"""

RECORD = {"kind": "call", "subject": "get_note", "effect": "read", "who": "ann", "decision": "allow"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.toml").write_text(RULES)


def simulate(log: str) -> Result:
    return CliRunner().invoke(cli, ["--lang", "en", "policy", "simulate", "--config", "rules.toml", "--log", log])


def end_of(text: str) -> str:
    """The last line that is said of a log with this text."""
    Path("log.jsonl").write_text(text, "utf-8")
    return simulate("log.jsonl").output.splitlines()[-1]


async def _kept(path: Path, *records: dict[str, Any]) -> None:
    async with SqliteLog(path) as log:
        for record in records:
            await log.append(record)


def test_an_exported_or_searched_log_is_replayed_like_the_log_itself(tmp_path: Path):
    asyncio.run(_kept(tmp_path / "kept.db", RECORD, {"kind": "pruned"}, RECORD))
    said = simulate("sqlite:kept.db").output
    assert "2 records: 2 would be decided otherwise" in said
    for words in (["export"], ["search", "--json"]):
        Path("log.jsonl").write_text(CliRunner().invoke(cli, ["audit", *words, "--log", "sqlite:kept.db"]).output)
        assert simulate("log.jsonl").output == said


def test_lines_end_where_json_lines_do():
    line = json.dumps({**RECORD, "arguments": {"city": "Os\u2028lo\x85"}}, ensure_ascii=False)
    assert end_of(f"{line}\n\n{line}\n \n").startswith("2 records: 2 would")
    assert end_of("").startswith("0 records")


@pytest.mark.parametrize(
    "line",
    ['{"hash": "0", "record": {}}', '{"tools": []}', "{", "[1]", '{"kind": "call", "a": ' + "[" * 100_000, '"\\ud800"'],
)
def test_a_line_that_is_no_record_is_named(line: str):
    assert end_of(f"{json.dumps(RECORD)}\n\n{line}\n").startswith("tooltrue: log.jsonl:3: this is no record")


@pytest.mark.parametrize(("log", "code"), [("sqlite:typo.db", "TT9006"), ("sqlite:.", "TT9006"), ("typo", "TT7001")])
def test_a_log_that_is_not_there_is_refused_and_not_made(tmp_path: Path, log: str, code: str):
    done = simulate(log)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(f" [{code}]\n")
    assert [one.name for one in tmp_path.iterdir()] == ["rules.toml"]
