"""Resumable streams (2025-11-25, basic/transports, "Resumability and Redelivery").

The events of a session's stream are stored in the facts for some minutes, so that any worker can resume it after its
connection broke. One worker writes a stream: the one that runs the call. A reader that resumes it reads the stored
events first, then new ones. An event is stored before it is sent, so that every id that a client has seen can be found.

A reader announces itself to the writer, and gets a reply: otherwise a silent stream would look like one whose worker
has ended. If the worker of a call has ended, the reader gets an error in place of the answer. A standalone stream,
which belongs to no request, goes on while it has a reader, and another takes its place if its worker has ended.

An event's id is the stream's name and a number. Streams are stored under a hash of the session and the name: with
another session, the id finds no stream.

Theory of operation. Writer (:class:`Recording`) and reader (:class:`_ReplayReader`) share a head and events in the
facts, and six words on a channel named after the stream::

      writer                                   reader
        |<-------------- taken ------------------|   it follows from here on; earlier readers stop
        |--------------- heard ----------------->|   the writer lives
        |--------------- more ------------------>|   new events, or the end: read the head again
        |<-------------- here -------------------|   still following (after a silence)
        |--------------- leave ----------------->|   close the connection, and come back (polling)
        |<-------------- gone -------------------|   the connection is closed; the stream is without a reader

A stream begins with its first message, ends with its answer, and is ``lost`` when its events are incomplete: the
facts failed, or the store of this worker was full. A lost stream goes on to its own connection without event ids, and
is not found by a reader, which gets an error rather than an incomplete rest. A reader ends when the stream has ended,
when another reader has taken it, or when the writer has given no sign for ten seconds.

Words only wake; the facts are the truth. A lost word therefore costs time and no event: a reader polls, and a writer
renews the head every ``_REFRESH_SECONDS``. The memory that streams may take is bounded per stream and per worker
(:class:`ReplayLimits`); :class:`_Shelf` gives up those that have ended first.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from tooltrue.errors import InternalError, InvalidRequest, StateError
from tooltrue.jsonrpc.messages import Id, Json, decode, encode, encode_failure, encode_notification
from tooltrue.server.wording import STREAM_EVENTS_EXPIRED, STREAM_NOT_RESUMABLE, WORKER_GONE_EFFECT_UNKNOWN
from tooltrue.state.facts import Facts
from tooltrue.transport.http_server import Stream

__all__ = ["GONE", "HERE", "KEPT_SECONDS", "RETRY_MS", "TAKEN", "Recording", "ReplayLimits", "ResumableStreams"]

KEPT_SECONDS = 300.0
RETRY_MS = 1_000

_REFRESH_SECONDS = KEPT_SECONDS / 3
_LOOK_SECONDS = 5.0  # a message between workers may be lost, so a reader also polls
_SILENT_SECONDS = 10.0  # a worker that has not answered for so long has ended, or its event loop is blocked
_MAX_PENDING = 1_000
# Memory of a stream before its first event, and of an event beside its frame: keys, records and tables, as
# measured in a process of its own (CPython 3.11 and later, facts in memory), and a tenth for the allocator.
_STREAM = 1_700
_EVENT = 500
_ID = re.compile(r"([A-Za-z0-9_-]{22})\.([0-9]{1,9})")

# Messages on the channel of a stream. Its writer sends the first three, a reader the others, with its name.
_MORE, _LEAVE, _HEARD = b"more", b"leave", b"heard"
TAKEN, HERE, GONE = b"taken", b"here", b"gone"

_log = logging.getLogger("tooltrue")


@dataclass(frozen=True, slots=True)
class ReplayLimits:
    """The storage limits of one worker: the newest ``events`` and ``bytes`` of a stream, and ``total`` bytes of all
    streams. Bytes count the memory used, not only the frames.
    """

    events: int = 1_000
    bytes: int = 8 * 1024 * 1024
    total: int = 64 * 1024 * 1024


class ResumableStreams:
    """The streams that this worker writes, and access to those of all workers. ``clock`` gives seconds.

    A reader polls every ``look_seconds`` for new events, even without a notification. ``language`` is that of errors.
    """

    def __init__(
        self,
        facts: Facts,
        bounds: ReplayLimits | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        look_seconds: float = _LOOK_SECONDS,
        language: str = "en",
    ) -> None:
        self._facts = facts
        self._clock = clock
        self._language = language
        self._look_seconds = look_seconds
        self._shelf = _Shelf(facts, bounds or ReplayLimits(), clock)

    def record(self, token: str, stream: Stream, *, polled: bool, request: Id | None = None) -> Recording:
        """Return a recording that sends on ``stream`` for the session with this token, and stores the events for later
        readers.

        ``polled``: the revision lets the server close the connection for the client to come back. Without a ``request``
        that it answers, the stream is a standalone one.
        """
        return Recording(self._facts, self._shelf, token, stream, polled=polled, request=request)

    async def resume(self, token: str, id: str, stream: Stream) -> bool:
        """Send all events after the event ``id`` of its stream, then new ones, until that stream ends.

        An earlier reader loses the stream. Returns true for a standalone stream that has ended, or whose worker has, so
        that another may take its place. A call whose worker has ended gets an error as its answer.

        Raises ``InvalidRequest``, before anything is sent, if this session has no such event, or a part of the later
        events is no longer stored.
        """
        parts = _ID.fullmatch(id)
        if parts is None:
            raise InvalidRequest.of(STREAM_NOT_RESUMABLE, id=id[:80])
        reader = _ReplayReader(self._facts, _key(token, parts[1]), id, int(parts[2]), self._clock, self._look_seconds)
        unsubscribe = await self._facts.subscribe(reader.key, reader.on_message)
        try:
            events = await reader.read()
            await reader.say(TAKEN)
            stream.open()
            while True:
                for number, frame in events:
                    await stream.room()
                    stream.send(frame, f"{parts[1]}.{number}")
                if reader.leaves:
                    stream.leave(RETRY_MS)
                if reader.is_superseded or stream.gone:
                    return False
                if reader.is_ended:
                    return reader.is_standalone
                if not await reader.wait():
                    if reader.request is not None:
                        error = InternalError.of(WORKER_GONE_EFFECT_UNKNOWN)
                        stream.send(encode_failure(reader.request, error, self._language))
                    return reader.is_standalone
                try:
                    events = await reader.read()
                except InvalidRequest:
                    return False  # a reader that comes back learns why
        finally:
            unsubscribe()
            await reader.leave()


class Recording:
    """An exchange whose stream can be resumed. Before the first message there is no stream, and no event is stored.

    If the facts fail, it goes on as a stream that cannot be resumed, without event ids.
    """

    def __init__(
        self, facts: Facts, shelf: _Shelf, token: str, stream: Stream, *, polled: bool, request: Id | None
    ) -> None:
        self._facts = facts
        self._shelf = shelf
        self._token = token
        self._stream = stream
        self._request = request
        self._task: asyncio.Task[None] | None = None
        self.polled = polled
        self.when_read: Callable[[bytes, bytes], None] = lambda word, reader: None

    @property
    def has_stream(self) -> bool:
        """Whether there is a stream; if not, an answer has to go another way."""
        return self._task is not None

    def begin(self) -> None:
        """Open the stream before the first message."""
        if self._task is not None:
            return
        self._name = secrets.token_urlsafe(16)
        self._tape = self._shelf.tape(_key(self._token, self._name), self._request)
        self._pending: deque[bytes] = deque(maxlen=_MAX_PENDING)
        self._more = asyncio.Event()
        self._leaving = self._is_ended = self._reader_waits = False
        self._task = asyncio.get_running_loop().create_task(self._write())

    def notify(self, method: str, params: Json) -> None:
        self.send(encode_notification(method, params))

    def send(self, frame: bytes) -> None:
        """Store one message, and send it if there is a reader. Does not block: a tool that produces more than can be
        written meanwhile loses the oldest of the pending messages.
        """
        self.begin()
        self._pending.append(frame)
        self._more.set()

    def detach(self) -> None:
        """Release the connection, whichever worker has it now, and have the client come back."""
        if self.polled:
            self.begin()
            self._leaving = True
            self._more.set()

    async def close(self) -> None:
        """End the stream. Returns once all events are stored, and handed to the reader."""
        if self._task is not None:
            self._is_ended = True
            self._more.set()
            await asyncio.wait((self._task,))

    def _on_message(self, message: bytes) -> None:
        word, _, reader = message.partition(b" ")
        if word == TAKEN:
            self._stream.leave()
        if word in (TAKEN, HERE, GONE):
            self._reader_waits = word != GONE
            self.when_read(word, reader)
            self._more.set()

    async def _write(self) -> None:
        unsubscribe: Callable[[], None] | None = None
        with self._unless_the_facts_fail():
            unsubscribe = await self._facts.subscribe(self._tape.key, self._on_message)
        await self._keep((), is_last=False)
        if self.polled and not self._tape.lost:
            self._stream.prime(f"{self._name}.0")
        else:
            self._stream.open()
        try:
            while not await self._step():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_REFRESH_SECONDS):
                        await self._more.wait()
        finally:
            if unsubscribe is not None:
                unsubscribe()
            self._shelf.retire(self._tape)

    async def _step(self) -> bool:
        """Write the pending messages. Returns whether the stream has ended."""
        self._more.clear()
        frames = tuple(self._pending)
        self._pending.clear()
        leaving, self._leaving = self._leaving, False
        if self._reader_waits:
            self._reader_waits = False
            await self._say(_HEARD)
        is_last, first = self._is_ended, self._tape.last + 1
        await self._keep(frames, is_last=is_last)
        for number, frame in enumerate(frames, first):
            await self._stream.room()
            self._stream.send(frame, None if self._tape.lost else f"{self._name}.{number}")
        if leaving and not is_last and not self._tape.lost:
            await self._leave()
        return is_last

    async def _keep(self, frames: Sequence[bytes], *, is_last: bool) -> None:
        with self._unless_the_facts_fail():
            await self._tape.add(frames, is_last=is_last)

    async def _leave(self) -> None:
        if not self._stream.gone:
            self._stream.leave(RETRY_MS)
        else:
            await self._say(_LEAVE)

    async def _say(self, word: bytes) -> None:
        with self._unless_the_facts_fail():
            await self._facts.publish(self._tape.key, word)

    @contextlib.contextmanager
    def _unless_the_facts_fail(self) -> Generator[None]:
        try:
            yield
        except StateError as error:
            _log.warning("a stream cannot be resumed any more: %s", error)
            self._tape.lost = True


class _ReplayReader:
    """The position of one connection in a stream that it follows."""

    def __init__(
        self, facts: Facts, key: str, id: str, after: int, clock: Callable[[], float], look_seconds: float
    ) -> None:
        self._facts = facts
        self._id = id
        self._after = after
        self._look_seconds = look_seconds
        self._clock = clock
        self._more = asyncio.Event()
        self._name = secrets.token_hex(8).encode()
        self._sent_at = 0.0
        self._writer_alive = False
        self.key = key
        self.leaves = self.is_ended = self.is_superseded = False
        self.request: Id | None = None

    @property
    def is_standalone(self) -> bool:
        return self.request is None

    def on_message(self, message: bytes) -> None:
        word, _, reader = message.partition(b" ")
        if not reader:
            self._writer_alive = True  # sent by the writer
        self.leaves = self.leaves or word == _LEAVE
        self.is_superseded = self.is_superseded or (word == TAKEN and reader != self._name)
        self._more.set()

    async def say(self, word: bytes) -> None:
        """Send a message to the writer."""
        self._writer_alive, self._sent_at = False, self._clock()
        await self._facts.publish(self.key, b"%b %b" % (word, self._name))

    async def leave(self) -> None:
        """Tell the writer of a standalone stream that this reader has gone, so that a stream with a reader may
        speak.
        """
        if self.is_standalone and not self.is_ended and not self.is_superseded:
            with contextlib.suppress(StateError):
                await self.say(GONE)

    async def wait(self) -> bool:
        """Wait for new events, at most until the next poll. Returns false if the stream's worker has ended."""
        try:
            async with asyncio.timeout(self._look_seconds):
                await self._more.wait()
        except TimeoutError:
            if not self._writer_alive and (self.is_standalone or self._clock() - self._sent_at >= _SILENT_SECONDS):
                return False
            if self._writer_alive and not self.is_standalone:
                await self.say(HERE)
        self._more.clear()
        if self.is_standalone and self._clock() - self._sent_at > _REFRESH_SECONDS:
            await self.say(HERE)
        return True

    async def read(self) -> list[tuple[int, bytes]]:
        """Return the events since the last read, with their numbers. Raises ``InvalidRequest`` unless all of them are
        stored.
        """
        head = await self._facts.get(self.key)
        last, self.is_ended, self.request = (0, True, None) if head is None else decode(head)
        if head is None or self._after > last:
            raise InvalidRequest.of(STREAM_NOT_RESUMABLE, id=self._id)
        events: list[tuple[int, bytes]] = []
        for number in range(self._after + 1, last + 1):
            frame = await self._facts.get(_event_key(self.key, number))
            if frame is None:
                raise InvalidRequest.of(STREAM_EVENTS_EXPIRED, id=self._id)
            events.append((number, frame))
        self._after = last
        return events


