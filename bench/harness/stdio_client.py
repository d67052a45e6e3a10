"""A client on two pipes: prebuilt lines out, lines in, one thread, no JSON while the clock runs."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from itertools import cycle, islice

from harness.tally import Answers, Tally, verify_any_order
from harness.wire import HANDSHAKE, LEGACY, Message

_CHUNK = 65_536
_NEWLINE = 10


class Pipes:
    """The two ends of a server's stdin and stdout, after the handshake of the older era where it is of that."""

    def __init__(self, process: subprocess.Popen[bytes], era: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._write = process.stdin.fileno()
        self._read = process.stdout.fileno()
        if era == LEGACY:
            initialize, initialized = (json.dumps(said).encode() + b"\n" for said in HANDSHAKE)
            self.send(initialize)
            self.receive_line()
            self.send(initialized)

    def send(self, lines: bytes) -> None:
        while lines:
            lines = lines[os.write(self._write, lines) :]

    def receive(self) -> bytes:
        """The bytes that have arrived, at least one; raises EOFError at the end of the stream."""
        if chunk := os.read(self._read, _CHUNK):
            return chunk
        raise EOFError("the server closed its output")

    def receive_line(self) -> bytes:
        """The next line, when only one answer is owed."""
        line = self.receive()
        if line[-1] == _NEWLINE:
            return line
        chunks = [line]
        while chunks[-1][-1] != _NEWLINE:
            chunks.append(self.receive())
        return b"".join(chunks)

    def ask(self, message: Message) -> bytes:
        self.send(message.line)
        return self.receive_line()


def sequential(pipes: Pipes, messages: Sequence[Message], seconds: float) -> Tally:
    """One request at a time, round and round, for about `seconds`; raises WrongAnswer if one answer was."""
    answers = Answers(messages)
    calls = 0
    start = now = time.perf_counter()
    for index, line in cycle(enumerate([message.line for message in messages])):
        pipes.send(line)
        answers.add(index, pipes.receive_line())
        calls += 1
        if (now := time.perf_counter()) - start >= seconds:
            break
    answers.verify()
    return Tally(calls, now - start)


def in_flight(pipes: Pipes, messages: Sequence[Message], width: int, seconds: float) -> Tally:
    """As many new requests as answers came, so that `width` are open, for about `seconds` and until all are answered.

    Raises WrongAnswer unless each request got its own answer, once.
    """
    lines = cycle([message.line for message in messages])
    chunks: list[bytes] = []
    sent = width
    owed = width
    start = time.perf_counter()
    end = start + seconds
    pipes.send(b"".join(islice(lines, width)))
    while owed:
        chunks.append(chunk := pipes.receive())
        count = chunk.count(b"\n")
        if count and time.perf_counter() < end:
            pipes.send(b"".join(islice(lines, count)))
            sent += count
        else:
            owed -= count
    elapsed = time.perf_counter() - start
    verify_any_order(messages, sent, b"".join(chunks).splitlines())
    return Tally(sent, elapsed)
