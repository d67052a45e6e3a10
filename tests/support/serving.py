"""Servers in separate processes, and the exchange of messages with them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import psutil

from support.reading import read_soon
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT

SERVER = Path(__file__).parents[1] / "journeys" / "server.py"
META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}}


def command(*arguments: str) -> list[str]:
    """The command line of ``tooltrue`` with these arguments, independent of ``PATH``."""
    code = "from tooltrue.cli.main import main; main()"
    # uvicorn leaves its listening socket to the end of the process.
    return [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", code, *arguments]


def environment(**more: str) -> dict[str, str]:
    names = ("PATH", "HOME", "XDG_STATE_HOME", "SYSTEMROOT", "USERPROFILE")  # no program starts without the fourth
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {"HOME": "/", **kept, "LC_ALL": "C.UTF-8", **more}


def left_of(processes: Sequence[int]) -> list[int]:
    """Those that live on; one that has been killed may take a moment to die."""
    deadline = time.monotonic() + LIMIT
    while (alive := [process for process in processes if is_alive(process)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return alive


def is_alive(process: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    return False


def started_by(process: int) -> list[int]:
    """The processes that this one has started, directly or indirectly, and that live on."""
    return [one.pid for one in psutil.Process(process).children(recursive=True) if is_alive(one.pid)]


OWN_GROUP: dict[str, Any] = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
"""Options of a process that :func:`ask_to_end` is to reach alone."""


_BREAK: int | None = getattr(signal, "CTRL_BREAK_EVENT", None)

STOPS: tuple[int, ...] = (signal.SIGTERM, signal.SIGINT) if _BREAK is None else (_BREAK,)
"""Signals by which a process ends in order. On Windows it is Ctrl-Break alone, which goes to its whole group: every
other signal ends a process at once."""


def ask_to_end(popen: subprocess.Popen[Any]) -> None:
    """Ask a process that was started with :data:`OWN_GROUP` to end in order."""
    popen.send_signal(STOPS[0])


class Process:
    """A server's process with pipes at all three ends; ``read`` and ``errors`` wait for a line, bounded."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.popen = popen
        self._kept: dict[int, bytes] = {}

    @property
    def pid(self) -> int:
        return self.popen.pid

    def _line(self, file: Any) -> bytes:
        descriptor = file.fileno()
        kept = self._kept.get(descriptor, b"")
        deadline = time.monotonic() + LIMIT
        while b"\n" not in kept:
            data = read_soon(descriptor, deadline - time.monotonic())
            assert data is not None, f"nothing came, beyond {kept!r}"
            if not data:
                self._kept[descriptor] = b""
                return kept
            kept += data
        line, _, self._kept[descriptor] = kept.partition(b"\n")
        return line + b"\n"

    def read(self) -> Any:
        """The next message; ``None`` at the end."""
        line = self._line(self.popen.stdout)
        return json.loads(line) if line else None

    def wait_for_output(self) -> None:
        """Wait until it writes to standard output, and read no more of that than there is."""
        assert self.popen.stdout is not None
        assert read_soon(self.popen.stdout.fileno()), "nothing came"

    def errors(self) -> str:
        """The next line on standard error."""
        return self._line(self.popen.stderr).decode().rstrip("\n")

    def wait_for(self, word: str) -> None:
        while word not in (line := self.errors()):
            assert line, f"the process ended without saying {word!r}"

    def say(self, method: str, params: Any = None, id: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": {**(params or {}), "_meta": META}}
        self.raw(json.dumps(message if id is None else {**message, "id": id}).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(data)
        self.popen.stdin.flush()

    def call(self, tool: str, id: Any = 1, /, **arguments: Any) -> None:
        self.say("tools/call", {"name": tool, "arguments": arguments}, id)

    def result(self, tool: str, id: Any = 1, /, **arguments: Any) -> Any:
        self.call(tool, id, **arguments)
        answer = self.read()
        assert answer["id"] == id
        return answer["result"]

    def close_input(self) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.close()

    def ended(self) -> int:
        """The exit code of a process that is about to end."""
        return self.popen.wait(LIMIT)


@contextlib.contextmanager
def started(arguments: Sequence[str], **settings: Any) -> Iterator[Process]:
    """A process that is always killed at the end."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    options = {"env": environment(), **OWN_GROUP, **pipes, **settings}
    popen = cast("subprocess.Popen[bytes]", subprocess.Popen(list(arguments), **options))
    try:
        yield Process(popen)
    finally:
        popen.kill()
        popen.wait(LIMIT)
        for file in (popen.stdin, popen.stdout, popen.stderr):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def stdio(**settings: Any) -> contextlib.AbstractContextManager[Process]:
    return started([sys.executable, "-W", "error", str(SERVER)], **settings)


@contextlib.contextmanager
def http(
    *options: str, target: str = str(SERVER), verb: str = "serve", **settings: Any
) -> Iterator[tuple[str, Process]]:
    """``tooltrue serve --http`` with its URL, once somebody listens there; or ``tooltrue gateway --http``."""
    port = free_port()
    arguments = command(verb, target, "--http", f"127.0.0.1:{port}", *options)
    with started(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **settings) as process:
        process.wait_for("tooltrue serves")
        wait_for_port(port, process)
        try:
            yield f"http://127.0.0.1:{port}/mcp", process
        finally:
            if process.popen.poll() is None:
                ask_to_end(process.popen)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.popen.wait(5)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port: int, process: Process) -> None:
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.popen.poll() is None, "the server has ended"
        time.sleep(0.02)
    raise AssertionError("nobody listens")