class _Tape:
    """The stored part of one stream: a head (the last number, whether it has ended, the request that it answers), and
    the events. ``lost`` once the stream is incomplete, and no event is added.
    """

    def __init__(self, facts: Facts, shelf: _Shelf, key: str, request: Id | None) -> None:
        self._facts = facts
        self._shelf = shelf
        self._request = request
        self._sizes: deque[int] = deque()
        self.key = key
        self.last = 0
        self.size = 0
        self.lost = False
        self._resize(_STREAM)

    async def add(self, frames: Sequence[bytes], *, is_last: bool) -> None:
        """Store the frames, and renew the head; then notify the readers."""
        if self.lost:
            return
        for frame in frames:
            key = _event_key(self.key, self.last + 1)
            await self._facts.put(key, frame, KEPT_SECONDS)
            if self.lost:  # it has been given up meanwhile; this event was not counted yet
                await self._facts.remove(key)
                return
            self.last += 1
            self._sizes.append(len(frame) + _EVENT)
            self._resize(self._sizes[-1])
        while len(self._sizes) > self._shelf.bounds.events or self.size > self._shelf.bounds.bytes:
            await self._drop()
        if self.lost:
            return
        await self._facts.put(self.key, encode([self.last, is_last, self._request]), KEPT_SECONDS)
        if frames or is_last:
            await self._facts.publish(self.key, _MORE)
        await self._shelf.settle()

    async def _drop(self) -> None:
        number = self.last - len(self._sizes) + 1
        self._resize(-self._sizes.popleft())
        await self._facts.remove(_event_key(self.key, number))

    async def give_up(self) -> None:
        self.lost = True
        self._resize(-self.size)
        numbers = range(self.last - len(self._sizes) + 1, self.last + 1)
        self._sizes.clear()
        await self._facts.remove(self.key)
        for number in numbers:
            await self._facts.remove(_event_key(self.key, number))

    def _resize(self, size: int) -> None:
        self.size += size
        self._shelf.size += size


