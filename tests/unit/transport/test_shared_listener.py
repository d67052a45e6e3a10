"""Several workers accept from one listening socket, each of them one connection at a time."""

import contextlib
import itertools
import pickle
import socket
from multiprocessing import reduction

import pytest

from tooltrue.transport.http_runner import Address, bind, shared


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
