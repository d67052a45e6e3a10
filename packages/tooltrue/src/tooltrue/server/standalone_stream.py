"""The standalone GET stream of a session, for messages that belong to no request (basic/transports, "Listening for
Messages").

A session may open several, at any worker; each message goes to one of them. The newest is active, the others are
silent, and one of those takes over when the newest ends. If its connection breaks, the active stream stays subscribed
for a while, so that a client that comes back misses no message; whichever worker it comes back to, the stream is
written here. It ends with its session.

The active stream is recorded in a fact that all workers share. Messages between workers on a session's channel only
make them read that fact again.

Theory of operation. A stream has two independent halves of state: whether it is the active one, and whether a
connection reads it::

                    opened                 a newer stream claims
      (subscribed) --------> active ---------------------------> silent
                               ^                                   |
                               |   the active one ended or expired |
                               +-----------------------------------+

                 connection breaks                  no client within KEPT_SECONDS
      connected -------------------> waiting ---------------------------------------> over
          ^                             |
          |    a reader resumes it      |   silent while waiting: over at once, since the client has a newer stream
          +-----------------------------+

``_speaks`` reads the fact, and claims it if it is free. ``_step`` is the only place that changes the halves, and runs
again after each wake-up: a change to send (``_on_change``), a message of another worker (``_on_message``), a sign of a
reader (``_on_reader_message``), or the renewal of the claim. The order within ``_step`` matters: a claim comes before
the look at others, and both before anything is sent, so that no two streams send the same change on purpose.

The drawing cannot say that two workers may both believe to be active for a moment, between a claim and the message
about it: a client then gets a change notification twice, which means the same as once. A claim expires after three
renewals, so the streams of a worker that was killed free the session by themselves. The stored events, and the reader
at another worker, are the matter of :mod:`tooltrue.server.replay`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets

from tooltrue.errors import StateError
from tooltrue.jsonrpc.messages import Json, encode_notification
from tooltrue.server.dual_era import Handlers
from tooltrue.server.legacy import LegacySession
from tooltrue.server.replay import GONE, HERE, KEPT_SECONDS, TAKEN, Recording
from tooltrue.state.facts import Facts
from tooltrue.tools.vocabulary import Principal

__all__ = ["StandaloneStream", "announce_end"]

_RENEW_SECONDS = 60.0
_CLAIM_SECONDS = 3 * _RENEW_SECONDS  # the claim of a stream whose worker has died expires after that
_ENDED, _FREE, _NEWER = b"ended", b"free", b"newer"

_log = logging.getLogger("tooltrue")


async def announce_end(facts: Facts, session: LegacySession) -> None:
    """Make the streams of a session that has just been ended check, at every worker, whether it still exists."""
    await facts.publish(_channel(session), _ENDED)


def _channel(session: LegacySession) -> str:
    return "standing:" + session.name


class StandaloneStream:
    """One standalone stream. It is subscribed to changes from its creation; :meth:`run` sends them, :meth:`close` ends
    it.

    ``released`` is set once its own connection has no part in it any more.
    """

    def __init__(self, handlers: Handlers, session: LegacySession, principal: Principal) -> None:
        self._legacy = handlers.legacy
        self._facts = handlers.served.facts
        self._token = session.token or ""
        self._principal = principal
        self._channel = _channel(session)
        self._name = secrets.token_hex(8).encode()
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._unsent: dict[bytes, None] = {}  # a change repeated before it is sent is sent once
        self._over = self._must_check = self._claims = False
        self._reader: bytes | None = None  # the connection that came back to it, if there is one
        self._until: float | None = None  # when it stops waiting for a reader; None while it has its own connection
        self.released = asyncio.Event()
        self._subscription = handlers.legacy.subscription(session, principal)
        self._subscription.listen()
        self._listening = self._loop.create_task(self._subscription.deliver(self._on_change))
        self._listening.add_done_callback(self._on_listening_ended)

    def close(self) -> None:
        """Unsubscribe; a running stream ends soon."""
        self._listening.cancel()
        self._subscription.end()
        self._over = True
        self._woken.set()

    def connection_lost(self) -> None:
        """The connection is gone; a client that comes back within the time that streams are stored misses no
        message.
        """
        if self._until is None:
            self._wait_for(None)

    def _wait_for(self, reader: bytes | None) -> None:
        """Wait for a sign of this reader, or for any client to come back."""
        self._reader = reader
        self._until = self._loop.time() + KEPT_SECONDS
        self._woken.set()

    def _on_reader_message(self, word: bytes, reader: bytes) -> None:
        """Handle a reader's message: it has taken the stream, still has it, or has left it."""
        if word == TAKEN:
            self._claims = True  # of all connections this one came last
            self._wait_for(reader)
            self.released.set()
        elif word == HERE and self._until is not None and self._reader in (None, reader):
            self._wait_for(reader)
        elif word == GONE and reader == self._reader:
            self._wait_for(None)

    @property
    def _alone(self) -> bool:
        return self._until is not None and self._reader is None

    def _on_listening_ended(self, listening: asyncio.Task[None]) -> None:
        """The subscription has ended: the server shuts down, listening failed, or the stream was closed."""
        if not listening.cancelled() and (error := listening.exception()) is not None:
            _log.warning("a stream of changes ends: %s", error)
        self.close()

    def _on_change(self, method: str, params: Json) -> None:
        self._unsent[encode_notification(method, params)] = None
        self._woken.set()

    def _on_message(self, word: bytes) -> None:
        """Handle a message of another worker. ``newer`` comes with the name of the stream that is active now."""
        if word.startswith(_NEWER) and self._alone and not word.endswith(self._name):
            self._over = True
        self._must_check = True
        self._woken.set()

    async def run(self, recording: Recording) -> None:
        """Send changes until the session or the server ends, or no client has come back in time."""
        recording.when_read = self._on_reader_message
        try:
            await self._speak(recording)
        except StateError as error:
            _log.warning("a stream of changes ends: %s", error)
        finally:
            self.close()
            await recording.close()
            self.released.set()

    async def _speak(self, recording: Recording) -> None:
        unsubscribe = await self._facts.subscribe(self._channel, self._on_message)
        try:
            await self._claim()
            recording.begin()
            while not self._over:
                await self._step(recording)
                await self._sleep()
            await self._fall_silent()
        finally:
            unsubscribe()

    async def _claim(self) -> None:
        await self._facts.put(self._channel, self._name, _CLAIM_SECONDS)
        await self._facts.publish(self._channel, _NEWER + self._name)

    async def _step(self, recording: Recording) -> None:
        self._woken.clear()
        if self._claims:
            self._claims = False
            await self._claim()
        if self._must_check:
            self._must_check = False
            await self._check_state()
        if self._until is not None and self._loop.time() >= self._until:
            self._over = True
        if self._alone and not await self._may_wait():
            self._over = True
        while self._unsent and not self._over:
            frame = next(iter(self._unsent))
            del self._unsent[frame]
            if await self._speaks():
                recording.send(frame)

    async def _sleep(self) -> None:
        if self._over or self._woken.is_set():
            return
        try:
            async with asyncio.timeout(_RENEW_SECONDS):
                await self._woken.wait()
        except TimeoutError:
            self._must_check = True

    async def _check_state(self) -> None:
        """Check that the session still exists, and take over if no stream is active; an active stream renews its
        claim.
        """
        if await self._legacy.open(self._token, self._principal) is None:
            self._over = True
        elif not self._alone and await self._speaks():
            await self._facts.put(self._channel, self._name, _CLAIM_SECONDS)

    async def _speaks(self) -> bool:
        speaker = await self._facts.get(self._channel)
        if speaker is None and not self._alone:
            return await self._facts.put_if_absent(self._channel, self._name, _CLAIM_SECONDS)
        return speaker in (None, self._name)

    async def _may_wait(self) -> bool:
        """Whether a stream without a connection stays subscribed: only the active one does."""
        speaker = await self._facts.get(self._channel)
        if speaker == self._name:
            await self._fall_silent()
        return speaker in (None, self._name)

    async def _fall_silent(self) -> None:
        """Hand over to an older stream."""
        if await self._facts.get(self._channel) == self._name:
            await self._facts.remove(self._channel)
            await self._facts.publish(self._channel, _FREE)