class _Shelf:
    """The tapes of this worker. If their total is too large, those that ended first are given up first, then those that
    began first.
    """

    def __init__(self, facts: Facts, bounds: ReplayLimits, clock: Callable[[], float]) -> None:
        self._facts = facts
        self._clock = clock
        self._running: dict[_Tape, None] = {}
        self._retired: deque[tuple[float, _Tape]] = deque()
        self.bounds = bounds
        self.size = 0

    def tape(self, key: str, request: Id | None) -> _Tape:
        tape = _Tape(self._facts, self, key, request)
        self._running[tape] = None
        return tape

    def retire(self, tape: _Tape) -> None:
        if tape in self._running:
            del self._running[tape]
            self._retired.append((self._clock() + KEPT_SECONDS, tape))

    async def settle(self) -> None:
        while self._retired and self._retired[0][0] <= self._clock():
            self.size -= self._retired.popleft()[1].size  # the facts have dropped it at its expiry
        while self.size > self.bounds.total and (tape := self._oldest()) is not None:
            await tape.give_up()

    def _oldest(self) -> _Tape | None:
        if self._retired:
            return self._retired.popleft()[1]
        tape = next(iter(self._running), None)
        if tape is not None:
            del self._running[tape]
        return tape


def _key(token: str, name: str) -> str:
    return "stream:" + hashlib.sha256(encode([token, name])).hexdigest()


def _event_key(key: str, number: int) -> str:
    return f"{key}:{number}"
