"""Sealed tokens: the cases that the property tests do not cover."""

from __future__ import annotations

import pytest

from tooltrue.server.sealed_tokens import BadSeal, Sealer, new_key


@pytest.mark.requirement("SEC-18")
def test_two_tokens_of_the_same_are_two_so_that_ending_one_does_not_end_the_other():
    sealer = Sealer((new_key(),), clock=lambda: 1_000.0)
    assert sealer.seal("session", ("local:http",), b"x", 10) != sealer.seal("session", ("local:http",), b"x", 10)


def test_a_token_is_safe_in_a_url_and_in_a_header():
    sealer = Sealer((new_key(),))
    for size in range(40):
        token = sealer.seal("cursor", (), bytes(range(size)), 10)
        assert token.isascii()
        assert token.replace("-", "").replace("_", "").isalnum()


def test_keys_are_never_the_same_twice():
    assert new_key() != new_key()
    assert len(new_key()) >= 16


def test_parts_of_a_binding_cannot_be_moved_over_their_border():
    sealer = Sealer((new_key(),))
    token = sealer.seal("p", ("a", "bc"), b"x", 10)
    for purpose, bound_to in (("p", ("ab", "c")), ("pa", ("bc",)), ("p", ("a", "bc", ""))):
        with pytest.raises(BadSeal):
            sealer.open(purpose, bound_to, token)


def test_a_lone_surrogate_in_a_binding_is_no_crash():
    sealer = Sealer((new_key(),))
    assert sealer.open("p", ("\ud800",), sealer.seal("p", ("\ud800",), b"x", 10)) == b"x"
