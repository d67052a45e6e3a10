"""The page on symptoms: what it finds in a log, the calls that show it, and the findings of check."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from browser.payloads import PAYLOADS
from support.console import House
from support.pages import hostile_markup, words
from tooltrue.contract.contract import Contract
from tooltrue.contract.lock import Lock, write
from tooltrue.state.log import timestamp
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log
from tooltrue_console.pages import doctor

NOW = 1_700_000_000.0


def record(number: int, **more: Any) -> dict[str, Any]:
    members = {
        "at": timestamp(NOW + number),
        "kind": "call",
        "subject": "price",
        "who": "ann",
        "outcome": "ok",
        "ms": 5,
    }
    return {**members, "arguments": {"n": number}, **more}


def wrong(number: int, **more: Any) -> dict[str, Any]:
    return record(number, outcome="refused", code="TT2001", wrong=["$.day pattern"], **more)


def page(
    folder: Path, records: Sequence[dict[str, Any]], path: str = "/doctor?log=attic&since=", **headers: str
) -> str:
    log = sqlite_url(folder / "attic.db")

    async def scenario(house: House) -> str:
        house.desk.clock = lambda: NOW + 3_600
        async with open_log(log) as opened:
            for one in records:
                await opened.append(one)
        async with house.visitor("operator", **headers) as visitor:
            return (await visitor.get(path)).text

    return House(folder, logs={"attic": log}).visited(scenario)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "tooltrue"


def test_a_symptom_is_shown_with_its_cause_and_the_calls_that_show_it(tmp_path: Path):
    text = page(tmp_path, [*(wrong(number) for number in range(5)), record(9)])
    assert "$.day (pattern) 5×" in words(text)
    link = re.search(r'href="/console(/calls\?[^"]*code=TT2001[^"]*)"', text)
    assert link is not None
    calls = page(tmp_path, [], html.unescape(link[1]))
    assert len(re.findall(r'/calls/attic/\d+"', calls)) == 5


def test_tools_in_good_health_have_no_symptom_and_their_figures(tmp_path: Path):
    text = words(page(tmp_path, [record(number) for number in range(30)]))
    assert "No symptoms." in text
    assert "price 30 0 0" in text


def test_the_time_is_that_of_the_form_and_seven_days_without_it(tmp_path: Path):
    records = [wrong(number - 30 * 86_400) for number in range(5)] + [record(0)]
    assert "No symptoms." in words(page(tmp_path, records, "/doctor?log=attic"))
    assert "TT2001" not in page(tmp_path, [], "/doctor?log=attic&since=2h")
    assert "5×" in words(page(tmp_path, [], "/doctor?log=attic&since=60d"))


@pytest.mark.parametrize("since", ["yesterday", "9999999d", "7", "<script>", "\u202e"])
def test_a_time_that_is_none_is_told_and_the_page_goes_on(tmp_path: Path, since: str):
    text = page(tmp_path, [record(1)], f"/doctor?log=attic&since={since}")
    assert "TT9" in text
    assert 'name="since"' in text


def test_a_log_that_is_not_there_is_told(tmp_path: Path):
    assert "TT9418" in page(tmp_path, [], "/doctor?log=cellar")


def test_without_a_log_the_page_says_how_there_will_be_one(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            return await visitor.text("/doctor")

    assert "tooltrue serve" in House(tmp_path).visited(scenario)


def test_only_the_newest_records_of_a_long_log_are_read_and_this_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(doctor, "MAX_READ", 10)
    text = words(page(tmp_path, [*(wrong(number) for number in range(5)), *(record(number) for number in range(10))]))
    assert "only the newest 10 records were read" in text
    assert "No symptoms." in text


def test_with_the_contract_of_the_server_the_findings_and_unused_tools_are_told(tmp_path: Path, state: Path):
    tool = {"name": "price", "description": "Price.", "inputSchema": {"type": "object", "properties": {"day": {}}}}
    lock = Lock(Contract.of([tool, {**tool, "name": "never_used"}]), "attic")
    (state / "pins").mkdir(parents=True)
    write(state / "pins" / f"{'a' * 32}.lock", lock)
    text = words(page(tmp_path, [wrong(number) for number in range(5)]))
    assert "never_used" in text
    assert "warning $." in text


def test_a_pin_that_is_broken_is_told_and_the_diagnosis_goes_on(tmp_path: Path, state: Path):
    (state / "pins").mkdir(parents=True)
    (state / "pins" / f"{'a' * 32}.lock").write_text("{}", "utf-8")
    assert "No symptoms." in words(page(tmp_path, [record(1)]))


def test_the_page_is_in_chinese_too(tmp_path: Path):
    text = page(tmp_path, [wrong(number) for number in range(5)], **{"accept-language": "zh-CN"})
    assert "症状" in text
    assert "Symptoms" not in text


@pytest.mark.parametrize("payload", PAYLOADS[::7])
def test_a_hostile_text_is_shown_and_not_interpreted(tmp_path: Path, payload: str):
    hostile = {"subject": payload, "who": payload, "wrong": [f"{payload} {payload}"], "rule": payload}
    text = page(tmp_path, [{**wrong(number), **hostile} for number in range(5)])
    assert hostile_markup(text) == []
