"""The helper that judges growth sees patterns that are quadratic, and passes those that are not."""

from __future__ import annotations

import re

import pytest

from support.growth import grows_in_proportion


# The size of each makes the small text take about half a millisecond, so that no noise makes it four times as much.
@pytest.mark.parametrize(("pattern", "size"), [("a*b", 1000), (r"\w+@", 500), ("a{0,100000}b", 1000), ("a+?c", 350)])
def test_a_quadratic_pattern_is_seen(pattern: str, size: int):
    assert not grows_in_proportion(re.compile(pattern).search, lambda size: "a" * size, size)


@pytest.mark.parametrize("pattern", ["b", "a+", "(?<!a)a*b", "a{0,50}b", "(?:a|b)*"])
def test_a_pattern_in_proportion_passes(pattern: str):
    assert grows_in_proportion(re.compile(pattern).search, lambda size: "a" * size, 500)
