"""Tasks through a gateway with several workers that is killed and started again: those of a server, and its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tooltrue import Client
from tooltrue.client.tasks import TaskHandle
from tooltrue.errors import TooltrueError
from tooltrue.testing.state import LIMIT

pytestmark = [
    pytest.mark.process,
    pytest.mark.needs("local sockets"),
    pytest.mark.needs("signals"),
]

SECONDS = 3 * LIMIT
CODE = "from tooltrue.cli.main import main; main()"
PROGRAM = '''
import asyncio
import os
from pathlib import Path
from tooltrue import Server, Tasks
from tooltrue.policy.layers.confirm import Confirm

folder = Path(__file__).parent
store = f"sqlite:///{folder}/program.db"
server = Server("slow", confirm=Confirm.never(), audit=False, tasks=Tasks(store=store, poll_seconds=0.1))

async def released() -> None:
    while not (folder / "released").exists():
        await asyncio.sleep(0.05)

@server.tool(effect="read", task=True)
async def build() -> str:
    """Build for a long time, as a task of this server."""
    await released()
    return "built"

@server.tool(effect="read")
async def wait() -> str:
    """Wait for a long time."""
    with (folder / "calls").open("a") as file:
        print("called", file=file, flush=True)
    await released()
    return "waited"

server.run()
'''
KEY = "c2VhbGluZyBrZXkgb2YgdGhlIGpvdXJuZXkgISEhISE="


class Running:
    """``tooltrue gateway --workers 2`` before a program, twice: as a stateless server with tasks, and as a slow one of
    an earlier revision."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        (folder / "slow.py").write_text(PROGRAM, "utf-8")
        program = {"command": sys.executable, "args": [str(folder / "slow.py")], "cwd": str(folder)}
        servers = {"new": program, "old": {**program, "revision": "2025-11-25"}}
        (folder / "servers.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
        (folder / "tooltrue.toml").write_text('[servers.old]\ntasks = "always"\n', "utf-8")
        self._command("trust", "servers.json", "--yes").wait(SECONDS)
        self.start()

    def start(self) -> None:
        words = ("--http", f":{self.port}", "--workers", "2", "--no-confirm", "--config", "tooltrue.toml")
        self.popen = self._command("gateway", "servers.json", *words)

    def kill(self) -> None:
        """Kill the processes of the gateway and its programs, all at once."""
        os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait(SECONDS)

    def _command(self, *words: str) -> subprocess.Popen[bytes]:
        state = {"XDG_STATE_HOME": str(self.folder / "state"), "TOOLTRUE_SEALING_KEY": KEY}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", CODE, *words],
                cwd=self.folder,
                env={**os.environ, **state},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A client, once both servers are there."""
        deadline = time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(TooltrueError):
                async with Client(f"http://127.0.0.1:{self.port}/mcp") as client:
                    if {"new_build", "old_wait"} <= {tool.name for tool in await client.list_tools()}:
                        break
            is_late = self.popen.poll() is not None or time.monotonic() > deadline
            assert not is_late, (self.folder / "log").read_text("utf-8")
            await asyncio.sleep(0.2)
        async with Client(f"http://127.0.0.1:{self.port}/mcp") as client:
            yield client


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Running]:
    gateway = Running(folder)
    try:
        yield gateway
    finally:
        with contextlib.suppress(ProcessLookupError):
            gateway.kill()


async def end(task: TaskHandle[str]) -> tuple[str, str]:
    """The last status of a task, and what it says."""
    async with asyncio.timeout(SECONDS):
        statuses = [status async for status in task.updates()]
    return statuses[-1].state, json.dumps(statuses[-1].raw)


def test_tasks_outlive_the_gateway_or_say_that_their_call_may_have_taken_effect(tmp_path: Path) -> None:
    async def before(gateway: Running) -> tuple[str, str]:
        async with gateway.client() as client:
            build, wait = await client.start_task("new_build"), await client.start_task("old_wait")
            while not (tmp_path / "calls").exists():
                assert (await wait.status()).state == "working"
                assert (await build.status()).state == "working"
                await asyncio.sleep(0.05)
            return str(build.id), str(wait.id)

    async def after(gateway: Running, build: str, wait: str) -> tuple[tuple[str, str], tuple[str, str], str]:
        async with gateway.client() as client:
            (tmp_path / "released").touch()
            ends = await end(client.task(build)), await end(client.task(wait))
            return *ends, (await (await client.start_task("old_wait")).result()).text

    with running(tmp_path) as gateway:
        ids = asyncio.run(before(gateway))
        gateway.kill()
        gateway.start()
        built, interrupted, again = asyncio.run(after(gateway, *ids))
    assert built[0] == "completed"
    assert "built" in built[1]
    assert interrupted[0] == "failed"
    assert "may have taken effect" in interrupted[1]
    assert again == "waited"
    assert (tmp_path / "calls").read_text("utf-8").split() == ["called", "called"]
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")
