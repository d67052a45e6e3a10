"""A client over an author's own transport."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrue import Client, ClientLink, Host, LinkReceiver, Server, TransportError
from tooltrue.protocol import versions

pytestmark = pytest.mark.filterwarnings("error")


class Pipe:
    """A link to a server in this process, through a queue in each direction."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.sent: list[bytes] = []
        self.closed = 0
        self.breaks_at = -1
        self.is_stuck = False

    async def open(self, receiver: LinkReceiver) -> None:
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        self.receiver = receiver
        self.session = self.server.connect(lambda frame: void(loop.call_soon(receiver.feed, frame)))

    async def send(self, frame: bytes) -> None:
        await asyncio.sleep(0)
        if self.is_stuck:
            await asyncio.Event().wait()
        if len(self.sent) == self.breaks_at:
            raise OSError("the wire is cut")
        self.sent.append(frame)
        self.session.feed(frame)

    async def close(self) -> None:
        self.closed += 1
        await self.session.close()


def void(_: object) -> None:
    return None


def server() -> Server:
    made = Server("s", audit=False)

    async def ask(wait: bool = False) -> str:
        """Answer."""
        if wait:
            await asyncio.Event().wait()
        return "answer"

    made.add_tool(ask, effect="read")
    return made


def test_a_pipe_is_a_link():
    assert isinstance(Pipe(server()), ClientLink)
    assert not isinstance(server(), ClientLink)


@pytest.mark.parametrize("revision", versions.ALL)
def test_a_client_speaks_every_revision_over_a_link(revision: str):
    link = Pipe(server())

    async def main() -> None:
        async with Client(link, revision=revision) as client:
            assert [tool.name for tool in await client.list_tools()] == ["ask"]
            assert (await client.call_tool("ask")).text == "answer"

    asyncio.run(main())
    assert link.closed == 1
    assert all(b"\n" not in frame for frame in link.sent)


def test_calls_overlap_and_their_messages_keep_their_order():
    link = Pipe(server())

    async def main() -> None:
        async with Client(link) as client:
            results = await asyncio.gather(*(client.call_tool("ask") for _ in range(20)))
        assert [result.text for result in results] == ["answer"] * 20

    asyncio.run(main())
    ids = [frame for frame in link.sent if b"tools/call" in frame]
    assert ids == sorted(ids, key=lambda frame: int(frame.split(b'"id":')[1].split(b",")[0].rstrip(b"}")))


def test_a_link_that_fails_to_send_ends_all_requests_with_the_reason():
    link = Pipe(server())

    async def main() -> None:
        async with Client(link) as client:
            waiting = asyncio.ensure_future(client.call_tool("ask", wait=True))
            await asyncio.sleep(0)
            link.breaks_at = len(link.sent) + 1
            with pytest.raises(TransportError, match="the wire is cut") as caught:
                await asyncio.gather(waiting, client.call_tool("ask"))
            assert caught.value.code == "TT4510"
            with pytest.raises(TransportError):
                await client.call_tool("ask")

    asyncio.run(main())
    assert link.closed == 1


def test_a_link_that_loses_its_peer_ends_all_requests():
    link = Pipe(server())
    lost: list[Exception] = []

    async def main() -> None:
        async with Client(link, on_lost=lost.append) as client:
            waiting = asyncio.ensure_future(client.call_tool("ask", wait=True))
            await asyncio.sleep(0)
            link.receiver.lose(TransportError("the peer is gone"))
            with pytest.raises(TransportError, match="the peer is gone"):
                await waiting

    asyncio.run(main())
    assert len(lost) == 1


def test_a_link_that_cannot_open_says_why():
    class Closed(Pipe):
        async def open(self, receiver: LinkReceiver) -> None:
            raise OSError("no route")

    async def main() -> None:
        async with Client(Closed(server())):
            raise AssertionError

    with pytest.raises(TransportError, match="no route"):
        asyncio.run(main())


def test_a_frame_that_is_no_message_is_dropped():
    link = Pipe(server())

    async def main() -> Any:
        async with Client(link) as client:
            link.receiver.feed(b"\xff nonsense")
            return (await client.call_tool("ask")).text

    assert asyncio.run(main()) == "answer"


def test_a_link_can_be_opened_again():
    link = Pipe(server())

    async def main() -> None:
        for _ in range(2):
            async with Client(link) as client:
                assert (await client.call_tool("ask")).text == "answer"

    asyncio.run(main())
    assert link.closed == 2


def test_a_host_does_not_trust_the_annotations_of_a_server_behind_a_link():
    effects: list[str] = []

    async def main() -> None:
        for target in (server(), Pipe(server())):
            async with Host({"s": target}, audit=False) as host:
                effects.extend(tool.effect for tool in await host.tools())

    asyncio.run(main())
    assert effects == ["read", "destructive"]
