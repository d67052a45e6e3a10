"""A server is built once, at its first use: tools may come and go afterwards, settings may not."""

from __future__ import annotations

import asyncio

import pytest

from tooltrue import Client, ConfigurationError, Confirm, Server
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.state.facts import MemoryFacts


def shop() -> Server:
    server = Server("shop", audit=False)

    @server.tool(effect="read")
    def price(item: str) -> int:
        """Return the price of an item, in cents."""
        return len(item)

    return server


async def used() -> Server:
    server = shop()
    async with Client(server) as client:
        assert (await client.call_tool("price", item="tea")).value == 3
    return server


def test_a_setting_that_comes_after_the_first_use_is_refused():
    server = asyncio.run(used())
    for change in (
        lambda: server.use_auth(AuthSettings()),
        lambda: server.share(keys=[bytes(32)], facts=MemoryFacts()),
        lambda: server.started_as("shop.py"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            change()
        assert caught.value.code == "TT4038"


def test_a_tool_that_comes_after_the_first_use_is_served():
    async def main() -> int:
        server = await used()
        server.add_tool(len_of, effect="read")
        async with Client(server) as client:
            return (await client.call_tool("len_of", text="four")).value

    def len_of(text: str) -> int:
        """Return the length of a text, in characters."""
        return len(text)

    assert asyncio.run(main()) == 4


def test_a_server_that_was_used_in_memory_is_served_over_http_too():
    server = asyncio.run(used())
    server.http_app()
    server.http_app()
    assert server.settings.started == ""


def test_other_settings_make_another_server_and_leave_the_first_as_it_is():
    server = asyncio.run(used())
    other = server.with_guard(confirm=Confirm.never())
    other.started_as("shop.py")
    assert (server.settings.started, other.settings.started) == ("", "shop.py")
    assert server.settings.confirm != other.settings.confirm
