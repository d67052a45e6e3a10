"""A structured result is the same on the wire, whether its JSON was written at once or by way of Python values."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Literal

import pydantic
import pytest

from tooltrue import Server
from tooltrue.testing.state import LIMIT
from tooltrue.tools.binding import return_values

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
LEGACY = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
KEY = "sk-ant-api03-" + "a1B2c3D4e5" * 9


class Row(pydantic.BaseModel):
    name: str
    kind: Literal["a", "b"] = "a"
    share: float = 0.5
    count: int = 0


class Table(pydantic.BaseModel):
    rows: list[Row]


ROWS = {
    "plain": [Row(name='a "word"', count=3), Row(name="ü", kind="b")],
    "nothing": [],
    "a secret": [Row(name=f"key {KEY}")],
    "hidden characters": [Row(name="a\u200b\u202eb")],
    "too large": [Row(name=f"row {number}") for number in range(200)],
    "the word null": [Row(name="null")],
    "a float of the other form": [Row(name="x", share=1e300)],
    "a missing member": [Row.model_construct(kind="a")],
    "no number": [Row(name="x", share=float("nan"))],
    "another kind": [Row.model_construct(name="x", kind="c")],
    "a wrong type": [Row.model_construct(name=1)],
}


async def answer(server: Server, revision: str) -> bytes:
    """The answer to a call of `read`, on the wire of a revision."""
    answers: asyncio.Queue[bytes] = asyncio.Queue()
    session = server.connect(answers.put_nowait)

    async def ask(method: str, params: Any) -> bytes:
        session.feed(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        return await answers.get()

    async with asyncio.timeout(LIMIT):
        params: dict[str, Any] = {"name": "read", "arguments": {}}
        if revision == "2026-07-28":
            params["_meta"] = MODERN
        else:
            await ask("initialize", {"protocolVersion": revision, **LEGACY})
            session.feed(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        got = await ask("tools/call", params)
        await session.close()
    return got


def comparable(answer: bytes, log: pytest.LogCaptureFixture) -> tuple[str, list[str]]:
    """An answer and the log behind it, without what is random: the name of a stored result, and that of an error."""
    messages = [record.getMessage() for record in log.records]
    log.clear()
    first, *rest = (re.sub(r"kept:[\w/-]+|error [0-9a-f]{8}", "", text) for text in (answer.decode(), *messages))
    return first, rest


def serving(rows: list[Row]) -> Server:
    server = Server("shop", version="1", keys=[b"k" * 32])

    @server.tool(effect="read", max_bytes=4_000)
    def read() -> Table:
        """Read the table."""
        return Table.model_construct(rows=rows)

    return server


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25", "2024-11-05"])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_json_written_at_once_is_answered_like_python_values(
    rows: list[Row], revision: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at_once = comparable(asyncio.run(answer(serving(rows), revision)), caplog)
    monkeypatch.setattr(return_values, "direct_writer", lambda adapter: None)
    assert at_once == comparable(asyncio.run(answer(serving(rows), revision)), caplog)
