"""Both ways to read and write pipes, by the event loop and by threads, carry the same bytes in the same order."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tooltrue._internal.platform import threaded_pipes
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.testing.state import LIMIT


@dataclass(frozen=True)
class Ends:
    """The classes of one way."""

    input: Any
    output: Any
    shared: Any


WAYS = [
    Ends(threaded_pipes.ThreadedInput, threaded_pipes.ThreadedOutput, threaded_pipes.ThreadedSharedOutput),
]
if HAS_POSIX:
    from tooltrue._internal.platform import posix_pipes

    WAYS.append(Ends(posix_pipes.PipeInput, posix_pipes.PipeOutput, posix_pipes.SharedOutput))

PARTS = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=50),
        st.integers(1, 200_000).map(lambda size: bytes(range(256)) * (size // 256 + 1)),
    ),
    max_size=8,
)


class Reader:
    """Reads a pipe to its end. After each of the numbers in ``pauses``, counted in parts, it pauses for some turns."""

    def __init__(self, way: Ends, source: int, pauses: set[int]) -> None:
        self.came: list[bytes] = []
        self.ended = asyncio.Event()
        self._pauses = pauses
        self.input = way.input(source, self._take, self.ended.set)

    def _take(self, data: bytes) -> None:
        self.came.append(data)
        if len(self.came) in self._pauses:
            self.input.pause()
            asyncio.get_running_loop().call_soon(self.input.resume)

    async def end(self) -> bytes:
        async with asyncio.timeout(LIMIT):
            await self.ended.wait()
        self.input.close()
        return b"".join(self.came)


@given(parts=PARTS, pauses=st.sets(st.integers(1, 10)))
def test_all_that_a_client_writes_arrives_in_order(parts: list[bytes], pauses: set[int]):
    async def carried(writing: Ends, reading: Ends) -> bytes:
        source, target = os.pipe()
        output = writing.output(target)
        reader = Reader(reading, source, pauses)
        for part in parts:
            output.write(part)
        output.close()
        assert output.is_closing
        output.write(b"too late")
        return await reader.end()

    for writing in WAYS:
        for reading in WAYS:
            assert asyncio.run(carried(writing, reading)) == b"".join(parts)


@given(parts=PARTS, pauses=st.sets(st.integers(1, 10)))
def test_all_that_a_server_sends_arrives_in_order(parts: list[bytes], pauses: set[int]):
    async def carried(writing: Ends, reading: Ends) -> tuple[bytes, list[bool]]:
        source, target = os.pipe()
        output = writing.shared(target)
        crowds: list[bool] = []
        output.crowded = crowds.append
        output.open(lambda: None, lambda error: None)
        reader = Reader(reading, source, pauses)
        for part in parts:
            output.send(part)
        await output.close_within(LIMIT)
        return await reader.end(), crowds

    for writing in WAYS:
        for reading in WAYS:
            came, crowds = asyncio.run(carried(writing, reading))
            assert came == b"".join(parts)
            assert crowds == [number % 2 == 0 for number in range(len(crowds))]
            assert len(crowds) % 2 == 0, "in the end it has caught up"
