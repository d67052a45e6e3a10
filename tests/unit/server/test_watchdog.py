"""An async function that blocks the event loop is found; one that only takes long is not."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolwright import Client, Server
from toolwright.server.watchdog import Watchdog
from toolwright.testing.state import LIMIT

SHORT = 0.01
LONG = 0.25
"""More than a busy machine lets the loop wait for a thread to start."""


@pytest.fixture
def barked(caplog: pytest.LogCaptureFixture) -> threading.Event:
    """Set once the watchdog has something to say."""
    heard = threading.Event()

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "TW4104" in record.getMessage():
                heard.set()

    caplog.handler.addFilter(lambda record: Ear().emit(record) is None)
    return heard


def watched(server: Server, ask: Callable[[Client], Any], blocked: float = SHORT) -> None:
    async def main() -> None:
        async with asyncio.timeout(LIMIT), Watchdog(blocked), Client(server) as client:
            await ask(client)

    asyncio.run(main())


def test_a_tool_that_blocks_the_loop_is_named_with_the_line(
    barked: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("t")

    @server.tool
    async def blocks() -> str:
        return str(barked.wait(LIMIT))

    watched(server, lambda client: client.call_tool("blocks", {}))
    [said] = [message for message in caplog.messages if "TW4104" in message]
    assert "the tool blocks" in said
    assert "threading.py, line" in said


def test_a_resource_that_blocks_the_loop_is_named_too(
    barked: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("t")

    @server.resource("docs://slow")
    async def slow() -> str:
        return str(barked.wait(LIMIT))

    watched(server, lambda client: client.read_resource("docs://slow"))
    assert "the resource docs://slow" in caplog.text


def test_a_tool_that_waits_or_works_on_a_thread_blocks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("t")

    @server.tool
    async def waits() -> str:
        for _ in range(20):
            await asyncio.to_thread(threading.Event().wait, LONG / 10)
        return ""

    @server.tool
    def works() -> str:
        threading.Event().wait(LONG * 2)
        return ""

    async def both(client: Client) -> None:
        await asyncio.gather(client.call_tool("waits", {}), client.call_tool("works", {}))

    watched(server, both, LONG)
    assert "TW4104" not in caplog.text


def test_the_watchdog_ends_with_the_server() -> None:
    watched(Server("t"), lambda client: client.ping())
    for thread in threading.enumerate():
        if thread.name == "toolwright-watchdog":
            thread.join(LIMIT)
            assert not thread.is_alive()
