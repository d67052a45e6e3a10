"""Diagnosis of a log: the symptoms with their numbers, and the reported gaps in the data."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.contract.contract import Contract
from tooltrue_check.card import cards
from tooltrue_check.doctor.counters import Bounded, Spread
from tooltrue_check.doctor.diagnosis_page import as_page
from tooltrue_check.doctor.diagnosis_text import as_json, as_text
from tooltrue_check.doctor.log_figures import MAX_CALLERS, MAX_RECENT, MAX_TOOLS, LogFigures
from tooltrue_check.doctor.symptoms import EXPLAIN, Diagnosis, Symptom, diagnose
from tooltrue_check.findings import check_contracts

NOON = datetime(2026, 7, 28, 12, tzinfo=UTC)


def call(subject: str = "price", seconds: float = 0, outcome: str = "ok", **more: Any) -> dict[str, Any]:
    at = (NOON + timedelta(seconds=seconds)).isoformat()
    said = {"at": at, "kind": "call", "who": "ann", "subject": subject, "outcome": outcome, "arguments": {"n": seconds}}
    return {**said, "ms": 5.0, "bytes_out": 10, **more}


def wrong(seconds: float, *where: str) -> dict[str, Any]:
    return call("price", seconds, "refused", code="TT2001", **({"wrong": list(where)} if where else {}))


def told(*records: Mapping[str, Any], tools: list[str] | None = None) -> Diagnosis:
    seen = LogFigures()
    for record in records:
        seen.add(record)
    seen.close()
    return diagnose(seen, tools)


def only(found: Diagnosis, kind: str) -> Symptom:
    [one] = [one for one in found.symptoms if one.kind == kind]
    return one


def kinds(found: Diagnosis) -> set[str]:
    return {one.kind for one in found.symptoms}


def gaps(found: Diagnosis) -> set[str]:
    return {code for code, _ in found.unknown}


# -- each symptom, and its benign twin ---------------------------------------------------------------------------------


def test_arguments_that_are_wrong_are_named_by_place_and_keyword():
    found = told(*(wrong(n, f"$.items[{n}].id type", "$.to format") for n in range(4)), call(seconds=9))
    one = only(found, "wrong")
    assert (one.tool, one.count, one.facts["calls"]) == ("price", 4, 5)
    assert one.facts["where"] == "$.items[].id (type) 4×, $.to (format) 4×"
    assert "wrong" not in kinds(told(*(wrong(n, "$.to format") for n in range(2))))


def test_records_that_do_not_say_where_are_counted_and_said():
    found = told(*(wrong(n) for n in range(3)))
    assert only(found, "wrong").facts["where"] == "?"
    assert "TT9892" in gaps(found)


def test_the_same_call_again_is_one_only_when_it_is_the_same_and_soon():
    same = [call(seconds=n, arguments={"article": "tea"}) for n in range(4)]
    assert only(told(*same), "repeated").count == 3
    assert "repeated" not in kinds(told(*(call(seconds=n) for n in range(4))))
    assert "repeated" not in kinds(told(*(call(seconds=700 * n, arguments={}) for n in range(4))))
    assert "repeated" not in kinds(told(*(call(arguments={}, who=str(n)) for n in range(4))))


def test_calls_repeat_each_other_only_when_close_in_time_regardless_of_their_order():
    """Files of several days may be named in any order; calls that ran at once are written as they end."""
    same = [call(seconds=7_200 * n, arguments={}) for n in range(4)]
    assert kinds(told(*reversed(same))) == kinds(told(*same)) == set()
    at_once = [call(seconds=-n / 1_000, arguments={}) for n in range(4)]
    assert only(told(*at_once), "repeated").count == 3


def test_a_caller_without_a_call_after_a_failure_has_given_up():
    failed = [call(seconds=n, outcome="error", code="TT2004", who=f"w{n}") for n in range(3)]
    later = call("other", 5_000)
    assert only(told(*failed, later), "gave_up").facts["codes"] == "TT2004 3×"
    assert "gave_up" not in kinds(told(*failed))  # it is too early to tell
    went_on = [call("other", 60, who=f"w{n}") for n in range(3)]
    assert "gave_up" not in kinds(told(*failed, *went_on, later))


def test_tools_that_fail_are_slow_or_say_much_are_named():
    failing = told(*(call(seconds=n, outcome="error", code="TT2004") for n in range(3)), call(seconds=4))
    assert only(failing, "failing").facts["codes"] == "TT2004 3×"
    slow = only(told(*(call(seconds=n, ms=9_000.0) for n in range(5))), "slow")
    assert slow.facts["p95"].endswith(" s")
    late = only(told(*(call(seconds=n, outcome="error", code="TT2002") for n in range(3))), "slow")
    assert late.facts["late"] == 3
    large = told(*(call(seconds=n, bytes_out=400_000) for n in range(3)))
    assert only(large, "large").facts["p95"].endswith(" kB")
    assert "TT9895" in gaps(large)
    assert kinds(told(*(call(seconds=n) for n in range(50)))) == set()


def test_refusals_are_told_by_the_rule_that_made_them():
    records = [call("pay", n, "refused", code="TT2200", rule="large sums", decision="deny") for n in range(3)]
    assert only(told(*records), "refused").facts["by"] == "large sums 3×"


def test_uncalled_tools_are_reported_only_if_the_list_of_tools_is_known():
    found = told(call(), tools=["price", "stock"])
    assert only(found, "never").tool == "stock"
    assert "TT9890" not in gaps(found)
    assert "TT9890" in gaps(told(call()))
    assert "never" not in kinds(told(tools=["price"]))  # a log without calls gives no evidence about any tool


def counted(**tools: dict[str, int]) -> dict[str, object]:
    """Refusals with one record for all, of these tools and of three that it does not name."""
    codes = {"TT2001": 3 + sum(said["TT2001"] for said in tools.values())}
    named = {"tools": tools} if tools else {}
    return {"at": NOON.isoformat(), "kind": "refusals", "who": "ann", "count": 3, "codes": codes, **named}


def test_a_tool_whose_refusals_were_counted_was_called():
    found = told(call(), counted(refund={"TT2001": 18}), tools=["price", "refund"])
    assert "never" not in kinds(found)
    assert only(found, "wrong").tool == "refund"
    assert only(found, "wrong").count == 18


def test_no_tool_is_said_to_be_never_called_while_refusals_are_of_unknown_tools():
    found = told(call(), counted(), tools=["price", "stock"])
    assert only(found, "never").code == "TT9861"
    assert only(found, "never").facts["more"] == 3


def test_old_names_guessed_names_and_pauses_are_told():
    assert only(told(call(called="cost")), "old").facts["names"] == "cost 1×"
    guessing = [call("nope", n, "refused", code="TT1010") for n in range(3)]
    together = {
        "at": NOON.isoformat(),
        "kind": "refusals",
        "who": "ann",
        "count": 7,
        "codes": {"TT1010": 4, "TT2103": 3},
    }
    found = told(*guessing, together)
    assert only(found, "guessed").count == 7
    assert only(found, "paused").facts["who"] == "ann 3×"
    assert "TT9897" in gaps(found)
    assert "nope" not in found.figures.tools


def test_a_principal_shared_by_all_callers_makes_the_attribution_uncertain():
    assert "TT9891" in gaps(told(call(who="local")))
    assert "TT9891" not in gaps(told(call(who="local"), call(who="ann")))


def test_findings_about_the_wrong_argument_come_first():
    schema = {"type": "object", "properties": {"to": {"type": "string"}, "by": {"type": "string"}}}
    contract = Contract.of([{"name": "price", "description": "What it costs.", "inputSchema": schema}])
    seen = LogFigures()
    for n in range(3):
        seen.add(wrong(n, "$.by type"))
    seen.close()
    one = only(diagnose(seen, ["price"], check_contracts([("shop", contract)])), "wrong")
    assert one.findings
    assert all("by" in finding.place for finding in one.findings)


def test_the_rules_that_explain_a_symptom_are_there():
    known = {name for card in cards().values() for name in (card.name, card.group)}
    assert frozenset[str]().union(*EXPLAIN.values()) <= known


# -- figures, and memory -----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_a_percentile_is_at_most_five_percent_too_high(numbers: list[float]):
    spread = Spread()
    for number in numbers:
        spread.add(number)
    exact = sorted(numbers)[max(0, -(-len(numbers) * 95 // 100) - 1)]
    assert exact * 0.999 - 1 <= spread.percentile(0.95) <= max(exact, 1) * 1.0501


def test_a_bounded_counter_keeps_its_bound_and_counts_the_rest():
    counted = Bounded[int](2)
    for number in (1, 2, 3, 1, 4):
        counted.add(number)
    assert (counted.counts, counted.left_out) == ({1: 2, 2: 1}, 2)


def test_memory_stays_bounded_for_any_number_of_callers_and_tools():
    seen = LogFigures()
    for n in range(MAX_CALLERS + 50):
        seen.add(call(f"t{n}", who=f"w{n}"))
    for n in range(5 * MAX_RECENT):
        seen.add(call("t1", n))
    assert len(seen.tools) == MAX_TOOLS
    assert len(seen.callers) == MAX_CALLERS
    assert max(len(caller.recent) for caller in seen.callers.values()) == MAX_RECENT
    assert "TT9894" in gaps(diagnose(seen))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.sampled_from(
    [*("at", "kind", "who", "subject", "outcome", "code", "wrong", "codes", "ms", "bytes_out", "instance", "rule")]
)


@given(st.lists(st.dictionaries(MEMBERS, JSON | st.sampled_from(["call", "refusals", "ok", "refused", "TT2001"]))))
def test_no_record_is_too_strange(records: list[dict[str, Any]]):
    found = told(*records, *({**call(), **record} for record in records), tools=["a"])
    for language in ("en", "zh"):
        assert as_text(found, language)
        assert json.loads(as_json(found, language))
        assert as_page(found, language)


# -- how it is told ----------------------------------------------------------------------------------------------------

EVIL = '<script>alert("1")</script>\u202e\x1b[31m'


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "style")]
        if tag not in ("meta", "br", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag != "rect":
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.attack("A10")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a10_a_page_is_complete_escapes_untrusted_text_and_loads_no_resource(language: str):
    records = [call(EVIL, n, "error", code="TT2004", who=EVIL) for n in range(4)]
    text = as_page(told(*records, tools=[EVIL, "never"]), language)
    page = Page(text)
    assert not page.open
    assert not page.tags & {"script", "img", "link", "iframe"}
    assert page.links == []
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "prefers-color-scheme:dark" in text
    assert "http" not in text.replace("http-equiv", "")
    charts = [*_charts(text)]
    assert len(charts) == 5  # three are the legend's
    assert "\x1b" not in as_text(told(*records))
    said = as_json(told(*records))
    assert "\u202e" not in said
    assert EVIL in json.loads(said)["tools"]


def _charts(text: str) -> Iterator[ElementTree.Element]:
    for part in text.split("<svg")[1:]:
        yield ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")


def test_text_fits_on_a_screen_and_json_has_it_all():
    records = [call(f"tool{t}", n, "error", code="TT2004") for t in range(30) for n in range(3)]
    found = told(*records)
    assert len(as_text(found).splitlines()) <= 40
    assert len(json.loads(as_json(found))["symptoms"]) == 30 == len(found.symptoms)


def test_a_log_without_calls_and_one_without_symptoms_say_so():
    assert as_text(told()).startswith("The log has no calls")
    assert "No symptoms." in as_text(told(call()))
    assert "没有发现症状" in as_text(told(call()), "zh")
