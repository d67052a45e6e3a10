"""Endless answers: a client gives up at its size limit, for every form of answer."""

from __future__ import annotations

import asyncio

import pytest

from support.website import Said, running
from tooltrue import Client
from tooltrue.errors import TooltrueError
from tooltrue.testing.state import LIMIT

ENDLESS = {
    "a body": ("application/json", b"[" * 262_144),
    "a line of a stream": ("text/event-stream", b"data: " + b"x" * 262_144),
    "lines of one event": ("text/event-stream", (b"data: " + b"x" * 8_192 + b"\n") * 32),
}


@pytest.mark.attack("B13")
@pytest.mark.parametrize("kind", ENDLESS)
def test_b13_an_answer_over_http_that_never_ends_is_given_up_at_the_cap(kind: str):
    content_type, body = ENDLESS[kind]

    async def main(url: str) -> None:
        async with asyncio.timeout(LIMIT), Client(url):
            raise AssertionError("it is no server")

    with (
        running(lambda asked: Said(200, body, (("content-type", content_type),), endless=True)) as site,
        pytest.raises(TooltrueError),
    ):
        asyncio.run(main(f"{site.url}/mcp"))
