"""The processes of an HTTP server on each system: served, replaced, ended in order, and gone with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tooltrue.errors import TooltrueError
from tooltrue.testing import BlockingClient
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = """
import os
from tooltrue import Server
server = Server("mine", version="1")

@server.tool(effect="read")
def process() -> int:
    \"\"\"The process that answers.\"\"\"
    return os.getpid()

@server.tool(effect="write")
def crash() -> None:
    \"\"\"End the process at once.\"\"\"
    os._exit(9)
"""
CODE = "from tooltrue.cli.main import main; main()"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def is_served(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def until(is_true: object) -> None:
    """Wait until ``is_true()``, bounded."""
    deadline = time.monotonic() + LIMIT
    while not (callable(is_true) and is_true()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Running:
    """``tooltrue serve --http`` in a group of its own."""

    def __init__(self, folder: Path, workers: int) -> None:
        (folder / "mine.py").write_text(SERVER, "utf-8")
        self.port = free_port()
        self.log = folder / "log"
        options = {"start_new_session": True, "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-c", CODE, "serve", "mine.py", "--http", f":{self.port}", "--workers", str(workers)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                **options,
            )

    def call(self, tool: str) -> object:
        with BlockingClient(f"http://127.0.0.1:{self.port}/mcp") as client:
            return client.call(tool).value

    def answers(self) -> bool:
        with contextlib.suppress(TooltrueError):
            return isinstance(self.call("process"), int)
        return False

    def stop(self) -> int:
        """Ask the server to end, as the system does it; its exit code."""
        self.popen.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))
        return self.popen.wait(LIMIT)


@contextlib.contextmanager
def running(folder: Path, workers: int) -> Iterator[Running]:
    server = Running(folder, workers)
    try:
        until(server.answers)
        yield server
    finally:
        server.popen.kill()
        server.popen.wait(LIMIT)
        until(lambda: not is_served(server.port))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_is_stopped_ends_in_order_with_its_workers(tmp_path: Path, workers: int) -> None:
    with running(tmp_path, workers) as server:
        assert server.stop() == 0
        assert not is_served(server.port)
    assert "Traceback" not in server.log.read_text("utf-8")


def test_each_worker_serves(tmp_path: Path) -> None:
    with running(tmp_path, 2) as server:
        processes: set[object] = set()
        until(lambda: processes.add(server.call("process")) or len(processes) == 2)
        assert os.getpid() not in processes
        assert server.popen.pid not in processes


def test_a_worker_that_has_ended_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, 2) as server:
        first: set[object] = set()
        until(lambda: first.add(server.call("process")) or len(first) == 2)
        with contextlib.suppress(TooltrueError):
            server.call("crash")
        later: set[object] = set()

        def is_replaced() -> bool:
            with contextlib.suppress(TooltrueError):
                later.add(server.call("process"))
            return bool(later - first)

        until(is_replaced)


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, 2) as server:
        server.popen.kill()
        until(lambda: not is_served(server.port))
