"""The servers whose tools a person may try: called in this process, through their whole guard, as that person.

A call is one round: it ends with a result, or with questions and a sealed state, which the page brings back with the
answers. So no run is kept here, and any worker of a server continues it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tooltrue.app import Server
from tooltrue.client.call_results import Result
from tooltrue.client.client import Client
from tooltrue.client.client import Progress as ReportProgress
from tooltrue.client.relayed import InputRequested, RelayedRequest
from tooltrue.errors import ConfigurationError
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.types import ToolDefinition
from tooltrue.server.server import ServerSession
from tooltrue.tools.vocabulary import Principal
from tooltrue.wording import names_or_none
from tooltrue_console.sessions import Person
from tooltrue_console.wording import (
    CONSOLE_NOTHING_TO_TRY,
    CONSOLE_SERVER_TWICE,
    CONSOLE_SERVER_UNKNOWN,
    CONSOLE_TOOL_UNKNOWN,
)

__all__ = ["Asked", "ToolProgress", "TriedServers", "TryRound"]

_ANSWERABLE: Final[Mapping[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
_WAITING: Final = 100
"""Reports of progress that are kept for a slow viewer."""


@dataclass(frozen=True, slots=True)
class TryRound:
    """One round of a call. ``responses`` and ``state`` are the answers to the questions of the round before."""

    tool: str
    arguments: Mapping[str, Any]
    responses: Mapping[str, Any] | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True)
class ToolProgress:
    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions with which a round ended, by key, and the state that belongs to them."""

    requests: Mapping[str, InputRequest]
    state: str | None


class TriedServers:
    """The ``servers``, no two of one name (``ConfigurationError``)."""

    def __init__(self, servers: Sequence[Server] = ()) -> None:
        names = [server.name for server in servers]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigurationError.of(CONSOLE_SERVER_TWICE, server=twice)
        self.servers = servers

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Context in which servers serve that nothing else serves."""
        async with contextlib.AsyncExitStack() as stack:
            for server in self.servers:
                await stack.enter_async_context(server.serving())
            yield

    def names(self, person: Person) -> Sequence[str]:
        """The names of the servers that this person reaches. ``ConfigurationError`` if the console has none."""
        if not self.servers:
            raise ConfigurationError.of(CONSOLE_NOTHING_TO_TRY)
        return sorted(self._by_name(person))

    def server(self, name: str, person: Person) -> Server:
        """The server of this name. ``ConfigurationError`` if this person reaches none."""
        by_name = self._by_name(person)
        if name not in by_name:
            raise ConfigurationError.of(
                CONSOLE_SERVER_UNKNOWN, server=name[:80], known=names_or_none(self.names(person))
            )
        return by_name[name]

    def _by_name(self, person: Person) -> Mapping[str, Server]:
        caller = _principal(person)
        return {name: one for server in self.servers for name, one in server.servers_for(caller).items()}

    @contextlib.asynccontextmanager
    async def client(self, name: str, person: Person) -> AsyncGenerator[Client]:
        """A client of the server of this name, as this person."""
        async with Client(_AsPerson(self.server(name, person), _principal(person))) as client:
            yield client

    async def tools(self, name: str, person: Person) -> Sequence[ToolDefinition]:
        async with self.client(name, person) as client:
            return await client.list_tools()

    async def listed(self, name: str, person: Person) -> tuple[Sequence[ToolDefinition], str]:
        """The tools of a server, and its instructions."""
        async with self.client(name, person) as client:
            return await client.list_tools(), client.facts.instructions or ""

    async def tool(self, name: str, tool: str, person: Person) -> ToolDefinition:
        """The definition of a tool. ``ConfigurationError`` if the server does not list it for this person."""
        for one in await self.tools(name, person):
            if one.name == tool:
                return one
        raise ConfigurationError.of(CONSOLE_TOOL_UNKNOWN, server=name[:80], tool=tool[:80])

    async def run(
        self, name: str, person: Person, round: TryRound
    ) -> AsyncGenerator[ToolProgress | Asked | Result[Any]]:
        """Yield what a call reports on its way, and in the end its result or its questions. A call that nobody follows
        any more is cancelled. Raises what :meth:`Client.call_tool` does."""
        reports: asyncio.Queue[ToolProgress | None] = asyncio.Queue()

        def report(progress: float, total: float | None, message: str | None) -> None:
            if reports.qsize() < _WAITING:  # a tool may report faster than a page shows
                reports.put_nowait(ToolProgress(progress, total, message))

        task = asyncio.create_task(self._call(name, person, round, report))
        task.add_done_callback(lambda _: reports.put_nowait(None))
        try:
            while (one := await reports.get()) is not None:
                yield one
            yield await task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _call(self, name: str, person: Person, round: TryRound, report: ReportProgress) -> Asked | Result[Any]:
        request = RelayedRequest(_ANSWERABLE, round.responses, round.state)
        async with self.client(name, person) as client:
            await client.list_tools()  # so that the result is checked by the schema of the tool
            try:
                return await client.relaying(request).call_tool(round.tool, round.arguments, progress=report)
            except InputRequested as questions:
                return Asked(questions.requests or {}, questions.state)


@dataclass(frozen=True, slots=True)
class _AsPerson:
    """A server, for a client in memory that calls as ``caller``."""

    server: Server
    caller: Principal

    def connect(self, write: Callable[[bytes], None]) -> ServerSession:
        return self.server.connect(write, self.caller)

    def in_lifespan(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self.server.in_lifespan()


def _principal(person: Person) -> Principal:
    return Principal(person.id, frozenset(person.scopes))
