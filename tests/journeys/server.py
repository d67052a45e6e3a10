"""An author's server, as it is served in memory, by ``tooltrue serve`` and in these tests' subprocesses."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import select
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

from tooltrue import Context, Limits, Server, ToolError

server = Server("author", version="1.2", instructions="Add first.", limits=Limits(seconds=30.0, max_bytes=100_000))


@server.tool(effect="read")
def add(a: int, b: Annotated[int, "The second number"] = 2) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def count(to: int, context: Context) -> str:
    """Count, and tell how far it is."""
    for number in range(1, to + 1):
        context.progress(number, to, f"at {number}")
    return f"{to} of {to}"


@server.tool
def refuse() -> str:
    """Refuse."""
    raise ToolError("Try add instead.")


@server.tool
def crash() -> str:
    """Crash."""
    raise ValueError("postgres://root:hunter2@db")


@server.tool
def grow(name: str) -> str:
    """Add a tool of that name."""
    server.add_tool(lambda: "grown", name=name)
    return name


@server.tool
def cut(name: str) -> str:
    """Remove the tool of that name."""
    server.remove_tool(name)
    return name


@server.tool
def process() -> int:
    """The number of this process."""
    return os.getpid()


# --- tools for tests of processes ------------------------------------------------------------------------------------


@server.tool
def print_everywhere() -> str:
    """Print in each way there is."""
    print("by print")
    sys.stdout.flush()
    os.write(1, b"by descriptor\n")
    libc = ctypes.CDLL(None)
    libc.puts(b"by libc")
    libc.fflush(None)
    subprocess.run(["echo", "by child"], check=True)
    return "printed"


@server.tool
def read_everywhere() -> str:
    """Read standard input in each way there is."""
    child = subprocess.run(["cat"], capture_output=True, text=True, check=True)
    return repr((child.stdout, sys.stdin.read(), os.read(0, 10)))


@server.tool
async def wait_forever(file: str) -> str:
    """Wait, and write into the file when that is over."""
    print("waiting", file=sys.stderr, flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        Path(file).write_text("cancelled", encoding="utf-8")  # noqa: ASYNC240 - a few bytes, at the end
    return ""


@server.tool
async def tell_process_and_wait(context: Context) -> str:
    """Tell the number of this process by a progress report, and wait for ever."""
    context.progress(os.getpid())
    await asyncio.Event().wait()
    return ""


@server.tool
async def leave() -> str:
    """Leave the program."""
    raise SystemExit("hunter2")


@server.tool
async def never_give_up() -> str:
    """Wait, and pay no heed to being cancelled."""
    print("waiting", file=sys.stderr, flush=True)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@server.tool(max_bytes=2_000_000)
async def megabyte() -> str:
    """A long text."""
    return "x" * 1_000_000


@server.tool
async def block_the_loop() -> str:
    """Block the event loop itself for a long time."""
    print("waiting", file=sys.stderr, flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        select.select([], [], [], 0.05)  # a signal that comes just before it has its handler run after it
    return ""


@server.tool
async def block_in_c() -> str:
    """Keep the main thread in C code for a long time, where no handler of a signal runs."""
    with sqlite3.connect(":memory:") as db:
        print("waiting", file=sys.stderr, flush=True)
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n").fetchone()
    return ""


@server.tool
def stuck() -> str:
    """Block a thread for ever."""
    print("waiting", file=sys.stderr, flush=True)
    threading.Event().wait()
    return ""


children: list[subprocess.Popen[str]] = []


@server.tool
def family(note: str = "") -> list[int]:
    """Start a child and a grandchild that ignore what asks them to end; who they are is written to a file, too."""
    script = "trap '' TERM INT HUP; (trap '' TERM INT HUP; echo $BASHPID; exec sleep 600) & wait"
    child = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    children.append(child)
    assert child.stdout is not None
    pids = [child.pid, int(child.stdout.readline())]
    if note:
        Path(note).write_text(json.dumps(pids))
    return pids


@server.tool
async def brief(seconds: float) -> str:
    """Take a moment."""
    print("waiting", file=sys.stderr, flush=True)
    await asyncio.sleep(seconds)
    return "done"


@server.tool
def flood(megabytes: int) -> str:
    """Take long enough that a reader can go away, then answer much."""
    time.sleep(0.05)
    return "x" * min(megabytes * 1_000_000, 90_000)


if __name__ == "__main__":
    server.run()
