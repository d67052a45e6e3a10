"""Readers' labels of findings on real tools, and the published figures. The tools themselves are in `bench/labels`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tooltrue_check.card import cards

ROOT = Path(__file__).parents[3]
LABELS = ROOT / "bench" / "labels"
SAMPLES = [json.loads(line) for path in sorted(LABELS.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
PAGE = (ROOT / "docs" / "measured.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, each as its cells."""
    _, _, below = PAGE.partition(f"\n## {heading}\n")
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()[2:]]


def test_no_tool_is_labelled_twice():
    names = [(row["digest"], row["server"]) for row in SAMPLES]
    assert len(set(names)) == len(names)


def test_every_label_is_explained():
    explained = set(re.findall(r"`(\w+)`", (LABELS / "README.md").read_text("utf-8")))
    assert {label for row in SAMPLES for label in (*row["true"], *row["unsure"])} <= explained


def test_no_label_is_both_true_and_unsure():
    assert not [row for row in SAMPLES if set(row["true"]) & set(row["unsure"])]


def test_a_corrected_label_states_its_reason():
    corrected: list[dict[str, Any]] = [row for row in SAMPLES if "corrected" in row]
    assert corrected
    for row in corrected:
        for label, reason in row["corrected"].items():
            assert label in (*row["true"], *row["unsure"])
            assert len(reason) > 20


@pytest.mark.parametrize(("level", "least"), [("error", 98), ("warning", 90)])
def test_the_precision_that_is_published_reaches_the_aims(level: str, least: int):
    shares = {row[0]: row[5] for row in rows("How rightly") if row[1] == level}
    assert len(shares) > 3
    assert not {name: share for name, share in shares.items() if int(share.partition(" ")[0]) < least}


def test_the_page_has_each_rule_at_the_level_of_its_card():
    published = {re.sub(r"\[(\w+)\].*", r"\1", row[0]): row[2] for row in rows("How often")}
    assert published == {name: cards()[name].level.value for name in published}


def test_the_cards_quote_the_shares_that_the_page_has():
    measured = {re.sub(r"\[(\w+)\].*", r"\1", row[0]): float(row[4]) for row in rows("How often")}
    quoted: set[str] = set()
    for card in cards().values():
        for one in card.evidence:
            share = re.match(r"(?:Found in )?([\d.]+) % of the tools", one.effect["en"])
            if one.source.startswith("3,195") and share is not None:
                quoted.add(card.name)
                digits = len(share[1].partition(".")[2])
                assert abs(measured[card.name] - float(share[1])) <= 0.51 * 10**-digits, card.name
            if one.source.startswith("3,195") and one.effect["en"].startswith("No tool"):
                assert card.name not in measured
    assert len(quoted) > 40
