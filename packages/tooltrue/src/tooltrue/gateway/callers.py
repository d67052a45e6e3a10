"""The connections of callers to one server: each caller has its own, so that no session is shared."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tooltrue.client.client import Client
from tooltrue.client.question_limits import QuestionGate, QuestionLimits
from tooltrue.errors import ConnectionLost, ToolError
from tooltrue.gateway.followed_resources import FollowedResources
from tooltrue.gateway.operations import RelayAnswers
from tooltrue.gateway.wording import TOO_MANY_CALLER_CONNECTIONS
from tooltrue.host.upstream_calls import OpenConnection
from tooltrue.jsonrpc.messages import Json, canonical
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.transport.carrier import Auth

__all__ = ["CallerConnection", "CallerConnections", "ConnectionBounds"]


class ConnectionBounds(Value, frozen=True):
    """Limits on the connections to one server, each of which may be a process. One that is not used for
    ``idle_seconds`` ends. ``per_caller`` and ``in_all`` limit how many there are at once, those that end included."""

    per_caller: int = 4
    in_all: int = 100
    idle_seconds: float = 600.0


_MOST_FOLLOWED: Final = 1_000
_Key: TypeAlias = tuple[str, str, bytes]
"""A caller, its client where callers have credentials of their own, and the capabilities of that client."""


@dataclass(eq=False)
class CallerConnection:
    """A connection, and the answers to the questions that come over it. Without ``users`` it is idle, ``since`` a time
    of the loop. ``expiry`` stands until the end of an idle time, also if the connection is used again before."""

    answers: RelayAnswers
    client: Client | None = None
    key: _Key = ("", "", b"")
    users: int = 0
    since: float = 0.0
    expiry: asyncio.TimerHandle | None = None
    opening: asyncio.Task[None] | None = None
    followed: FollowedResources = field(default_factory=lambda: FollowedResources(_MOST_FOLLOWED))


_FOLLOWING_SECONDS: Final = 86_400.0
"""How long a connection lives after the last operation of a caller that follows a resource over it."""

_MOST_GATES: Final = 1_000
"""The counts of questions that outlive the connections of their callers, so that a server gains none by ending one."""


class CallerConnections:
    """The connections to the server ``label``, by caller and by the capabilities of its client: a session-based server
    learns those once, when the session begins. ``auth_of`` makes the credentials of each caller, if they have some,
    for calls through one client; then each of its clients has a connection. ``on_lists_changed`` is called with the id
    of a caller when the server announces over a connection of it that a list has changed.
    """

    def __init__(
        self,
        label: str,
        open_connection: OpenConnection,
        bounds: ConnectionBounds,
        questions: QuestionLimits,
        auth_of: Callable[[str, str], Auth] | None = None,
    ) -> None:
        self._label = label
        self._auth_of = auth_of
        self._open_connection = open_connection
        self._bounds = bounds
        self._questions = questions
        self._connections: dict[_Key, CallerConnection] = {}
        self._gates: dict[str, QuestionGate] = {}
        self._ending: dict[asyncio.Task[None], str] = {}
        self.on_lists_changed: Callable[[str], None] = lambda caller: None

    @asynccontextmanager
    async def of(self, context: RequestContext) -> AsyncGenerator[CallerConnection]:
        """The connection of a caller, opened if there is none, for the length of one operation. Raises ``ToolError`` if
        there are too many, ``ConnectionLost`` if it cannot be opened."""
        key = self._key(context)
        connection = self._connections.get(key) or self._add(key, context.capabilities)
        connection.users += 1
        try:
            if connection.client is None:
                await self._opened(connection)
            yield connection
        finally:
            self.release(connection)

    def take_open(self, context: RequestContext) -> CallerConnection | None:
        """The connection of a caller, if it is open. :meth:`release` follows at the end of the operation."""
        connection = self._connections.get(self._key(context))
        if connection is None or connection.client is None:
            return None
        connection.users += 1
        return connection

    def release(self, connection: CallerConnection) -> None:
        """End one use of a connection."""
        connection.users -= 1
        if not connection.users and self._connections.get(connection.key) is connection:
            loop = asyncio.get_running_loop()
            connection.since = loop.time()
            if connection.expiry is None:
                self._set_expiry(connection, loop)

    def _set_expiry(self, connection: CallerConnection, loop: asyncio.AbstractEventLoop) -> None:
        connection.expiry = loop.call_at(self._end_of(connection), self._expire, connection, connection.since)

    def _end_of(self, connection: CallerConnection) -> float:
        """The time at which an idle connection ends."""
        return connection.since + (_FOLLOWING_SECONDS if connection.followed else self._bounds.idle_seconds)

    def _expire(self, connection: CallerConnection, since: float) -> None:
        """Drop a connection that has been idle since then. One that was used meanwhile gets another expiry: a timer for
        each use would cost more than the rest of it."""
        connection.expiry = None
        if connection.users:
            return
        if connection.since == since:
            self._drop(connection)
        else:
            self._set_expiry(connection, asyncio.get_running_loop())

    def _key(self, context: RequestContext) -> _Key:
        client = "" if self._auth_of is None else context.principal.client
        return (context.principal.id, client, canonical(_known(context.capabilities)))

    def _add(self, key: _Key, capabilities: Mapping[str, Json]) -> CallerConnection:
        own = [one for one in self._connections if one[0] == key[0]]
        if len(own) >= self._bounds.per_caller:
            self._make_room(own)
        if len(self._connections) >= self._bounds.in_all:
            self._make_room(list(self._connections))
        gate = self._gates.pop(key[0], None) or QuestionGate(self._questions, self._label)
        self._gates[key[0]] = gate  # the newest is the last
        while len(self._gates) > max(_MOST_GATES, len(self._connections) + 1):
            del self._gates[next(iter(self._gates))]
        connection = self._connections[key] = CallerConnection(RelayAnswers(gate, _known(capabilities)), key=key)
        return connection

    def _make_room(self, keys: list[_Key]) -> None:
        """Drop the connection that has been idle the longest. Raises ``ToolError`` if all are in use."""
        idle = [one for key in keys if not (one := self._connections[key]).users]
        if not idle:
            raise ToolError.of(TOO_MANY_CALLER_CONNECTIONS, server=self._label, limit=len(keys))
        self._drop(min(idle, key=self._end_of))

    async def _opened(self, connection: CallerConnection) -> None:
        """Open the client, once for all that wait for it. A caller that gives up does not disturb the others."""
        if connection.opening is None:
            # In a context of its own: messages of the server belong to no operation yet.
            connection.opening = asyncio.get_running_loop().create_task(
                self._open(connection), context=contextvars.Context()
            )
        try:
            await asyncio.shield(connection.opening)
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            raise ConnectionLost.of(CONNECTION_CLOSED) from None  # it was dropped

    async def _open(self, connection: CallerConnection) -> None:
        caller, client, _ = connection.key

        def lost(error: Exception) -> None:
            self._drop(connection, gives_up=False)  # the opening has the reason

        try:
            while in_the_way := self._in_the_way(caller):
                await asyncio.wait(in_the_way, return_when=asyncio.FIRST_COMPLETED)
            auth = None if self._auth_of is None else self._auth_of(caller, client)
            answers = connection.answers
            connection.client = await self._open_connection(
                caller, answers, answers.on_log, lost, lambda: self.on_lists_changed(caller), auth=auth
            )
        except BaseException:
            self._forget(connection)
            raise

    def _in_the_way(self, caller: str) -> list[asyncio.Task[None]]:
        """The ends of connections that have to be waited for: until then, one more would exceed a limit."""
        own = [task for task, other in self._ending.items() if other == caller]
        if own and len(own) + sum(one == caller for one, *_ in self._connections) > self._bounds.per_caller:
            return own
        return list(self._ending) if len(self._ending) + len(self._connections) > self._bounds.in_all else []

    def _forget(self, connection: CallerConnection) -> None:
        if self._connections.get(connection.key) is connection:
            del self._connections[connection.key]
        if connection.expiry is not None:
            connection.expiry.cancel()
            connection.expiry = None

    def _drop(self, connection: CallerConnection, *, gives_up: bool = True) -> None:
        """End a connection; the next operation of its caller opens another. ``gives_up``: even while it opens."""
        self._forget(connection)
        task = asyncio.get_running_loop().create_task(_end(connection, gives_up=gives_up))
        self._ending[task] = connection.key[0]
        task.add_done_callback(self._ending.pop)

    @property
    def count(self) -> int:
        return len(self._connections)

    @property
    def are_busy(self) -> bool:
        return any(connection.users for connection in self._connections.values())

    async def close(self) -> None:
        """End all connections at the same time, and return once they have ended. If this is cancelled, programs have no
        time to end by themselves."""
        while self._connections or self._ending:
            for connection in tuple(self._connections.values()):
                self._drop(connection)
            await asyncio.gather(*self._ending, return_exceptions=True)


async def _end(connection: CallerConnection, *, gives_up: bool) -> None:
    try:
        if (opening := connection.opening) is not None:
            if gives_up:
                opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
    finally:
        if connection.client is not None:
            await connection.client.close()


def _is_cancelled() -> bool:
    """Whether the current task is, and not only a task that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


_NAMES: Final = ("elicitation", "sampling", "roots")


def _known(capabilities: Mapping[str, Json]) -> dict[str, Json]:
    """The capabilities that concern questions."""
    return {name: capabilities[name] for name in _NAMES if name in capabilities}
