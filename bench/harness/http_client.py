"""A client on bare sockets with keep-alive: prebuilt requests out, answers in, one thread."""

import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence

from harness.tally import Answers, Tally
from harness.wire import VERSION, Message, WrongAnswer

_CHUNK = 65_536
_PATIENCE = 30.0  # for a server to open its port


def request(message: Message, port: int) -> bytes:
    """The POST of `message`, with the headers that revision 2026-07-28 demands."""
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"Content-Length: {len(message.body)}",
        f"MCP-Protocol-Version: {VERSION}",
        f"Mcp-Method: {message.method}",
    ]
    if message.name is not None:
        head.append(f"Mcp-Name: {message.name}")
    return "\r\n".join([*head, "", ""]).encode() + message.body


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_until_open(port: int, alive: Callable[[], bool]) -> None:
    """Returns once the server listens; raises ConnectionError when it ended, or took too long."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            _connect(port).close()
            return
        except ConnectionRefusedError:
            if not alive() or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def exchange(port: int, messages: Sequence[Message], connections: int, seconds: float) -> Tally:
    """One request at a time on each of `connections`, for about `seconds`; raises WrongAnswer if one answer was."""
    client = _Client(port, messages, connections)
    try:
        return client.run(seconds)
    finally:
        client.close()


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class _Client:
    """The connections, and which request each of them waits for."""

    def __init__(self, port: int, messages: Sequence[Message], connections: int) -> None:
        self._requests = [request(message, port) for message in messages]
        self._answers = Answers(messages)
        self._next = 0
        self._waiting: dict[int, int] = {}
        self._partial: dict[int, bytes] = {}
        self._sockets = {one.fileno(): one for one in (_connect(port) for _ in range(connections))}

    def run(self, seconds: float) -> Tally:
        calls = 0
        start = now = time.perf_counter()
        end = start + seconds
        for descriptor in self._sockets:
            self._send(descriptor)
        for descriptor in self._ready():
            if not self._receive(descriptor):
                continue
            calls += 1
            if (now := time.perf_counter()) < end:
                self._send(descriptor)
        self._answers.verify()
        return Tally(calls, now - start)

    def close(self) -> None:
        for connection in self._sockets.values():
            connection.close()

    def _ready(self) -> Iterator[int]:
        """Descriptors with something to read, until no answer is owed. One connection is simply read."""
        if len(self._sockets) == 1:
            while self._waiting:
                yield from self._sockets
            return
        with select.epoll() as poll:
            for descriptor in self._sockets:
                poll.register(descriptor, select.EPOLLIN)
            while self._waiting:
                for descriptor, _ in poll.poll():
                    yield descriptor

    def _send(self, descriptor: int) -> None:
        index = self._next
        self._next = (index + 1) % len(self._requests)
        self._waiting[descriptor] = index
        self._sockets[descriptor].sendall(self._requests[index])

    def _receive(self, descriptor: int) -> bool:
        """Whether the answer owed on this connection is now complete."""
        chunk = self._sockets[descriptor].recv(_CHUNK)
        if not chunk:
            raise ConnectionError("the server closed a connection")
        response = self._partial.pop(descriptor, b"") + chunk
        body = _body(response)
        if body is None:
            self._partial[descriptor] = response
            return False
        self._answers.add(self._waiting.pop(descriptor), body)
        return True


def _body(response: bytes) -> bytes | None:
    """The body, None while incomplete; raises WrongAnswer for anything but a 200 of known length."""
    end = response.find(b"\r\n\r\n")
    if end < 0:
        return None
    if not response.startswith(b"HTTP/1.1 200 "):
        raise WrongAnswer(response[:400].decode(errors="replace"))
    body = response[end + 4 :]
    return body if len(body) == _content_length(response[:end]) else None


def _content_length(head: bytes) -> int:
    before, found, after = head.lower().partition(b"\r\ncontent-length:")
    if not found:
        raise WrongAnswer(f"no Content-Length in {before[:200]!r}")
    return int(after.partition(b"\r\n")[0])
