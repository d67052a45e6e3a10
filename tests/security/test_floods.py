"""Servers that send more than anybody can read, over stdio: a hundred thousand reports of progress, an array of answers
that cannot be decoded."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tooltrue import Client
from tooltrue.cli.terminal_host import TYPED
from tooltrue.errors import InvalidAnswer
from tooltrue.host.host import Host
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = """
import json, sys

def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")

COUNT, WHAT = int(sys.argv[1]), sys.argv[2]
for line in sys.stdin:
    message = json.loads(line)
    id, params = message.get("id"), message.get("params", {})
    match message["method"]:
        case _ if id is None:
            continue
        case "initialize":
            info = {"name": "x", "version": "1"}
            said = {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": info}
            say(id=id, result=said)
        case "tools/list":
            say(id=id, result={"tools": [{"name": "go", "inputSchema": {"type": "object"}}]})
        case "tools/call" if WHAT == "batch":
            good = json.dumps({"jsonrpc": "2.0", "id": -1, "result": {}})
            deep = "[" * COUNT + "]" * COUNT
            sys.stdout.write('[%s,{"jsonrpc":"2.0","id":%d,"result":{"content":%s}}]\\n' % (good, id, deep))
        case "tools/call":
            token = params.get("_meta", {}).get("progressToken")
            for number in range(1, COUNT + 1):
                report = {"progress": number, "total": COUNT, "message": WHAT * 5000 if number == COUNT else WHAT}
                say(method="notifications/progress", params={"progressToken": token, **report})
            say(id=id, result={"content": [{"type": "text", "text": "done"}]})
        case _:
            say(id=id, error={"code": -32601, "message": "no"})
    sys.stdout.flush()
"""


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    file = tmp_path / "flood.py"
    file.write_text(SERVER)
    return [sys.executable, str(file)]


@pytest.mark.attack("B37")
@pytest.mark.parametrize("is_hosted", [False, True], ids=["client", "host"])
def test_b37_a_hundred_thousand_reports_of_progress_are_few_and_the_newest_is_told(server: list[str], is_hosted: bool):
    told: list[Any] = []

    def hear(*report: Any) -> None:
        told.append(report)

    async def main() -> str:
        argv = [*server, "100000", "w"]
        async with asyncio.timeout(LIMIT):
            if is_hosted:
                async with Host({"x": argv}, audit=False, **TYPED) as host:
                    return (await host.call_tool("x_go", progress=hear)).text
            async with Client(argv) as client:
                return (await client.call_tool("go", progress=hear)).text

    assert asyncio.run(main()) == "done"
    assert 100 <= len(told) <= 100 + 20 * LIMIT
    assert told[:2] == [(1, 100_000, "w"), (2, 100_000, "w")]
    assert told[-1] == (100_000, 100_000, "w" * 2_000)


@pytest.mark.twin("B37")
def test_b37_twin_fifty_reports_are_all_told(server: list[str]):
    told: list[Any] = []

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client([*server, "50", "w"]) as client:
            await client.call_tool("go", progress=lambda number, total, message: told.append(number))

    asyncio.run(main())
    assert told == list(range(1, 51))


@pytest.mark.parametrize("depth", [101, 100_000])
def test_an_array_of_answers_that_nests_too_deep_ends_the_call_at_once(server: list[str], depth: int):
    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client([*server, str(depth), "batch"], timeout=3_600) as client:
            with pytest.raises(InvalidAnswer, match="100 levels"):
                await client.call_tool("go")

    asyncio.run(main())
