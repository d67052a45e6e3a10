"""The helper that judges growth sees patterns that are quadratic, and passes those that are not."""

from __future__ import annotations

import re

import pytest

from growth import grows_in_proportion


@pytest.mark.parametrize("pattern", ["a*b", r"\w+@", "a{0,100000}b", "a+?c"])
def test_a_quadratic_pattern_is_seen(pattern: str):
    assert not grows_in_proportion(re.compile(pattern).search, lambda size: "a" * size, 200)


@pytest.mark.parametrize("pattern", ["b", "a+", "(?<!a)a*b", "a{0,50}b", "(?:a|b)*"])
def test_a_pattern_in_proportion_passes(pattern: str):
    assert grows_in_proportion(re.compile(pattern).search, lambda size: "a" * size, 500)
