"""Paged lists over HTTP: the cursor alone holds the state for the next page."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint
from tooltrue import Server

KEY, OTHER_KEY = b"0123456789abcdef", b"fedcba9876543210"


def server(key: bytes) -> Server:
    made = Server("parts", keys=[key], page_size=1)
    made.add_tool(servers.add)
    made.add_tool(servers.greet)
    return made


def second_part(mounts: Mounts, first_key: bytes, second_key: bytes) -> Answer:
    """The answer of the second server to a cursor of the first. Each request has a connection of its own."""

    async def scenario(one: Endpoint, other: Endpoint) -> Answer:
        listed = await one.modern("tools/list")
        return await other.modern("tools/list", {"cursor": listed.json["result"]["nextCursor"]})

    with (
        mounts.mounted(server(first_key).http_app()) as first,
        mounts.mounted(server(second_key).http_app()) as second,
    ):
        return asyncio.run(scenario(Endpoint(mounts.port, first), Endpoint(mounts.port, second)))


@pytest.mark.requirement("STATE-03", "STATE-05", "STATE-06")
def test_a_cursor_outlives_connection_and_process_where_the_key_does(mounts: Mounts) -> None:
    result: Any = second_part(mounts, KEY, KEY).json["result"]
    assert [tool["name"] for tool in result["tools"]] == ["greet"]
    assert "nextCursor" not in result


def test_a_cursor_of_another_key_is_none(mounts: Mounts) -> None:
    assert second_part(mounts, KEY, OTHER_KEY).code == -32602
