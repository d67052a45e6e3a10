"""A server of a host: its entry in the file, and all that the host has for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Generator, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.host.catalogue import CataloguePart
from tooltrue.host.pins import Pin
from tooltrue.host.servers import Life
from tooltrue.host.upstream_calls import ServerRelay
from tooltrue.protocol.types import Value

__all__ = ["HostPlan", "HostedServer"]

_LOOK_SECONDS: Final = 0.05


@dataclass(eq=False)
class HostedServer:
    """One server. ``users`` counts what needs it beside its operations, such as workers of a supervisor."""

    config: ServerConfig
    life: Life
    pin: Pin | None = None
    relay: ServerRelay | None = None
    users: int = 0
    _task: asyncio.Task[None] | None = None

    @property
    def label(self) -> str:
        return self.config.label

    @property
    def is_busy(self) -> bool:
        """Whether an operation runs, or is held for the answer to a question."""
        return bool(self.users or self.life.remote.running or (self.relay is not None and self.relay.is_busy))

    @contextlib.contextmanager
    def in_use(self) -> Generator[None]:
        """Context in which the server is needed, whether an operation runs or not."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1

    def start(self) -> None:
        """Begin the life of the server in a task of its own, if it is enabled."""
        self.life.settled.clear()
        self.life.state = "starting" if self.config.enabled else "disabled"
        if self.config.enabled:
            self._task = asyncio.get_running_loop().create_task(self.life.run(), name=f"server {self.label}")

    async def drain(self, seconds: float) -> None:
        """Wait until the server is not busy, at most ``seconds``."""
        loop, patience = asyncio.get_running_loop(), self.life.patience
        now = patience.clock or loop.time
        until = now() + seconds
        while self.is_busy and now() < until:
            await patience.sleep(_LOOK_SECONDS)

    async def end(self) -> None:
        """End the server, with all connections to it."""
        endings: list[Awaitable[None]] = [] if self.relay is None else [self.relay.close()]
        if self._task is not None:
            self._task.cancel()
            endings += [self._task, self.life.remote.close()]
        try:
            await asyncio.gather(*endings, return_exceptions=True)
        finally:
            if self._task is not None:
                self.life.end()


class HostPlan(Value, frozen=True):
    """The servers that a host is about to have, checked and not started. Servers whose entry has not changed are those
    that it has."""

    config: HostConfig
    servers: Mapping[str, HostedServer]
    parts: tuple[CataloguePart, ...]

    def pinned_tools(self) -> dict[str, tuple[str, ...] | None]:
        """The names in the catalogue of the tools in the pin of each server, accepted or under review; ``None`` for a
        server without a pin."""
        return {
            part.remote.server: None
            if (pin := self.servers[part.remote.server].pin) is None or (names := pin.names()) is None
            else tuple(part.called(name) for name in names)
            for part in self.parts
        }
