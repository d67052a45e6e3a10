"""Events over Redis: one connection for all listeners of a process, which is reopened after a loss.

One task connects and reads; other tasks only write to its connection. Without a connection, events are lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from tooltrue.errors import StateError
from tooltrue.state.facts import Callback, Listeners
from tooltrue.state.wording import REASON_SUBSCRIPTION_UNCONFIRMED, STATE_STORE_FAILED
from tooltrue.wording import Worded

if TYPE_CHECKING:
    from redis.asyncio import Connection

__all__ = ["RedisEvents"]

logger = logging.getLogger("tooltrue.state")

_QUIET_SECONDS = 10.0
_PAUSE_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_LOST = (RedisError, OSError)

_Waiter = tuple[Callback, "asyncio.Future[Callable[[], None]]"]


class RedisEvents:
    """The listeners, by channel. ``connect`` creates a connection that is not open yet; ``display_url`` names the store
    in errors. After ``quiet`` seconds of silence the store is pinged.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        prefix: bytes,
        display_url: str,
        patience: float,
        quiet: float = _QUIET_SECONDS,
    ) -> None:
        self._connect = connect
        self._prefix = prefix
        self._display_url = display_url
        self._patience = patience
        self._quiet = quiet
        self._listeners = Listeners()
        self._waiting: dict[str, list[_Waiter]] = {}
        self._event_count = 0
        self._connection: Connection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._writers: set[asyncio.Task[None]] = set()

    def name(self, channel: str) -> bytes:
        """The store's name for ``channel``."""
        return self._prefix + channel.encode()

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        """Subscribe; return once the store has confirmed the subscription."""
        loop = asyncio.get_running_loop()
        waiter: _Waiter = (callback, loop.create_future())
        name = self.name(channel)
        self._waiting.setdefault(channel, []).append(waiter)
        self._reader = self._reader or loop.create_task(self._read_events())
        try:
            async with asyncio.timeout(self._patience):
                await self._write("SUBSCRIBE", name)
                return await waiter[1]
        except TimeoutError:
            self._give_up(waiter)
            raise StateError.of(
                STATE_STORE_FAILED, url=self._display_url, problem=Worded(REASON_SUBSCRIPTION_UNCONFIRMED, {})
            ) from None
        except BaseException:
            self._give_up(waiter)
            raise
        finally:
            self._forget(channel, waiter)

    def _give_up(self, waiter: _Waiter) -> None:
        """Abandon a subscription: its caller will not end it, so it ends here."""
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
        """Stop all deliveries."""
        self._listeners = Listeners()
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.wait((reader, *self._writers))

    async def _write(self, *command: str | bytes) -> None:
        """Send a command if there is a connection. Written at once, so that commands arrive in order."""
        connection = self._connection
        if connection is not None and connection.is_connected:
            with contextlib.suppress(*_LOST):  # the reader detects the loss too, and subscribes again
                await connection.send_command(*command)

    # The reader

    async def _read_events(self) -> None:
        pauses = iter(_PAUSE_SECONDS)
        while True:
            connection = self._connect()
            try:
                async with asyncio.timeout(self._patience):
                    await connection.connect()
                self._connection, pauses = connection, iter(_PAUSE_SECONDS)
                await self._listen(connection)
            except (*_LOST, TimeoutError) as error:
                logger.warning("Events of %s may be lost: %s", self._display_url, error)
            except Exception:  # a fault of a library must not end all events of this process
                logger.exception("Events of %s may be lost", self._display_url)
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
            if (message := await _next(connection, self._quiet)) is not None:
                is_quiet = False
                self._handle_message(*message)
            elif is_quiet:
                raise TimeoutError("it does not answer")
            else:
                is_quiet = True
                await connection.send_command("PING")

    def _handle_message(self, kind: bytes, name: bytes, payload: Any) -> None:
        channel = name.removeprefix(self._prefix).decode(errors="replace")
        if kind == b"message":
            self._event_count += 1
            self._listeners.deliver(channel, payload, self._event_count)
        elif kind == b"subscribe":
            for callback, future in self._waiting.get(channel, ()):
                if not future.done():
                    future.set_result(self._listening(channel, callback))

    def _listening(self, channel: str, callback: Callback) -> Callable[[], None]:
        """Add a listener; it receives the events that follow."""
        return partial(self._end, channel, self._listeners.add(channel, callback, self._event_count))

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
    """The next message of the store: its type, channel and payload; ``None`` after ``quiet`` seconds of silence."""
    message = await connection.read_response(disable_decoding=True, timeout=quiet)
    if isinstance(message, bytes):  # PONG: after the last listener has left, the store answers as without subscriptions
        return message, b"", b""
    return None if message is None else (message[0], message[1], message[-1])
