"""What holds for the patterns of orders to a model: the words that they are sought by are always there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from toolwright.contract.orders import Pattern, patterns, tokens
from toolwright.contract.reading import folded

SECURITY = Path(__file__).parent.parent / "security"
ORDERS = tomllib.loads((SECURITY / "orders.toml").read_text("utf-8"))
HAVE = [
    (language, folded(text), tokens(text))
    for language, groups in ORDERS.items()
    for texts in groups.values()
    for text in texts
]


@pytest.mark.parametrize("pattern", patterns(), ids=lambda one: f"{one.code} {one.language} {min(one.needs[0])}")
def test_what_a_pattern_matches_has_the_words_without_which_it_is_not_tried(pattern: Pattern):
    matched = [
        (text, have)
        for language, text, have in HAVE
        if pattern.language in ("", language) and not pattern.keys and pattern.expression.search(text)
    ]
    assert [text for text, have in matched if any(group.isdisjoint(have) for group in pattern.needs)] == []
