"""The life of a caller's connection: a start that is given up or that fails, its end, and how many there are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from support.wire.scripted import SkippingLoop
from tooltrue.client.answers import Answerer
from tooltrue.client.client import Client
from tooltrue.client.notifications import LogMessage
from tooltrue.client.question_limits import QuestionLimits
from tooltrue.errors import ConnectionLost
from tooltrue.gateway.callers import CallerConnections, ConnectionBounds
from tooltrue.testing.state import LIMIT
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import Principal, RequestContext
from tooltrue.transport.carrier import Auth
from tooltrue.transport.client_link import LinkReceiver


class HandshakeChannel:
    """A channel to a session-based server, which answers the handshake and lets go when the test wants it."""

    def __init__(self) -> None:
        self._receiver: LinkReceiver | None = None
        self._handshake: asyncio.Queue[int] = asyncio.Queue()
        self.may_end = asyncio.Event()
        self.is_open = False

    async def open(self, receiver: LinkReceiver) -> None:
        self._receiver = receiver
        self.is_open = True

    async def send(self, frame: bytes) -> None:
        message = json.loads(frame)
        if "id" in message:
            self._handshake.put_nowait(message["id"])

    async def answer(self) -> None:
        """Answer the handshake, once it has come."""
        info = {"name": "up", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        self._feed({"jsonrpc": "2.0", "id": await self._handshake.get(), "result": result})

    def _feed(self, message: object) -> None:
        assert self._receiver is not None
        self._receiver.feed(json.dumps(message).encode())

    async def break_off(self) -> None:
        """End in the middle of the handshake."""
        await self._handshake.get()
        assert self._receiver is not None
        self._receiver.lose(ConnectionLost("the server has ended"))

    async def close(self) -> None:
        await self.may_end.wait()
        self.is_open = False


class HandshakeChannels:
    """The channels of all callers, in the order in which they were made. With ``end``, each may end at once."""

    def __init__(self, *, end: bool = True) -> None:
        self.made: list[HandshakeChannel] = []
        self._end = end
        self._new: asyncio.Queue[HandshakeChannel] = asyncio.Queue()

    async def __call__(
        self,
        caller: str,
        answers: Answerer,
        on_log: Callable[[LogMessage], None],
        on_lost: Callable[[Exception], None],
        on_lists_changed: Callable[[], None],
        *,
        auth: Auth | None = None,
    ) -> Client:
        channel = HandshakeChannel()
        if self._end:
            channel.may_end.set()
        self.made.append(channel)
        self._new.put_nowait(channel)
        client = Client(channel, revision="2025-11-25", answers=answers, on_log=on_log, on_lost=on_lost)
        return await client.__aenter__()

    async def next(self) -> HandshakeChannel:
        """The next channel that is made."""
        return await self._new.get()

    @property
    def open(self) -> int:
        return sum(channel.is_open for channel in self.made)


def connections_over(channels: HandshakeChannels, **bounds: float) -> CallerConnections:
    return CallerConnections("up", channels, ConnectionBounds(**bounds), QuestionLimits())  # pyright: ignore[reportArgumentType]


def use(connections: CallerConnections, caller: str = "ada", roots: object = None) -> asyncio.Task[None]:
    """One operation of a caller. ``roots`` distinguish the capabilities of its client."""
    context = RequestContext(Principal(caller), SILENT, {} if roots is None else {"roots": {"number": roots}})

    async def run() -> None:
        async with connections.of(context):
            pass

    return asyncio.ensure_future(run())


def ran(channels: HandshakeChannels, run: Callable[[], Awaitable[None]]) -> None:
    """Run to the end, after which every channel may end."""

    async def main() -> None:
        try:
            await asyncio.wait_for(run(), LIMIT)
        finally:
            for channel in channels.made:
                channel.may_end.set()

    asyncio.run(main())


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_connection_whose_caller_gives_up_while_it_opens_ends_with_the_gateway() -> None:
    channels = HandshakeChannels()

    async def run() -> None:
        connections = connections_over(channels)
        operation = use(connections)
        channel = await channels.next()
        operation.cancel()
        await asyncio.wait((operation,))
        await channel.answer()
        await turns()
        await connections.close()

    ran(channels, run)
    assert (len(channels.made), channels.open) == (1, 0)


def test_a_server_that_ends_in_the_handshake_is_an_error_and_no_cancellation() -> None:
    channels = HandshakeChannels(end=False)

    async def run() -> None:
        operation = use(connections_over(channels))
        channel = await channels.next()
        await channel.break_off()
        await turns()
        channel.may_end.set()
        with pytest.raises(ConnectionLost, match="has ended"):
            await operation

    ran(channels, run)


def test_a_connection_that_makes_room_counts_until_it_has_ended() -> None:
    """Each connection may be a process, and a server need not end when it is asked to."""
    channels = HandshakeChannels(end=False)

    async def run() -> None:
        connections = connections_over(channels, per_caller=2)
        operations: list[asyncio.Task[None]] = []
        for number in range(2):
            operations.append(use(connections, roots=number))
            await (await channels.next()).answer()
            await operations[-1]
        third = use(connections, roots=2)
        await turns()
        assert (len(channels.made), third.done()) == (2, False)
        channels.made[0].may_end.set()
        await (await channels.next()).answer()
        await third
        assert channels.open == 2
        for channel in channels.made:
            channel.may_end.set()
        await connections.close()
        assert channels.open == 0

    ran(channels, run)


def test_a_connection_ends_a_whole_idle_time_after_its_last_use() -> None:
    channels = HandshakeChannels()
    was_open: list[int] = []

    async def run() -> None:
        connections = connections_over(channels, idle_seconds=100.0)
        operation = use(connections)
        await (await channels.next()).answer()
        await operation
        for seconds in (90.0, 90.0):  # the second use comes before the end of the first idle time, and delays it
            await asyncio.sleep(seconds)
            await use(connections)
        for seconds in (99.0, 2.0):
            await asyncio.sleep(seconds)
            was_open.append(channels.open)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(run())
    assert (len(channels.made), was_open) == (1, [1, 0])


def test_an_open_connection_is_taken_and_does_not_end_before_it_is_released() -> None:
    channels = HandshakeChannels()
    context = RequestContext(Principal("ada"), SILENT, {})
    was_open: list[int] = []

    async def run() -> None:
        connections = connections_over(channels, idle_seconds=100.0)
        assert connections.take_open(context) is None
        operation = use(connections)
        channel = await channels.next()
        assert connections.take_open(context) is None  # it is not open yet
        await channel.answer()
        await operation
        taken = connections.take_open(context)
        assert taken is not None
        await asyncio.sleep(150.0)
        was_open.append(channels.open)
        connections.release(taken)
        for seconds in (99.0, 2.0):
            await asyncio.sleep(seconds)
            was_open.append(channels.open)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(run())
    assert was_open == [1, 1, 0]
