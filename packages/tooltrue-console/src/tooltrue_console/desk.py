"""The stores behind the pages: the state and the logs of this user, or those that the operator names; and the server
beside which the console stands.

Stores are opened for each request that needs them, so that a database that goes away and comes back costs the requests
in between, and no other.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tooltrue.app import Server
from tooltrue.policy.audit.acts import acts_url
from tooltrue.policy.consent.approvals import Approvals, Ticket, approvals_url
from tooltrue.state.facts import Facts
from tooltrue.state.places import audit_files, sqlite_url
from tooltrue.state.urls import open_facts
from tooltrue_console.activity import PATIENCE_SECONDS, Activity, LogHour
from tooltrue_console.acts import Acts
from tooltrue_console.contracts import Contracts
from tooltrue_console.health import ServerHealth, health_of
from tooltrue_console.live import SharedView, SharedViews
from tooltrue_console.logs import Logs
from tooltrue_console.long_reads import LongReads
from tooltrue_console.tried import TriedServers

__all__ = ["Desk", "DeskSettings", "Present"]

_FRESH_SECONDS = 1.0
"""For so long, all viewers see the same state."""


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """The operator's choices. ``approvals`` is the URL of the store of tickets and sessions, ``logs`` has further audit
    logs by name, ``acts`` is the URL of the log of what people do here. ``approves_own``: the caller of a tool may
    approve the call. ``config`` is the operator's file, ``locks`` are lock files, and ``server`` is the server that the
    console stands beside, whose file takes precedence."""

    approvals: str = ""
    logs: Mapping[str, str] = field(default_factory=dict[str, str])
    acts: str = ""
    approves_own: bool = False
    config: str = ""
    locks: Sequence[str] = ()
    server: Server | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """The state of all servers at one time. ``pending`` are the open tickets, the oldest first; ``health`` is that of
    the servers in this process."""

    hours: Sequence[LogHour]
    pending: Sequence[Ticket]
    health: Sequence[ServerHealth]


class Desk:
    """``tried`` are the servers whose tools people may try. ``clock`` gives the time of day. A page waits ``patience``
    seconds for the counts of the hour."""

    def __init__(
        self,
        settings: DeskSettings,
        *,
        tried: TriedServers | None = None,
        clock: Callable[[], float] = time.time,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.tried = tried or TriedServers()
        self.pending = SharedView(self._pending)
        """The ids of the pending tickets, live."""
        self.acts = Acts(settings.acts or acts_url(), clock=clock)

        self.logs = Logs(self._log_urls)
        self.contracts = Contracts(settings.server, locks=settings.locks)
        self._activity = Activity(self.logs, clock=clock, patience=patience)
        self.long_reads = LongReads()
        self.parts = SharedViews[tuple[str, str]]()
        """The events of live parts of pages."""
        self._latest: tuple[float, Present] | None = None

    def _log_urls(self) -> Mapping[str, str]:
        """Name → URL of each audit log: those of this user's servers, and those that the operator names."""
        return {path.stem: sqlite_url(path) for path in audit_files()} | dict(self.settings.logs)

    @asynccontextmanager
    async def facts(self) -> AsyncGenerator[Facts]:
        async with open_facts(approvals_url(self.settings.approvals or None)) as facts:
            yield facts

    @asynccontextmanager
    async def approvals(self) -> AsyncGenerator[Approvals]:
        async with self.facts() as facts:
            yield Approvals(facts, clock=self.clock)

    async def _pending(self) -> list[str]:
        return [ticket.id for ticket in await self._open_tickets()]

    async def _open_tickets(self) -> list[Ticket]:
        async with self.approvals() as approvals:
            return [ticket for ticket in await approvals.all() if ticket.state == "open"]

    async def now(self) -> Present:
        """The state of all servers, as far as it is known without a wait; perhaps that of a second ago."""
        if self._latest is None or not 0 <= self.clock() - self._latest[0] < _FRESH_SECONDS:
            self._latest = (self.clock(), await self._look())
        return self._latest[1]

    async def _look(self) -> Present:
        hours = await self._activity.hours()
        pending = await self._open_tickets()
        health = [health_of(server.name, server.settings.meter) for server in self.tried.servers]
        return Present(hours, pending, health)
