"""One request on the wire of one protocol revision, to a server in memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tooltrue import Server
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT

__all__ = ["REVISIONS", "exchange"]

REVISIONS = (versions.LATEST, versions.NEWEST_LEGACY)
"""The newest revision of both generations."""


async def exchange(server: Server, revision: str, method: str, params: Any) -> Any:
    """Return the result of a request, or its error, by a client of that revision."""
    answers: asyncio.Queue[Any] = asyncio.Queue()
    session = server.connect(lambda frame: answers.put_nowait(json.loads(frame)))

    async def ask(method: str, params: Any) -> Any:
        session.feed(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        return await asyncio.wait_for(answers.get(), LIMIT)

    if revision in versions.MODERN:
        params = {**params, "_meta": {modern.VERSION: revision, modern.CAPABILITIES: {}}}
    else:
        client = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        await ask("initialize", {"protocolVersion": revision, **client})
        session.feed(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    answer = await ask(method, params)
    await session.close()
    return answer.get("result", answer.get("error"))
