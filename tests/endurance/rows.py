"""The endurance rows, in order. Each row starts its own server, stresses it, and returns the figures.

``size`` scales the load: 1 for ``make endurance``, less in the suite. A row that opens many connections at once runs
its load twice and counts the growth of the second pass: the first fills the allocator's pools.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from endurance.measuring import (
    MEGABYTE,
    PATIENCE,
    Figure,
    Http,
    Stdio,
    at_least,
    call,
    encoded,
    exactly,
    modern,
    on_http,
    on_stdio,
    pinged,
    resident,
    up_to,
    within,
)

__all__ = ["ROWS", "Row"]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
JUNK = (
    b"{",
    b'{"jsonrpc":"2.0","id":1,"meth',
    b"}{",
    b"\xff\xfe\x00",
    b'"\xc3\x28"',
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"9" * 5_000 + b"}}",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    b'{"id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":7}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
    b'{"jsonrpc":"2.0"}',
    b"[]",
    b"7",
    b"null",
    b"[" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
)


def brackets_of(size: int) -> dict[str, bytes]:
    """Messages of so many bytes that are brackets and little else."""
    return {
        "opened": b"[" * size,
        "side by side": b"[" + b"[]," * (size // 3 - 1) + b"0]",
        "99 deep": b"[" + (b"[" * 98 + b"]" * 98 + b",") * (size // 197 - 1) + b"0]",
        "in objects": b"[" + b'{"a": 1},' * (size // 9 - 1) + b"0]",
        "as many as pass": b"[" + b"[]," * min(999_000, size // 3) + b"0]",
        "in strings": b'["' + b"[" * (size - 4) + b'"]',
    }


@dataclass(frozen=True)
class Row:
    """One row. ``quick`` is the size at which the row takes a second or two; 0 if no such size exists."""

    key: str
    title: str
    measure: Callable[[float], Sequence[Figure]]
    quick: float


def handshake(version: str) -> dict[str, object]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    return {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def is_refusal(answer: object) -> bool:
    return isinstance(answer, dict) and answer.get("error", {}).get("code") in (-32700, -32600, -32602)


def many(whole: int, size: float) -> int:
    return max(1, round(whole * size))


# --- invalid messages ------------------------------------------------------------------------------------------------


def junk_on_stdio(size: float) -> Sequence[Figure]:
    rounds = many(100, size)
    with on_stdio() as server:
        for junk in JUNK:
            server.ask(junk)
        before, refused, worst = server.reading(), 0, 0.0
        for _ in range(rounds):
            for junk in JUNK:
                begun = time.perf_counter()
                refused += is_refusal(server.ask(junk))
                worst = max(worst, time.perf_counter() - begun)
        alive = server.ask(call("echo", text="x"))["id"] == 1
        return [
            exactly("refused", refused, rounds * len(JUNK)),
            up_to("worst answer", worst * 1000, 500, "ms"),
            exactly("call afterwards", alive, 1),
            *server.reading().since(before),
        ]


def junk_on_http(size: float) -> Sequence[Figure]:
    rounds = many(100, size)
    with on_http() as server:
        for junk in JUNK:
            server.post(junk)
        before, refused = server.reading(), 0
        with pinged(server) as pings:
            for _ in range(rounds):
                for junk in JUNK:
                    status, _, body = server.post(junk)
                    refused += status == 400 and is_refusal(json.loads(body))
        return [
            exactly("refused", refused, rounds * len(JUNK)),
            pings.figure(500),
            *server.rested(before).since(before),
        ]


def long_line(size: float) -> Sequence[Figure]:
    """The server refuses it before its end, and ends."""
    megabytes = many(200, size)
    with on_stdio() as server:

        def send() -> None:
            with contextlib.suppress(BrokenPipeError):
                for _ in range(max(megabytes, 20)):
                    server.write(b"x" * MEGABYTE)

        server.write(15 * MEGABYTE * b"x")
        peak = resident(server.pid)["VmHWM"]
        seconds = timed(send)
        return [
            up_to(f"a line of {megabytes} MB", seconds, 10, "s"),
            up_to("memory at the peak", peak, 120, "MB"),
            exactly("refused", is_refusal(json.loads(server.lines(1)[0])), 1),
        ]


def brackets(size: float) -> Sequence[Figure]:
    messages = brackets_of(round(16 * MEGABYTE * size))
    with on_stdio() as server, on_http() as other:
        for data in messages.values():
            server.ask(data)
        before, figures = server.reading(), list[Figure]()
        for name, data in messages.items():
            seconds = timed(lambda data=data: server.ask(data))
            figures.append(up_to(f"{name} ({len(data) / MEGABYTE:.0f} MB)", seconds, 2, "s"))
        after = server.reading()
        with pinged(other) as pings:
            for data in messages.values():
                other.post(data)
        figures.append(pings.figure(1_500))
        return [*figures, up_to("memory at the peak", after.peak, 300, "MB"), *after.since(before, 10)]


def batches(size: float) -> Sequence[Figure]:
    rounds = many(200, size)
    items = [PING, b'{"jsonrpc":"2.0","method":"x"}', b"7", encoded(call("echo", "e", text="x")), b'{"id":4}']
    good = [PING.replace(b"1}", b"%d}" % id).replace(b'"id":1', b'"id":%d' % id) for id in range(100, 195)]
    mixed = b"[" + b",".join(items + good) + b"]"
    large = b"[" + b",".join([PING] * 101) + b"]"
    with on_stdio() as server:
        assert is_refusal(server.ask(mixed)), "there are no batches before a handshake has agreed on them"
        server.ask(handshake("2025-03-26"))
        server.ask(mixed)
        before, right = server.reading(), 0
        for _ in range(rounds):
            answers = server.ask(mixed)
            right += len(answers) == 99 and sum("error" in answer for answer in answers) == 2
            right += is_refusal(server.ask(large))
        return [exactly("answered as they should be", right, rounds * 2), *server.reading().since(before)]


def one_id(size: float) -> Sequence[Figure]:
    number = many(4_000, size)
    with on_stdio() as server:
        server.ask(call("echo", text="x"))
        before = server.reading()
        server.write(encoded(call("wait", 7)) + b"\n")
        refused = sum(is_refusal(server.ask(call("wait", 7))) for _ in range(number))
        server.write(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}\n'
        )  # not this one
        running = server.state()
        server.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n')
        return [
            exactly("refused while the first runs", refused, number),
            exactly("running", running["begun"] - running.get("cancelled", 0), 1),
            exactly("free again", "result" in server.ask(call("echo", 7, text="x")), 1),
            *server.rested(before).since(before),
        ]


# --- many valid requests ---------------------------------------------------------------------------------------------


def calls_on_stdio(size: float) -> Sequence[Figure]:
    number = many(100_000, size)
    lines = (encoded(call(*tool, id, **given)) for id in count() for tool, given in TOOLS)
    with on_stdio() as server:
        answer_all(server, lines, 10_000)
        before = server.reading()
        seconds = timed(lambda: answer_all(server, lines, number))
        return [at_least("calls", number / seconds, 1_000, "/s"), *server.reading().since(before)]


TOOLS = (
    (("echo",), {"text": "x"}),
    (("add",), {"a": 1, "b": 2}),
    (("echo",), {"txet": "wrong"}),
    (("nobody",), {}),
)


def answer_all(server: Stdio, lines: Iterator[bytes], number: int) -> None:
    """Ask that many, 100 at a time, each answered once."""
    while number > 0:
        width = min(100, number)
        server.write(b"\n".join(islice(lines, width)) + b"\n")
        assert len({json.loads(line)["id"] for line in server.lines(width)}) <= width
        number -= width


def calls_on_http(size: float) -> Sequence[Figure]:
    number = many(100_000, size)
    asked = [call(*tool, 1, **given) for tool, given in TOOLS]
    prepared = [(encoded(message), modern(message)) for message in asked]

    def answer_all(server: Http, number: int) -> None:
        for index in range(number):
            body, headers = prepared[index % len(prepared)]
            assert b'"id":1' in server.post(body, **headers)[2]

    with on_http() as server:
        answer_all(server, min(5_000, number))
        before = server.reading()
        with pinged(server) as pings:
            seconds = timed(lambda: answer_all(server, number))
        return [
            at_least("calls", number / seconds, 200, "/s"),
            pings.figure(500),
            *server.rested(before).since(before),
        ]


def idle_sessions(size: float) -> Sequence[Figure]:
    number = many(10_000, size)
    initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    with on_http() as server:

        def open_session() -> str:
            token = server.session()
            assert server.post(initialized, Mcp_Session_Id=token)[0] == 202
            return token

        for _ in range(500):
            open_session()
        before = server.reading()
        tokens = [open_session() for _ in range(number)]
        after = server.reading()
        listed = encoded({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        alive = sum(server.post(listed, Mcp_Session_Id=token)[0] == 200 for token in tokens[:: max(1, number // 100)])
        return [
            exactly("sessions", len(set(tokens)), number),
            exactly("of some of them alive", alive, len(tokens[:: max(1, number // 100)])),
            *after.since(before),
        ]


# --- clients that go away, or never come -----------------------------------------------------------------------------


def gone(asked: dict[str, object], number: int, server: Http, **headers: str) -> None:
    """So many clients that ask, each with an id of its own, and go away in the middle; 100 at a time."""
    begun = server.state().get("begun", 0)
    while number > 0:
        width = min(100, number)
        connections = [server.begin({**asked, "id": begun + index}, buffer=None, **headers) for index in range(width)]
        begun += width
        if not within(lambda begun=begun: server.state().get("begun", 0) == begun):
            raise TimeoutError("calls did not begin")
        for connection in connections:
            connection.close()
        number -= width


def disconnects(size: float) -> Sequence[Figure]:
    return in_mid_call(size, call("wait"))


def cancelled_streams(size: float) -> Sequence[Figure]:
    asked = call("tell", times=20)
    asked["params"]["_meta"] = {**asked["params"]["_meta"], "progressToken": 1}
    return in_mid_call(size, asked)


def in_mid_call(size: float, asked: dict[str, object]) -> Sequence[Figure]:
    number = many(2_000, size)
    with on_http() as server:
        idle = server.reading()
        gone(asked, number, server, **modern(asked))
        before = server.rested(idle)
        with pinged(server) as pings:
            gone(asked, number, server, **modern(asked))
            within(lambda: server.state()["cancelled"] == number * 2)
        cancelled = server.state()["cancelled"] - number
        return [
            exactly("handlers cancelled", cancelled, number),
            pings.figure(500),
            *server.rested(before).since(before),
        ]


def disconnects_of_legacy(size: float) -> Sequence[Figure]:
    """A legacy disconnect does not cancel: the call runs to its end, and the server then holds no memory of it."""
    number = many(2_000, size)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {"seconds": 1}}}
    with on_http() as server:
        token, idle = server.session(), server.reading()
        gone(asked, number, server, Mcp_Session_Id=token)
        before = server.rested(idle)
        gone(asked, number, server, Mcp_Session_Id=token)
        within(lambda: server.state()["finished"] == number * 2)
        finished = server.state()["finished"] - number
        return [exactly("handlers finished", finished, number), *server.rested(before).since(before)]


def cancelled_on_stdio(size: float) -> Sequence[Figure]:
    number = many(2_000, size)

    def cancel(server: Stdio, number: int) -> None:
        for id in range(number):
            server.write(encoded(call("wait", id)) + b"\n")
            if id % 2:  # both before and after it has begun
                server.ask(PING.replace(b"1", b'"p"'))
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
            server.write(encoded(note) + b"\n")

    with on_stdio() as server:
        cancel(server, 200)
        before = server.reading()
        cancel(server, number)
        # A cancelled handler ends one turn of the loop later, and a call may have begun by then.
        within(lambda: (state := server.state())["begun"] == state["cancelled"])
        state = server.state()
        return [
            up_to("handlers running", state["begun"] - state["cancelled"], 0, ""),
            *server.rested(before).since(before),
        ]


def listeners(size: float) -> Sequence[Figure]:
    """Streams of both eras that are opened, hear of a change, and are left; legacy sessions end then."""
    rounds, width = many(40, size), 50

    def listen_and_leave(server: Http) -> int:
        tokens = [server.session() for _ in range(width)]
        with contextlib.ExitStack() as stack:
            connections = [
                stack.enter_context(server.begin(LISTEN, buffer=None, **modern(LISTEN))) for _ in range(width)
            ]
            connections += [stack.enter_context(listening(server, token)) for token in tokens]
            assert all(b" 200 " in read_until(connection, b"\r\n\r\n") for connection in connections)
            server.ask(call("change"))
            heard = sum(b"list_changed" in read_until(connection, b"list_changed") for connection in connections)
        for token in tokens:
            server.post(b"", "DELETE", Mcp_Session_Id=token)
        within(lambda: server.state()["tasks"] < width)
        return heard

    with on_http() as server:
        idle = server.reading()
        for _ in range(rounds):
            listen_and_leave(server)
        before = server.rested(idle)
        heard = sum(listen_and_leave(server) for _ in range(rounds))
        # That a session has ended is remembered for a day, and its streams for 5 minutes: 2 kB each.
        return [exactly("have heard", heard, rounds * width * 2), *server.rested(before).since(before, 10)]


def listeners_gone(size: float) -> Sequence[Figure]:
    """Legacy streams left without a word. For 5 minutes, somebody could come back to the last 1,000 of them."""
    number = many(3_000, size)

    def listen_and_leave(server: Http) -> None:
        with listening(server, server.session()) as connection:
            assert b" 200 " in read_until(connection, b"\r\n\r\n")

    with on_http() as server:
        idle = server.reading()
        for _ in range(number):
            listen_and_leave(server)
        before = server.reading()
        with pinged(server) as pings:
            for _ in range(number):
                listen_and_leave(server)
        after = server.reading()
        return [
            up_to("memory of those who could come back", before.megabytes - idle.megabytes, 60, "MB"),
            up_to("tasks of theirs", after.tasks - idle.tasks, 4_000, ""),
            up_to("descriptors left", after.descriptors - idle.descriptors, 5, ""),
            up_to("memory grown by as many more", after.megabytes - before.megabytes, 10, "MB"),
            pings.figure(500),
        ]


LISTEN: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
LISTEN["params"] = {"notifications": {"toolsListChanged": True}, "_meta": call("x")["params"]["_meta"]}


def listening(server: Http, token: str) -> socket.socket:
    return server.begin(None, "GET", Mcp_Session_Id=token)


def read_until(connection: socket.socket, end: bytes) -> bytes:
    data = b""
    while end not in data:
        more = connection.recv(65_536)
        if not more:
            break
        data += more
    return data


def half_open(size: float) -> Sequence[Figure]:
    """Connections that send half a request and stop: the head must arrive within 10 s, the body within 30 s."""
    number = many(500, size)
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    heads, bodies = (b"", head[:20], head), (head + b"Content-Length: 99\r\n\r\n{",)
    with on_http() as server, pinged(server) as pings, contextlib.ExitStack() as stack:
        before = server.reading()
        begun = time.monotonic()
        waiting = [say_half(stack, server, heads[index % len(heads)]) for index in range(number // 2)]
        unfinished = [say_half(stack, server, bodies[0]) for _ in range(number // 2)]
        longest_head = max(until_ended(connection, begun) for connection in waiting)
        after_heads = server.rested(before)
        longest_body = max(until_ended(connection, begun) for connection in unfinished)
        after = server.rested(before)
    return [
        up_to("longest without a head", longest_head, 12, "s"),
        up_to("connections after that", after_heads.descriptors - before.descriptors, number // 2, ""),
        up_to("longest without a body", longest_body, 32, "s"),
        pings.figure(500),
        *after.since(before, 10),
    ]


def say_half(stack: contextlib.ExitStack, server: Http, half: bytes) -> socket.socket:
    connection = stack.enter_context(server.connect())
    connection.sendall(half)
    return connection


def until_ended(connection: socket.socket, begun: float) -> float:
    """The seconds from ``begun`` until the peer has closed the connection; data received before is discarded."""
    connection.settimeout(PATIENCE * 2)
    with contextlib.suppress(ConnectionError):
        while connection.recv(65_536):
            pass
    return time.monotonic() - begun


def slow_senders(size: float) -> Sequence[Figure]:
    """Good requests, a few bytes at a time, from many at once."""
    number = many(200, size)
    asked = call("echo", text="x" * 100)

    def send_slowly(server: Http) -> int:
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(server.connect()) for _ in range(number)]
            data = request(server, asked)
            for at in range(0, len(data), 16):
                for connection in connections:
                    connection.sendall(data[at : at + 16])
                select.select([], [], [], 0.02)
            return sum(b'"isError":false' in read_until(connection, b"}}") for connection in connections)

    with on_http() as server:
        before = server.reading()
        send_slowly(server)
        before = server.rested(before)
        with pinged(server) as pings:
            answered = send_slowly(server)
        return [exactly("answered", answered, number), pings.figure(500), *server.rested(before).since(before)]


def request(server: Http, message: dict[str, object]) -> bytes:
    data = encoded(message)
    headers = server.head(len(data), **modern(message)) | {"Host": "localhost", "Content-Length": str(len(data))}
    return "\r\n".join(["POST /mcp HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), "", ""]).encode() + data


def unread_answers(size: float) -> Sequence[Figure]:
    """A client that requests 200 MB without reading costs the server only the results in transit."""
    number = many(2_000, size)
    with on_stdio() as server:
        server.ask(call("large", kilobytes=100))
        before = server.reading()
        asked = b"".join(encoded(call("large", id, kilobytes=100)) + b"\n" for id in range(number))
        taken = server.write_some(asked, 0.5)
        held = resident(server.pid)["VmRSS"] - before.megabytes
        answered = sum(1 for _ in answers_of(server, number, asked[taken:]))
        return [
            up_to("memory while nobody reads", held, 10, "MB"),
            exactly("answered in the end", answered, number),
            *server.reading().since(before),
        ]


def answers_of(server: Stdio, number: int, rest: bytes) -> Iterator[bytes]:
    """That many answers, while the rest of the questions is written as it is taken."""
    got = 0
    while got < number:
        rest = rest[server.write_some(rest, 0.0) :]
        for line in server.some_lines():
            got += 1
            yield line


def streams_nobody_reads(size: float) -> Sequence[Figure]:
    kilobytes = many(10_000, size)
    with on_http() as server:
        idle = server.reading()
        with unread_streams(server, kilobytes):
            held = server.reading().megabytes - idle.megabytes
        for _ in range(4):  # until the allocator has found its place for them
            unread_streams(server, kilobytes).close()
        before = server.rested(idle)
        with pinged(server) as pings, unread_streams(server, kilobytes):
            pass
        return [
            up_to("memory while nobody reads", held, 260, "MB"),  # they ask for 200
            pings.figure(500),
            *server.rested(before).since(before, 10),
        ]


def unread_streams(server: Http, kilobytes: int) -> contextlib.ExitStack:
    """20 clients that each request ``kilobytes`` over a stream and do not read it."""
    number, asked = 20, call("large", kilobytes=kilobytes)
    asked["params"]["_meta"] = {**asked["params"]["_meta"], "progressToken": 1}
    given = server.state().get("given", 0)
    stack = contextlib.ExitStack()
    connections = [stack.enter_context(server.begin(asked, buffer=4_096, **modern(asked))) for _ in range(number)]
    if not within(lambda: server.state().get("given", 0) == given + number):
        raise TimeoutError("not all has been given")
    if not within(lambda: len(select.select(connections, [], [], 0)[0]) == number):
        raise TimeoutError("not all is being sent")
    return stack


ROWS = (
    Row("junk-stdio", "junk and half lines, stdio", junk_on_stdio, 0.05),
    Row("junk-http", "junk and half bodies, HTTP", junk_on_http, 0.05),
    Row("line", "a line of 200 MB", long_line, 0.1),
    Row("brackets", "16 MB of brackets", brackets, 0.03),
    Row("batches", "batches with mixed content", batches, 0.1),
    Row("ids", "one id, again and again", one_id, 0.1),
    Row("calls-stdio", "100,000 calls, stdio", calls_on_stdio, 0.05),
    Row("calls-http", "100,000 calls, HTTP", calls_on_http, 0.005),
    Row("idle", "10,000 idle legacy sessions", idle_sessions, 0.05),
    Row("gone", "2,000 connects and disconnects in mid-call", disconnects, 0.1),
    Row("gone-legacy", "the same of legacy clients", disconnects_of_legacy, 0),
    Row("streams", "2,000 cancelled streams", cancelled_streams, 0.1),
    Row("cancelled", "2,000 cancellations, stdio", cancelled_on_stdio, 0.1),
    Row("listeners", "4,000 subscriptions opened and left", listeners, 0.05),
    Row("listeners-gone", "6,000 legacy streams left without a word", listeners_gone, 0),
    Row("half-open", "500 half-open connections", half_open, 0),
    Row("slow-senders", "200 slow senders", slow_senders, 0.1),
    Row("unread", "200 MB of answers that nobody reads, stdio", unread_answers, 0.05),
    Row("unread-http", "20 streams of 10 MB that nobody reads", streams_nobody_reads, 0.1),
)
