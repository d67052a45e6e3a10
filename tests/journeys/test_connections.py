"""How many connections a server has open at once, over real sockets (B54)."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Generator
from urllib.parse import urlsplit

import pytest

from support.serving import http
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
ONE, TWO, THREE = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Callers:
    """Connections from addresses of this machine, which are gone in the end."""

    def __init__(self, url: str, stack: contextlib.ExitStack) -> None:
        self._port = urlsplit(url).port or 0
        self._stack = stack

    def connect(self, address: str) -> socket.socket:
        to = ("127.0.0.1", self._port)
        return self._stack.enter_context(socket.create_connection(to, LIMIT, source_address=(address, 0)))

    def stay(self, address: str) -> socket.socket:
        """A connection that is served, and is kept."""
        connection = self.connect(address)
        connection.sendall(ASK)
        assert answer(connection).startswith(b"HTTP/1.1 200 ")
        return connection

    def status(self, address: str) -> bytes:
        """The response status of a new connection from this address."""
        with self.connect(address) as connection:
            connection.sendall(ASK)
            return answer(connection)[9:12]

    def soon(self, address: str) -> bool:
        """Whether somebody from there is served in the end."""
        deadline = time.monotonic() + LIMIT
        while (status := self.status(address)) != b"200" and time.monotonic() < deadline:
            select.select([], [], [], 0.01)
        return status == b"200"


def answer(connection: socket.socket) -> bytes:
    """The bytes received up to the end of a JSON body or of the connection."""
    data = b""
    while not data.endswith(b"}") and (more := connection.recv(65_536)):
        data += more
    return data


@contextlib.contextmanager
def served(*options: str) -> Generator[Callers]:
    with http(*options) as (url, _), contextlib.ExitStack() as stack:
        callers = Callers(url, stack)
        assert callers.soon(ONE)
        yield callers


def test_b54_one_address_that_holds_connections_leaves_room_for_others() -> None:
    with served("--connections", "5", "--connections-per-address", "2") as callers:
        first, _ = callers.stay(ONE), callers.stay(ONE)
        refused = callers.connect(ONE)
        refused.sendall(ASK)
        said = answer(refused)
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"[TT7061]" in said
        assert refused.recv(1) == b""  # the server has closed it
        assert callers.status(TWO) == b"200"
        first.close()
        assert callers.soon(ONE)


def test_b54_many_addresses_that_hold_connections_take_no_more_than_there_is() -> None:
    with served("--connections", "4") as callers:
        kept = [callers.stay(address) for address in (ONE, ONE, TWO, TWO)]
        assert [callers.status(address) for address in (ONE, TWO, THREE)] == [b"503"] * 3
        kept[0].sendall(ASK)
        assert answer(kept[0]).startswith(b"HTTP/1.1 200 ")  # open connections are still served
        kept[1].close()
        assert callers.soon(THREE)


def test_b54_a_crowd_that_says_nothing_is_turned_away() -> None:
    with served("--connections", "2", "--connections-per-address", "2") as callers:
        kept = [callers.stay(ONE) for _ in range(2)]
        for crowd in [callers.connect(TWO) for _ in range(300)]:
            with contextlib.suppress(ConnectionResetError):
                assert answer(crowd)[9:12] in (b"503", b"")
        kept[0].close()
        assert callers.soon(TWO)


def test_b54_twin_one_address_that_comes_and_goes_is_served() -> None:
    with served("--connections", "4", "--connections-per-address", "2") as callers:
        for _ in range(50):
            with callers.stay(ONE):
                pass
            assert callers.soon(ONE)


def test_b54_twin_a_proxy_that_is_trusted_has_room_for_all_its_callers() -> None:
    options = ("--connections", "6", "--connections-per-address", "1", "--public", "--trust-proxy", THREE)
    with served(*options) as callers:
        assert len([callers.stay(THREE) for _ in range(5)]) == 5
        assert callers.status(ONE) == b"200"


def test_b54_twin_hundreds_of_one_address_are_let_in_without_a_setting() -> None:
    with served() as callers:
        assert len([callers.stay(ONE) for _ in range(400)]) == 400
