"""The life of each server: started concurrently, watched, and restarted when it is lost.

Servers are independent: one that does not start, hangs or dies is *unavailable*, with the reason, and is retried with
back-off. One whose start was not approved is *refused*, one whose definitions are too large to inspect is
*quarantined*; neither is retried.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tooltrue.client.client import Client
from tooltrue.errors import ConfigurationError, ConnectionLost, DefinitionError, TooltrueError
from tooltrue.host.remote import Remote
from tooltrue.host.wording import HOST_SERVER_CRASHED, HOST_SERVER_START_TIMEOUT, HOST_SERVER_STARTING
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.protocol.types import Value

__all__ = ["Connect", "Life", "Patience", "State", "Wake"]

State: TypeAlias = Literal["starting", "ready", "unavailable", "quarantined", "refused", "disabled", "ended"]

_NOT_OPEN = CONNECTION_CLOSED
_LAST_WORDS_SECONDS = 1.0
_FIRST_REST_SECONDS = 0.1
_LONGEST_REST_SECONDS = 30.0

_log = logging.getLogger("tooltrue")


class Patience(Value, frozen=True):
    """Time limits and back-off, in seconds. ``start`` bounds one start, ``ready`` how long a host that opens waits for
    the slowest of its servers; the rest continue to start. A server that was lost is retried after ``again``, then
    after twice that, up to ``longest``; one that has lived for ``steady`` starts over with ``again``. One that is
    exchanged has ``drain`` for its operations to end.
    """

    start: float = 60.0
    ready: float = 15.0
    again: float = 0.5
    longest: float = 60.0
    steady: float = 30.0
    drain: float = 30.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] | None = None


class Wake:
    """Pending events of a connection: it broke, a call found trouble, lists changed."""

    def __init__(self) -> None:
        self.lost: Exception | None = None
        self.is_doubted = False
        self.needs_inspection = False
        self.inspected = asyncio.Event()
        self.inspected.set()
        self._has_changed = False
        self._rests = False
        self._pause = _FIRST_REST_SECONDS
        self._event = asyncio.Event()

    def was_lost(self, error: Exception) -> None:
        self.lost = error
        self._event.set()

    def doubt(self) -> None:
        self.is_doubted = True
        self._event.set()

    def changed(self) -> None:
        """Note that the server announced changed lists. During a rest, the notification waits."""
        self._has_changed = True
        if not self._rests:
            self._event.set()

    def reinspect(self) -> None:
        """Request an inspection because the tools of another server have changed: definitions here may refer to
        them. ``inspected`` is set when it has ended, or will never run."""
        self.needs_inspection = True
        self.inspected.clear()
        self._event.set()

    def refresh_now(self) -> None:
        """Request a refresh of the lists now."""
        self._has_changed, self._rests = True, False
        self._event.set()

    def takes_change(self) -> bool:
        """Whether changed lists are to be fetched now. If so, a rest follows until the next time: short at first, and
        doubled each time that lists change again before it is over, so that a server cannot keep the host busy."""
        if self._rests or not self._has_changed:
            return False
        self._has_changed, self._rests = False, True
        asyncio.get_running_loop().call_later(self._pause, self._rested)
        return True

    def _rested(self) -> None:
        self._rests = False
        self._pause = min(2 * self._pause, _LONGEST_REST_SECONDS) if self._has_changed else _FIRST_REST_SECONDS
        if self._has_changed:
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()


Connect: TypeAlias = Callable[[Wake], Awaitable[Client]]
"""Makes the client of one attempt, not yet open, which reports events to ``Wake``. It may take as long as a person
needs to answer. ``ConfigurationError`` means that this server must not be started."""


@dataclass
class Life:
    """One server. ``remote`` is its provider in every state; ``on_change`` is called with each new state."""

    remote: Remote
    connect: Connect
    patience: Patience
    on_change: Callable[[Life], None] = lambda life: None
    state: State = "starting"
    reason: TooltrueError | None = None
    starts: int = 0
    client: Client | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    wake: Wake = field(default_factory=Wake)

    @property
    def name(self) -> str:
        return self.remote.server

    def doubt(self) -> None:
        """Check the connection: a call found it broken."""
        self.wake.doubt()

    def lists_changed(self, caller: str) -> None:
        """Have lists read again that the server has announced as changed over a connection of this caller: those of the
        caller if it has lists of its own, and else those of all, over the connection of the host. A server cannot show
        a caller what the host has not inspected for all."""
        if not self.remote.lists_changed(caller):
            self.wake.changed()

    async def run(self) -> None:
        """Start the server and keep it running until this is cancelled, or a retry is useless."""
        pause = self.patience.again
        while True:
            began = self._now()
            try:
                await self._live()
            except (ConfigurationError, DefinitionError) as error:
                self._turn("refused" if isinstance(error, ConfigurationError) else "quarantined", error)
                return
            except TooltrueError as error:
                self._turn("unavailable", error)
            except Exception as error:  # noqa: BLE001 - whatever one server does, the others live
                _log.error("server %s: internal error", self.name, exc_info=error)
                self._turn("unavailable", ConnectionLost.of(HOST_SERVER_CRASHED, server=self.name))
            pause = self.patience.again if self._now() - began >= self.patience.steady else pause
            await self.patience.sleep(pause)
            pause = min(pause * 2, self.patience.longest)

    def end(self) -> None:
        """Mark the server as ended, without a call of ``on_change``."""
        self.state = "ended"
        self.settled.set()
        self.remote.detach(ConnectionLost.of(CONNECTION_CLOSED), is_last=True)

    def _now(self) -> float:
        return (self.patience.clock or asyncio.get_running_loop().time)()

    def _turn(self, state: State, reason: TooltrueError | None = None) -> None:
        self.state, self.reason = state, reason
        if state != "ready":
            is_last = state in ("refused", "quarantined")
            self.remote.detach(reason or ConnectionLost.of(HOST_SERVER_STARTING, server=self.name), is_last=is_last)
        if state != "starting":
            self.settled.set()
        self.on_change(self)

    async def _live(self) -> None:
        """Run one life, from the start until the connection is lost; the loss is raised."""
        self.wake = wake = Wake()
        if self.state != "unavailable":  # a report in the middle of a retry names the reason
            self._turn("starting")
        client = await self.connect(wake)
        self.starts += 1
        try:
            async with self._opened(client):
                self._turn("ready")
                while True:
                    await wake.wait()
                    await self._handle_events(client, wake)
        finally:
            wake.inspected.set()

    @contextlib.asynccontextmanager
    async def _opened(self, client: Client) -> AsyncGenerator[None]:
        """Open the server for use within the context. When it ends, calls in flight fail at once."""
        try:
            try:
                async with asyncio.timeout(self.patience.start):
                    await client.__aenter__()
                    await self.remote.attach(client)
            except TimeoutError:
                raise ConnectionLost.of(
                    HOST_SERVER_START_TIMEOUT, server=self.name, seconds=self.patience.start
                ) from None
            except ConnectionLost as error:
                raise await self._last_words(error) from None
            self.client = client
            yield
        except TooltrueError as error:
            self.remote.detach(error)  # at once: to close may take its time
            raise
        finally:
            self.client = None
            await client.close()

    async def _last_words(self, error: ConnectionLost) -> Exception:
        """The reason of the broken connection: how the process ended is more telling than a failed write."""
        if error.code != _NOT_OPEN:
            return error
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await self.wake.wait()
        return self.wake.lost or error

    async def _handle_events(self, client: Client, wake: Wake) -> None:
        if wake.lost is not None:
            raise wake.lost
        if wake.is_doubted:
            wake.is_doubted = False
            await client.ping()
        if wake.takes_change():
            wake.needs_inspection = False
            await self.remote.refresh()
        if wake.needs_inspection:
            wake.needs_inspection = False
            await self.remote.inspect_again()
        if not wake.needs_inspection:
            wake.inspected.set()
