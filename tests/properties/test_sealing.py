"""Sealed tokens: a token opens unchanged, and only for its own purpose."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.server.sealed_tokens import BadSeal, Sealer, new_key

KEY = bytes(range(16))
LETTERS = string.ascii_letters + string.digits + "-_"
bindings = st.lists(st.text(max_size=5), max_size=3)
payloads = st.binary(max_size=40)


def sealer(now: float = 1_000.0, *keys: bytes) -> Sealer:
    return Sealer(keys or (KEY,), clock=lambda: now)


@settings(deadline=None)
@given(st.text(max_size=8), bindings, payloads)
def test_a_token_opens_to_the_sealed_payload(purpose: str, bound_to: list[str], payload: bytes):
    token = sealer().seal(purpose, bound_to, payload, 10)
    assert set(token) <= set(LETTERS)
    assert sealer().open(purpose, bound_to, token) == payload


@settings(deadline=None)
@given(payloads, st.data())
def test_a_token_with_any_letter_changed_does_not_open(payload: bytes, data: st.DataObject):
    token = sealer().seal("cursor", ("a",), payload, 10)
    index = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from(LETTERS + "+/=é\n \x00"))
    changed = token[:index] + letter + token[index + 1 :]
    if changed != token:
        with pytest.raises(BadSeal):
            sealer().open("cursor", ("a",), changed)


@settings(deadline=None)
@given(payloads, st.integers(0, 7))
def test_a_token_with_its_last_letter_changed_in_spare_bits_does_not_open(payload: bytes, bits: int):
    # The last letter of base64 may carry bits that belong to no byte; a second spelling would outlive the first's end.
    token = sealer().seal("session", (), payload, 10)
    changed = token[:-1] + LETTERS_IN_ORDER[LETTERS_IN_ORDER.index(token[-1]) ^ bits]
    if changed != token:
        with pytest.raises(BadSeal):
            sealer().open("session", (), changed)


LETTERS_IN_ORDER = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


@settings(deadline=None)
@given(payloads, st.sampled_from(["=", "==", "====", "A", "AAAA", " ", "\n"]))
def test_a_token_with_anything_added_does_not_open(payload: bytes, more: str):
    token = sealer().seal("session", (), payload, 10)
    with pytest.raises(BadSeal):
        sealer().open("session", (), token + more)


@settings(deadline=None)
@given(payloads, st.integers(1, 60))
def test_a_token_that_is_cut_does_not_open(payload: bytes, cut: int):
    token = sealer().seal("session", (), payload, 10)
    with pytest.raises(BadSeal):
        sealer().open("session", (), token[:-cut])


@settings(deadline=None)
@given(st.text(max_size=4), bindings, st.text(max_size=4), bindings)
def test_a_token_opens_for_its_own_purpose_and_binding_only(one: str, bound: list[str], two: str, other: list[str]):
    token = sealer().seal(one, bound, b"x", 10)
    if (one, bound) != (two, other):
        with pytest.raises(BadSeal):
            sealer().open(two, other, token)


@settings(deadline=None)
@given(st.integers(1, 100), st.integers(0, 200))
def test_a_token_opens_until_it_expires(seconds: int, later: int):
    token = sealer(1_000.0).seal("p", (), b"x", seconds)
    if later <= seconds:
        assert sealer(1_000.0 + later).open("p", (), token) == b"x"
    else:
        with pytest.raises(BadSeal):
            sealer(1_000.0 + later).open("p", (), token)


@settings(deadline=None)
@given(st.text(max_size=100))
def test_any_text_is_a_bad_seal(text: str):
    with pytest.raises(BadSeal):
        sealer().open("p", (), text)


def test_another_key_does_not_open_and_an_old_one_still_does():
    old, new = new_key(), new_key()
    token = sealer(0, old).seal("p", (), b"x", 10)
    assert sealer(0, new, old).open("p", (), token) == b"x"
    with pytest.raises(BadSeal):
        sealer(0, new).open("p", (), token)
