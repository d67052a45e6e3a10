"""The server that is to be worn out. ``state`` tells how it is."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

from tooltrue import Abuse, Context, Limits, Rate, Server

UNLIMITED = Rate(per_second=1_000_000, burst=1_000_000)  # the load must not be refused

# One thread, so that no thread starts later than the others.
server = Server(
    "endurance",
    threads=1,
    limits=Limits(seconds=120.0, max_bytes=16 * 1_048_576),
    rate=UNLIMITED,
    abuse=Abuse(refusals=UNLIMITED, unknown=UNLIMITED, repeated=UNLIMITED),
)
ended: Counter[str] = Counter()


@server.tool
async def echo(text: str) -> str:
    """The same again."""
    return text


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers, on a thread."""
    return a + b


@server.tool
async def wait(seconds: float = 3600.0) -> str:
    """Wait, and keep count of how that ends."""
    ended["begun"] += 1
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        ended["cancelled"] += 1
        raise
    ended["finished"] += 1
    return "waited"


@server.tool
async def tell(times: int, context: Context) -> str:
    """Tell of progress again and again, and wait in between for the others' sake."""
    ended["begun"] += 1
    try:
        for number in range(1, times + 1):
            context.progress(number, times, "x" * 1_000)
            if number % 10 == 0:
                await asyncio.sleep(0)
        ended["told"] += 1
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        ended["cancelled"] += 1
        raise
    return ""


@server.tool
async def large(kilobytes: int, context: Context) -> str:
    """A long text, told of before it comes."""
    context.progress(1)
    ended["given"] += 1
    return "x" * (kilobytes * 1_000)


@server.tool
async def change() -> str:
    """Add a tool, or take it away again."""
    ended["changes"] += 1
    if ended["changes"] % 2:
        server.add_tool(lambda: "", name="extra")
    else:
        server.remove_tool("extra")
    return ""


@server.tool
async def state() -> dict[str, int]:
    """What runs, and how calls of ``wait`` and ``tell`` have ended."""
    return {"tasks": len(asyncio.all_tasks()), "threads": threading.active_count(), **ended}
