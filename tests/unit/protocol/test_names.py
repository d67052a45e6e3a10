"""Tool names."""

from __future__ import annotations

import pytest

from toolwright.protocol.names import is_name


@pytest.mark.parametrize("name", ["a", "read_file", "read-file", "files.read", "A9", "_", ".", "-", "a" * 128])
def test_what_the_specification_allows_is_a_name(name: str):
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", "a" * 129, "a b", "a/b", "a:b", "wéather", "а", "a\n", "\na", "a\x00", "<lambda>", "天气"]
)
def test_anything_else_is_none(name: str):
    assert not is_name(name)
