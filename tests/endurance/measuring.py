"""Server processes and their externally observable state. Linux only."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from support.serving import META, command, free_port, started

__all__ = [
    "MEGABYTE",
    "Figure",
    "Http",
    "Reading",
    "Stdio",
    "at_least",
    "call",
    "encoded",
    "exactly",
    "modern",
    "on_http",
    "on_stdio",
    "pinged",
    "resident",
    "up_to",
    "within",
]

SERVER = str(Path(__file__).with_name("server.py"))
MEGABYTE = 1 << 20
PATIENCE = 60.0


# --- figures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A measured figure and its bound.

    ``roughly`` is whether the figure keeps the bound with a tolerance for a busy machine and for allocator overhead in
    a short run. A count has no unit and is the same on every machine. A time or a rate always passes roughly, because
    a busy machine can make it arbitrarily bad.
    """

    what: str
    value: float
    unit: str
    bound: str
    held: bool
    roughly: bool


_NOISE = {"": 1.0, "MB": 5.0, "s": math.inf, "ms": math.inf, "/s": math.inf}


def up_to(what: str, value: float, limit: float, unit: str) -> Figure:
    return Figure(what, value, unit, f"≤ {limit:g}", value <= limit, value <= limit * _NOISE[unit])


def at_least(what: str, value: float, limit: float, unit: str) -> Figure:
    return Figure(what, value, unit, f"≥ {limit:g}", value >= limit, value >= limit / _NOISE[unit])


def exactly(what: str, value: float, expected: float, unit: str = "") -> Figure:
    return Figure(what, value, unit, f"= {expected:,g}", value == expected, value == expected)


@dataclass(frozen=True)
class Reading:
    """A snapshot of a process, from the kernel and from the server itself."""

    megabytes: float
    peak: float
    descriptors: int
    tasks: int
    threads: int

    def since(self, before: Reading, megabytes: float = 3.0) -> list[Figure]:
        """The growth since ``before``. No figure may grow, except memory by ``megabytes`` of allocator overhead."""
        more = [
            self.descriptors - before.descriptors,
            self.tasks - before.tasks,
            self.threads - before.threads,
        ]
        return [
            up_to("memory grown", self.megabytes - before.megabytes, megabytes, "MB"),
            up_to("descriptors, tasks, threads left", sum(max(0, number) for number in more), 2, ""),
        ]


def within(condition: Any, seconds: float = 10.0) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.02)
    return True


# --- servers ---------------------------------------------------------------------------------------------------------


class _Process:
    def __init__(self, pid: int) -> None:
        self.pid = pid

    def state(self) -> dict[str, int]:
        raise NotImplementedError

    def reading(self) -> Reading:
        state = self.state()
        sizes = resident(self.pid)
        descriptors = len(os.listdir(f"/proc/{self.pid}/fd"))
        return Reading(sizes["VmRSS"], sizes["VmHWM"], descriptors, state["tasks"], state["threads"])

    def rested(self, before: Reading) -> Reading:
        """A reading once tasks and descriptors are back at the level of ``before``, or after ten seconds."""
        within(lambda: self.state()["tasks"] <= before.tasks and self.reading().descriptors <= before.descriptors)
        return self.reading()


def resident(pid: int) -> dict[str, float]:
    """The sizes of a process in MB: ``VmRSS`` now, ``VmHWM`` at its largest, and others."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {
        name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in lines) if "kB" in rest
    }


def call(tool: str, id: Any = 1, /, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": META},
    }


def encoded(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


class Stdio(_Process):
    """A client on two pipes. It has no reader thread: a caller that writes much data reads in between."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        super().__init__(popen.pid)
        assert popen.stdin is not None
        assert popen.stdout is not None
        self._in, self._out = popen.stdin.fileno(), popen.stdout.fileno()
        self._rest = b""

    def write(self, data: bytes) -> None:
        if (written := self.write_some(data, PATIENCE)) < len(data):
            raise TimeoutError(f"{written} of {len(data)} bytes were taken")

    def lines(self, count: int) -> list[bytes]:
        """The next ``count`` lines."""
        lines: list[bytes] = []
        while len(lines) < count:
            ready, _, _ = select.select([self._out], [], [], PATIENCE)
            if not ready:
                raise TimeoutError(f"{len(lines)} of {count} lines came")
            lines += self._read()
        assert len(lines) == count, "more came than was owed"
        return lines

    def write_some(self, data: bytes, seconds: float) -> int:
        """Write until the pipe accepts no bytes for ``seconds``; return the number of bytes written."""
        written = 0
        while written < len(data) and select.select([], [self._in], [], seconds)[1]:
            written += os.write(self._in, data[written : written + 4096])  # fits into a writable pipe
        return written

    def some_lines(self) -> list[bytes]:
        """Lines that are there by now, after a wait for the first."""
        if not select.select([self._out], [], [], 0.05)[0]:
            return []
        return self._read()

    def _read(self) -> list[bytes]:
        data = os.read(self._out, 1 << 20)
        if not data:
            raise EOFError("the server has ended")
        *whole, self._rest = (self._rest + data).split(b"\n")
        return whole

    def ask(self, message: Any) -> Any:
        """The answer to one message, which may be invalid bytes."""
        self.write((message if isinstance(message, bytes) else encoded(message)) + b"\n")
        return json.loads(self.lines(1)[0])

    def state(self) -> dict[str, int]:
        return self.ask(call("state", "state"))["result"]["structuredContent"]


