"""A client of tasks on bare sockets: calls that become tasks, each polled as often as its server says, to its end."""

import heapq
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from harness import http_client, wire
from harness.tally import Tally
from harness.wire import Message, verified

_CHUNK = 65_536


@dataclass(slots=True)
class _Connection:
    """One connection and its task: ``request`` was sent last, ``number`` is that of the call, sent at ``began``, and
    ``polls`` were sent since."""

    socket: socket.socket
    number: int = 0
    began: float = 0.0
    polls: int = 0
    request: Message | None = None
    received: bytes = b""


@contextmanager
def following(port: int, tool: str, width: int) -> Iterator["Following"]:
    """Tasks of ``tool``, one on each of ``width`` connections."""
    client = Following(port, tool, width)
    try:
        yield client
    finally:
        client.close()


class Following:
    """The connections, each with one task: started, polled, fetched, and then the next one.

    The first poll is sent ``pollIntervalMs`` after the answer to the call, and each later one as long after the answer
    to the last; ``polls`` counts those of the tasks that have ended. Answers are verified when they arrive, since the
    next request depends on them.
    """

    def __init__(self, port: int, tool: str, width: int) -> None:
        self._port = port
        self._tool = tool
        self.polls = 0
        self._numbers = count(1)
        self._due: list[tuple[float, int]] = []
        self._epoll = select.epoll()
        self._connections: dict[int, _Connection] = {}
        for _ in range(width):
            connection = _Connection(http_client.connect(port))
            self._connections[connection.socket.fileno()] = connection
            self._epoll.register(connection.socket, select.EPOLLIN)

    def run(self, seconds: float) -> Tally:
        """Follow tasks for about ``seconds``; those in flight go on in the next run. Raises WrongAnswer."""
        took: list[float] = []
        start = now = time.perf_counter()
        end = start + seconds
        for connection in self._connections.values():
            if connection.request is None:
                self._begin(connection)
        while now < end:
            self._poll(end, took)
            now = time.perf_counter()
        return Tally(len(took), now - start, took)

    def close(self) -> None:
        self._epoll.close()
        for connection in self._connections.values():
            connection.socket.close()

    def _poll(self, end: float, took: list[float]) -> None:
        """Send the polls that are due, and receive what arrives until the next one is."""
        now = time.perf_counter()
        while self._due and self._due[0][0] <= now:
            connection = self._connections[heapq.heappop(self._due)[1]]
            assert connection.request is not None
            connection.polls += 1
            self._send(connection, connection.request)
        wait = min(self._due[0][0], end) if self._due else end
        for descriptor, _ in self._epoll.poll(max(0.0, wait - now)):
            self._receive(descriptor, took)

    def _begin(self, connection: _Connection) -> None:
        connection.number = next(self._numbers)
        connection.began = time.perf_counter()
        connection.polls = 0
        self._send(connection, wire.task_call(self._tool, connection.number))

    def _send(self, connection: _Connection, message: Message) -> None:
        connection.request = message
        connection.received = b""
        connection.socket.sendall(http_client.request(message, self._port))

    def _receive(self, descriptor: int, took: list[float]) -> None:
        connection = self._connections[descriptor]
        chunk = connection.socket.recv(_CHUNK)
        if not chunk:
            raise ConnectionError("the server closed a connection")
        connection.received += chunk
        body = http_client.body_of(connection.received)
        if body is None:
            return
        assert connection.request is not None
        result, now = verified(connection.request, body), time.perf_counter()
        if result["status"] == "working":
            connection.request = wire.task_get(connection.number, result["taskId"])
            heapq.heappush(self._due, (now + result["pollIntervalMs"] / 1_000, descriptor))
        else:
            took.append(now - connection.began)
            self.polls += connection.polls
            self._begin(connection)
