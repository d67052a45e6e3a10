"""A server with one tool, and a call of it at each door: over HTTP with and without a session, and through a pipe."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Endpoint, in_session, modern
from tooltrue import Server

__all__ = ["DOORS", "Disk", "answers", "in_place"]

DOORS = ["stateless HTTP", "a session", "a pipe"]


class Disk:
    """A server with one tool, and the arguments with which that has run."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.server = Server("disk")
        self.server.add_tool(self.save, name="save", effect="write")

    async def save(self, path: str, data: list[Any] | None = None) -> str:
        """Saves a file."""
        self.ran.append((path, data))
        return path


def in_place(body: str, door: str) -> bytes:
    """The body with the facts that a request has at this door; surrogates stand for bytes that are no UTF-8."""
    facts = {} if door == "a session" else ENVELOPE
    return body.replace("META", json.dumps(facts)).encode(errors="surrogateescape")


async def over_http(mounts: Mounts, path: str, body: bytes, door: str) -> Any:
    endpoint = Endpoint(mounts.port, path)
    if door == "a session":
        headers = in_session(await endpoint.initialize())
    else:
        headers = modern("tools/call", {"name": "save"})[1]
    return (await endpoint.ask("POST", body, (*JSON, *headers))).json


async def over_a_pipe(server: Server, body: bytes) -> Any:
    answered: asyncio.Queue[Any] = asyncio.Queue()
    session = server.connect(lambda frame: answered.put_nowait(json.loads(frame)))
    try:
        session.feed(body)
        async with asyncio.timeout(30):
            return await answered.get()
    finally:
        await session.close()


def answers(mounts: Mounts, server: Server, door: str, named: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The answer to each of these bodies, by its name. ``META`` in them stands for the facts of a request."""

    async def main(path: str) -> dict[str, Any]:
        sent = {name: in_place(body, door) for name, body in named}
        if door == "a pipe":
            return {name: await over_a_pipe(server, body) for name, body in sent.items()}
        return {name: await over_http(mounts, path, body, door) for name, body in sent.items()}

    with mounts.mounted(server.http_app()) as path:
        return asyncio.run(main(path))
