"""A channel between two processes of one machine."""

from __future__ import annotations

import asyncio
import socket

from tooltrue.testing.state import LIMIT
from tooltrue.transport.line_channel import LineChannel
from tooltrue.transport.lines import MAX_LINE


def test_the_longest_message_of_another_channel_passes_with_the_members_that_are_added_to_it() -> None:
    async def run() -> tuple[int, bool]:
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        ended = asyncio.Event()
        one, other = socket.socketpair()
        near = await LineChannel.over(one, lambda line: None, ended.set)
        far = await LineChannel.over(other, lines.put_nowait, ended.set)
        near.write(b"x" * (MAX_LINE + 1_000))
        end = asyncio.ensure_future(ended.wait())
        line = asyncio.ensure_future(lines.get())
        await asyncio.wait((line, end), return_when=asyncio.FIRST_COMPLETED, timeout=LIMIT)
        end.cancel()
        await near.close()
        await far.close()
        return len(line.result()) if line.done() else 0, line.done()

    assert asyncio.run(run()) == (MAX_LINE + 1_000, True)
