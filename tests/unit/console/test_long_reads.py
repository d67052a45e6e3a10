"""Reads of whole logs: as many as may run at once, and one more is refused until one of them has ended."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from support.console import PATIENCE, House
from tooltrue.errors import ConfigurationError
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log
from tooltrue_console.long_reads import MAX_READS, LongReads
from tooltrue_console.wording import CONSOLE_TOO_MANY_READS


class Read:
    """A read that ends when it is let go."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        return "read"

    async def runs(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, PATIENCE)


async def refused(reads: LongReads) -> bool:
    try:
        await reads.run(str)
    except ConfigurationError as error:
        return error.code == CONSOLE_TOO_MANY_READS
    return False


def test_one_more_read_is_refused_until_one_has_ended():
    async def scenario() -> list[object]:
        reads, read = LongReads(1), Read()
        task = asyncio.create_task(reads.run(read))
        await read.runs()
        during = await refused(reads)
        read.may_end.set()
        return [during, await task, await reads.run(str)]

    assert asyncio.run(scenario()) == [True, "read", ""]


def test_a_read_that_nobody_waits_for_counts_until_it_ends():
    async def scenario() -> list[bool]:
        reads, read = LongReads(1), Read()
        task = asyncio.create_task(reads.run(read))
        await read.runs()
        task.cancel()
        await asyncio.wait([task])
        during = await refused(reads)
        read.may_end.set()
        while await refused(reads):  # noqa: ASYNC110 - it ends on a thread
            await asyncio.sleep(0)
        return [task.cancelled(), during]

    assert asyncio.run(scenario()) == [True, True]


def test_a_read_that_fails_makes_room():
    async def scenario() -> str:
        reads = LongReads(1)
        with pytest.raises(ValueError, match="invalid literal"):
            await reads.run(int, "x")
        return await reads.run(str)

    assert asyncio.run(scenario()) == ""


@pytest.mark.parametrize("path", ["/doctor?log=attic", "/log/verify?log=attic"])
def test_a_page_that_may_not_read_now_says_so_in_a_sentence(tmp_path: Path, path: str):
    url = sqlite_url(tmp_path / "attic.db")

    async def scenario(house: House) -> str:
        async with open_log(url) as log:
            await log.append({"kind": "call"})
        reads = [Read() for _ in range(MAX_READS)]
        tasks = [asyncio.create_task(house.desk.long_reads.run(read)) for read in reads]
        for read in reads:
            await read.runs()
        async with house.visitor("operator") as visitor:
            text = await visitor.text(path)
        for read in reads:
            read.may_end.set()
        await asyncio.gather(*tasks)
        return text

    assert "TT9448" in House(tmp_path, logs={"attic": url}).visited(scenario)
