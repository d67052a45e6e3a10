"""A property of the prompt-injection patterns: each match contains the required words of the pattern's prefilter."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tooltrue.contract.normalization import lowered, plain
from tooltrue.contract.patterns import Pattern, patterns
from tooltrue.contract.word_sets import signs_in, words_of

SECURITY = Path(__file__).parent.parent / "security"
ORDERS = tomllib.loads((SECURITY / "orders.toml").read_text("utf-8"))
POISONED = tomllib.loads((SECURITY / "poisoned.toml").read_text("utf-8"))["text"]
TEXTS = [
    *((language, text) for language, groups in ORDERS.items() for texts in groups.values() for text in texts),
    *(("en", one["text"]) for one in POISONED),
]
READ = [(language, lowered(plain(text))) for language, text in TEXTS]
MARKED = ("es", "fr", "de", "pt", "ru", "it")  # known by words that may stand beside an order


@pytest.mark.parametrize("pattern", patterns(), ids=lambda one: f"{one.code} {one.language} {min(one.needs[0].tokens)}")
def test_a_match_of_a_pattern_always_contains_the_required_words_of_its_prefilter(pattern: Pattern):
    read = [text for language, text in READ if pattern.language in ("", language)]
    matched = [text[slice(*place)] for text in read if (place := pattern.first_in(text, [(0, len(text))]))]
    needs = pattern.needs[pattern.language in MARKED :]
    missing = [one for one in matched if any(not group.is_met(words_of(one) | signs_in(one)) for group in needs)]
    assert missing == []
