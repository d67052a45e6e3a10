"""Ends of pipes: all that is written arrives in order, and an end whose other end is gone is closed."""

from __future__ import annotations

import asyncio
import os

import pytest

from support.event_loops import each_event_loop
from tooltrue._internal.platform.posix_pipes import PipeInput, PipeOutput
from tooltrue.testing.state import LIMIT

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.usefixtures("each_event_loop")

LONG = bytes(range(256)) * 4_096
"""More than a pipe holds."""


class Reader:
    """Reads a pipe to its end."""

    def __init__(self, source: int) -> None:
        self.came: list[bytes] = []
        self.ended = asyncio.Event()
        self._source = source
        self._input = PipeInput(source, self.came.append, self.ended.set)

    async def end(self) -> bytes:
        async with asyncio.timeout(LIMIT):
            await self.ended.wait()
        os.close(self._source)
        return b"".join(self.came)


async def turns() -> None:
    """Long enough for all that is ready to happen."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_does_not_fit_waits_and_arrives_in_order():
    async def main() -> bytes:
        source, target = os.pipe()
        output = PipeOutput(target)
        output.write(b"first")
        assert output.unread == 0
        output.write(LONG)
        assert 0 < output.unread < len(LONG)
        waits = output.unread
        output.write(b"last")
        assert output.unread == waits + 4
        output.close()
        assert output.is_closing
        output.write(b"too late")
        return await Reader(source).end()

    assert asyncio.run(main()) == b"first" + LONG + b"last"


def test_an_end_without_a_backlog_is_closed_at_once():
    async def main() -> bytes:
        source, target = os.pipe()
        output = PipeOutput(target)
        output.write(b"all")
        output.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(target)
        output.abort()  # once more changes nothing
        return await Reader(source).end()

    assert asyncio.run(main()) == b"all"


def test_an_abort_drops_what_waits():
    async def main() -> bytes:
        source, target = os.pipe()
        output = PipeOutput(target)
        output.write(LONG)
        output.abort()
        assert output.is_closing
        assert output.unread == 0
        return await Reader(source).end()

    came = asyncio.run(main())
    assert 0 < len(came) < len(LONG)
    assert LONG.startswith(came)


@pytest.mark.parametrize("written", [b"short", LONG])
def test_an_end_whose_reader_is_gone_is_closed(written: bytes):
    async def main() -> None:
        source, target = os.pipe()
        output = PipeOutput(target)
        output.write(written)
        os.close(source)
        await turns()
        assert output.is_closing
        output.write(b"more")
        assert output.unread == 0
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(target)

    asyncio.run(main())


def test_a_write_after_the_reader_has_gone_raises_nothing():
    async def main() -> None:
        source, target = os.pipe()
        output = PipeOutput(target)
        os.close(source)
        output.write(b"nobody reads this")
        assert output.is_closing

    asyncio.run(main())
