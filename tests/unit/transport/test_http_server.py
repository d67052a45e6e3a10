"""What only an application that is called directly can show: bodies that are slow to come, or never do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from toolwright.policy.pipeline import Limits, standard
from toolwright.protocol.types import Implementation
from toolwright.server.sealing import Sealer, new_key
from toolwright.server.served import Served
from toolwright.server.server import ProtocolServer
from toolwright.state.facts import MemoryFacts
from toolwright.tools.local import LocalToolset
from toolwright.transport.http_server import Access, HttpApp, Stream

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/mcp",
    "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"10")],
    "client": ("127.0.0.1", 1),
}


PROVIDER = standard(LocalToolset(), limits=Limits())
SERVED = Served(Implementation(name="t", version="1"), PROVIDER, Sealer([new_key()]), MemoryFacts())
ENDPOINT = ProtocolServer(SERVED).http()


async def answers(events: list[Mapping[str, Any]], **limits: Any) -> list[Mapping[str, Any]]:
    """What the application sends when ``events`` come, and then nothing more."""
    sent: list[Mapping[str, Any]] = []
    more = iter(events)

    async def receive() -> Any:
        for event in more:
            return event
        return await asyncio.Event().wait()

    async def send(event: Any) -> None:
        sent.append(event)

    await HttpApp(ENDPOINT, Access(), **limits)(SCOPE, receive, send)
    return sent


def part(data: bytes, more: bool = True) -> Mapping[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def test_b54_a_body_that_never_comes_is_given_up():
    sent = asyncio.run(answers([], body_seconds=0.01))
    assert sent[0]["status"] == 408


def test_b54_a_body_that_stops_in_the_middle_is_given_up():
    sent = asyncio.run(answers([part(b"{")], body_seconds=0.01))
    assert sent[0]["status"] == 408


def test_b54_twin_a_body_in_many_parts_is_read():
    sent = asyncio.run(answers([part(b"{"), part(b"}", more=False)], body_seconds=10))
    assert sent[0]["status"] == 400
    assert b"TW1002" in sent[1]["body"]


def test_a_body_that_grows_beyond_the_limit_is_refused_as_it_comes():
    sent = asyncio.run(answers([part(b"x" * 8), part(b"x" * 8)], max_body=10))
    assert sent[0]["status"] == 413


def test_a_client_that_goes_away_in_the_middle_of_its_body_gets_no_answer():
    assert asyncio.run(answers([part(b"{"), {"type": "http.disconnect"}])) == []


@pytest.mark.requirement("HTTP-22")
def test_a_stream_that_was_abandoned_never_begins():
    async def main() -> list[Any]:
        sent: list[Any] = []

        async def send(event: Any) -> None:
            sent.append(event)

        stream = Stream(send)
        stream.abandon()
        stream.notify("notifications/progress", {})
        stream.open()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return sent

    assert asyncio.run(main()) == []
