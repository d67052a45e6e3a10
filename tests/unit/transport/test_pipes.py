"""Ends of pipes: all that is written arrives in order, and an end whose other end is gone is closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from support.event_loops import each_event_loop
from tooltrue._internal.platform import threaded_pipes
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.testing.state import LIMIT

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.usefixtures("each_event_loop")

LONG = bytes(range(256)) * 4_096
"""More than a pipe holds."""


@dataclass(frozen=True)
class Ends:
    """The two classes of one way."""

    input: Any
    output: Any


WAYS = {"threads": Ends(threaded_pipes.ThreadedInput, threaded_pipes.ThreadedOutput)}
if HAS_POSIX:
    from tooltrue._internal.platform import posix_pipes

    WAYS["loop"] = Ends(posix_pipes.PipeInput, posix_pipes.PipeOutput)


@pytest.fixture(name="way", params=WAYS)
def each_way(request: pytest.FixtureRequest) -> Ends:
    return WAYS[request.param]


class Reader:
    """Reads a pipe to its end."""

    def __init__(self, way: Ends, source: int) -> None:
        self.came: list[bytes] = []
        self.ended = asyncio.Event()
        self._input = way.input(source, self.came.append, self.ended.set)

    async def end(self) -> bytes:
        async with asyncio.timeout(LIMIT):
            await self.ended.wait()
        self._input.close()
        return b"".join(self.came)


async def turns() -> None:
    """Let happen all that is ready."""
    for _ in range(5):
        await asyncio.sleep(0)


async def soon(holds: Callable[[], bool]) -> None:
    """Return once it holds: by the loop in some turns, by a thread in some time."""
    async with asyncio.timeout(LIMIT):
        while not holds():
            await turns()


def is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False


def test_what_does_not_fit_waits_and_arrives_in_order(way: Ends):
    async def main() -> bytes:
        source, target = os.pipe()
        output = way.output(target)
        output.write(b"first")
        await soon(lambda: output.unread == 0)
        output.write(LONG)
        waits = output.unread
        assert 0 < waits <= len(LONG)
        output.write(b"last")
        assert output.unread == waits + 4
        output.close()
        assert output.is_closing
        output.write(b"too late")
        return await Reader(way, source).end()

    assert asyncio.run(main()) == b"first" + LONG + b"last"


def test_an_end_without_a_backlog_is_closed(way: Ends):
    async def main() -> bytes:
        source, target = os.pipe()
        output = way.output(target)
        output.write(b"all")
        output.close()
        await soon(lambda: is_closed(target))
        output.abort()  # once more changes nothing
        return await Reader(way, source).end()

    assert asyncio.run(main()) == b"all"


def test_an_abort_drops_what_waits(way: Ends):
    async def main() -> bytes:
        source, target = os.pipe()
        output = way.output(target)
        output.write(LONG)
        output.abort()
        assert output.is_closing
        assert output.unread == 0
        return await Reader(way, source).end()

    came = asyncio.run(main())
    assert len(came) < len(LONG)
    assert LONG.startswith(came)


@pytest.mark.parametrize("written", [b"", b"short", LONG])
def test_a_write_after_the_reader_has_gone_raises_nothing_and_closes_the_end(way: Ends, written: bytes):
    async def main() -> None:
        source, target = os.pipe()
        output = way.output(target)
        output.write(written)
        os.close(source)
        output.write(b"nobody reads this")
        await soon(lambda: output.is_closing and is_closed(target))
        output.write(b"more")
        assert output.unread == 0

    asyncio.run(main())


# -- by the event loop -------------------------------------------------------------------------------------------------


@pytest.mark.needs("pipes")
def test_the_loop_writes_and_closes_without_a_turn_as_long_as_there_is_room():
    async def main() -> None:
        source, target = os.pipe()
        output = WAYS["loop"].output(target)
        output.write(b"first")
        assert output.unread == 0
        output.write(LONG)
        assert output.unread < len(LONG)
        output.abort()
        assert is_closed(target)
        os.close(source)

    asyncio.run(main())


@pytest.mark.needs("pipes")
@pytest.mark.parametrize("written", [b"short", LONG])
def test_the_loop_closes_an_end_whose_reader_is_gone_before_the_next_write(written: bytes):
    async def main() -> None:
        source, target = os.pipe()
        output = WAYS["loop"].output(target)
        output.write(written)
        os.close(source)
        await soon(lambda: output.is_closing)
        assert is_closed(target)

    asyncio.run(main())
