"""The page on rules: the operator's file, the rule that decides, and replays; and one call with the rules of today."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from browser.payloads import PAYLOADS
from support.console import House, Visitor
from support.pages import hostile_markup, words
from tooltrue import Server
from tooltrue.policy.config import read_operator_config
from tooltrue.state.log import timestamp
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log

RULES = """
[[rules]]
name = "small sums"
tools = "pay"
arguments = { properties.amount.maximum = 10 }
then = "allow"

[[rules]]
name = "large sums"
tools = "pay"
principal = "ann"
then = "ask"

[[rules]]
name = "nothing is burned"
effect = "destructive"
then = "deny"
reason = "No tool may burn."

[[rules]]
name = "the attic is read by ann"
resources = "box://attic/*"
principal = "ann"
then = "allow"

[[rules]]
name = "no letters"
prompts = "letter*"
then = "deny"

[audit]
to = "postgresql://writer:hunter2@db/audit"
"""
CHANGED = '[[rules]]\ntools = "pay"\nthen = "deny"\nname = "no sums"\n'


def record(number: int, **more: Any) -> dict[str, Any]:
    members = {
        "at": timestamp(1_700_000_000 + number),
        "kind": "call",
        "subject": "pay",
        "who": "ann",
        "effect": "write",
    }
    return {**members, "decision": "allow", "outcome": "ok", "arguments": {"amount": number}, **more}


class Ruled:
    """A console with a file of rules, over a log of these records."""

    def __init__(
        self, folder: Path, text: str = RULES, records: tuple[dict[str, Any], ...] = (), **settings: Any
    ) -> None:
        self.file = folder / "tooltrue.toml"
        self.file.write_text(text, "utf-8")
        self.log = sqlite_url(folder / "attic.db")
        self.records = records
        self.house = House(folder, **{"config": str(self.file), "logs": {"attic": self.log}, **settings})

    def visited(self, scenario: Callable[[Visitor], Awaitable[Any]], name: str = "operator") -> Any:
        async def run(house: House) -> Any:
            async with open_log(self.log) as log:
                for one in self.records:
                    await log.append(one)
            async with house.visitor(name) as visitor:
                return await scenario(visitor)

        return self.house.visited(run)

    def text(self, path: str) -> str:
        async def scenario(visitor: Visitor) -> str:
            return words((await visitor.get(path)).text)

        return self.visited(scenario)

    def simulated(self, text: str, last: str = "100", log: str = "attic") -> str:
        async def scenario(visitor: Visitor) -> str:
            token = (await visitor.form("/rules"))["form_token"]
            answer = await visitor.post(
                "/rules/simulate", {"form_token": token, "text": text, "last": last, "log": log}
            )
            return words(answer.text)

        return self.visited(scenario)


def test_the_rules_are_shown_in_their_order_with_their_conditions_and_places(tmp_path: Path):
    text = Ruled(tmp_path).text("/rules")
    assert text.index("small sums") < text.index("large sums") < text.index("nothing is burned")
    for part in ('arguments: {"properties": {"amount": {"maximum": 10}}}', "principal: ann", "No tool may burn."):
        assert part in text
    assert "tooltrue.toml:8" in text


def test_a_password_in_the_file_is_not_shown(tmp_path: Path):
    text = Ruled(tmp_path).text("/rules")
    assert "postgresql://…@db/audit" in text
    assert "hunter2" not in text


def test_the_text_of_the_file_is_for_administrators_and_the_rules_for_all(tmp_path: Path):
    async def scenario(visitor: Visitor) -> str:
        return words((await visitor.get("/rules")).text)

    shown = {name: Ruled(tmp_path).visited(scenario, name) for name in ("reader", "operator")}
    assert {name: "[audit]" in text for name, text in shown.items()} == {"reader": False, "operator": True}
    assert all("nothing is burned" in text for text in shown.values())


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ('tool=pay&who=ann&arguments={"amount":5}', ["allowed", "small sums allow matches"]),
        ('tool=pay&who=ann&arguments={"amount":50}', ["a person is asked", "large sums ask matches"]),
        ('tool=pay&who=bob&arguments={"amount":50}', ["refused", "the caller is bob", "No rule says so"]),
        ("tool=pay&who=ann", ["may match: it depends on the arguments"]),
        ("kind=resource&tool=box://attic/1&who=ann", ["allowed", "the attic is read by ann allow matches"]),
        ("kind=resource&tool=box://attic/1&who=bob", ["hidden", "the caller is bob"]),
        ("kind=resource&tool=box://{room}/1&who=ann", ["may match: it depends on the URI"]),
        ("kind=prompt&tool=letter_home", ["hidden", "no letters deny matches"]),
        ("tool=burn&effect=destructive", ["refused", "The caller is told: No tool may burn."]),
    ],
)
def test_the_rule_that_decides_is_explained_at_an_address(tmp_path: Path, query: str, parts: list[str]):
    text = Ruled(tmp_path).text(f"/rules?{query}")
    assert [part for part in parts if part not in text] == []


def test_the_explanation_is_in_chinese_too(tmp_path: Path):
    async def scenario(visitor: Visitor) -> str:
        return (await visitor.get("/rules?tool=pay&who=bob&arguments={}", **{"accept-language": "zh-CN"})).text

    text = Ruled(tmp_path).visited(scenario)
    assert "由哪条规则决定" in text
    assert "匹配" in text


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "\x00", "{" * 300, '{"a": 1, "a": 2}'])
def test_arguments_that_are_no_object_are_told_in_a_sentence(tmp_path: Path, arguments: str):
    text = Ruled(tmp_path).text(f"/rules?tool=pay&arguments={quote(arguments)}")
    assert "TT9441" in text
    assert "large sums" in text


@pytest.mark.parametrize(
    ("text", "code"),
    [("[[rules]\n", "TT21"), ('[[rules]]\nthen = "perhaps"\n', "TT21"), ('[[rule]]\nthen = "deny"\n', "TT21")],
)
def test_a_file_with_a_mistake_is_told_with_its_line_and_the_page_goes_on(tmp_path: Path, text: str, code: str):
    page = Ruled(tmp_path, text).text("/rules?tool=pay")
    assert "tooltrue.toml" in page
    assert "Which rule decides" in page


def test_a_file_that_is_gone_and_no_file_at_all_are_told(tmp_path: Path):
    ruled = Ruled(tmp_path)
    ruled.file.unlink()
    assert "tooltrue.toml" in ruled.text("/rules")
    assert "TT9440" in Ruled(tmp_path, config="").text("/rules")


def test_a_changed_file_is_replayed_over_the_last_records(tmp_path: Path):
    records = tuple(record(number) for number in range(120))
    text = Ruled(tmp_path, records=records).simulated(CHANGED)
    assert "100 records: 100 would be decided otherwise, 0 undecidable." in text
    assert "no sums" in text
    assert "21 22 23" in text


def test_a_replay_writes_no_file_and_is_no_decision(tmp_path: Path):
    ruled = Ruled(tmp_path, records=(record(1),))
    before = ruled.file.read_bytes()
    assert "1 records: 1 would" in ruled.simulated(CHANGED)
    assert ruled.file.read_bytes() == before
    assert not (tmp_path / "acts.db").exists()


def test_masked_arguments_make_a_record_undecidable(tmp_path: Path):
    text = Ruled(tmp_path, records=(record(1, masked=["/amount"]),)).simulated(RULES)
    assert "1 undecidable" in text


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": "[[rules]\n"}, "TT"),
        ({"text": "[audit]\non = false\n"}, "TT9442"),
        ({"text": CHANGED, "log": "another"}, "TT9418"),
    ],
)
def test_a_text_or_a_log_that_does_not_fit_is_told(tmp_path: Path, fields: dict[str, str], code: str):
    assert code in Ruled(tmp_path, records=(record(1),)).simulated(**fields)


def test_a_replay_needs_the_token_of_its_form(tmp_path: Path):
    async def scenario(visitor: Visitor) -> list[int]:
        token = (await visitor.form("/rules"))["form_token"]
        fields = {"text": CHANGED, "last": "100", "log": "attic"}
        sent = {**fields, "form_token": token}
        answers = [
            await visitor.post("/rules/simulate", fields),
            await visitor.post("/rules/simulate", sent, origin="https://evil.example"),
            await visitor.post("/rules/simulate", sent),
        ]
        return [answer.status_code for answer in answers]

    assert Ruled(tmp_path, records=(record(1),)).visited(scenario, "reader") == [403, 403, 200]


def test_one_call_is_decided_with_the_rules_of_today(tmp_path: Path):
    ruled = Ruled(tmp_path, records=(record(50), record(5), record(7, masked=["/amount"]), {"kind": "start"}))
    assert '/calls/attic/1/rules"' in ruled.visited(lambda visitor: _raw(visitor, "/calls/attic/1"))
    text = ruled.text("/calls/attic/1/rules")
    assert "Would be a person is asked" in text
    assert "large sums ask matches" in text
    assert "Would be allowed" in ruled.text("/calls/attic/2/rules")
    assert "Would be undecidable" in ruled.text("/calls/attic/3/rules")
    assert "TT9443" in ruled.text("/calls/attic/4/rules")
    assert "TT9419" in ruled.text("/calls/attic/99/rules")


async def _raw(visitor: Visitor, path: str) -> str:
    return (await visitor.get(path)).text


def test_beside_a_server_the_rules_are_those_that_it_has_read(tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text(RULES, "utf-8")
    server = Server("attic", audit=False)

    @server.tool(effect="write")
    def pay(amount: int = 3) -> int:
        """Pay an amount."""
        return amount

    server.configure(read_operator_config(file))
    ruled = Ruled(tmp_path, CHANGED, server=server)
    text = ruled.text('/rules?tool=pay&who=ann&arguments={"amount":50}')
    assert "The file has changed since the server read it" in text
    assert "large sums ask matches" in text
    assert "TT2" in ruled.text('/rules?tool=pay&who=ann&arguments={"amount":"many"}')


@pytest.mark.parametrize("payload", PAYLOADS[::7])
def test_a_hostile_text_is_shown_and_not_interpreted(tmp_path: Path, payload: str):
    ruled = Ruled(tmp_path, records=(record(1, subject=payload, who=payload, decision=payload),))

    async def scenario(visitor: Visitor) -> list[str]:
        token = (await visitor.form("/rules"))["form_token"]
        fields = {"form_token": token, "text": CHANGED, "last": "100", "log": "attic"}
        query = {"tool": payload, "who": payload, "scopes": payload, "arguments": payload, "server": payload}
        pages = [
            await visitor.client.get("/console/rules", params=query),
            await visitor.get("/calls/attic/1/rules"),
            await visitor.post("/rules/simulate", fields),
        ]
        return [page.text for page in pages]

    for page in ruled.visited(scenario):
        assert hostile_markup(page) == []


def test_two_replays_at_once_do_not_disturb_each_other(tmp_path: Path):
    async def scenario(visitor: Visitor) -> list[str]:
        token = (await visitor.form("/rules"))["form_token"]
        fields = {"form_token": token, "last": "100", "log": "attic"}
        answers = await asyncio.gather(
            *(visitor.post("/rules/simulate", {**fields, "text": text}) for text in (CHANGED, RULES))
        )
        return [re.sub(r"<[^>]*>", "", answer.text) for answer in answers]

    denied, allowed = Ruled(tmp_path, records=(record(1),)).visited(scenario)
    assert "1 would be decided otherwise" in denied
    assert "0 would be decided otherwise" in allowed