@contextlib.contextmanager
def on_stdio() -> Iterator[Stdio]:
    with tempfile.TemporaryFile() as errors, started(command("serve", SERVER), stderr=errors) as process:
        yield Stdio(process.popen)


class Http(_Process):
    """A client on sockets. :meth:`post` waits for the answer; :meth:`begin` sends a request without waiting."""

    def __init__(self, pid: int, port: int) -> None:
        super().__init__(pid)
        self.port = port
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.close = self._connection.close

    def head(self, length: int, **headers: str) -> dict[str, str]:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | given

    def post(self, body: Any, method: str = "POST", **headers: str) -> tuple[int, dict[str, str], bytes]:
        data = body if isinstance(body, bytes) else encoded(body)
        try:
            self._connection.request(method, "/mcp", data, self.head(len(data), **headers))
        except BrokenPipeError:  # the server keeps idle connections for 30 s
            self._connection.close()
            self._connection.request(method, "/mcp", data, self.head(len(data), **headers))
        with self._connection.getresponse() as response:
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()

    def ask(self, message: Any) -> Any:
        return json.loads(self.post(message, **modern(message))[2])

    def connect(self, buffer: int | None = None) -> socket.socket:
        """A connection; of ``buffer`` bytes that have come, the kernel keeps no more than about so many for us."""
        connection = socket.socket()
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def begin(self, message: Any, method: str = "POST", *, buffer: int | None = None, **headers: str) -> socket.socket:
        """Send a request over a connection of its own, and do not wait."""
        data = encoded(message) if message is not None else b""
        lines = [f"{method} /mcp HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in self.head(len(data), **headers).items()]
        connection = self.connect(buffer)
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + data)
        return connection

    def state(self) -> dict[str, int]:
        return self.ask(call("state", "state"))["result"]["structuredContent"]

    def session(self, version: str = "2025-06-18") -> str:
        """The token of a new legacy session."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        return self.post(asked)[1]["mcp-session-id"]


def modern(message: dict[str, Any]) -> dict[str, str]:
    """The headers of a modern message."""
    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": message["method"]}
    return headers | ({"Mcp_Name": message["params"]["name"]} if "name" in message["params"] else {})


@contextlib.contextmanager
def on_http() -> Iterator[Http]:
    port = free_port()
    arguments = command("serve", SERVER, "--http", f"127.0.0.1:{port}")
    with (
        tempfile.TemporaryFile() as errors,
        started(arguments, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors) as process,
    ):
        if not within(lambda: _listens(port), PATIENCE):
            raise TimeoutError("nobody listens")
        server = Http(process.pid, port)
        try:
            yield server
        finally:
            server.close()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


# --- pings meanwhile -------------------------------------------------------------------------------------------------


@dataclass
class Pings:
    """Whether somebody else is answered in the meantime, asked by a process of its own. Filled in at the end."""

    count: int = 0
    worst: float = 0.0

    def figure(self, limit: float) -> Figure:
        return up_to(f"worst of {self.count:,} pings meanwhile", self.worst * 1000, limit, "ms")


@contextlib.contextmanager
def pinged(server: Http) -> Iterator[Pings]:
    """Ping the server every 10 ms while the block runs."""
    arguments = [sys.executable, str(Path(__file__).with_name("pinging.py")), str(server.port)]
    pings = Pings()
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the first has been answered
        try:
            yield pings
        finally:
            said, _ = process.communicate(timeout=PATIENCE)
        count, worst = said.split()
        pings.count, pings.worst = int(count), float(worst)
