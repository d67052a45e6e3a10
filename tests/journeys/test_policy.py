"""Rules, as an operator writes, checks, tries out and serves them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.serving import environment, http
from support.warm_command import warm_command
from tooltrue import Client, RpcError

pytestmark = pytest.mark.process

SOURCE = """
from tooltrue import Server
server = Server("bank")
@server.tool(effect="read", blocking=False)
def balance(account: str) -> int: return 7
@server.tool(effect="write", blocking=False)
def pay(account: str, amount: int) -> str: return "paid"
@server.resource("bank://terms")
def terms() -> str: return "terms"
@server.prompt
def advise() -> str: return "advise"
"""
RULES = """
[limits]
seconds = 7

[[rules]]
name = "looking"
effect = "read"
then = "allow"

[[rules]]
name = "small"
tools = "pay"
arguments = { required = ["amount"], properties.amount.maximum = 10 }
then = "allow"

[[rules]]
name = "large"
tools = "pay"
then = "deny"
reason = "Over 10 a person pays."
"""


@pytest.fixture
def bank(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "bank.py").write_text(SOURCE)
    (tmp_path / "tooltrue.toml").write_text(RULES)
    return str(tmp_path / "bank.py"), str(tmp_path / "tooltrue.toml")


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        warm_command(*arguments), capture_output=True, text=True, timeout=120, env=environment(), cwd=cwd, input=""
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_file_that_is_right_is_said_to_be(bank: tuple[str, str]):
    target, file = bank
    done = run("policy", "check", file, target)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 rules, [limits]; nothing is wrong" in done.stdout


def test_a_call_by_an_old_name_is_explained_by_the_rule_that_decides_whichever_name_it_says(bank: tuple[str, str]):
    target, file = bank
    Path(target).write_text(SOURCE.replace('effect="write"', 'effect="write", replaces="transfer"'))
    Path(file).write_text(RULES.replace('tools = "pay"\nthen = "deny"', 'tools = "transfer"\nthen = "deny"'))
    for name in ("pay", "transfer"):
        done = run("policy", "explain", target, name, "account=a", "amount=11", "--config", file)
        assert done.returncode == 1, done.stderr
        said, told, *rules = done.stdout.splitlines()
        assert said == "pay for local with these arguments: refused"
        assert told == "The caller is told: Over 10 a person pays."
        assert [line.split("  ")[-1].strip() for line in rules] == [
            "the effect is write",
            "may match: it depends on the arguments",  # for any arguments, the next rule denies it
            "matches its old name transfer",
        ]


def test_where_several_rules_count_for_the_names_of_a_tool_that_is_said(bank: tuple[str, str]):
    target, file = bank
    Path(target).write_text(SOURCE.replace('effect="write"', 'effect="write", replaces="transfer"'))
    asks, rest = '[[rules]]\ntools = "transfer"\nthen = "ask"\n', '[[rules]]\nname = "rest"\nthen = "deny"\n'
    Path(file).write_text(f'[[rules]]\ntools = "pay"\nthen = "allow"\n{asks}{rest}')
    done = run("policy", "explain", target, "pay", "account=a", "amount=1", "--config", file)
    said, several, *rules = done.stdout.splitlines()
    assert said == "pay for local with these arguments: a person is asked"
    assert several.endswith("Of those that match, the strictest decides:")
    assert [line.split("  ")[-1].strip() for line in rules] == ["matches", "matches its old name transfer"]
    Path(file).write_text(f"{asks}{rest}")
    done = run("policy", "explain", target, "pay", "account=a", "amount=1", "--config", file)
    assert "a person is asked" in done.stdout
    assert "an earlier rule has decided about the tool" in done.stdout.splitlines()[-1]


def test_everything_that_is_wrong_is_said_with_its_line(bank: tuple[str, str]):
    target, file = bank
    Path(file).write_text(RULES.replace('"pay"', '"pai"').replace('effect = "read"', 'effect = "write"'))
    done = run("policy", "check", file, target)
    assert done.returncode == 1
    assert [line.split(": ")[0].rpartition(":")[2] for line in done.stdout.splitlines()] == ["12", "18"]
    assert "pay" in done.stdout
    assert run("policy", "check", file).returncode == 0


def test_a_call_is_explained(bank: tuple[str, str]):
    target, file = bank
    done = run("policy", "explain", target, "pay", "account=a", "amount=99", "--config", file)
    assert done.returncode == 1
    assert "Over 10 a person pays." in done.stdout
    assert f"{file}:16  large    deny   matches" in done.stdout
    assert "$.amount must be at most 10" in done.stdout
    done = run("policy", "explain", target, "pay", "account=a", "amount=9", "--config", file, "--principal", "x")
    assert (done.returncode, "for x with these arguments: allowed" in done.stdout) == (0, True)
    assert run("policy", "explain", target, "pay", "account=a", "--config", file).returncode in (1, 3)


def test_resources_and_prompts_are_explained(bank: tuple[str, str]):
    target, file = bank
    for more in (("bank://terms", "--resource"), ("advise", "--prompt")):
        done = run("policy", "explain", target, *more, "--config", file)
        assert (done.returncode, "hidden" in done.stdout) == (1, True)
    assert run("policy", "explain", target, "none", "--config", file).returncode == 2


def test_a_log_is_replayed(bank: tuple[str, str], tmp_path: Path):
    _, file = bank
    log = tmp_path / "log.jsonl"
    calls: list[Any] = [{"amount": 5}, {"amount": 50}, {"amount": "[masked]"}]
    common = {"kind": "call", "subject": "pay", "effect": "write", "who": "ann", "decision": "allow"}
    masked = [[], [], ["/amount"]]
    records = [{**common, "arguments": one, "masked": names} for one, names in zip(calls, masked, strict=True)]
    log.write_text("\n".join(map(json.dumps, records)) + "\n")
    done = run("policy", "simulate", "--config", file, "--log", str(log))
    assert done.returncode == 0
    assert [line.split() for line in done.stdout.splitlines()[1:4]] == [
        ["allow", "allow", "pay", "small", "1"],
        ["allow", "deny", "pay", "large", "1"],
        ["allow", "undecidable", "pay", "small", "1"],
    ]
    assert "3 records: 1 would be decided otherwise, 1 undecidable." in done.stdout
    log.write_text("{\n")
    assert run("policy", "simulate", "--config", file, "--log", str(log)).returncode == 2


def test_a_wrong_file_ends_the_start_on_either_carrier(bank: tuple[str, str]):
    target, file = bank
    Path(file).write_text(RULES.replace('tools = "pay"', 'tools = "pai"'))
    for more in ((), ("--http", "127.0.0.1:0"), ("--http", "127.0.0.1:0", "--workers", "2")):
        done = run("serve", target, "--config", file, *more)
        assert (done.returncode, "[TT4304]" in done.stderr) == (2, True)


def test_a_file_that_lies_around_is_not_picked_up(bank: tuple[str, str], tmp_path: Path):
    target, _ = bank
    done = run("call", target, "pay", "account=a", "amount=99", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "paid")


def test_inspect_shows_the_settings_from_the_file(bank: tuple[str, str]):
    target, file = bank
    shown = run("inspect", target, "--config", Path(file).name, cwd=Path(file).parent).stdout
    assert "on: 7 s per call" in shown
    assert f"{Path(file).name} [limits]" in shown
    assert "on: 3 rules; a call that none matches is denied" in shown
    assert run("inspect", "http://127.0.0.1:1/mcp", "--config", file).returncode == 2


async def pays(target: Any, amount: int) -> str:
    async with Client(target) as client:
        try:
            return (await client.call_tool("pay", {"account": "a", "amount": amount})).text
        except RpcError as error:
            return str(error)


def test_every_worker_goes_by_the_rules_that_were_there_at_the_start(bank: tuple[str, str]):
    target, file = bank
    with http("--config", file, "--workers", "2", target=target) as (url, _):
        Path(file).write_text('[[rules]]\nthen = "allow"\n')
        [said] = {asyncio.run(pays(url, 99)) for _ in range(6)}
        assert "Over 10 a person pays." in said
        assert asyncio.run(pays(url, 9)) == "paid"
