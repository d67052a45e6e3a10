"""Each rule finds what its card calls bad, and nothing in what it calls good, in both languages."""

from __future__ import annotations

import pytest

from tooltrue.check.card import RULES, Card, Example, cards
from tooltrue.check.findings import Rule, RuleFinding, rules
from tooltrue.check.subject import Shelf, Subject
from tooltrue.wording import SENTENCES

ALL = [pytest.param(card, rule, id=card.name) for card, rule in rules()]


def found(card: Card, rule: Rule, example: Example) -> list[RuleFinding]:
    shelf = Shelf()
    shelf.subjects.extend(
        Subject(server, tool, shelf) for server, tool in zip(example.servers, example.tools, strict=True)
    )
    subject = shelf.subjects[0]
    return [RuleFinding(example.server, subject.name, card, problem) for problem in rule(subject)]


@pytest.mark.parametrize(("card", "rule"), ALL)
def test_a_rule_agrees_with_the_examples_on_its_card(card: Card, rule: Rule):
    for example in card.examples:
        assert bool(found(card, rule, example)) is example.bad, example.tools


@pytest.mark.parametrize(("card", "rule"), ALL)
def test_what_a_rule_says_is_whole_in_both_languages(card: Card, rule: Rule):
    for example in card.examples:
        for finding in found(card, rule, example):
            for language in ("en", "zh"):
                assert finding.say(language)
                assert finding.instead(language)
                assert "{" not in card.words[language].title


@pytest.mark.parametrize(("card", "rule"), ALL)
def test_a_card_has_examples_of_both_kinds_in_both_languages(card: Card, rule: Rule):
    assert {(one.language, one.bad) for one in card.examples} >= {
        (language, bad) for language in ("en", "zh") for bad in (True, False)
    }
    assert card.evidence


def test_each_rule_has_a_code_of_its_own_and_a_module():
    codes = [card.code for card in cards().values()]
    assert len(set(codes)) == len(codes)
    assert not set(codes) & set(SENTENCES)
    modules = {path.stem for path in RULES.glob("*.py")} - {"__init__"}
    assert modules == set(cards())
