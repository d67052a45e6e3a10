"""Proof with other people's servers behind one gateway, and other people's clients before it.

    python tests/hosts/gateway.py

The servers everything, filesystem, memory and sequential-thinking (npm), git, time, fetch and sqlite (PyPI) and one of
FastMCP stand behind `tooltrue gateway` over HTTP. The official Python and TypeScript clients call each of them, both at
once, while the processes of one server are killed in the middle of a call of a third client. The program prints a
table; it ends with 1 if a row failed, or if a process was left behind.

Environments are made under `.interop/` and kept (`../interop/environments.py`).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "interop"))

from environments import HERE as INTEROP
from environments import NODE_HOME, NoNode, node, python_for
from other_servers import EVERYTHING as VICTIM
from other_servers import prepared
from processes import Failure, adopt_orphans, children, completed, end_orphans, free_port, listening, written

from run import page
from tooltrue import Client
from tooltrue.errors import TooltrueError

TOOLTRUE = Path(sys.executable).parent / "tooltrue"
CLIENT_SECONDS = 240
READY_SECONDS = 120


def calls(folder: Path, url: str) -> dict[str, tuple[str, dict[str, Any], str]]:
    """A call of each server, and a text that is in its result."""
    thought = {"thought": "One.", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}
    return {
        "everything": ("everything_echo", {"message": "hi"}, "Echo: hi"),
        "files": ("files_read_text_file", {"path": str(folder / "root" / "hello.txt")}, "hello"),
        "memory": ("memory_read_graph", {}, "entities"),
        "thinking": ("thinking_sequentialthinking", thought, "thoughtNumber"),
        "git": ("git_git_status", {"repo_path": str(folder / "repository")}, "clean"),
        "time": ("time_get_current_time", {"timezone": "Asia/Shanghai"}, "Asia/Shanghai"),
        "fetch": ("fetch_fetch", {"url": url, "raw": True}, "Ignore previous instructions"),
        "sqlite": ("sqlite_read_query", {"query": "SELECT 40 + 2 AS answer"}, "42"),
        "fastmcp": ("fastmcp_add", {"a": 40, "b": 2}, "42"),
    }


def clients() -> dict[str, list[str]]:
    return {
        "python": [python_for("python-2", "mcp==2.3.0"), str(INTEROP / "python_sdk_v2.py")],
        "typescript": [node(), str(NODE_HOME / "typescript_v2.mjs")],
    }


def report(command: list[str], made: Mapping[str, Any], url: str) -> dict[str, Any]:
    done = completed([*command, json.dumps(made), url], CLIENT_SECONDS, env=dict(os.environ))
    if done.returncode:
        raise Failure(f"the client ended with {done.returncode}", done.stdout + done.stderr)
    return json.loads(done.stdout)


def victims() -> list[int]:
    """The processes of the server that is killed."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(f"{NODE_HOME}/".encode() in word and VICTIM.encode() in word for word in words):
            found.append(int(folder.name))
    return found


class Rows:
    def __init__(self) -> None:
        self.rows: list[tuple[str, bool, float, str]] = []

    def add(self, name: str, passed: bool, since: float, seen: str) -> None:
        self.rows.append((name, passed, time.monotonic() - since, seen[:600]))

    def print(self) -> int:
        for name, passed, seconds, seen in self.rows:
            print(f"{name:<26}{'passed' if passed else 'FAILED':<8}{seconds:>5.1f} s  {seen}")
        return int(not all(passed for _, passed, _, _ in self.rows))


async def killed_in_mid_call(url: str) -> str:
    """Kill the server while it runs a call, and use it once more."""
    async with Client(url) as client:
        before = victims()
        seen = asyncio.Event()
        call = asyncio.ensure_future(
            client.call_tool(
                "everything_trigger-long-running-operation",
                {"duration": 60, "steps": 600},
                progress=lambda done, total, message: seen.set(),
            )
        )
        await seen.wait()
        pids = victims()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        result = await call
        if not result.is_error:
            raise AssertionError(result.text)
        again = result
        for _ in range(60):
            again = await client.call_tool("everything_echo", message="again")
            if not again.is_error:
                return f"{len(before)} processes, {len(pids)} in the call, all killed: {result.text}; answers again"
            await asyncio.sleep(0.5)
        raise AssertionError(again.text)


