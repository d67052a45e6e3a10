"""Events by Redis: one connection that listens, for all listeners of a process, and comes back when it was lost.

One task connects and reads; others only write to what it has connected. What is published while there is no connection
is not heard.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from toolwright.errors import StateError
from toolwright.state.facts import Callback, Listeners

if TYPE_CHECKING:
    from redis.asyncio import Connection

__all__ = ["RedisEvents"]

logger = logging.getLogger("toolwright.state")

_QUIET_SECONDS = 10.0
_PAUSE_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_LOST = (RedisError, OSError)

_Waiter = tuple[Callback, "asyncio.Future[Callable[[], None]]"]


class RedisEvents:
    """Whoever listens, by channel. ``connect`` makes a connection that is not open yet; ``shown`` is what the store is
    called in errors. After ``quiet`` seconds without a word the store is asked whether it is still there.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        prefix: bytes,
        shown: str,
        patience: float,
        quiet: float = _QUIET_SECONDS,
    ) -> None:
        self._connect = connect
        self._prefix = prefix
        self._shown = shown
        self._patience = patience
        self._quiet = quiet
        self._listeners = Listeners()
        self._waiting: dict[str, list[_Waiter]] = {}
        self._heard = 0
        self._connection: Connection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._writers: set[asyncio.Task[None]] = set()

    def name(self, channel: str) -> bytes:
        """What the store calls ``channel``."""
        return self._prefix + channel.encode()

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        """Returns once the store has said that it listens."""
        loop = asyncio.get_running_loop()
        waiter: _Waiter = (callback, loop.create_future())
        name = self.name(channel)
        self._waiting.setdefault(channel, []).append(waiter)
        self._reader = self._reader or loop.create_task(self._read())
        try:
            async with asyncio.timeout(self._patience):
                await self._write("SUBSCRIBE", name)
                return await waiter[1]
        except TimeoutError:
            self._give_up(waiter)
            raise StateError.of("TW7050", url=self._shown, problem="it did not confirm a subscription") from None
        except BaseException:
            self._give_up(waiter)
            raise
        finally:
            self._forget(channel, waiter)

    def _give_up(self, waiter: _Waiter) -> None:
        """Nobody takes what ends it, so it ends here."""
        future = waiter[1]
        if not future.cancel() and not future.cancelled():
            future.result()()

    def _forget(self, channel: str, waiter: _Waiter) -> None:
        waiting = self._waiting.get(channel, [])
        if waiter in waiting:
            waiting.remove(waiter)
        if not waiting:
            self._waiting.pop(channel, None)

    async def close(self) -> None:
        """Nobody is told of anything any more."""
        self._listeners = Listeners()
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.wait((reader, *self._writers))

    async def _write(self, *command: str | bytes) -> None:
        """Say it, if there is anybody to say it to. Written at once: what is said first arrives first."""
        connection = self._connection
        if connection is not None and connection.is_connected:
            with contextlib.suppress(*_LOST):  # the reader has lost it too, and says it all again
                await connection.send_command(*command)

    # The reader

    async def _read(self) -> None:
        pauses = iter(_PAUSE_SECONDS)
        while True:
            connection = self._connect()
            try:
                async with asyncio.timeout(self._patience):
                    await connection.connect()
                self._connection, pauses = connection, iter(_PAUSE_SECONDS)
                await self._listen(connection)
            except (*_LOST, TimeoutError) as error:
                logger.warning("Events of %s may be lost: %s", self._shown, error)
            finally:
                self._connection = None
                with contextlib.suppress(*_LOST, TimeoutError):
                    await connection.disconnect(nowait=True)
            await asyncio.sleep(next(pauses, _PAUSE_SECONDS[-1]))

    async def _listen(self, connection: Connection) -> None:
        if channels := {*self._listeners, *self._waiting}:
            await connection.send_command("SUBSCRIBE", *map(self.name, channels))
        is_quiet = False
        while True:
            if (said := await _next(connection, self._quiet)) is not None:
                is_quiet = False
                self._hear(*said)
            elif is_quiet:
                raise TimeoutError("it does not answer")
            else:
                is_quiet = True
                await connection.send_command("PING")

    def _hear(self, kind: bytes, name: bytes, payload: Any) -> None:
        channel = name.removeprefix(self._prefix).decode(errors="replace")
        if kind == b"message":
            self._heard += 1
            self._listeners.deliver(channel, payload, self._heard)
        elif kind == b"subscribe":
            for callback, future in self._waiting.get(channel, ()):
                if not future.done():
                    future.set_result(self._listening(channel, callback))

    def _listening(self, channel: str, callback: Callback) -> Callable[[], None]:
        """From here on: what comes next is heard."""
        return partial(self._end, channel, self._listeners.add(channel, callback, self._heard))

    def _end(self, channel: str, end: Callable[[], None]) -> None:
        end()
        if channel not in self._listeners:
            writer = asyncio.get_running_loop().create_task(self._leave(channel))
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)

    async def _leave(self, channel: str) -> None:
        if channel not in self._listeners and channel not in self._waiting:
            await self._write("UNSUBSCRIBE", self.name(channel))


async def _next(connection: Any, quiet: float) -> tuple[bytes, bytes, Any] | None:
    """What the store says next: what it is, about which channel, and what; ``None`` when it says nothing for long."""
    said = await connection.read_response(disable_decoding=True, timeout=quiet)
    if isinstance(said, bytes):  # PONG: once the last listener has gone, it answers as it does whoever never listened
        return said, b"", b""
    return None if said is None else (said[0], said[1], said[-1])
