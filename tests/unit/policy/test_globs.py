"""Glob patterns for names: the names that they match, and relations between two patterns."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.policy.rules.globs import globs

patterns = st.text("ab*", max_size=5)
TEXTS = ["".join(text) for length in range(7) for text in product("abc", repeat=length)]


def takes(pattern: str, text: str) -> bool:
    """By the letter of the definition."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return takes(pattern[1:], text) or (bool(text) and takes(pattern, text[1:]))
    return text[:1] == pattern[0] and takes(pattern[1:], text[1:])


@given(patterns, st.text("abc", max_size=6))
def test_a_star_stands_for_any_text(pattern: str, text: str):
    assert globs([pattern]).match(text) == takes(pattern, text)


@given(patterns, patterns)
def test_one_pattern_covers_another_when_it_takes_all_that_the_other_takes(one: str, other: str):
    assert globs([one]).cover([other]) == all(takes(one, text) for text in TEXTS if takes(other, text))


@given(patterns, patterns)
def test_two_patterns_meet_when_a_text_fits_both(one: str, other: str):
    found = any(takes(one, text) and takes(other, text) for text in TEXTS)
    assert globs([one]).meet(other) or not found
    if len(one) + len(other) <= 6:  # so that a text that fits both is among those that were tried
        assert globs([one]).meet(other) == found


@pytest.mark.parametrize("text", ["a?b", "a[b]", "a.b", "a\nb", "a\\b", "{a}", "é"])
def test_all_else_stands_for_itself(text: str):
    assert globs([text]).match(text)
    assert not globs([text]).match(text.replace(text[1:2], "x"))
    assert globs(["*"]).match(text)


def test_a_set_of_globs_matches_the_texts_that_one_of_its_patterns_matches():
    both = globs(["a*", "*b"])
    assert [text for text in ("a", "b", "ab", "c", "") if both.match(text)] == ["a", "b", "ab"]
    assert both.cover(["a*", "xb"])
    assert not both.cover(["*"])


def test_a_long_text_takes_linear_time():
    assert not globs(["*a*a*a*a*a*a*b"]).match("a" * 100_000)
