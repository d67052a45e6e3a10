"""URLs in messages: without the user, the password, and the values of a query."""

from __future__ import annotations

import asyncio

import pytest

from tooltrue import Client
from tooltrue.errors import TransportError
from tooltrue.transport.urls import shown_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.example/mcp", "https://api.example/mcp"),
        ("https://ada:pa55@api.example:8/mcp?key=k3y&page=2&flag#part", "https://api.example:8/mcp?key=…&page=…&flag"),
        ("https://ada@[::1]/mcp", "https://[::1]/mcp"),
        ("https://ada:p@ss@api.example/", "https://api.example/"),
        ("http://ada:pa55@[::1/mcp?key=k3y", "[::1/mcp?key=…"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
def test_a_server_that_cannot_be_reached_is_named_without_its_secrets(path: str) -> None:
    async def run() -> str:
        with pytest.raises(TransportError) as lost:
            async with Client(f"http://ada:pa55word@127.0.0.1:1{path}?token=s3cret"):
                raise AssertionError("nobody listens there")
        return f"{lost.value.say('en')} {lost.value.say('zh')} {lost.value.facts}"

    text = asyncio.run(run())
    assert "127.0.0.1:1" in text
    assert [secret for secret in ("ada", "pa55word", "s3cret") if secret in text] == []
