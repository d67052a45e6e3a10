"""One process of a test with several: ``python worker.py ROLE PATH``.

It prints ``ready``, waits for a line, works, and prints the result.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tooltrue.errors import StateError
from tooltrue.state.sqlite import SqliteFacts, SqliteLog
from tooltrue.state.verify import verify
from tooltrue.testing.state import LIMIT


async def taker(path: Path) -> object:
    """Takes forty times from a limit of fifty; the time stands still. Says how many were granted."""
    async with SqliteFacts(path, clock=lambda: 1_000_000.0, patience=LIMIT) as facts:
        await told_to_go()
        waits = [await facts.take("shared", per_second=1, burst=50) for _ in range(40)]
        return waits.count(0.0)


async def claimer(path: Path) -> object:
    """Put and remove the same keys as other workers do. Return the number of successes."""
    async with SqliteFacts(path, patience=LIMIT) as facts:
        await told_to_go()
        put = [await facts.put_if_absent(f"put{n}", b"", 600) for n in range(40)]
        removed = [await facts.remove(f"once{n}") for n in range(40)]
        return {"put": put.count(True), "removed": removed.count(b"1")}


async def echo(path: Path) -> object:
    """Answers the first event on ``question`` with one on ``answer``."""
    asked: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    async with SqliteFacts(path, poll=0.01, patience=LIMIT) as facts:
        await facts.subscribe("question", asked.set_result)
        await told_to_go()
        await facts.publish("answer", b"heard " + await asked)
        return "done"


async def writer(path: Path) -> object:
    """Writes a hundred records, every tenth durably. Says at which positions those are."""
    async with SqliteLog(path, patience=LIMIT) as log:
        await told_to_go()
        positions: list[int] = []
        for n in range(100):
            if n % 10:
                log.note({"n": n})
            else:
                positions.append(await log.append({"n": n}))
        return positions


async def victim(path: Path) -> object:
    """Appends, says so, and waits to be killed."""
    async with SqliteLog(path, linger=600) as log:
        await log.append({"n": 1})
        await log.append({"n": 2})
        await told_to_go()
        return "not killed"


async def poor(path: Path) -> object:
    """Writes until no file may grow any more, then with room again."""
    async with SqliteLog(path, patience=LIMIT) as log:
        await told_to_go()
        _allow(256 * 1024)
        written = await _until_refused(log)
        log.note({"lost": True})
        await _refused(log)
        _allow(None)
        await log.append({"n": "again"})
        report = await verify(log)
        return {"written": written, "entries": report.entries, "faults": len(report.faults), "lost": log.lost}


def _allow(size: int | None) -> None:
    import resource  # noqa: PLC0415 - where it is

    most = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))


async def _until_refused(log: SqliteLog) -> int:
    for written in range(1_000):
        if await _refused(log):
            return written
    raise AssertionError("the disk never became full")


async def _refused(log: SqliteLog) -> bool:
    try:
        await log.append({"padding": "x" * 4096})
    except StateError:
        return True
    return False


async def told_to_go() -> None:
    print(json.dumps("ready"), flush=True)
    await asyncio.to_thread(sys.stdin.readline)


ROLES: dict[str, Callable[[Path], Awaitable[object]]] = {
    role.__name__: role for role in (taker, claimer, echo, writer, victim, poor)
}


async def main(role: str, path: str) -> None:
    print(json.dumps(await ROLES[role](Path(path))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
