"""The processes of a gateway with several workers: one supervisor has the programs, and nothing is left of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tooltrue._internal.platform.processes import is_alive
from tooltrue.errors import TooltrueError
from tooltrue.testing import BlockingClient
from tooltrue.testing.state import LIMIT

pytestmark = [pytest.mark.process, pytest.mark.needs("local sockets"), pytest.mark.needs("signals")]

SECONDS = 3 * LIMIT
"""For the start of all these processes on a busy machine."""

CODE = "from tooltrue.cli.main import main; main()"
COUNTING = '''
import asyncio
import os
from tooltrue import Server
from tooltrue.policy.layers.confirm import Confirm

server = Server("counting", confirm=Confirm.never())
calls = 0

@server.tool(effect="read")
def count() -> str:
    """The process, its parent, and how often it was called."""
    global calls
    calls += 1
    return f"{os.getpid()} {os.getppid()} {calls}"

@server.tool(effect="read")
async def wait() -> str:
    """Wait for ever."""
    open("waits", "w").close()
    await asyncio.Event().wait()
    return ""

server.run()
'''
STUBBORN = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("stubborn", "a") as file:
    print(os.getpid(), file=file)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        info = {"name": "stubborn", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    elif "id" in message:
        error = {"code": -32601, "message": "unknown"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
while True:
    time.sleep(1)
"""


def until(is_true: Callable[[], bool]) -> None:
    """Wait until ``is_true()``, bounded."""
    deadline = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Running:
    """``tooltrue gateway --workers 2`` before a program that counts, and one that does not end by itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        for name, text in (("counting", COUNTING), ("stubborn", STUBBORN)):
            (folder / f"{name}.py").write_text(text, "utf-8")
        self.write("counting", "stubborn")
        more = ("--http", f":{self.port}", "--workers", "2", "--no-confirm")
        self.popen = self._command("gateway", "servers.json", *more)

    def write(self, *names: str, **more: Any) -> None:
        """Have the commands approved, and then in the file of servers: no server is refused in between."""
        servers = {
            name: {"command": sys.executable, "args": [f"{name}.py"], "cwd": str(self.folder), **more} for name in names
        }
        draft = self.folder / "draft.json"
        draft.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        self._command("trust", "draft.json", "--yes").wait(LIMIT)
        draft.replace(self.folder / "servers.json")

    def _command(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", CODE, *words],
                cwd=self.folder,
                env={**os.environ, "XDG_STATE_HOME": str(self.folder / "state")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def call(self, tool: str) -> tuple[bool, str]:
        """Call a tool over a connection of its own: whether it failed, and the text."""
        with BlockingClient(f"http://127.0.0.1:{self.port}/mcp") as client:
            result = client.call(tool)
            return result.is_error, result.text

    def count(self) -> tuple[int, int, int]:
        """The process of the program, its parent, and its count."""
        failed, text = self.call("counting_count")
        assert not failed, text
        process, parent, calls = map(int, text.split())
        return process, parent, calls

    def counts(self) -> bool:
        with contextlib.suppress(TooltrueError, AssertionError):
            return bool(self.count())
        return False

    def stubborn(self) -> set[int]:
        return set(map(int, (self.folder / "stubborn").read_text("utf-8").split()))

    def all(self) -> set[int]:
        """The processes of the gateway now."""
        return {one.pid for one in psutil.Process(self.popen.pid).children(recursive=True)}

    def workers(self, supervisor: int) -> set[int]:
        """The children of the command that serve."""
        workers: set[int] = set()
        for child in psutil.Process(self.popen.pid).children():
            with contextlib.suppress(psutil.Error):  # it has ended
                if "spawn_main" in " ".join(child.cmdline()):
                    workers.add(child.pid)
        return workers - {supervisor}


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Running]:
    gateway = Running(folder)
    try:
        until(gateway.counts)
        yield gateway
    finally:
        gateway.popen.kill()
        gateway.popen.wait(LIMIT)


def gone(processes: set[int]) -> bool:
    return not any(map(is_alive, processes))


def test_programs_belong_to_the_supervisor_and_end_with_the_gateway(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        program, supervisor, first = gateway.count()
        assert [gateway.count() for _ in range(10)] == [(program, supervisor, first + more) for more in range(1, 11)]
        assert len(psutil.Process(supervisor).children()) == 3  # the definitions of both programs, and a caller of one

        workers = gateway.workers(supervisor)
        assert len(workers) == 2
        os.kill(min(workers), signal.SIGKILL)
        until(lambda: len(gateway.workers(supervisor) - {min(workers)}) == 2)
        until(gateway.counts)
        assert gateway.count()[:2] == (program, supervisor)

        answers: list[tuple[bool, str]] = []
        waiting = threading.Thread(target=lambda: answers.append(gateway.call("counting_wait")))
        waiting.start()
        until((tmp_path / "waits").exists)
        before = gateway.stubborn() | {program, supervisor}
        os.kill(supervisor, signal.SIGKILL)
        waiting.join(LIMIT)
        ((failed, text),) = answers
        assert failed
        assert "the process that holds the server counting has ended" in text
        until(gateway.counts)
        assert gone(before)
        assert gateway.count()[1] not in (supervisor, gateway.popen.pid)

        every = gateway.all() | gateway.stubborn()
        gateway.popen.send_signal(signal.SIGTERM)
        assert gateway.popen.wait(LIMIT) == 0
        assert gone(every)
    log = (tmp_path / "log").read_text("utf-8")
    assert "TT9346" in log
    assert "Traceback" not in log


def test_a_killed_worker_loses_its_running_call_and_nothing_else(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        program, supervisor, first = gateway.count()
        lost: list[TooltrueError] = []

        def wait() -> None:
            try:
                gateway.call("counting_wait")
            except TooltrueError as error:
                lost.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        until((tmp_path / "waits").exists)
        workers = gateway.workers(supervisor)
        for worker in workers:  # one of them has the call
            os.kill(worker, signal.SIGKILL)
        waiting.join(LIMIT)
        assert len(lost) == 1
        until(lambda: len(gateway.workers(supervisor) - workers) == 2)
        until(gateway.counts)
        process, parent, calls = gateway.count()
        assert (process, parent) == (program, supervisor)
        assert calls > first  # the program has its memory
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


def test_a_changed_file_exchanges_programs_at_all_workers(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        process, supervisor, _ = gateway.count()
        workers, stubborn = gateway.workers(supervisor), gateway.stubborn()
        (tmp_path / "servers.json").write_text('{"mcpServers": {"counting": {"comand": "x"}}}', "utf-8")
        until(lambda: (tmp_path / "log").read_text("utf-8").count("TT4830") >= len(workers))
        assert gateway.count()[:2] == (process, supervisor)

        gateway.write("counting", env={"ANOTHER": "1"})
        until(lambda: gateway.counts() and gateway.count()[0] != process)
        changed = gateway.count()[0]
        until(lambda: gone(stubborn | {process}))
        assert {gateway.count()[0] for _ in range(10)} == {changed}
        assert (gateway.workers(supervisor), gateway.count()[1]) == (workers, supervisor)
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


def test_no_process_is_left_of_a_gateway_that_is_killed(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        every = gateway.all() | gateway.stubborn()
        gateway.popen.kill()
        gateway.popen.wait(LIMIT)
        until(lambda: gone(every))