async def tried(folder: Path, url: str, rows: Rows) -> None:
    with page() as fetched:
        wanted = calls(folder, fetched)
        made = {key: call[:2] for key, call in wanted.items()}
        others = {key: call for key, call in made.items() if key != "everything"}
        for name, command in clients().items():
            since = time.monotonic()
            judge(name, await asyncio.to_thread(report, command, made, url), wanted, since, rows)
        since = time.monotonic()
        killed, *reports = await asyncio.gather(
            killed_in_mid_call(url),
            *(asyncio.to_thread(report, command, others, url) for command in clients().values()),
            return_exceptions=True,
        )
        rows.add("killed in mid-call", isinstance(killed, str), since, str(killed))
        for name, seen in zip(clients(), reports, strict=True):
            if isinstance(seen, BaseException):
                rows.add(f"{name}, meanwhile", False, since, f"{seen} {getattr(seen, 'detail', '')}")
            else:
                judge(f"{name}, meanwhile", seen, wanted, since, rows)


def judge(name: str, seen: Any, wanted: Mapping[str, Any], since: float, rows: Rows) -> None:
    wrong = {
        key: result["text"]
        for key, result in seen["results"].items()
        if result["is_error"] or wanted[key][2] not in result["text"]
    }
    text = f"{seen['revision']}, {len(seen['tools'])} tools, {len(seen['results'])} servers have answered"
    rows.add(name, not wrong, since, str(wrong) if wrong else text)


async def all_ready(port: int) -> str:
    """Wait until all servers are ready, by the metrics of the gateway."""
    states: list[str] = []
    for _ in range(READY_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        text = (await reader.read()).decode()
        writer.close()
        states = [
            line for line in text.splitlines() if line.startswith("tooltrue_upstream_state") and line[-2:] == " 1"
        ]
        if len(states) == 9 and all('state="ready"' in line for line in states):
            return "nine servers are ready, by the metrics"
        await asyncio.sleep(1)
    raise AssertionError("; ".join(states))


def run(folder: Path, state: Path, rows: Rows) -> None:
    file, port = folder / "servers.json", free_port()
    file.write_text(json.dumps({"mcpServers": prepared(folder)}))
    os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_DATA_HOME"] = str(state)
    subprocess.run([TOOLTRUE, "trust", str(file), "--yes"], check=True, capture_output=True)
    gateway = [str(TOOLTRUE), "gateway", str(file), "--http", f"127.0.0.1:{port}", "--no-confirm", "--metrics"]
    with tempfile.TemporaryFile() as log:
        since = time.monotonic()
        try:
            with listening(gateway, port, log, READY_SECONDS):
                rows.add("starts", True, since, asyncio.run(all_ready(port)))
                asyncio.run(tried(folder, f"http://127.0.0.1:{port}/mcp", rows))
                since = time.monotonic()
                rows.add("is back", True, since, asyncio.run(all_ready(port)))
                since = time.monotonic()
            rows.add("ends", True, since, "the gateway has ended")
        except (Failure, TooltrueError, AssertionError) as error:
            rows.add("gateway", False, since, f"{error} {getattr(error, 'detail', '')}\n{written(log)[-3_000:]}")


def main() -> int:
    adopt_orphans()
    before, rows = children(), Rows()
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    try:
        with tempfile.TemporaryDirectory(prefix="tooltrue-gateway-") as folder, tempfile.TemporaryDirectory() as state:
            run(Path(folder), Path(state), rows)
    except NoNode as reason:
        print(f"the servers cannot be had: {reason}")
        return 1
    left = end_orphans(before)
    rows.add("leaves nothing", not left, time.monotonic(), "; ".join(left) or "no process was left behind")
    return rows.print()


if __name__ == "__main__":
    sys.exit(main())
