"""Challenges of servers, as they may be written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.growth import grows_in_proportion
from tooltrue.client.auth.challenge import Challenge, challenge_of

BEARER = Challenge("bearer", None, None, None)


@pytest.mark.requirement("AUTHC-03")
@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", BEARER),
        ("Bearer", BEARER),
        ("Basic realm=x", BEARER),
        ('Bearer resource_metadata="https://a.example/b"', Challenge(metadata="https://a.example/b")),
        (
            'bearer  SCOPE = "read write" , Error=invalid_token',
            Challenge(error="invalid_token", scopes=("read", "write")),
        ),
        ('Bearer scope=""', Challenge(scopes=())),
        (r'Bearer realm="a \"b\", scope=\"admin\"", scope="read"', Challenge(scopes=("read",))),
        ('Negotiate YWJj==, Basic realm="x, Bearer scope=y", Bearer scope=read', Challenge(scopes=("read",))),
        ('Bearer scope="read", DPoP algs="ES256"', Challenge("dpop", scopes=("read",))),
        ('DPoP error="use_dpop_nonce"', Challenge("dpop", error="use_dpop_nonce")),
        ('Bearer scope="read", scope="admin"', Challenge(scopes=("read",))),
        ('Bearer scope="read', BEARER),
        ('Bearer , ,, error="x"', Challenge(error="x")),
    ],
)
def test_a_challenge_is_read_as_it_is_meant(header: str, challenge: Challenge):
    assert challenge_of({"www-authenticate": header}) == challenge


@given(st.text(alphabet='Bearer ="\\,;scope\t\r\nDPoPx', max_size=200))
def test_no_header_is_too_strange(header: str):
    assert challenge_of({"www-authenticate": header}).scheme in ("bearer", "dpop")


@pytest.mark.parametrize("piece", ['Bearer a="', "a=", "a ", ",", 'a="\\', "a b="])
def test_a_header_that_is_made_to_take_long_does_not(piece: str):
    assert grows_in_proportion(challenge_of, lambda size: {"www-authenticate": piece * size}, 3_000)


def test_no_header_at_all_is_a_challenge_that_says_nothing():
    assert challenge_of({}) == BEARER
