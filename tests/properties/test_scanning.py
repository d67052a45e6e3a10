"""What holds for the patterns of orders to a model: the words that they are sought by are always there."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.contract.scan import Pattern, patterns


@pytest.mark.parametrize("pattern", patterns(), ids=lambda one: f"{one.code} {one.needs[0]}")
@settings(suppress_health_check=[HealthCheck.filter_too_much])  # of what a \b or a look ahead rules out
@given(data=st.data())
def test_what_a_pattern_matches_has_one_of_the_words_without_which_it_is_not_tried(
    pattern: Pattern, data: st.DataObject
):
    text = re.sub(r"\s", " ", data.draw(st.from_regex(pattern.expression, fullmatch=True)))
    assert not pattern.expression.search(text) or any(word in text for word in pattern.needs)
