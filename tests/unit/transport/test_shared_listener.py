"""Several workers accept from one listening socket, each of them one connection at a time."""

import asyncio
import contextlib
import itertools
import pickle
import socket
from multiprocessing import reduction

import pytest

from tooltrue._internal.platform.listening_sockets import AcceptThread
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_runner import Address, bind, shared


@pytest.mark.needs("accepting loops")
def test_a_worker_takes_one_connection_of_a_burst_and_leaves_the_next_to_others() -> None:
    with shared(bind(Address("127.0.0.1", 0))) as listener:
        listener.listen()
        listener.setblocking(False)
        address = listener.getsockname()
        with socket.create_connection(address), socket.create_connection(address):
            listener.accept()[0].close()
            with pytest.raises(BlockingIOError):
                listener.accept()
            assert _turns_until_accepted(listener) < 100


def _turns_until_accepted(listener: socket.socket) -> int:
    for turns in itertools.count(1):
        with contextlib.suppress(BlockingIOError):
            listener.accept()[0].close()
            return turns
    raise AssertionError


def test_a_connection_that_another_worker_took_does_not_cost_a_turn() -> None:
    with shared(bind(Address("127.0.0.1", 0))) as listener:
        listener.listen()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
        with socket.create_connection(listener.getsockname()):
            listener.accept()[0].close()


def test_a_shared_listener_keeps_its_way_of_accepting_on_its_way_to_a_worker() -> None:
    with (
        shared(bind(Address("127.0.0.1", 0))) as listener,
        pickle.loads(reduction.ForkingPickler.dumps(listener)) as other,
    ):
        assert type(other) is type(listener)
        assert other.getsockname() == listener.getsockname()


class Greeting(asyncio.Protocol):
    """Writes the name of its worker, and closes the connection."""

    def __init__(self, worker: bytes) -> None:
        self._worker = worker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._worker)
        transport.close()


def test_threads_that_accept_from_one_socket_serve_each_connection_once_and_one_goes_on_after_the_other() -> None:
    failures: list[OSError] = []

    async def greeted(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()

    async def main() -> None:
        with shared(bind(Address("127.0.0.1", 0))) as listener, listener.dup() as other:
            listener.listen()
            port = listener.getsockname()[1]
            first = AcceptThread(listener, lambda: Greeting(b"first"), failures.append)
            second = AcceptThread(other, lambda: Greeting(b"second"), failures.append)
            async with asyncio.timeout(LIMIT):
                burst = await asyncio.gather(*(greeted(port) for _ in range(20)))
                assert set(burst) <= {b"first", b"second"}
                first.close()
                assert await asyncio.gather(*(greeted(port) for _ in range(20))) == [b"second"] * 20
            second.close()

    asyncio.run(main())
    assert failures == []
