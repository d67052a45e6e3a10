"""Each rule reports the bad examples of its card, and no good example, in both languages."""

from __future__ import annotations

import pytest

from tooltrue.wording import SENTENCES, load_catalogues
from tooltrue_check.card import RULES, Card, Example, cards
from tooltrue_check.findings import Rule, RuleFinding, rules
from tooltrue_check.subject import Shelf, Subject

load_catalogues()

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


def test_the_text_of_a_rule_is_complete_in_both_languages():
    def is_whole(card: Card, finding: RuleFinding, language: str) -> bool:
        return bool(finding.say(language) and finding.instead(language)) and "{" not in card.words[language].title

    broken = {
        (card.name, language)
        for card, rule in rules()
        for example in card.examples
        for finding in found(card, rule, example)
        for language in ("en", "zh")
        if not is_whole(card, finding, language)
    }
    assert broken == set()


def test_a_card_has_evidence_and_examples_of_both_kinds_in_both_languages():
    kinds = {(language, bad) for language in ("en", "zh") for bad in (True, False)}
    lacking = {card.name: kinds - {(one.language, one.bad) for one in card.examples} for card in cards().values()}
    assert {name: missing for name, missing in lacking.items() if missing} == {}
    assert [card.name for card in cards().values() if not card.evidence] == []


def test_each_rule_has_a_code_of_its_own_and_a_module():
    codes = [card.code for card in cards().values()]
    assert len(set(codes)) == len(codes)
    assert not set(codes) & set(SENTENCES)
    modules = {path.stem for path in RULES.glob("*.py")} - {"__init__"}
    assert modules == set(cards())
