"""Which URLs are this machine's: only there may a token go unencrypted."""

from __future__ import annotations

import pytest

from tooltrue.client.auth.metadata import is_loopback_url
from tooltrue.client.oauth import signed_in


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/mcp", "http://127.9.9.9/", "http://[::1]/mcp", "http://localhost/x"]
)
def test_loopback_is_this_machine(url: str) -> None:
    assert is_loopback_url(url)
    assert signed_in(url) is not None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.evil.example/",
        "http://127.evil.example/mcp",
        "http://localhost.evil.example/",
        "http://10.0.0.1/",
        "http:///x",
    ],
)
def test_a_name_that_begins_like_loopback_is_somebody_elses(url: str) -> None:
    assert not is_loopback_url(url)
    assert signed_in(url) is None


def test_anywhere_a_token_may_go_encrypted() -> None:
    assert signed_in("https://tools.example/mcp") is not None
