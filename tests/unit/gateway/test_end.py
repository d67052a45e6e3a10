"""The end of a gateway: all of its servers end at the same time, and those that do not are ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.gateway_callers import Caller
from tooltrue import Client
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.testing.state import LIMIT
from unit.gateway.test_callers import Session, SessionServer

LABELS = ("one", "two")
NAMES = ("ada", "bob")


class SlowSession(Session):
    """A session that ends when all others do."""

    def __init__(self, write: Callable[[bytes], None], server: SessionServer, all_end: asyncio.Barrier) -> None:
        super().__init__(write, server)
        self._all_end = all_end

    async def close(self) -> None:
        await self._all_end.wait()
        await super().close()


class SlowServer(SessionServer):
    def __init__(self, all_end: asyncio.Barrier) -> None:
        super().__init__()
        self._all_end = all_end

    def connect(self, write: Callable[[bytes], None]) -> Session:
        self.sessions.append(SlowSession(write, self, self._all_end))
        return self.sessions[-1]


def test_the_connections_of_all_callers_to_all_servers_end_at_the_same_time() -> None:
    async def run() -> list[int]:
        all_end = asyncio.Barrier(len(LABELS) * (1 + len(NAMES)))  # each server has one for its definitions too
        servers = {label: SlowServer(all_end) for label in LABELS}
        configs = {
            label: ServerConfig(label, label, target=server, revision="2025-11-25") for label, server in servers.items()
        }
        operator = read_operator_config("tooltrue.toml", f"[limits]\nlifespan_seconds = {LIMIT}\n")
        gateway = Gateway(configs, operator=operator, confirm=Confirm.never())
        async with AsyncExitStack() as stack:
            for name in NAMES:
                client = await stack.enter_async_context(Client(Caller(gateway, name)))
                for label in LABELS:
                    assert not (await client.call_tool(f"{label}_tell", text=name)).is_error
        return [server.open for server in servers.values()]

    assert asyncio.run(asyncio.wait_for(run(), LIMIT)) == [0, 0]


# A session-based server that does not end with its input, and leaves a file when it is terminated.
PROGRAM = """
import json, os, signal, sys

def end(*_):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    os._exit(0)

signal.signal(signal.SIGTERM, end)
tool = {"name": "tell", "description": "Tell.", "inputSchema": {"type": "object"}}
results = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "patient", "version": "1"},
    },
    "tools/list": {"tools": [tool]},
    "tools/call": {"content": [{"type": "text", "text": "told"}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}), flush=True)
while True:
    signal.pause()
"""


@pytest.mark.process
@pytest.mark.needs("signals")
def test_a_program_that_goes_on_is_terminated_within_the_time_for_the_end(tmp_path: Path) -> None:
    (tmp_path / "patient.py").write_text(PROGRAM, "utf-8")
    ended = tmp_path / "ended"
    ended.mkdir()
    one = ServerConfig(
        "up", "up", sys.executable, (str(tmp_path / "patient.py"), str(ended)), revision="2025-11-25", seconds=LIMIT
    )

    async def run() -> None:
        operator = read_operator_config("tooltrue.toml", "[limits]\nlifespan_seconds = 2\n")
        gateway = Gateway({"up": one}, operator=operator, confirm=Confirm.never(), approve_launch=lambda launch: True)
        async with Client(Caller(gateway, "ada")) as ada:
            assert (await ada.call_tool("up_tell")).text == "told"

    asyncio.run(asyncio.wait_for(run(), LIMIT))
    assert len(list(ended.iterdir())) == 2  # the program of the definitions, and that of the caller
