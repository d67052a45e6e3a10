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
from tooltrue.contract.digests import digest
from tooltrue.policy.consent.approvals import Approvals, Ticket, approvals_url
from tooltrue.state.facts import Facts
from tooltrue.state.places import audit_files, sqlite_url, state_folder
from tooltrue.state.urls import open_facts, open_log
from tooltrue_console.activity import PATIENCE_SECONDS, Activity, LogHour
from tooltrue_console.acts import Acts
from tooltrue_console.contracts import Contracts
from tooltrue_console.health import ServerHealth, health_of
from tooltrue_console.live import SharedView
from tooltrue_console.logs import Logs
from tooltrue_console.tried import TriedServers

__all__ = ["Desk", "DeskSettings", "Present"]

_PRESENT_SECONDS = 5.0
"""How often the state of all servers is looked at for the viewers of it."""
_FRESH_SECONDS = 1.0
"""For so long, all viewers see the same state."""


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """The operator's choices. ``approvals`` is the URL of the store of tickets and sessions, ``logs`` has further audit
    logs by name, ``acts`` is the URL of the log of what people do here. ``approves_own``: the caller of a tool may
    approve the call. ``config`` is the operator's file, and ``server`` the server that the console stands beside, whose
    file takes precedence."""

    approvals: str = ""
    logs: Mapping[str, str] = field(default_factory=dict[str, str])
    acts: str = ""
    approves_own: bool = False
    config: str = ""
    server: Server | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """The state of all servers at one time. ``pending`` are the open tickets, the oldest first; ``health`` is that of
    the servers in this process. ``mark`` is another one as soon as anything that is shown is."""

    hours: Sequence[LogHour]
    pending: Sequence[Ticket]
    health: Sequence[ServerHealth]
    mark: str


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
        self.acts = Acts(settings.acts or sqlite_url(state_folder() / "console" / "acts.db"), clock=clock)

        self.logs = Logs(self._log_urls)
        self.contracts = Contracts(settings.server)
        self._activity = Activity(self.logs, clock=clock, patience=patience)
        self.present = SharedView(self._mark, every=_PRESENT_SECONDS)
        """The mark of what is present, live."""
        self._latest: tuple[float, Present] | None = None
        self._heads: dict[str, SharedView[int]] = {}

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

    def head_of(self, log: str) -> SharedView[int]:
        """The position of the last record of a log, live."""
        if log not in self._heads:
            url = self.logs.url(log)

            async def look() -> int:
                async with open_log(url) as opened:
                    return (await opened.head()).position

            self._heads[log] = SharedView(look)
        return self._heads[log]

    async def now(self) -> Present:
        """The state of all servers, as far as it is known without a wait; perhaps that of a second ago."""
        if self._latest is None or not 0 <= self.clock() - self._latest[0] < _FRESH_SECONDS:
            self._latest = (self.clock(), await self._look())
        return self._latest[1]

    async def _look(self) -> Present:
        hours = await self._activity.hours()
        pending = await self._open_tickets()
        health = [health_of(server.name, server.settings.meter) for server in self.tried.servers]
        parts = [
            *(
                [hour.log, hour.last, hour.is_counted, hour.counted_since, str(hour.problem or ""), len(hour.paused)]
                for hour in hours
            ),
            int(self.clock()) // 60,
            [ticket.id for ticket in pending],
            str(health),
        ]
        return Present(hours, pending, health, digest(parts)[:16])

    async def _mark(self) -> str:
        return (await self.now()).mark
