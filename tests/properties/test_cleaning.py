"""Sanitized text has no hidden characters, sanitizing is idempotent, and the prescan misses no case, for any text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.sanitize.byte_classes import classes_of
from tooltrue.policy.sanitize.prescan import PrescanResult, prescan
from tooltrue.policy.sanitize.redactor import Redactor
from tooltrue.policy.sanitize.secrets import SHORTEST, suspects
from tooltrue.policy.sanitize.truncate import cut_text, cuts
from tooltrue.protocol.characters import cleaned, may_hide

# Letters of scripts that join, emoji, and all that hides, so that they come to stand beside each other.
SIGNS = st.sampled_from(
    "a1#\u20e3 \n\x1b[]8m;\x07\\\x9b\x9c\x00\x85\xad\u200b\u200c\u200d\u200e\u202e\u2066\ufe0f\ufe0e\ufeff\u0645\u05d0"
    "\u0915\u094d\u4e00\U000e0100\U000e0067\U000e0062\U000e007f\U0001f3f4\U0001f468\u2764\U0001f3fd\u180b\u1820\u3164\ufff9"
)
TEXT = st.lists(st.one_of(SIGNS, st.characters(exclude_categories=["Cs"])), max_size=30).map("".join)
JSON = st.recursive(
    st.one_of(TEXT, st.integers(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
ALL = PrescanResult(hidden=True)


@given(TEXT)
def test_cleaning_twice_is_cleaning_once(text: str):
    once = cleaned(text, {})
    found: dict[str, int] = {}
    assert cleaned(once, found) == once
    assert found == {}


@given(JSON)
def test_a_look_at_the_bytes_misses_nothing_that_a_walk_would_find(value: Any):
    if not prescan(encode(value), secrets=True):
        sweep = Redactor(ALL)
        assert sweep.value(value) is value
        assert sweep.note(None) is None


WORDS = [
    "ghp_",
    "AKIA",
    "sk-",
    "a" * 12,
    "://u:p",
    "pw=",
    "password: ",
    "Xy1",
    "67 68 70 ",
    "@",
    "%",
    "\\n",
    ".",
    " ",
    "é",
]


@given(st.lists(st.sampled_from(WORDS)))
def test_the_prescan_passes_only_text_that_the_full_scan_finds_clean(parts: list[str]):
    data = "".join(parts).encode()
    if not prescan(data, secrets=True):
        assert len(data) < SHORTEST or suspects(data, classes_of(data)) == ()  # no secret is shorter
        assert not may_hide(data.decode())


@given(TEXT, st.integers(0, 60))
def test_a_cut_text_is_the_beginning_of_it_and_no_longer(text: str, room: int):
    kept = cut_text(text, room)
    assert text.startswith(kept)
    assert len(kept.encode()) <= room


@given(JSON, st.integers(10, 80))
def test_a_cut_value_is_no_larger_and_keeps_its_type(value: Any, room: int):
    for cut in cuts(value, None, room):
        assert type(cut.value) is type(value)
        assert len(encode(cut.value)) <= max(len(encode(value)), room) + len(encode(" […]"))
