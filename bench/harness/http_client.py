"""A client on bare sockets with keep-alive: prebuilt requests out, answers in, one thread."""

import json
import re
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from harness.tally import Answers, Tally
from harness.wire import HANDSHAKE, LEGACY, MODERN, Message, WrongAnswer, verified

_CHUNK = 65_536
_PATIENCE = 30.0  # for a server to open its port


def request(message: Message, port: int, *more: str) -> bytes:
    """The POST of `message`, with the headers that its revision demands."""
    named = [] if message.name is None else [f"Mcp-Name: {message.name}"]
    modern = [f"Mcp-Method: {message.method}", *named] if message.era == MODERN else []
    return _post(message.body, port, f"MCP-Protocol-Version: {message.era}", *modern, *more)


def _post(body: bytes, port: int, *headers: str) -> bytes:
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def session(port: int, era: str) -> tuple[str, ...]:
    """The header that later requests carry: that of a session in the older era, where the server begins one."""
    if era != LEGACY:
        return ()
    initialize, initialized = (json.dumps(said).encode() for said in HANDSHAKE)
    head = _asked(port, _post(initialize, port))
    found = re.search(rb"\r\nmcp-session-id: *([^\r]+)", head, re.IGNORECASE)
    named = () if found is None else (f"Mcp-Session-Id: {found[1].decode()}",)
    _asked(port, _post(initialized, port, f"MCP-Protocol-Version: {era}", *named))
    return named


def _asked(port: int, request: bytes) -> bytes:
    """The head of the answer, on a connection of its own."""
    with connect(port) as connection:
        connection.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            if not (chunk := connection.recv(_CHUNK)):
                raise ConnectionError("the server closed a connection")
            answer += chunk
    return answer.partition(b"\r\n\r\n")[0]


def ask(port: int, message: Message, *headers: str) -> Any:
    """The result of one request with more headers, on a connection of its own. Raises WrongAnswer for a wrong one."""
    with connect(port) as connection:
        connection.sendall(request(message, port, *headers))
        answer, body = b"", None
        while body is None:
            if not (chunk := connection.recv(_CHUNK)):
                raise ConnectionError("the server closed a connection")
            answer += chunk
            body = body_of(answer)
    return verified(message, body)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_until_open(port: int, alive: Callable[[], bool], patience: float = _PATIENCE) -> None:
    """Returns once the server listens; raises ConnectionError when it ended, or took more than `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connect(port).close()
            return
        except ConnectionRefusedError:
            if not alive() or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


@contextmanager
def exchanging(port: int, messages: Sequence[Message], connections: int) -> Iterator["Exchange"]:
    """One request at a time on each of `connections`."""
    exchange = Exchange(port, messages, connections)
    try:
        yield exchange
    finally:
        exchange.close()


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Exchange:
    """The connections, and which request each of them waits for."""

    def __init__(self, port: int, messages: Sequence[Message], connections: int) -> None:
        more = session(port, messages[0].era)
        self._requests = [request(message, port, *more) for message in messages]
        self._answers = Answers(messages)
        self._next = 0
        self._waiting: dict[int, int] = {}
        self._sent: dict[int, float] = {}
        self._partial: dict[int, bytes] = {}
        self._sockets = {one.fileno(): one for one in (connect(port) for _ in range(connections))}

    def run(self, seconds: float) -> Tally:
        """Call for about `seconds`, and until all are answered; raises WrongAnswer if one answer was wrong."""
        end = time.perf_counter() + seconds
        return self._run(lambda calls, now: now >= end)

    def run_calls(self, count: int) -> Tally:
        """Make `count` calls, and one more on each other connection; raises WrongAnswer if one answer was wrong."""
        return self._run(lambda calls, now: calls >= count)

    def _run(self, is_over: Callable[[int, float], bool]) -> Tally:
        calls = 0
        took: list[float] = []
        start = now = time.perf_counter()
        for descriptor in self._sockets:
            self._send(descriptor)
            self._sent[descriptor] = start
        for descriptor in self._ready():
            if not self._receive(descriptor):
                continue
            calls += 1
            now = time.perf_counter()
            took.append(now - self._sent[descriptor])
            if not is_over(calls, now):
                self._send(descriptor)
                self._sent[descriptor] = now
        self._answers.verify()
        return Tally(calls, now - start, took)

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
        body = body_of(response)
        if body is None:
            self._partial[descriptor] = response
            return False
        self._answers.add(self._waiting.pop(descriptor), body)
        return True


def body_of(response: bytes) -> bytes | None:
    """The body, `None` while incomplete; raises WrongAnswer for anything but a 200 of known length, or in chunks."""
    end = response.find(b"\r\n\r\n")
    if end < 0:
        return None
    if not response.startswith(b"HTTP/1.1 200 "):
        raise WrongAnswer(response[:400].decode(errors="replace"))
    head, body = response[:end].lower(), response[end + 4 :]
    if b"\r\ntransfer-encoding: chunked" in head:
        if not body.endswith(b"0\r\n\r\n"):
            return None
        whole = _joined(body)
        return _last_event(whole) if b"\r\ncontent-type: text/event-stream" in head else whole
    return body if len(body) == _content_length(head) else None


def _last_event(stream: bytes) -> bytes:
    """The data of the last event of a stream, which answers the request."""
    data = [line.removeprefix(b"data:").strip() for line in stream.splitlines() if line.startswith(b"data:")]
    if not data:
        raise WrongAnswer(f"a stream without an event: {stream[:400].decode(errors='replace')}")
    return data[-1]


def _joined(body: bytes) -> bytes:
    chunks: list[bytes] = []
    while True:
        size, _, body = body.partition(b"\r\n")
        if not (length := int(size, 16)):
            return b"".join(chunks)
        chunks.append(body[:length])
        body = body[length + 2 :]


def _content_length(head: bytes) -> int:
    before, found, after = head.partition(b"\r\ncontent-length:")
    if not found:
        raise WrongAnswer(f"no Content-Length in {before[:200]!r}")
    return int(after.partition(b"\r\n")[0])
